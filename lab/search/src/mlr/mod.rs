//! MLRsearch: for several goals at once, the highest load whose loss is within the goal.
//!
//! After draft-ietf-bmwg-mlrsearch. It asks for the very trials of FD.io's library of that name, version 1.2.1, and comes
//! to the same results; a test drives both against the same devices.
//!
//! A goal is reached by way of easier targets: wider intervals, shorter trials. Each goal has a [`selector`] that nominates
//! the trial it needs next; the lowest load wins, its result goes into the [`book`], where it counts for all goals.
//! [`start`] finds out where to begin, [`grid`] has the loads, [`tally`] classifies them, [`place`] keeps them apart.

mod book;
mod goal;
mod grid;
mod place;
mod selector;
mod start;
mod tally;

use serde::Serialize;

use book::{Book, Interval, TargetId};
pub use goal::Goal;
use grid::{Grid, Rung, Width};
use selector::{Nomination, Selector, View};
use start::Start;

use crate::search::Ledger;
use crate::{Bounds, Error, Load, Progress, Search, Seconds, Step, Trial, TrialResult};

/// Settings of the search.
#[derive(Clone, PartialEq, Debug)]
pub struct Mlr {
    /// At least one. Earlier ones go first where all else is equal.
    pub goals: Vec<Goal>,
    /// The smallest load that is worth a trial.
    pub min_load: Load,
    /// The largest load that can be sent.
    pub max_load: Load,
    /// One trial at the largest load whose result does not count; none if 0.
    pub warm_up: Seconds,
    /// The effective durations of all trials together, if they are limited.
    pub limit: Option<Seconds>,
}

impl Mlr {
    /// CSIT's search for [`Goal::ndr`] and [`Goal::pdr`], from 9,001 packets per second on.
    pub fn csit(max_load: Load) -> Mlr {
        Mlr {
            goals: vec![Goal::ndr(), Goal::pdr()],
            min_load: Load::known(9001.0),
            max_load,
            warm_up: Seconds::default(),
            limit: Some(Seconds::known(1200.0)),
        }
    }

    /// Begins.
    ///
    /// # Errors
    /// [`Error::Setting`] names what is wrong.
    pub fn search(self) -> Result<MlrSearch, Error> {
        let refused =
            |field, value: String, remedy| Err(Error::Setting { of: "MLRsearch".into(), field, value, remedy });
        let (min, max) = (self.min_load, self.max_load);
        if self.goals.is_empty() {
            return refused("goals", "empty".into(), "at least one");
        }
        if min.pps() <= 0.0 {
            return refused("min_load", min.to_string(), "above 0");
        }
        if min >= max {
            return refused("max_load", max.to_string(), "above min_load");
        }
        self.goals.iter().try_for_each(Goal::check)?;
        let widths: Vec<f64> = self.goals.iter().map(|goal| goal.relative_width).collect();
        let Some(grid) = Grid::new(min.pps(), max.pps(), &widths) else {
            return refused("relative_width", format!("{widths:?}"), "wider, or less different");
        };
        let (mut targets, mut first) = (Vec::new(), Vec::new());
        for goal in &self.goals {
            first.push(targets.len());
            targets.extend(goal.targets(&grid));
        }
        let start = Start::new(&grid, first.iter().map(|first| &targets[*first]));
        let phase = match self.warm_up.seconds() > 0.0 {
            true => Phase::WarmUp(start),
            false => Phase::Start(start),
        };
        let book = Book::new(targets);
        Ok(MlrSearch { mlr: self, grid, book, first, phase, ledger: Ledger::default(), asked: None })
    }
}

/// The result for a goal.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GoalResult {
    /// The goal.
    pub goal: Goal,
    /// The highest load that is within the goal, below all that are known not to be.
    pub lower: Option<Load>,
    /// The lowest load that is not within the goal. None if the device passes the largest load.
    pub upper: Option<Load>,
    /// Forwarding rate at the lower bound: the draft's "Conditional Throughput".
    pub throughput: Option<Load>,
}

