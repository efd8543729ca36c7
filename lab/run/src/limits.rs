//! Whether the generator, and not the device, was the limit: of a trial, and of a result.

use std::collections::BTreeMap;

use quiver_generator::Outcome;
use quiver_result::{Figure, LIMITED, Trial};
use quiver_search::Load;
use quiver_search::mlr::GoalResult;
use quiver_suite::field::Device;

use crate::Error;
use crate::figure::figure;

/// The part of the packets that may be unsent before it is the generator that was the limit.
const UNSENT: f64 = 0.001;
/// Share of the ceiling below which a rate still counts as the ceiling: PDR's loss ratio.
const LOST: f64 = 0.005;

/// Evidence whether the generator limited a trial.
pub struct Evidence<'trial> {
    /// The generator's outcome.
    pub outcome: &'trial Outcome,
    /// Losses by name.
    pub losses: &'trial BTreeMap<String, u64>,
    /// The device's kind: each has its own name for a full ring.
    pub device: Device,
    /// The generator's ceiling, in packets per second of both directions.
    pub ceiling: f64,
    /// Ticks for which the generator's worker, and each of the device's, had packets; where both are known.
    pub busy: Option<[f64; 2]>,
}

impl Evidence<'_> {
    /// Whether the generator was the limit: it did not send everything, did not take the device's packets in time, was
    /// at its ceiling, or, in a closed loop, was busy for longer than the device.
    pub fn is_limited(&self) -> bool {
        let Evidence { outcome, losses, .. } = self;
        let unsent = outcome.unsent() as f64 > UNSENT * outcome.intended.unwrap_or(0) as f64;
        let full = match self.device {
            Device::Quiver => losses.contains_key("quiver interface-output tx-full"),
            Device::Testpmd => losses.keys().any(|name| name.ends_with("TX-dropped")),
            Device::Linux | Device::Vpp => false,
        };
        let full = full || losses.contains_key("generator af-packet-input ring-full");
        let is_loop = outcome.intended.is_none();
        let is_busier = is_loop && self.busy.is_some_and(|[generator, device]| generator > device);
        unsent || full || is_busier || self.is_at_ceiling()
    }

    /// Whether packets came back as fast as the generator can send and take them.
    fn is_at_ceiling(&self) -> bool {
        let Outcome { intended, sending, .. } = self.outcome;
        let rate = match intended {
            Some(_) => self.outcome.counts().received as f64 / sending.as_secs_f64().max(1e-9),
            None => self.outcome.receive_rate(),
        };
        rate >= (1.0 - LOST) * self.ceiling
    }
}

/// Whether the generator was the limit of most of these trials, which are one result. Those that were repeated do not count.
pub fn are_limited<'trial>(trials: impl IntoIterator<Item = &'trial Trial>) -> bool {
    let (mut all, mut limited) = (0, 0);
    for trial in trials.into_iter().filter(|trial| trial.repeated_because.is_none()) {
        all += 1;
        limited += usize::from(trial.is_limited_by_generator);
    }
    2 * limited > all
}

/// The trials at a load.
pub fn at(trials: &[Trial], load: Load) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(move |trial| trial.load_pps.get() == sent_rate(load) as f64)
}

/// Packets per second and direction that are sent for a load.
pub fn sent_rate(load: Load) -> u64 {
    (load.pps().round() as u64).max(1)
}

/// Whether the generator, and not the device, is why a goal was met up to this load only: the largest was good enough, or at the
/// one that was not the generator was the limit.
pub fn is_bound_limited(found: &GoalResult, trials: &[Trial]) -> bool {
    found.upper.is_none_or(|upper| are_limited(at(trials, upper)))
}

