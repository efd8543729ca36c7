//! Multi-core speed-up: the rate without loss with one core, with two, and so on, of a device that is started for each.

use quiver_result::{Figure, Outcome, Trial as Record};
use quiver_search::cores::{CoresSearch, SpeedUp, speed_up};
use quiver_search::mlr::{Goal, GoalResult};
use quiver_search::{Load, Progress, Search, Step, Trial, TrialResult};
use quiver_suite::Case;

use crate::bed::{Bed, Manner};
use crate::document::Test;
use crate::figure::figure;
use crate::limits::{is_bound_limited, mark};
use crate::so_far::Known;
use crate::{Error, Place, Stop, Terms};

/// Numbers of cores up to the case's: each twice the one before.
pub(crate) fn numbers(cores: u16) -> Vec<u16> {
    let mut numbers: Vec<u16> = (0..16).map(|power| 1 << power).take_while(|number| *number < cores).collect();
    numbers.push(cores);
    numbers
}

/// Runs a case with each number of cores.
pub(crate) fn run(
    case: &Case,
    place: &Place,
    terms: &Terms,
    stop: &Stop,
    test: &mut Test<'_>,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    let cases: Vec<Case> = numbers(case.cores).into_iter().map(|cores| Case { cores, ..*case }).collect();
    // The last one needs most: what it lacks is said before anything is measured.
    let Some(mut at) = cases.last() else { return Err(Error::Nothing("there is no number of cores")) };
    let mut bed = Some(Bed::start(at, place, terms, stop)?);
    let max_load = bed.as_ref().map_or(Ok(Load::default()), Bed::max_load)?;
    let search = |case: &Case| {
        let search = terms.lengths.mlr(vec![Goal::ndr()], max_load)?.search()?;
        Ok::<_, Error>((case.cores.into(), search))
    };
    // Behind how many trials of the document those of each number of cores begin.
    let mut begins = Vec::new();
    let mut search = CoresSearch::new(cases.iter().map(search).collect::<Result<Vec<_>, _>>()?);
    let measure = |cores: u32, trial: Trial| {
        if u32::from(at.cores) != cores {
            // Ended first: both would be on the same cores.
            if let Some(mut old) = bed.take() {
                test.learn(&mut old);
                old.end()?;
            }
            at = cases.iter().find(|case| u32::from(case.cores) == cores).unwrap_or(at);
        }
        let running = match &mut bed {
            Some(bed) => bed,
            none => none.insert(Bed::start(at, place, terms, stop)?),
        };
        if begins.last().is_none_or(|(last, _)| *last != cores) {
            begins.push((cores, test.trials.len()));
        }
        Ok(running.trial(trial, Manner::default())?.0)
    };
    let mut known = Known::default();
    let done = drive(&mut search, measure, &mut |progress| {
        known.learn(progress);
        tell(progress);
    });
    if done.is_err() {
        test.figures.extend(known.figures()?);
    }
    if let Some(mut last) = bed {
        test.learn(&mut last);
        last.end()?;
    }
    report(search.done(), &mut test.figures)?;
    mark(&mut test.figures, limited(search.done(), &begins, &test.trials))?;
    done.map(|()| Outcome::Unknown {})
}

/// Asks for trials with the cores that each is for, until all numbers of cores are done.
fn drive<S: Search>(
    search: &mut CoresSearch<S>,
    mut measure: impl FnMut(u32, Trial) -> Result<TrialResult, Error>,
    tell: &mut dyn FnMut(&Progress),
) -> Result<(), Error>
where
    S::Outcome: Clone,
{
    while let Step::Trial(trial) = search.next()? {
        let cores = search.cores().ok_or(Error::Nothing("no number of cores is searched"))?;
        let result = measure(cores, trial)?;
        search.record(result)?;
        tell(&search.progress());
    }
    Ok(())
}

