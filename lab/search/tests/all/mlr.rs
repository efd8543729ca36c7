//! Properties of MLRsearch that hold for any device.

use proptest::prelude::*;
use quiver_search::device::{Behaviour, Device};
use quiver_search::mlr::{Goal, Mlr, MlrSearch};
use quiver_search::{Error, Load, Search, Seconds, Step, TrialResult};

fn load(pps: f64) -> Load {
    Load::new(pps).unwrap()
}

fn csit() -> Mlr {
    Mlr::csit(load(14_880_952.0))
}

fn search(mlr: Mlr, behaviour: Behaviour) -> (MlrSearch, Result<(), Error>) {
    let mut device = Device::new(behaviour, 1);
    let mut search = mlr.search().unwrap();
    let result = search.run(|trial| device.measure(trial)).map(drop);
    (search, result)
}

/// The figures are those that CSIT's search comes to for this device.
#[test]
fn a_hard_limit_is_found_as_csit_finds_it() {
    let (search, result) = search(csit(), Behaviour::Hard { rate: 1e7 });
    assert_eq!(result, Ok(()));
    let found = search.found();
    let rounded = |load: Option<Load>| load.map(|load| (load.pps() * 1000.0).round() / 1000.0);
    assert_eq!(rounded(found[0].lower), Some(9_966_639.987));
    assert_eq!(rounded(found[0].upper), Some(10_016_702.964));
    assert_eq!(rounded(found[1].throughput), Some(10_000_000.962));
    let progress = search.progress();
    assert_eq!(
        (progress.trials, progress.spent, progress.remaining),
        (35, Seconds::new(35.0).unwrap(), Some(Seconds::default()))
    );
}

#[test]
fn a_device_without_limits_has_no_upper_bound() {
    let (search, result) = search(csit(), Behaviour::Hard { rate: 1e9 });
    assert_eq!(result, Ok(()));
    for found in search.found() {
        assert_eq!((found.lower, found.upper), (Some(load(14_880_952.0)), None));
        assert_eq!(found.throughput, found.lower);
    }
}

#[test]
fn a_dead_device_is_said_to_be_one() {
    let (search, result) = search(csit(), Behaviour::Hard { rate: 0.0 });
    assert_eq!(result, Err(Error::NoLowerBound { goal: "NDR".into(), load: load(9001.0) }));
    assert_eq!((search.found()[0].lower, search.found()[0].upper), (None, Some(load(9001.0))));
    // Without fail_fast it is an answer.
    let goals = vec![Goal { fail_fast: false, ..Goal::ndr() }];
    let (search, result) = self::search(Mlr { goals, ..csit() }, Behaviour::Hard { rate: 0.0 });
    assert_eq!((result, search.found()[0].lower), (Ok(()), None));
}

#[test]
fn trials_are_limited() {
    let limit = Seconds::new(10.0).unwrap();
    let (search, result) = search(Mlr { limit: Some(limit), ..csit() }, Behaviour::Hard { rate: 1e7 });
    assert_eq!(result, Err(Error::TimedOut { spent: limit, limit }));
    let bounds = &search.progress().bounds[0];
    let (lower, upper) = (bounds.lower.unwrap(), bounds.upper.unwrap());
    assert!(lower <= load(1e7) && load(1e7) < upper, "{bounds:?}");
}

/// Bounds at any time enclose the answer of a device that has one, and come nearer; the end is foreseen as nearer, too.
#[test]
fn it_may_be_left_at_any_time() {
    let mut device = Device::new(Behaviour::Hard { rate: 1e7 }, 1);
    let mut search = csit().search().unwrap();
    let first = search.progress().remaining.unwrap();
    let mut last = None;
    while let Step::Trial(trial) = search.next().unwrap() {
        assert_eq!(search.next().unwrap(), Step::Trial(trial), "asked twice, it is the same");
        search.record(device.measure(trial)).unwrap();
        let ndr = search.progress().bounds[0].clone();
        assert!(ndr.lower.is_none_or(|lower| lower <= load(1e7)));
        assert!(ndr.upper.is_none_or(|upper| upper > load(1e7)));
        last = search.progress().remaining;
    }
    assert!(first > Seconds::default() && last == Some(Seconds::default()), "{first} {last:?}");
}

#[test]
fn settings_are_refused_by_name() {
    let refused = |mlr: Mlr| mlr.search().unwrap_err().to_string();
    assert_eq!(refused(Mlr { goals: vec![], ..csit() }), "MLRsearch: goals is empty, must be at least one");
    assert_eq!(refused(Mlr { min_load: load(0.0), ..csit() }), "MLRsearch: min_load is 0 pps, must be above 0");
    assert_eq!(refused(Mlr::csit(load(9001.0))), "MLRsearch: max_load is 9001 pps, must be above min_load");
    let goals = [0.9, 1e-8].map(|relative_width| Goal { relative_width, ..Goal::ndr() }).to_vec();
    assert!(refused(Mlr { goals, ..csit() }).contains("relative_width"));
}

#[test]
fn a_refused_result_does_not_count() {
    let mut search = csit().search().unwrap();
    let Step::Trial(trial) = search.next().unwrap() else { panic!("no trial") };
    let surplus = TrialResult::ideal(trial, 3 * trial.packets());
    assert!(matches!(search.record(surplus), Err(Error::Surplus { .. })));
    assert_eq!((search.next().unwrap(), search.progress().trials), (Step::Trial(trial), 0));
}

proptest! {
    /// A device that answers anything at all comes to an end, without a panic.
    #[test]
    fn no_device_breaks_it(parts in prop::collection::vec((0u64..=100, 0u64..=250, 0.01f64..9.0), 1..50)) {
        let goals = vec![Goal::ndr(), Goal::pdr(), Goal { exceed_ratio: 0.3, ..Goal::rfc2544() }, Goal::tst009()];
        let mut search = Mlr { goals, ..csit() }.search().unwrap();
        let mut parts = parts.iter().cycle();
        for _ in 0..2000 {
            let Ok(Step::Trial(trial)) = search.next() else { break };
            let (sent, received, effective) = parts.next().unwrap();
            let intended = trial.packets();
            let (sent, effective) = (intended * sent / 100, Seconds::new(*effective).unwrap());
            let result = TrialResult { intended, sent, received: sent * received / 100, sending: trial.duration, effective };
            if search.record(result).is_err() {
                prop_assert!(*received > 200);
                search.record(TrialResult { received: 0, ..result }).unwrap();
            }
            let progress = search.progress();
            prop_assert!(progress.remaining.is_some_and(|remaining| remaining.seconds().is_finite()));
        }
        prop_assert!(!matches!(search.next(), Ok(Step::Trial(_))), "no end");
    }
}