/// Adds to the number of results that the generator limited.
pub fn mark(figures: &mut Vec<Figure>, results: impl IntoIterator<Item = bool>) -> Result<(), Error> {
    let more = results.into_iter().filter(|limited| *limited).count() as f64;
    let before = figures.iter().position(|figure| figure.name == LIMITED).map(|at| figures.remove(at).value.get());
    figures.push(figure(LIMITED, before.unwrap_or(0.0) + more, "results")?);
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use std::time::{Duration, SystemTime};

    use quiver_generator::{Counts, Direction};
    use quiver_result::{Amount, Time};
    use quiver_search::mlr::Goal;

    use super::*;

    /// The outcome of 1 s with these packet counts.
    fn outcome(intended: Option<u64>, sent: u64, received: u64) -> Outcome {
        let counts = Counts { sent, received, ..Counts::default() };
        let direction = Direction { counts, latency: None, gaps: None };
        Outcome {
            directions: [direction.clone(), direction],
            intended: intended.map(|intended| 2 * intended),
            sending: Duration::from_secs(1),
            within: 2 * received,
            effective: Duration::from_secs(2),
            drops: BTreeMap::new(),
        }
    }

    fn is_limited(outcome: &Outcome, busy: Option<[f64; 2]>, losses: &[&str]) -> bool {
        let losses = losses.iter().map(|name| ((*name).to_owned(), 1)).collect();
        Evidence { outcome, losses: &losses, device: Device::Quiver, ceiling: 2e6, busy }.is_limited()
    }

    #[test]
    fn a_device_that_carries_what_the_generator_can_offer_is_not_the_limit() {
        let paced = |sent, received| outcome(Some(sent), sent, received);
        assert!(is_limited(&paced(1_000_000, 1_000_000), None, &[]));
        assert!(is_limited(&paced(1_000_000, 996_000), None, &[]));
        assert!(!is_limited(&paced(1_000_000, 990_000), None, &[]));
        assert!(!is_limited(&paced(900_000, 900_000), Some([9.0, 1.0]), &[]));
        // Too little sent, or too little taken.
        assert!(is_limited(&outcome(Some(900_000), 890_000, 890_000), None, &[]));
        assert!(is_limited(&paced(900_000, 899_999), None, &["quiver interface-output tx-full"]));
        assert!(!is_limited(&paced(900_000, 899_999), None, &["quiver memif-input no-buffer"]));
    }

    #[test]
    fn a_closed_loop_is_as_fast_as_whoever_is_busier() {
        let slow = outcome(None, 500_000, 500_000);
        assert!(is_limited(&slow, Some([2e9, 1e9]), &[]));
        assert!(!is_limited(&slow, Some([1e9, 2e9]), &[]) && !is_limited(&slow, None, &[]));
        assert!(is_limited(&outcome(None, 1_000_000, 1_000_000), Some([1e9, 2e9]), &[]));
    }

    /// A trial at a load, without other results.
    pub fn trial(load: f64, is_limited_by_generator: bool, is_repeated: bool) -> Trial {
        let none = || Amount::try_from(0.0).expect("a number");
        Trial {
            start_time: Time::try_from(SystemTime::now()).expect("a time"),
            device: "quiver".into(),
            load_pps: Amount::try_from(load).expect("a load"),
            intended_seconds: none(),
            effective_seconds: none(),
            sent_packets: 0,
            received_packets: 0,
            losses: BTreeMap::new(),
            is_limited_by_generator,
            repeated_because: is_repeated.then(|| "a reason".to_owned()),
            busy: None,
            core_round_trip: None,
            load_average: None,
            steal_seconds: None,
            clock_hz: None,
            energy: None,
        }
    }

    #[test]
    fn a_bound_is_limited_by_what_failed_above_it() {
        let load = |pps| Load::new(pps).expect("a load");
        let found =
            |upper| GoalResult { goal: Goal::ndr(), lower: Some(load(9.0)), upper, throughput: Some(load(9.0)) };
        let trials = [trial(9.0, true, false), trial(10.0, true, true), trial(10.0, false, false)];
        assert!(is_bound_limited(&found(None), &trials));
        assert!(!is_bound_limited(&found(Some(load(10.2))), &trials));
        let unsent = [trial(10.0, true, false), trial(10.0, true, false), trial(10.0, false, false)];
        assert!(is_bound_limited(&found(Some(load(10.2))), &unsent));
        assert!(!are_limited([]) && !are_limited(&trials[1..]) && are_limited(&unsent));
    }

    #[test]
    fn limited_results_are_counted_in_one_figure() {
        let mut figures = Vec::new();
        mark(&mut figures, [false]).expect("a figure");
        assert_eq!((figures.len(), figures[0].value.get()), (1, 0.0));
        mark(&mut figures, [true, false, true]).expect("a figure");
        assert_eq!((figures.len(), figures[0].value.get(), &*figures[0].name), (1, 2.0, "limited_by_generator"));
    }
}
