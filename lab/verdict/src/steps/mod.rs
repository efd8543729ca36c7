//! Change points by ranks: steps too small for [`bits`](crate::bits), without false alarms by spikes or heavy tails.
//!
//! Of all places where a section could be cut, the statistic takes the one where the ranks before and behind differ most:
//! the Mann-Whitney statistic, standardised and maximised over the place (Hawkins and Deng, "A nonparametric change-point
//! control chart", Journal of Quality Technology 42, 2010; after Pettitt 1979). Its threshold is no table and no assumption
//! about the noise: the same samples in random orders say how large it gets by chance (a permutation test), which is exact
//! for every distribution as long as samples do not depend on each other. A section that is cut is searched again on both
//! sides (binary segmentation; Vostrikova 1981). A bump hides from a single cut, so where there is none, two at once are
//! looked for in the same way (circular binary segmentation: Olshen, Venkatraman, Lucito, Wigler, Biostatistics 5, 2004).
//!
//! A slow drift is no step, but it would be cut into some: where a line tells the samples better than a staircase of the
//! same direction does, it is reported as a drift. Samples that depend on their predecessors deceive any such test;
//! [`Course::correlation`] says how much they do.

mod piece;
mod scan;

use std::ops::Range;

pub use piece::{Level, Piece};

use crate::{Trend, Unusable};
use piece::Line;
use scan::Scan;

/// How much better a line has to tell samples than a staircase (logarithm of the likelihoods' ratio, less half the
/// logarithm of the number of samples for each parameter). Lower, and too many steps in the middle of a series are drifts.
const DRIFT_MARGIN: f64 = 3.5;

/// A series in pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// They follow each other without gaps.
    pub pieces: Vec<Piece>,
    /// The places of samples far from their level; they decided nothing.
    pub outliers: Vec<usize>,
    /// How much a sample takes after the one before it, within pieces: from -1 to 1, and 0 where they are independent. Far
    /// above 0, a change's `chance` is too small, and changes may be none.
    pub correlation: f64,
}

/// Finds the steps and drifts of a series, in the order of measurement; more is better. The same series has the same
/// course each time. Time grows with the square of the number of samples.
pub fn find(samples: &[f64]) -> Result<Course, Unusable> {
    if samples.is_empty() {
        return Err(Unusable::Empty);
    }
    if let Some((index, &value)) = samples.iter().enumerate().find(|(_, sample)| !sample.is_finite()) {
        return Err(Unusable::NotFinite { index, value });
    }
    let mut cuts = Vec::new();
    search(samples, 0..samples.len(), &mut cuts);
    cuts.sort_by_key(|cut| cut.at);
    settle(samples, &mut cuts);
    let pieces = in_pieces(samples, &cuts);
    let (outliers, correlation) = residuals(samples, &pieces);
    Ok(Course { pieces, outliers, correlation })
}

/// A place where a series is cut: before sample `at`.
#[derive(Clone, Copy, Debug)]
struct Cut {
    at: usize,
    /// How often chance alone makes as clear a cut in its section.
    chance: f64,
}

fn search(samples: &[f64], section: Range<usize>, cuts: &mut Vec<Cut>) {
    let Some((stretch, chance)) = Scan::new(&samples[section.clone()]).significant() else { return };
    let (start, end) = (section.start + stretch.start, section.start + stretch.end);
    let inner = [start, end].into_iter().filter(|at| *at > section.start && *at < section.end);
    cuts.extend(inner.map(|at| Cut { at, chance }));
    let parts = [section.start..start, start..end, end..section.end];
    parts.into_iter().filter(|part| !part.is_empty()).for_each(|part| search(samples, part, cuts));
}

/// Where a cut lies best was judged among other changes; now it is, between its neighbours.
fn settle(samples: &[f64], cuts: &mut [Cut]) {
    for index in 0..cuts.len() {
        let start = index.checked_sub(1).map_or(0, |before| cuts[before].at);
        let end = cuts.get(index + 1).map_or(samples.len(), |behind| behind.at);
        if let Some(before) = Scan::new(&samples[start..end]).best_step() {
            cuts[index].at = start + before.end;
        }
    }
}

fn in_pieces(samples: &[f64], cuts: &[Cut]) -> Vec<Piece> {
    let ends = cuts.iter().map(|cut| cut.at).chain([samples.len()]);
    let starts = [0].into_iter().chain(cuts.iter().map(|cut| cut.at));
    let chances = [None].into_iter().chain(cuts.iter().map(|cut| Some(cut.chance)));
    let steps = starts.zip(ends).zip(chances).map(|((start, end), chance)| Piece::level(samples, start..end, chance));
    let mut pieces: Vec<Piece> = Vec::new();
    let steps: Vec<_> = steps.collect();
    let mut rest = steps.as_slice();
    while let Some(first) = rest.first() {
        let stairs = stairs(rest);
        let (taken, behind) = match Line::instead_of(samples, stairs, DRIFT_MARGIN) {
            Some(drift) => (drift, &rest[stairs.len()..]),
            None => (first.clone(), &rest[1..]),
        };
        pieces.push(taken);
        rest = behind;
    }
    for index in 0..pieces.len() {
        let before = index.checked_sub(1).map(|before| pieces[before].level.last());
        if let (Level::Steady(level), Some(before)) = (pieces[index].level, before) {
            pieces[index].trend = trend(before, level);
        }
    }
    pieces
}

