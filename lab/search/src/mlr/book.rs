//! All trials, and what they say of each target.

use std::collections::BTreeMap;

use super::goal::Target;
use super::grid::{Rung, Width};
use super::tally::{Tally, Verdict};

/// An index into [`Book::targets`].
pub type TargetId = usize;

/// The loads that were tried.
#[derive(Clone, Debug)]
pub struct Book {
    pub targets: Vec<Target>,
    /// For each load a tally for each target.
    loads: BTreeMap<Rung, Vec<Tally>>,
}

/// The relevant bounds of a target: the lowest load that is too high, and the highest that is good below it. Good loads
/// above are of no use: a device may lose more at less load.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interval {
    pub lower: Option<Rung>,
    pub upper: Option<Rung>,
}

impl Interval {
    /// The distance of the bounds, if both are known.
    pub fn width(&self) -> Option<Width> {
        Some(self.upper?.saturating_sub(self.lower?))
    }
}

impl Book {
    pub fn new(targets: Vec<Target>) -> Book {
        Book { targets, loads: BTreeMap::new() }
    }

    /// Enters a trial of an intended duration, which took `effective` seconds in all.
    pub fn add(&mut self, rung: Rung, duration: f64, effective: f64, loss_ratio: f64) {
        let tallies = self.loads.entry(rung).or_insert_with(|| vec![Tally::default(); self.targets.len()]);
        for (tally, target) in tallies.iter_mut().zip(&self.targets) {
            tally.add(target, duration, effective, loss_ratio);
        }
    }

    pub fn bounds(&self, id: TargetId) -> Interval {
        let mut bounds = Interval::default();
        for (rung, tallies) in &self.loads {
            match tallies[id].verdict(&self.targets[id]) {
                Verdict::Lower => bounds.lower = Some(*rung),
                Verdict::Undecided => {}
                Verdict::Upper => {
                    bounds.upper = Some(*rung);
                    break;
                }
            }
        }
        bounds
    }

    /// The tally of a load that was tried.
    pub fn tally(&self, rung: Rung, id: TargetId) -> Option<&Tally> {
        self.loads.get(&rung).map(|tallies| &tallies[id])
    }
}
