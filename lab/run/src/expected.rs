//! Estimates the duration of a case before it begins.

use std::time::Duration;

use quiver_search::mlr::Goal;
use quiver_search::{Error, Load, Search as _};
use quiver_suite::Case;
use quiver_suite::field::{Function, Scale, Search};

use crate::Lengths;
use crate::sequence::share;
use crate::speed_up::numbers;

/// A load as good as any: estimates depend on it by its logarithm at most.
const LOAD: f64 = 1e7;
/// Seconds around each trial: packets on their way back, counters of both sides, the round trip of the cores.
const AROUND_TRIAL: f64 = 0.3;
/// Length of a trial in place of the real one, for searches whose own duration includes the time around trials.
const ALL_COUNTED: f64 = f64::INFINITY;
/// Seconds in which generator and device start and end, without entries.
const START: f64 = 3.0;
/// Seconds in which a device takes and gives back a million routes.
const MILLION_ROUTES: f64 = 12.0;

/// About how long a case takes with these lengths behind the case `before` it, its start and end included. MLRsearch takes more time
/// where losses are few and irregular, 20 minutes at most for each search.
///
/// # Errors
/// The lengths are out of a search's range, as the case's own run would say.
pub fn expected(case: &Case, before: Option<&Case>, lengths: Lengths) -> Result<Duration, Error> {
    if before.is_some_and(|before| share(before, case, lengths)) {
        return Ok(Duration::from_secs_f64(0.5 * lengths.ceiling() + AROUND_TRIAL + trials(case, lengths)?));
    }
    let beds = if case.search == Search::SpeedUp { numbers(case.cores).len() as f64 } else { 1.0 };
    let entries = match case.scale {
        Scale::Entries(entries) if matches!(case.function, Function::Ip4 | Function::Ip6) => f64::from(entries),
        _ => 0.0,
    };
    let start = START + 1.5 * lengths.ceiling() + MILLION_ROUTES * entries / 1e6;
    Ok(Duration::from_secs_f64(beds * (start + trials(case, lengths)?)))
}

/// Seconds of all trials of a case with one number of cores.
fn trials(case: &Case, lengths: Lengths) -> Result<f64, Error> {
    let load = Load::new(LOAD)?;
    let goals = |goals| to_go(&lengths.mlr(goals, load)?.search()?, lengths.unit());
    let ndr = || goals(vec![Goal::ndr()]);
    Ok(match case.search {
        Search::Mrr => to_go(&lengths.mrr(load)?.search()?, lengths.unit())?,
        Search::NdrPdr => goals(vec![Goal::ndr(), Goal::pdr()])?,
        Search::Latency => {
            let latency = lengths.latency(load)?;
            goals(vec![Goal::ndr(), Goal::pdr()])? + to_go(&latency.clone().search()?, latency.duration.seconds())?
        }
        Search::Soak => to_go(&lengths.plr(load)?.search()?, ALL_COUNTED)?,
        Search::BackToBack => {
            let throughput = Load::new(LOAD / 2.0)?;
            // Its own estimate has the two seconds behind each burst, which short trials shorten.
            let bursts = lengths.burst(load, throughput).search()?.progress().remaining.unwrap_or_default();
            let settling = lengths.settling(quiver_search::Seconds::new(2.0)?).seconds();
            ndr()? + bursts.seconds() * (settling + AROUND_TRIAL) / 2.0
        }
        Search::Reconf => {
            let reconf = lengths.reconf(load)?;
            ndr()? + to_go(&reconf.search()?, reconf.duration.seconds())?
        }
        Search::ClosedLoop => {
            let (seconds, trials) = lengths.closed_loop();
            (seconds + AROUND_TRIAL) * f64::from(trials)
        }
        Search::Power => lengths.power() + AROUND_TRIAL,
        Search::Endurance => {
            let before = if case.load.is_some() { 0.0 } else { ndr()? };
            before + to_go(&lengths.endurance(load)?.search()?, ALL_COUNTED)?
        }
        Search::SpeedUp => ndr()?,
    })
}

/// Seconds that a search takes from its begin, in trials of `trial` seconds.
fn to_go(search: &impl quiver_search::Search, trial: f64) -> Result<f64, Error> {
    let remaining = search.progress().remaining.unwrap_or_default().seconds();
    Ok(remaining * (1.0 + AROUND_TRIAL / trial))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(suite: &str, lengths: Lengths) -> f64 {
        let text = format!("suites: [{{driver: memif, frame: 64, {suite}}}]");
        let cases = quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite");
        expected(&cases[0], None, lengths).expect("a time").as_secs_f64()
    }

    #[test]
    fn searches_take_as_long_as_their_trials() {
        let csit = |search: &str| seconds(&format!("function: l2xc, search: {search}"), Lengths::CSIT);
        // Ten trials of a second.
        assert!((13.0..20.0).contains(&csit("mrr")), "{}", csit("mrr"));
        assert!((120.0..600.0).contains(&csit("ndrpdr")), "{}", csit("ndrpdr"));
        assert!(csit("latency") > csit("ndrpdr") + 20.0);
        // Half an hour, and four hours.
        assert!((1800.0..2700.0).contains(&csit("soak")), "{}", csit("soak"));
        assert!((4.0 * 3600.0..5.0 * 3600.0).contains(&csit("endurance")), "{}", csit("endurance"));
        let short = seconds("function: l2xc, search: endurance", Lengths::SHORT.enduring(Some(60.0)));
        assert!(short < 360.0, "{short}");
        for search in ["mrr", "ndrpdr", "soak", "closedloop", "latency", "backtoback"] {
            let short = seconds(&format!("function: l2xc, search: {search}"), Lengths::SHORT);
            assert!(short < 60.0 && short < csit(search), "{search}: {short}, {}", csit(search));
        }
    }

    #[test]
    fn routes_take_their_time_and_each_number_of_cores_a_start() {
        let routes = |scale: &str| seconds(&format!("function: ip4, search: mrr, scale: {scale}"), Lengths::SHORT);
        assert!((routes("2m") - routes("8") - 2.0 * MILLION_ROUTES).abs() < 0.1);
        let stations = |scale: &str| seconds(&format!("function: l2bd, search: mrr, scale: {scale}"), Lengths::SHORT);
        assert!((stations("10k") - stations("base")).abs() < 0.1);
        let cores = |cores: u16| seconds(&format!("function: ip4, search: speedup, cores: {cores}"), Lengths::SHORT);
        assert!((cores(8) / cores(2) - 2.0).abs() < 1e-6, "4 numbers of cores, and 2");
    }
}