/// The search, between two trials.
#[derive(Clone, Debug)]
pub struct MlrSearch {
    mlr: Mlr,
    grid: Grid,
    book: Book,
    /// The first target of each goal.
    first: Vec<TargetId>,
    phase: Phase,
    ledger: Ledger,
    asked: Option<Asked>,
}

#[derive(Clone, Debug)]
enum Phase {
    WarmUp(Start),
    Start(Start),
    Select { selectors: Vec<Selector>, stride: Width },
}

/// Which load the trial is for, and whose wish it is.
#[derive(Clone, Copy, Debug)]
struct Asked {
    rung: Rung,
    by: Option<(usize, Nomination)>,
}

impl MlrSearch {
    /// The bounds of each goal so far. May be called between any two trials.
    pub fn found(&self) -> Vec<GoalResult> {
        let of_goal = |(at, goal): (usize, &Goal)| {
            let id = self.final_target(at);
            let Interval { lower, upper } = self.book.bounds(id);
            let load = |rung: Rung| Load::known(self.grid.load(rung));
            let throughput = lower.and_then(|rung| {
                let loss_ratio = self.book.tally(rung, id)?.loss_at_quantile(&self.book.targets[id]);
                Some(Load::known(self.grid.load(rung) * (1.0 - loss_ratio)))
            });
            GoalResult { goal: goal.clone(), lower: lower.map(load), upper: upper.map(load), throughput }
        };
        self.mlr.goals.iter().enumerate().map(of_goal).collect()
    }

    fn final_target(&self, goal: usize) -> TargetId {
        self.first.get(goal + 1).copied().unwrap_or(self.book.targets.len()) - 1
    }

    /// The bounds of a goal's current target; as long as it has none, those of the targets on the way to it.
    fn narrowed(&self, goal: usize) -> Interval {
        let first = self.first[goal];
        let current = match &self.phase {
            Phase::Select { selectors, .. } => selectors[goal].current(),
            _ => first,
        };
        (first..=current).rev().fold(Interval::default(), |known, id| {
            let bounds = self.book.bounds(id);
            let lower = bounds.lower.filter(|lower| known.upper.is_none_or(|upper| *lower < upper));
            let upper = bounds.upper.filter(|upper| known.lower.is_none_or(|lower| lower < *upper));
            Interval { lower: known.lower.or(lower), upper: known.upper.or(upper) }
        })
    }

    fn ask(&mut self, rung: Rung, duration: f64, by: Option<(usize, Nomination)>) -> Step<Vec<GoalResult>> {
        self.asked = Some(Asked { rung, by });
        let (load, duration) = (Load::known(self.grid.load(rung)), Seconds::known(duration));
        Step::Trial(self.ledger.ask(Trial { load, duration }))
    }

    /// The nomination that goes first, with the number of its goal; none when all goals are reached.
    fn nominate(&mut self) -> Result<Option<(usize, Nomination)>, Error> {
        let Phase::Select { selectors, stride } = &mut self.phase else {
            return Ok(None);
        };
        let view = View { grid: &self.grid, book: &self.book, stride: *stride };
        let mut winner: Option<(usize, Nomination)> = None;
        for (at, selector) in selectors.iter_mut().enumerate() {
            let goal = &self.mlr.goals[at];
            let nomination = selector.nominate(view);
            if nomination.is_none() && goal.fail_fast && self.book.bounds(selector.current()).lower.is_none() {
                return Err(Error::NoLowerBound { goal: goal.name.clone(), load: self.mlr.min_load });
            }
            let first = nomination.filter(|it| winner.is_none_or(|(_, winner)| it.precedes(&winner, &self.grid)));
            winner = first.map(|nomination| (at, nomination)).or(winner);
        }
        Ok(winner)
    }

    fn check_limit(&self) -> Result<(), Error> {
        let spent = Seconds::known(self.ledger.spent);
        match self.mlr.limit {
            Some(limit) if spent >= limit => Err(Error::TimedOut { spent, limit }),
            _ => Ok(()),
        }
    }

