//! PLRsearch, the soak test: the critical load, at which a very small part of the packets is lost in the long run.
//!
//! After draft-vpolak-bmwg-plrsearch. A part of 1 in 10 million cannot be seen in one trial, but what many trials around
//! the critical load lose tells how loss grows with load. Two [`Shape`]s of that growth are fitted by Bayes' rule; the mean
//! of the critical loads that they allow, by their probability, is the estimate, and the next load. Where the shapes differ,
//! the estimate is as uncertain as that.

mod integral;
mod normal;
mod shape;

use serde::Serialize;

use integral::{Moments, Part, WHOLE, integrate};
pub use shape::{Curve, Shape};

use crate::search::Ledger;
use crate::{Bounds, Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// Settings of the search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plr {
    /// The smallest load to try.
    pub min_load: Load,
    /// The largest load that can be sent.
    pub max_load: Load,
    /// The part of the packets that may be lost on average. Within 0 and 1, both excluded.
    pub loss_ratio: f64,
    /// How long the first trial takes.
    pub first: Seconds,
    /// How much longer each further one takes.
    pub longer: Seconds,
    /// The search ends with the trial that reaches this sum of effective durations.
    pub duration: Seconds,
}

impl Plr {
    /// CSIT's: 1 in 10 million packets, half an hour, trials of 5.1 seconds and longer.
    pub const fn csit(max_load: Load) -> Plr {
        Plr {
            min_load: Load::known(9001.0),
            max_load,
            loss_ratio: 1e-7,
            first: Seconds::known(5.1),
            longer: Seconds::known(0.1),
            duration: Seconds::known(1800.0),
        }
    }

    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] names what is wrong.
    pub fn search(self) -> Result<PlrSearch, Error> {
        let (min, max, loss_ratio) = (self.min_load, self.max_load, self.loss_ratio);
        let settings = [
            ("min_load", min.pps(), min.pps() > 0.0, "above 0"),
            ("max_load", max.pps(), max > min, "above min_load"),
            ("loss_ratio", loss_ratio, 0.0 < loss_ratio && loss_ratio < 1.0, "above 0 and below 1"),
            ("first", self.first.seconds(), self.first.seconds() > 0.0, "above 0 seconds"),
        ];
        if let Some((field, value, _, remedy)) = settings.into_iter().find(|(.., is_right, _)| !is_right) {
            return Err(Error::Setting { of: "PLRsearch".into(), field, value: value.to_string(), remedy });
        }
        Ok(PlrSearch {
            plr: self,
            ledger: Ledger::default(),
            losses: Vec::new(),
            lossy: vec![max.pps()],
            lossless: 0,
            next: (min.pps() + max.pps()) / 2.0,
            fits: [Shape::Stretch, Shape::Erf].map(|shape| (shape, [WHOLE, WHOLE])),
            estimate: None,
        })
    }
}

/// The critical load, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// Its mean.
    pub average: Load,
    /// Its standard deviation. CSIT reports average ± deviation as lower and upper bound.
    pub deviation: Load,
}

impl Estimate {
    fn new([one, other]: [Moments; 2]) -> Estimate {
        let mean = (one.mean + other.mean) / 2.0;
        let variance = (one.variance + other.variance) / 2.0 + (one.mean - other.mean).powi(2) / 4.0;
        // Moments are of the load's logarithm.
        let (low, high) = ((mean - variance.sqrt()).exp(), (mean + variance.sqrt()).exp());
        let average = (low + high) / 2.0;
        Estimate { average: Load::known(average), deviation: Load::known(average - low) }
    }
}

/// A trial, as the shapes see it.
#[derive(Clone, Copy, Debug)]
struct Loss {
    load: f64,
    /// The logarithm of the seconds that packets were sent at that load. Not the trial's duration, as loads may be of
    /// transactions with several packets.
    ln_seconds: f64,
    packets: f64,
}

/// The search, between two trials.
#[derive(Clone, Debug)]
pub struct PlrSearch {
    plr: Plr,
    ledger: Ledger,
    losses: Vec<Loss>,
    /// Loads that lost too much, the smallest first: what the next ones are drawn towards after trials without loss.
    lossy: Vec<f64>,
    /// How many trials since the last that lost too much.
    lossless: u32,
    next: f64,
    /// Where the likely curves of each shape are, by the parameters of the spread and of the rate.
    fits: [(Shape, [Part; 2]); 2],
    estimate: Option<Estimate>,
}

/// Trials that only look for the region, before estimates are of use.
const FIRST_LOOKS: u64 = 3;

/// A lossy load is entered several times, once for each trial without loss before it and once for itself, and a few are
/// forgotten after each such trial: so that they are neither worn out at once nor a burden for ever.
const ENTERED: usize = 4;
const FORGOTTEN: usize = 3;