fn trend(before: f64, after: f64) -> Trend {
    match after.total_cmp(&before) {
        std::cmp::Ordering::Less => Trend::Regression,
        std::cmp::Ordering::Equal => Trend::Normal,
        std::cmp::Ordering::Greater => Trend::Progression,
    }
}

/// The pieces from the first on that go one way only.
fn stairs(pieces: &[Piece]) -> &[Piece] {
    let mut way = None;
    let is_turn = |pair: &[Piece]| {
        let own = trend(pair[0].level.last(), pair[1].level.last());
        *way.get_or_insert(own) != own
    };
    let turn = pieces.windows(2).position(is_turn);
    &pieces[..turn.map_or(pieces.len(), |turn| turn + 1)]
}

/// Outliers, and the correlation of what is left of neighbours once their levels are taken away.
fn residuals(samples: &[f64], pieces: &[Piece]) -> (Vec<usize>, f64) {
    let mut outliers = Vec::new();
    let (mut products, mut squares) = (0.0, 0.0);
    for piece in pieces {
        let mut residuals = piece.residuals(samples);
        for at in piece::far(&residuals) {
            outliers.push(piece.samples.start + at);
            residuals[at] = 0.0;
        }
        products += residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        squares += residuals.iter().map(|residual| residual * residual).sum::<f64>();
    }
    (outliers, if squares > 0.0 { products / squares } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of three sums, which has no tails and no seed to choose.
    fn noise(at: usize) -> f64 {
        let part = |factor: usize| ((at * factor + 11) % 101) as f64 / 101.0 - 0.5;
        (part(37) + part(59) + part(83)) * 0.6
    }

    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let levels = levels.iter().flat_map(|(size, level)| std::iter::repeat_n(*level, *size));
        levels.enumerate().map(|(at, level)| level + noise(at)).collect()
    }

    fn shape(samples: &[f64]) -> Vec<(Range<usize>, bool, Trend)> {
        let pieces = find(samples).unwrap().pieces;
        let is_drift = |level| matches!(level, Level::Drift { .. });
        pieces.into_iter().map(|piece| (piece.samples, is_drift(piece.level), piece.trend)).collect()
    }

    #[test]
    fn steps_are_found_and_drifts_are_told_from_them() {
        use Trend::{Normal, Progression, Regression};
        assert_eq!(shape(&series(&[(60, 100.0)])), [(0..60, false, Normal)]);
        let down = shape(&series(&[(20, 100.0), (20, 97.0)]));
        assert_eq!(down, [(0..20, false, Normal), (20..40, false, Regression)]);
        let bump = shape(&series(&[(40, 100.0), (10, 103.0), (40, 100.0)]));
        assert_eq!(bump, [(0..40, false, Normal), (40..50, false, Progression), (50..90, false, Regression)]);
        let stairs = shape(&series(&[(20, 100.0), (20, 103.0), (20, 106.0), (20, 109.0)]));
        assert_eq!(stairs.iter().map(|(samples, ..)| samples.start).collect::<Vec<_>>(), [0, 20, 40, 60]);
        let drift: Vec<_> = (0..60).map(|at| 100.0 + at as f64 * 0.1 + noise(at)).collect();
        assert_eq!(shape(&drift), [(0..60, true, Progression)]);
    }

    /// How soon after a large step there is certainty.
    #[test]
    fn a_step_is_found_once_there_are_five_samples_behind_it() {
        let is_found = |behind: usize| shape(&series(&[(40, 100.0), (behind, 90.0)])).len() == 2;
        assert_eq!((1..8).find(|behind| is_found(*behind)), Some(5));
    }

    #[test]
    fn outliers_are_named_and_decide_nothing() {
        let mut samples = series(&[(20, 100.0), (20, 103.0)]);
        samples[7] *= 0.8;
        samples[30] *= 1.5;
        let course = find(&samples).unwrap();
        assert_eq!(course.outliers, [7, 30]);
        assert_eq!(course.pieces.iter().map(|piece| piece.samples.clone()).collect::<Vec<_>>(), [0..20, 20..40]);
        assert!(matches!(course.pieces[1].level, Level::Steady(level) if (level - 103.0).abs() < 0.3));
    }

    #[test]
    fn few_or_equal_samples_are_one_piece() {
        for samples in [&[5.0][..], &[5.0, 1.0], &[1.0, 2.0, 3.0, 4.0], &[0.1; 200]] {
            assert_eq!(find(samples).unwrap().pieces.len(), 1, "{samples:?}");
        }
        assert_eq!(find(&[]), Err(Unusable::Empty));
        assert!(matches!(find(&[1.0, f64::INFINITY]), Err(Unusable::NotFinite { index: 1, .. })));
    }

    #[test]
    fn samples_that_take_after_their_neighbours_are_told() {
        let independent = find(&series(&[(100, 50.0)])).unwrap();
        assert!(independent.correlation.abs() < 0.3, "{}", independent.correlation);
        let waves: Vec<_> = (0..100).map(|at| 50.0 + (at as f64 * 0.9).sin()).collect();
        let course = find(&waves).unwrap();
        assert!(course.correlation > 0.5, "{course:?}");
    }
}