/// Whether the generator was the limit, for each number of cores whose first trial is known.
fn limited(done: &[(u32, Vec<GoalResult>)], begins: &[(u32, usize)], trials: &[Record]) -> Vec<bool> {
    let of = |(cores, found): &(u32, Vec<GoalResult>)| {
        let at = begins.iter().position(|(begun, _)| begun == cores)?;
        let end = begins.get(at + 1).map_or(trials.len(), |(_, end)| *end);
        Some(is_bound_limited(found.first()?, trials.get(begins[at].1..end)?))
    };
    done.iter().filter_map(of).collect()
}

/// Figures so far: rates of both directions, speed-up over the fewest cores, and efficiency per core.
fn report(done: &[(u32, Vec<GoalResult>)], figures: &mut Vec<Figure>) -> Result<(), Error> {
    let lower = |found: &[GoalResult]| found.first().and_then(|found| found.lower).unwrap_or_default();
    let rates: Vec<(u32, Load)> = done.iter().map(|(cores, found)| (*cores, lower(found))).collect();
    for SpeedUp { cores, rate, factor, efficiency } in speed_up(&rates) {
        figures.push(figure(&format!("ndr_{cores}c"), 2.0 * rate.pps(), "pps")?);
        figures.push(figure(&format!("speed_up_{cores}c"), factor, "times")?);
        figures.push(figure(&format!("efficiency_{cores}c"), efficiency, "share")?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lengths;
    use crate::limits::tests::trial;

    #[test]
    fn cores_are_doubled() {
        for (cores, expected) in [(1, &[1][..]), (2, &[1, 2]), (4, &[1, 2, 4]), (6, &[1, 2, 4, 6]), (8, &[1, 2, 4, 8])]
        {
            assert_eq!(numbers(cores), expected);
        }
    }

    #[test]
    fn each_number_of_cores_is_limited_by_its_own_trials() {
        let found = |upper| {
            let upper = Some(Load::new(upper).expect("a load"));
            vec![GoalResult { goal: Goal::ndr(), lower: None, upper, throughput: None }]
        };
        let trials = [trial(5.0, false, false), trial(5.0, true, false), trial(5.0, true, false)];
        let done = [(1, found(5.0)), (2, found(5.0)), (4, found(5.0))];
        assert_eq!(limited(&done, &[(1, 0), (2, 1)], &trials), [false, true]);
    }

    /// A device whose third and fourth core are of half the use, and whose trials are asked for with the right cores.
    #[test]
    fn each_number_of_cores_has_its_rate() {
        let max_load = Load::new(1e7).expect("a load");
        let search = |cores| {
            let search = Lengths::SHORT.mlr(vec![Goal::ndr()], max_load).and_then(|mlr| mlr.search());
            (cores, search.expect("a search"))
        };
        let mut search = CoresSearch::new([1, 2, 4].map(search));
        let mut asked = Vec::new();
        let measure = |cores: u32, trial: Trial| {
            asked.push(cores);
            let most = 1e6 * [0.0, 1.0, 2.0, 2.5, 3.0][cores as usize];
            let passed = (trial.load.pps().min(most) / trial.load.pps() * trial.packets() as f64) as u64;
            Ok(TrialResult::ideal(trial, passed))
        };
        drive(&mut search, measure, &mut |_| {}).expect("an end");
        asked.dedup();
        assert_eq!(asked, [1, 2, 4]);
        let mut figures = Vec::new();
        report(search.done(), &mut figures).expect("figures");
        let value = |name: &str| figures.iter().find(|figure| figure.name == name).map(|figure| figure.value.get());
        for (name, expected) in
            [("ndr_1c", 2e6), ("speed_up_1c", 1.0), ("speed_up_2c", 2.0), ("speed_up_4c", 3.0), ("efficiency_4c", 0.75)]
        {
            let value = value(name).expect(name);
            assert!((value / expected - 1.0).abs() < 0.06, "{name}: {value}");
        }
    }
}