impl PlrSearch {
    /// The estimate after the last trial.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    fn duration(&self) -> Seconds {
        Seconds::known(self.plr.first.seconds() + self.plr.longer.seconds() * self.ledger.trials as f64)
    }

    /// Enters what was lost, packets that were not sent included. The trial's load is told from that of the others by its
    /// loss, so even the smallest loss is at least a packet.
    fn enter(&mut self, load: f64, result: &TrialResult) {
        let intended = result.intended.max(result.sent) as f64;
        let packets = (intended * result.loss_ratio() + 0.9).floor().min(intended);
        let ln_seconds = (result.sent.max(1) as f64 / load).ln();
        self.losses.push(Loss { load, ln_seconds, packets });
        match packets > 0.0 && packets >= intended * self.plr.loss_ratio {
            true => {
                let times = ENTERED * (self.lossless as usize + 1);
                self.lossy.extend(std::iter::repeat_n(load, times));
                self.lossy.sort_by(f64::total_cmp);
                self.lossless = 0;
            }
            false => self.lossless += 1,
        }
    }

    /// Computes the estimate anew, and gives the critical load in the middle of what both shapes say.
    fn estimate_anew(&mut self) -> f64 {
        let (plr, losses) = (&self.plr, &self.losses);
        let (min, max) = (plr.min_load.pps(), plr.max_load.pps());
        let moments = self.fits.each_mut().map(|(shape, parts)| {
            let ln_likelihood = |x, y| {
                let curve = curve(*shape, x, y, max);
                losses.iter().map(|loss| ln_likelihood(&curve, loss)).sum()
            };
            let value = |x, y| curve(*shape, x, y, max).critical_load(min, max, plr.loss_ratio).ln();
            integrate(parts, ln_likelihood, value)
        });
        self.estimate = Some(Estimate::new(moments));
        (moments[0].mean.exp() + moments[1].mean.exp()) / 2.0
    }

    /// Where the next trial tells most: near the critical load. When nothing was lost lately, it is drawn towards the
    /// smallest load that was lossy, the more the longer.
    fn draw_upwards(&mut self, estimate: f64) -> f64 {
        let Some(&lossy) = self.lossy.first().filter(|_| self.lossless > 0) else {
            return estimate;
        };
        let next = match lossy > estimate {
            true => {
                let weight = 0.5_f64.powf(f64::from(self.lossless) - 1.0);
                (lossy + weight * estimate) / (1.0 + weight)
            }
            false => estimate,
        };
        if self.lossy.len() > FORGOTTEN {
            self.lossy.drain(..FORGOTTEN);
        }
        next
    }
}

/// The prior of the draft, "Prior Distributions": points of the square are equally likely.
fn curve(shape: Shape, x: f64, y: f64, max_load: f64) -> Curve {
    let rate = max_load * (1.0 / (x + 1.0) - 0.5) + 1.0;
    Curve { shape, rate, spread: rate.powf((y + 1.0) / 2.0) }
}

/// How likely the curve leads to the trial's loss: packets by a geometric distribution, as in CSIT. It is wider than Poisson's,
/// which the draft names: losses come in bursts.
fn ln_likelihood(curve: &Curve, loss: &Loss) -> f64 {
    let ln_mean = curve.ln_loss(loss.load) + loss.ln_seconds;
    // ln(1 + e^±ln_mean) without its straight part, the same for both signs.
    let bend = if ln_mean.abs() > 40.0 { 0.0 } else { (-ln_mean.abs()).exp().ln_1p() };
    -loss.packets * ((-ln_mean).max(0.0) + bend) - (ln_mean.max(0.0) + bend)
}

impl Search for PlrSearch {
    type Outcome = Estimate;

    fn next(&mut self) -> Result<Step<Estimate>, Error> {
        if let Some(trial) = self.ledger.asked() {
            return Ok(Step::Trial(trial));
        }
        match self.estimate {
            Some(estimate) if self.ledger.spent >= self.plr.duration.seconds() => Ok(Step::Done(estimate)),
            _ => {
                let trial = Trial { load: Load::known(self.next), duration: self.duration() };
                Ok(Step::Trial(self.ledger.ask(trial)))
            }
        }
    }

    /// Computes the estimate, which takes a while: milliseconds, more with each trial.
    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        let load = self.ledger.close(&result)?.load.pps();
        self.enter(load, &result);
        let estimate = self.estimate_anew();
        let next = match self.ledger.trials {
            1 => self.plr.max_load.pps(),
            2..=FIRST_LOOKS => load * (1.0 - result.loss_ratio()) / (1.0 - self.plr.loss_ratio),
            _ => self.draw_upwards(estimate),
        };
        self.next = next.clamp(self.plr.min_load.pps(), self.plr.max_load.pps());
        Ok(())
    }

    fn progress(&self) -> Progress {
        let bound = |sign: f64| {
            let Estimate { average, deviation } = self.estimate?;
            Some(Load::known((average.pps() + sign * deviation.pps()).max(0.0)))
        };
        let remaining = (self.plr.duration.seconds() - self.ledger.spent).max(0.0);
        let bounds = Bounds { name: "critical load".into(), lower: bound(-1.0), upper: bound(1.0) };
        self.ledger.progress(remaining, vec![bounds])
    }
}
