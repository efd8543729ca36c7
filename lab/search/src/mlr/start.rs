//! The first trials: the rate at which packets come back when everything is sent is a hint where to look.

use super::book::Interval;
use super::goal::Target;
use super::grid::{Grid, Rung, Width};
use super::place::place;

/// Up to three trials that serve all goals: as long as the longest of their first trials, for the smallest loss, with the
/// largest width.
#[derive(Clone, Debug)]
pub struct Start {
    duration: f64,
    loss_ratio: f64,
    width: Width,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    AtTop,
    /// At the rate that came back of the top.
    AtRate(Rung),
    /// On the other side of the answer, presumably, of the trial before.
    Beyond {
        before: Rung,
        rung: Rung,
    },
}

/// The loads of the last two trials, the lower one first; the same twice if there is nothing between.
pub type Last = (Rung, Rung);

impl Start {
    /// For the easiest targets of all goals.
    pub fn new<'a>(grid: &Grid, easiest: impl Iterator<Item = &'a Target>) -> Start {
        let start = Start { duration: 0.0, loss_ratio: 1.0, width: 0, stage: Stage::AtTop };
        easiest.fold(start, |start, target| Start {
            duration: start.duration.max(target.trial),
            loss_ratio: start.loss_ratio.min(target.loss_ratio),
            width: grid.wider(start.width, target.width),
            ..start
        })
    }

    /// The load and the seconds of the next trial.
    pub fn trial(&self, grid: &Grid) -> (Rung, f64) {
        let rung = match self.stage {
            Stage::AtTop => grid.top(),
            Stage::AtRate(rung) | Stage::Beyond { rung, .. } => rung,
        };
        (rung, self.duration)
    }

    /// Takes the loss ratio of the trial; gives the last loads when enough is known.
    pub fn record(&mut self, grid: &Grid, loss_ratio: f64) -> Option<Last> {
        let (rung, _) = self.trial(grid);
        let up_to = |upper| Interval { lower: None, upper: Some(upper) };
        let rate = self.rate(grid, rung, loss_ratio);
        let next = match self.stage {
            Stage::AtTop if rate >= grid.top() => None,
            Stage::AtTop => place(grid, rate, self.width, up_to(rung)),
            Stage::AtRate(_) if loss_ratio > self.loss_ratio => place(grid, rate, self.width, up_to(rung)),
            Stage::AtRate(_) => {
                let bounds = Interval { lower: Some(rung), upper: Some(grid.top()) };
                place(grid, grid.up(rung, self.width), self.width, bounds)
            }
            Stage::Beyond { before, rung } => return Some((before.min(rung), before.max(rung))),
        };
        self.stage = match (self.stage, next) {
            (_, None) => return Some((rung, rung)),
            (Stage::AtTop, Some(next)) => Stage::AtRate(next),
            (_, Some(next)) => Stage::Beyond { before: rung, rung: next },
        };
        None
    }

    /// The rate at which packets came back, raised by the loss that the goals allow anyway.
    fn rate(&self, grid: &Grid, rung: Rung, loss_ratio: f64) -> Rung {
        let rate = grid.load(rung) * (1.0 - loss_ratio);
        grid.floor(rate * (1.0 / (1.0 - self.loss_ratio)))
    }
}