    /// About how many seconds of trials remain for a goal: halvings of what its targets have left, each as long as its sum.
    fn remaining(&self, goal: usize) -> f64 {
        let halvings = |from: Width, to: Width| (from as f64 / to.max(1) as f64).log2().ceil().max(0.0);
        let whole = |id: TargetId| self.book.targets[id].sum;
        // Each target after the first looks at the bounds before it again, and splits what is between.
        let later = |ids: std::ops::Range<TargetId>| ids.map(|id| 3.0 * whole(id)).sum::<f64>();
        match &self.phase {
            Phase::WarmUp(_) | Phase::Start(_) => later(self.first[goal]..self.final_target(goal) + 1),
            Phase::Select { selectors, .. } => {
                let (selector, id) = (&selectors[goal], selectors[goal].current());
                let target = &self.book.targets[id];
                let bounds = self.book.bounds(id);
                let missing = [bounds.lower, bounds.upper].iter().filter(|bound| bound.is_none()).count();
                let is_at_end = bounds.lower == Some(self.grid.top()) || bounds.upper == Some(0);
                let splits = bounds.width().map_or(missing as f64, |width| halvings(width, target.width));
                later(selector.to_come()) + if is_at_end { 0.0 } else { splits * target.sum }
            }
        }
    }
}

impl Search for MlrSearch {
    type Outcome = Vec<GoalResult>;

    fn next(&mut self) -> Result<Step<Vec<GoalResult>>, Error> {
        if let Some(trial) = self.ledger.asked() {
            return Ok(Step::Trial(trial));
        }
        match &self.phase {
            Phase::WarmUp(_) => Ok(self.ask(self.grid.top(), self.mlr.warm_up.seconds(), None)),
            Phase::Start(start) => {
                let (rung, duration) = start.trial(&self.grid);
                Ok(self.ask(rung, duration, None))
            }
            Phase::Select { .. } => match self.nominate()? {
                None => Ok(Step::Done(self.found())),
                Some((goal, nomination)) => {
                    self.check_limit()?;
                    Ok(self.ask(nomination.rung, nomination.duration, Some((goal, nomination))))
                }
            },
        }
    }

    fn record(&mut self, result: TrialResult) -> Result<(), Error> {
        let trial = self.ledger.close(&result)?;
        let Asked { rung, by } = self.asked.take().ok_or(Error::NotAsked)?;
        if let Phase::WarmUp(start) = &self.phase {
            self.phase = Phase::Start(start.clone());
            return Ok(());
        }
        let loss_ratio = result.loss_ratio();
        self.book.add(rung, trial.duration.seconds(), result.effective.seconds(), loss_ratio);
        match &mut self.phase {
            Phase::Start(start) => {
                if let Some(last) = start.record(&self.grid, loss_ratio) {
                    let stride = last.1 - last.0;
                    let view = View { grid: &self.grid, book: &self.book, stride };
                    let goals = 0..self.mlr.goals.len();
                    let selector = |at| Selector::new(self.first[at]..self.final_target(at) + 1, last, view);
                    self.phase = Phase::Select { selectors: goals.map(selector).collect(), stride };
                }
            }
            Phase::Select { selectors, stride } => {
                if let Some((goal, nomination)) = by {
                    let view = View { grid: &self.grid, book: &self.book, stride: nomination.width };
                    *stride = selectors[goal].learn(&nomination, view).unwrap_or(nomination.width);
                }
            }
            Phase::WarmUp(_) => {}
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let load = |rung: Option<Rung>| rung.map(|rung| Load::known(self.grid.load(rung)));
        let bounds = self.mlr.goals.iter().enumerate().map(|(at, goal)| {
            let bounds = self.narrowed(at);
            Bounds { name: goal.name.clone(), lower: load(bounds.lower), upper: load(bounds.upper) }
        });
        let remaining = (0..self.mlr.goals.len()).map(|goal| self.remaining(goal)).sum();
        self.ledger.progress(remaining, bounds.collect())
    }
}
