//! Back-to-back frames: how long a burst at the line's rate may be before the device's buffers overflow.
//!
//! RFC 9004, which updates RFC 2544 section 26.4. The longest burst without loss is searched for by halving; a burst that
//! loses is sent again before it is believed. The whole search is repeated, and the mean of its answers is the benchmark:
//! the size of the buffer, as a time, after what the device has forwarded meanwhile is taken off.

use serde::Serialize;

use crate::search::Ledger;
use crate::{Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// Settings of the search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Burst {
    /// The rate within a burst: the most frames of this size that fit on the line, the RFC's "Max Theoretical Frame Rate".
    pub line_rate: Load,
    /// Highest load that the device forwards without loss, by RFC 2544's test. A device that keeps up with the line has
    /// no burst limit.
    pub throughput: Load,
    /// The longest burst to try, in frames.
    pub longest: u64,
    /// Answers differ from the truth by less than so many frames.
    pub resolution: u64,
    /// How often a burst that lost frames is sent again: it fails if it loses each time.
    pub verifications: u32,
    /// How often the search is done.
    pub repetitions: u32,
}

impl Burst {
    /// The RFC's repetitions, 50, of a search for bursts of up to two seconds, to the nearest 16th of a thousandth of these.
    pub fn rfc9004(line_rate: Load, throughput: Load) -> Burst {
        let longest = (line_rate.pps() * 2.0) as u64;
        let resolution = (longest / 16_000).max(1);
        Burst { line_rate, throughput, longest, resolution, verifications: 1, repetitions: 50 }
    }

    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] names what is wrong, among it a throughput that is not below the line's rate.
    pub fn search(self) -> Result<BurstSearch, Error> {
        let refused = |field, value: f64, remedy| {
            Err(Error::Setting { of: "back-to-back frames".into(), field, value: value.to_string(), remedy })
        };
        match () {
            () if self.line_rate.pps() <= 0.0 => refused("line_rate", 0.0, "above 0"),
            () if self.throughput >= self.line_rate => refused(
                "throughput",
                self.throughput.pps(),
                "below line_rate: a device as fast as the line has no limit",
            ),
            () if self.longest < 2 => refused("longest", self.longest as f64, "at least 2 frames"),
            () if self.resolution == 0 => refused("resolution", 0.0, "at least 1 frame"),
            () if self.repetitions == 0 => refused("repetitions", 0.0, "at least 1"),
            () => {
                let halving = Halving { lossless: 0, lossy: None, lost: 0 };
                Ok(BurstSearch { burst: self, ledger: Ledger::default(), halving, lengths: Vec::new() })
            }
        }
    }
}

/// The longest bursts without loss, one of each repetition.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Bursts {
    /// In frames.
    pub lengths: Vec<u64>,
    line_rate: Load,
    throughput: Load,
    longest: u64,
}

impl Bursts {
    /// The mean of the lengths in frames: the benchmark. None before the first repetition is over.
    pub fn average(&self) -> Option<f64> {
        (!self.lengths.is_empty()).then(|| self.lengths.iter().sum::<u64>() as f64 / self.lengths.len() as f64)
    }

    /// Their standard deviation in frames.
    pub fn deviation(&self) -> Option<f64> {
        let average = self.average()?;
        let squares: f64 = self.lengths.iter().map(|length| (*length as f64 - average).powi(2)).sum();
        Some((squares / self.lengths.len() as f64).sqrt())
    }

    /// Whether some repetition found no limit up to the longest burst: the average is a lower bound then.
    pub fn is_cut_off(&self) -> bool {
        self.lengths.contains(&self.longest)
    }

    /// How long the line takes for the average burst, the RFC's "Implied DUT Buffer Time".
    pub fn implied_buffer_time(&self) -> Option<Seconds> {
        Some(Seconds::known(self.average()? / self.line_rate.pps()))
    }

    /// The same without the frames that leave the buffer while others come, the RFC's "Corrected DUT Buffer Time".
    pub fn corrected_buffer_time(&self) -> Option<Seconds> {
        let implied = self.implied_buffer_time()?.seconds();
        Some(Seconds::known(implied - implied * self.throughput.pps() / self.line_rate.pps()))
    }
}

/// One search for the longest burst.
#[derive(Clone, Copy, Debug)]
struct Halving {
    lossless: u64,
    lossy: Option<u64>,
    /// How often the current burst has lost frames.
    lost: u32,
}

/// The search, between two bursts.
#[derive(Clone, Debug)]
pub struct BurstSearch {
    burst: Burst,
    ledger: Ledger,
    halving: Halving,
    lengths: Vec<u64>,
}

impl BurstSearch {
    /// Lengths found so far.
    pub fn bursts(&self) -> Bursts {
        let Burst { line_rate, throughput, longest, .. } = self.burst;
        Bursts { lengths: self.lengths.clone(), line_rate, throughput, longest }
    }

    /// Between which lengths, in frames, the current repetition has its answer: the first made it, the second did not.
    pub fn between(&self) -> (u64, Option<u64>) {
        (self.halving.lossless, self.halving.lossy)
    }

