//! Multi-core speed-up: the same search with more and more cores.

use serde::Serialize;

use crate::{Error, Load, Progress, Search, Seconds, Step, TrialResult};

/// A search for each number of cores, one after the other.
pub struct CoresSearch<S: Search> {
    /// Remaining searches; the last one is the current one.
    searches: Vec<(u32, S)>,
    done: Vec<(u32, S::Outcome)>,
}

impl<S: Search> CoresSearch<S> {
    /// Searches for numbers of cores, in this order.
    pub fn new(searches: impl IntoIterator<Item = (u32, S)>) -> CoresSearch<S> {
        let mut searches: Vec<_> = searches.into_iter().collect();
        searches.reverse();
        CoresSearch { searches, done: Vec::new() }
    }

    /// How many cores the device has to run on for the trial that was asked for.
    pub fn cores(&self) -> Option<u32> {
        self.searches.last().map(|(cores, _)| *cores)
    }

    /// The searches that are done.
    pub fn done(&self) -> &[(u32, S::Outcome)] {
        &self.done
    }
}

impl<S: Search> Search for CoresSearch<S>
where
    S::Outcome: Clone,
{
    type Outcome = Vec<(u32, S::Outcome)>;

    /// The next trial. [`CoresSearch::cores`] tells afterwards how many cores it is for.
    fn next(&mut self) -> Result<Step<Self::Outcome>, Error> {
        while let Some((cores, search)) = self.searches.last_mut() {
            match search.next()? {
                Step::Trial(trial) => return Ok(Step::Trial(trial)),
                Step::Done(outcome) => {
                    self.done.push((*cores, outcome));
                    self.searches.pop();
                }
            }
        }
        Ok(Step::Done(self.done.clone()))
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        self.searches.last_mut().ok_or(Error::NotAsked)?.1.record(result)
    }

    /// Progress of the current search; the remaining time is that of all.
    fn progress(&self) -> Progress {
        let mut progresses = self.searches.iter().rev().map(|(_, search)| search.progress());
        let current = progresses.next().unwrap_or_default();
        progresses.fold(current, |mut all, progress| {
            let both = all.remaining.zip(progress.remaining);
            all.remaining = both.map(|(one, other)| Seconds::known(one.seconds() + other.seconds()));
            all
        })
    }
}

/// Speed-up by more cores.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SpeedUp {
    /// The number of cores.
    pub cores: u32,
    /// The rate with these cores.
    pub rate: Load,
    /// How many times as much as the fewest cores.
    pub factor: f64,
    /// The factor by that of the cores: 1 if each core adds as much as those before.
    pub efficiency: f64,
}

/// Rates by numbers of cores, compared with the fewest cores that do anything at all.
pub fn speed_up(rates: &[(u32, Load)]) -> Vec<SpeedUp> {
    let of_use = rates.iter().filter(|(cores, rate)| *cores > 0 && rate.pps() > 0.0);
    let Some(&(fewest, base)) = of_use.min_by_key(|(cores, _)| *cores) else {
        return Vec::new();
    };
    let compared = |&(cores, rate): &(u32, Load)| {
        let factor = rate.pps() / base.pps();
        SpeedUp { cores, rate, factor, efficiency: factor * f64::from(fewest) / f64::from(cores) }
    };
    rates.iter().filter(|(cores, _)| *cores > 0).map(compared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Behaviour, Device};
    use crate::mlr::Mlr;

    #[test]
    fn each_number_of_cores_has_its_search() {
        let search = |cores| (cores, Mlr::csit(Load::known(2e7)).search().unwrap());
        let mut search = CoresSearch::new([1, 2, 4].map(search));
        let alone = search.searches[0].1.progress().remaining.unwrap().seconds();
        assert!((search.progress().remaining.unwrap().seconds() / alone - 3.0).abs() < 1e-9);
        // The third and fourth core are of half the use.
        let rate = |cores| 2e6 * [0.0, 1.0, 2.0, 2.5, 3.0][cores as usize];
        let outcome = loop {
            match search.next().unwrap() {
                Step::Done(outcome) => break outcome,
                Step::Trial(trial) => {
                    let mut device = Device::new(Behaviour::Hard { rate: rate(search.cores().unwrap()) }, 1);
                    search.record(device.measure(trial)).unwrap();
                }
            }
        };
        let rates: Vec<_> = outcome.iter().map(|(cores, found)| (*cores, found[0].lower.unwrap())).collect();
        let speed_up = speed_up(&rates);
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
        let expected = [(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 3.0, 0.75)];
        for (got, (cores, factor, efficiency)) in speed_up.iter().zip(expected) {
            assert!(got.cores == cores && near(got.factor, factor) && near(got.efficiency, efficiency), "{got:?}");
        }
        assert_eq!((speed_up.len(), search.cores()), (3, None));
    }

    #[test]
    fn a_device_that_does_nothing_has_no_speed_up() {
        assert_eq!(speed_up(&[(1, Load::default()), (2, Load::default())]), []);
        assert_eq!(speed_up(&[]), []);
    }
}
