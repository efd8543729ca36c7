//! The course of a series: pieces, change points and anomalies, as `quiver-verdict` finds them.

use quiver_verdict::bits::{Resolution, Run, classify};
use quiver_verdict::steps::{Level, find};
use quiver_verdict::{Trend as Direction, Unusable};
use serde_json::{Value, json};

use crate::columns::number;

/// Pieces by ranks, with outliers, and the groups that CSIT's jumpavg makes.
#[derive(Clone, Debug, Default)]
pub struct Trend {
    /// Pieces between change points, in order.
    pub pieces: Vec<Change>,
    /// Places of samples far from their level.
    pub outliers: Vec<usize>,
    /// How much a sample takes after the one before it.
    pub correlation: f64,
    /// Groups after jumpavg, in order.
    pub groups: Vec<Change>,
}

/// A piece or group of a series, and its change against the one before.
#[derive(Clone, Debug)]
pub struct Change {
    /// The first sample, and the first behind.
    pub samples: (usize, usize),
    /// Level at the first and at the last sample.
    pub level: (f64, f64),
    /// Against the piece before: better, worse or neither.
    pub direction: Direction,
    /// How often chance alone makes such a change, if that was computed.
    pub chance: Option<f64>,
}

impl Trend {
    /// The course of samples in the order of time. `is_cost` says that less is better.
    ///
    /// # Errors
    /// There is no sample, or one is no number.
    pub fn of(samples: &[f64], is_cost: bool) -> Result<Trend, Unusable> {
        let course = find(samples)?;
        let pieces = course.pieces.iter().map(|piece| Change {
            samples: (piece.samples.start, piece.samples.end),
            level: match piece.level {
                Level::Steady(level) => (level, level),
                Level::Drift { first, last } => (first, last),
            },
            direction: turned(piece.trend, is_cost),
            chance: piece.chance,
        });
        let runs: Vec<Run> = samples.iter().copied().map(Run::One).collect();
        // Samples that are all zero have no groups there.
        let groups = classify(&runs, Resolution::default()).unwrap_or_default();
        let groups = groups.iter().map(|group| Change {
            samples: (group.runs.start, group.runs.end),
            level: (group.moments.average, group.moments.average),
            direction: turned(group.trend, is_cost),
            chance: None,
        });
        Ok(Trend {
            pieces: pieces.collect(),
            outliers: course.outliers.clone(),
            correlation: course.correlation,
            groups: groups.collect(),
        })
    }

    /// As a data file has it: pieces and groups as rows `[start, end, first, last, direction, chance]`.
    pub fn json(&self) -> Value {
        let rows = |changes: &[Change]| changes.iter().map(Change::json).collect::<Vec<_>>();
        json!({
            "pieces": rows(&self.pieces),
            "outliers": self.outliers,
            "correlation": number(self.correlation),
            "groups": rows(&self.groups),
        })
    }
}

impl Change {
    fn json(&self) -> Value {
        let direction = sign(self.direction);
        let (start, end) = self.samples;
        json!([start, end, number(self.level.0), number(self.level.1), direction, self.chance])
    }
}

/// 1 for better, -1 for worse, 0 for neither.
pub fn sign(direction: Direction) -> i8 {
    match direction {
        Direction::Normal => 0,
        Direction::Progression => 1,
        Direction::Regression => -1,
    }
}

/// The verdicts take more for better.
fn turned(direction: Direction, is_cost: bool) -> Direction {
    match direction {
        Direction::Progression if is_cost => Direction::Regression,
        Direction::Regression if is_cost => Direction::Progression,
        direction => direction,
    }
}