    /// How long to wait after a burst, from its last frame on: until the device has forwarded what it holds at most, and two
    /// seconds more, so that its buffers are empty for sure.
    pub fn settling(&self, trial: &Trial) -> Seconds {
        let frames = trial.packets() as f64;
        let forwarding = frames / self.burst.throughput.pps().max(1.0);
        Seconds::known(2.0 + forwarding)
    }

    /// The burst to try: the longest first, then halves.
    fn frames(&self) -> u64 {
        let Halving { lossless, lossy, .. } = self.halving;
        lossy.map_or(self.burst.longest, |lossy| lossless + (lossy - lossless) / 2)
    }
}

/// A trial of exactly so many frames, whatever a division and a product round to.
fn trial(load: Load, frames: u64) -> Trial {
    let mut duration = frames as f64 / load.pps();
    loop {
        let trial = Trial { load, duration: Seconds::known(duration) };
        if trial.packets() >= frames {
            return trial;
        }
        duration = duration.next_up();
    }
}

impl Search for BurstSearch {
    type Outcome = Bursts;

    fn next(&mut self) -> Result<Step<Bursts>, Error> {
        if let Some(trial) = self.ledger.asked() {
            return Ok(Step::Trial(trial));
        }
        Ok(match self.lengths.len() < self.burst.repetitions as usize {
            true => Step::Trial(self.ledger.ask(trial(self.burst.line_rate, self.frames()))),
            false => Step::Done(self.bursts()),
        })
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        let frames = self.frames();
        self.ledger.close(&result)?;
        let halving = &mut self.halving;
        match result.loss_ratio() > 0.0 {
            true if halving.lost < self.burst.verifications => halving.lost += 1,
            true => *halving = Halving { lossy: Some(frames), lost: 0, ..*halving },
            false => *halving = Halving { lossless: frames, lost: 0, ..*halving },
        }
        let width = halving.lossy.map_or(self.burst.longest - halving.lossless, |lossy| lossy - halving.lossless);
        if width <= self.burst.resolution && (halving.lossy.is_some() || width == 0) {
            self.lengths.push(halving.lossless);
            *halving = Halving { lossless: 0, lossy: None, lost: 0 };
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let Burst { line_rate, longest, resolution, repetitions, .. } = self.burst;
        // A first burst, and halvings; two seconds after each are most of the time.
        let halvings = (longest as f64 / resolution as f64).log2().ceil() + 1.0;
        let to_go = f64::from(repetitions) - self.lengths.len() as f64;
        let each = 2.0 + longest as f64 / line_rate.pps() / halvings;
        self.ledger.progress(to_go * halvings * each, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device with a buffer: what comes faster than it forwards has to fit.
    fn measure(trial: Trial, rate: f64, buffer: u64) -> TrialResult {
        let frames = trial.packets();
        let forwarded = (rate * trial.duration.seconds()) as u64;
        TrialResult::ideal(trial, frames.min(forwarded + buffer))
    }

    #[test]
    fn the_buffer_is_measured() {
        let (line_rate, rate, buffer) = (1e7, 4e6, 6000);
        let burst = Burst::rfc9004(Load::known(line_rate), Load::known(rate));
        let bursts = burst.search().unwrap().run(|trial| measure(trial, rate, buffer)).unwrap();
        assert_eq!((bursts.lengths.len(), bursts.deviation(), bursts.is_cut_off()), (50, Some(0.0), false));
        // While 10,000 frames come 4,000 go.
        let average = bursts.average().unwrap();
        assert!((average - 10_000.0).abs() <= burst.resolution as f64, "{average}");
        let held = bursts.corrected_buffer_time().unwrap().seconds() * line_rate;
        assert!((held - buffer as f64).abs() <= burst.resolution as f64, "{held}");
    }

    #[test]
    fn a_burst_that_loses_once_is_sent_again() {
        let burst = Burst {
            repetitions: 1,
            longest: 1000,
            resolution: 1,
            ..Burst::rfc9004(Load::known(1e6), Load::known(1e5))
        };
        let mut trials = 0;
        let bursts = burst.search().unwrap().run(|trial| {
            trials += 1;
            TrialResult::ideal(trial, trial.packets() - trials % 2)
        });
        let bursts = bursts.unwrap();
        assert_eq!((bursts.lengths.clone(), bursts.is_cut_off(), trials), (vec![1000], true, 2));
    }

    #[test]
    fn a_device_without_a_buffer_has_a_burst_of_none() {
        let burst =
            Burst { repetitions: 2, resolution: 1, longest: 100, ..Burst::rfc9004(Load::known(1e6), Load::known(1e5)) };
        let bursts = burst.search().unwrap().run(|trial| TrialResult::ideal(trial, 0)).unwrap();
        assert_eq!((bursts.average(), bursts.corrected_buffer_time()), (Some(0.0), Some(Seconds::default())));
    }

    #[test]
    fn a_device_as_fast_as_the_line_is_refused() {
        let error = Burst::rfc9004(Load::known(1e6), Load::known(1e6)).search().unwrap_err();
        assert!(error.to_string().contains("throughput is 1000000, must be below line_rate"), "{error}");
    }

    #[test]
    fn bursts_are_of_whole_frames() {
        for frames in (1..100_000).step_by(7) {
            assert_eq!(trial(Load::known(14_880_952.381), frames).packets(), frames);
        }
    }
}
