//! Simulated devices: what searches are tested with.

use fastrand::Rng;

use crate::{Load, Seconds, Trial, TrialResult};

/// How much a device forwards of a load. Loads and rates are in packets per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Behaviour {
    /// All up to a rate, and that rate above it. A rate of 0 is a device that forwards nothing.
    Hard {
        /// The rate.
        rate: f64,
    },
    /// Losses begin below the rate and grow towards all that is above it.
    Soft {
        /// The rate.
        rate: f64,
        /// How far from the rate they are still noticed.
        spread: f64,
    },
    /// Like `Hard`, but some trials lose packets at any load.
    Noisy {
        /// The rate.
        rate: f64,
        /// The part of the trials.
        spoiled: f64,
        /// The part of their packets.
        loss_ratio: f64,
    },
    /// Like `Hard`, with a lossy range of loads below the rate.
    Inverted {
        /// The rate.
        rate: f64,
        /// The range.
        lossy: (f64, f64),
        /// The part of the packets that is lost there.
        loss_ratio: f64,
    },
}

/// A device with the generator before it.
#[derive(Clone, Debug)]
pub struct Device {
    /// The forwarding behaviour.
    pub behaviour: Behaviour,
    /// Highest load that the generator can send, in packets per second.
    pub ceiling: f64,
    /// Largest time of a trial beside its duration; each trial draws a part of it.
    pub overhead: Seconds,
    /// The source of all chance.
    pub rng: Rng,
}

impl Device {
    /// A device with a perfect generator.
    pub fn new(behaviour: Behaviour, seed: u64) -> Device {
        Device { behaviour, ceiling: f64::INFINITY, overhead: Seconds::default(), rng: Rng::with_seed(seed) }
    }

    /// A random device for loads between two, by a seed.
    pub fn drawn(seed: u64, min: Load, max: Load) -> Device {
        let mut rng = Rng::with_seed(seed);
        let (min, max) = (min.pps(), max.pps());
        // Some devices are below the smallest load, some above the largest.
        let rate = min * (max / min).powf(rng.f64() * 1.1 - 0.05);
        let behaviour = match rng.u32(..16) {
            0 => Behaviour::Hard { rate: 0.0 },
            1..4 => Behaviour::Hard { rate },
            4..8 => Behaviour::Soft { rate, spread: rate * 10f64.powf(rng.f64() * 3.0 - 3.5) },
            8..12 => {
                let spoiled = [0.05, 0.2, 0.5, 0.8][rng.usize(..4)];
                Behaviour::Noisy { rate, spoiled, loss_ratio: 10f64.powf(-6.0 * rng.f64()) }
            }
            _ => {
                let (one, other) = (rng.f64() * rate, rng.f64() * rate);
                let lossy = (one.min(other), one.max(other));
                Behaviour::Inverted { rate, lossy, loss_ratio: 10f64.powf(-5.0 * rng.f64()) }
            }
        };
        let ceiling = match rng.u32(..4) {
            0 => max * rng.f64(),
            _ => f64::INFINITY,
        };
        let overhead = Seconds::known([0.0, 0.0, 0.1, 0.5][rng.usize(..4)]);
        Device { behaviour, ceiling, overhead, rng }
    }

    /// Runs a trial.
    pub fn measure(&mut self, trial: Trial) -> TrialResult {
        let intended = trial.packets();
        let duration = trial.duration.seconds();
        let sent = intended.min((self.ceiling * duration) as u64);
        let forwarded = sent as f64 * self.forwarded(sent as f64 / duration);
        let received = self.round(forwarded).min(sent);
        let overhead = self.overhead.seconds() * self.rng.f64();
        TrialResult {
            intended,
            sent,
            received,
            sending: trial.duration,
            effective: Seconds::known(duration + overhead),
        }
    }

    /// The part of the packets that comes back.
    fn forwarded(&mut self, load: f64) -> f64 {
        let up_to = |rate: f64| if load <= rate { 1.0 } else { rate / load };
        match self.behaviour {
            Behaviour::Hard { rate } => up_to(rate),
            Behaviour::Soft { rate, spread } => {
                let far = (load - rate) / spread;
                // The same for loads above, but it does not overflow.
                let lost = spread * (far.max(0.0) + (-far.abs()).exp().ln_1p());
                (1.0 - lost / load).max(0.0)
            }
            Behaviour::Noisy { rate, spoiled, loss_ratio } => match self.rng.f64() < spoiled {
                true => up_to(rate) * (1.0 - loss_ratio),
                false => up_to(rate),
            },
            Behaviour::Inverted { rate, lossy, loss_ratio } => match lossy.0 <= load && load < lossy.1 {
                true => 1.0 - loss_ratio,
                false => up_to(rate),
            },
        }
    }

    /// A whole number whose mean over many trials is right.
    fn round(&mut self, packets: f64) -> u64 {
        packets as u64 + u64::from(self.rng.f64() < packets.fract())
    }
}
