//! The pieces of a series: steady levels and drifts, told by medians, so that no single sample decides.

use std::ops::Range;

use crate::Trend;

/// Fewer samples are no level of their own.
pub(super) const PIECE_MIN: usize = 3;

/// Farther from its level, in standard deviations, a sample is an outlier.
const OUTLIER_DEVIATIONS: f64 = 6.0;

/// Standard deviation of normal noise whose median absolute deviation is 1.
const DEVIATION_PER_MEDIAN: f64 = 1.482_602_218_505_602;

/// Trend of the samples within a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// They stay around this median.
    Steady(f64),
    /// They go along a line.
    Drift {
        /// Its value at the piece's first sample.
        first: f64,
        /// Its value at the piece's last sample.
        last: f64,
    },
}

impl Level {
    /// At the piece's end.
    pub fn last(self) -> f64 {
        match self {
            Level::Steady(level) => level,
            Level::Drift { last, .. } => last,
        }
    }
}

/// A part of a series without a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The samples' places in the series.
    pub samples: Range<usize>,
    /// Where they are.
    pub level: Level,
    /// Of a steady piece, the trend against the end of the piece before; of a drift, its own.
    pub trend: Trend,
    /// How often chance alone makes as clear a change as the one that begins this piece, or makes it a drift: at least
    /// 1/2000, the resolution. The first piece of a series, if it is steady, begins with none.
    pub chance: Option<f64>,
}

impl Piece {
    pub(super) fn level(samples: &[f64], range: Range<usize>, chance: Option<f64>) -> Piece {
        let level = Level::Steady(middle(samples[range.clone()].to_vec()));
        Piece { samples: range, level, trend: Trend::Normal, chance }
    }

    /// Samples minus their level.
    pub(super) fn residuals(&self, samples: &[f64]) -> Vec<f64> {
        let line = match self.level {
            Level::Steady(level) => Line { start: level, slope: 0.0 },
            Level::Drift { first, last } => {
                Line { start: first, slope: (last - first) / (self.samples.len() - 1).max(1) as f64 }
            }
        };
        line.residuals(&samples[self.samples.clone()])
    }
}

/// A line by the number of a sample.
pub(super) struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    /// Through the medians: Theil's slope (1950; Sen 1968), and what then is in the middle. There are at least two samples.
    fn through(samples: &[f64]) -> Line {
        let slopes = samples.iter().enumerate().flat_map(|(at, sample)| {
            let behind = samples[at + 1..].iter().zip(1..);
            behind.map(move |(other, distance)| (other - sample) / f64::from(distance))
        });
        let slope = middle(slopes.collect());
        let flat = Line { start: 0.0, slope };
        Line { start: middle(flat.residuals(samples)), slope }
    }

    fn residuals(&self, samples: &[f64]) -> Vec<f64> {
        samples.iter().enumerate().map(|(at, sample)| sample - self.start - self.slope * at as f64).collect()
    }

    /// A drift in the place of these pieces, if it tells their samples better, by `margin`, than a staircase: the difference
    /// of the logarithms of both likelihoods under normal noise, less half the logarithm of the number of samples for each
    /// parameter (Schwarz 1978). Samples far from both say nothing about either.
    pub(super) fn instead_of(samples: &[f64], stairs: &[Piece], margin: f64) -> Option<Piece> {
        let (first, last) = (stairs.first()?, stairs.last()?);
        let steps = stairs.len() - 1;
        if steps == 0 {
            return None;
        }
        let range = first.samples.start..last.samples.end;
        let own = &samples[range.clone()];
        let line = Line::through(own);
        let from_stairs: Vec<f64> = stairs.iter().flat_map(|piece| piece.residuals(samples)).collect();
        let from_line = line.residuals(own);
        let (off_stairs, off_line) = (far(&from_stairs), far(&from_line));
        let is_kept = |at: &usize| !(off_stairs.contains(at) && off_line.contains(at));
        let squares = |residuals: &[f64]| -> f64 {
            (0..residuals.len()).filter(is_kept).map(|at| residuals[at] * residuals[at]).sum()
        };
        let size = own.len() as f64;
        // A level for each step and its place, beside the first level; a line has two.
        let spared = (2 * steps + 1 - 2) as f64;
        let gained = size / 2.0 * (squares(&from_stairs) / squares(&from_line)).ln() + spared * size.ln() / 2.0;
        // Where both tell the samples exactly, there is no such number, and a staircase it stays.
        if gained.is_nan() || gained <= margin {
            return None;
        }
        let (first, last) = (line.start, line.start + line.slope * (size - 1.0));
        let trend = if last < first { Trend::Regression } else { Trend::Progression };
        let chance = stairs.iter().skip(1).filter_map(|piece| piece.chance).reduce(f64::min);
        Some(Piece { samples: range, level: Level::Drift { first, last }, trend, chance })
    }
}

/// The middle one. There is at least one.
pub(crate) fn middle(samples: Vec<f64>) -> f64 {
    crate::median(samples).unwrap_or_default()
}

/// The places of what is far from 0, as the median tells how far the others are.
pub(super) fn far(residuals: &[f64]) -> Vec<usize> {
    let deviation = DEVIATION_PER_MEDIAN * middle(residuals.iter().map(|residual| residual.abs()).collect());
    (0..residuals.len()).filter(|at| residuals[*at].abs() > OUTLIER_DEVIATIONS * deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_lines_pass_over_what_is_far_away() {
        assert_eq!(middle(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(middle(vec![4.0, 1.0, 2.0, 1e9]), 3.0);
        let mut samples: Vec<_> = (0..20).map(|at| 5.0 + 0.5 * f64::from(at)).collect();
        samples[3] = 1e6;
        let line = Line::through(&samples);
        assert!((line.start - 5.0).abs() < 1e-9 && (line.slope - 0.5).abs() < 1e-9, "{} {}", line.start, line.slope);
    }
}
