//! Means under a probability that is known only up to a factor, and only by its logarithm.
//!
//! It may be a needle a millionth of the axis wide, on a crooked ridge. So each axis is looked at by a few points, and
//! again where these are not negligible, until enough of them are; one axis within the other. Nothing is left to chance: the
//! same trials lead to the same estimate.

use std::ops::Range;

/// A part of the axis from -1 to 1.
pub type Part = Range<f64>;

/// All of it.
pub const WHOLE: Part = -1.0..1.0;

/// Points of an axis in one look.
const POINTS: usize = 15;

/// Number of points that must have weight. Then their distance is below two standard deviations, and the sum over a
/// smooth peak is close enough to its integral.
const OF_WEIGHT: usize = 6;

/// Factor by which the looked-at interval grows when weight seems to lie outside: peaks move by more than their width.
const BEYOND: f64 = 6.0;

/// A point is negligible when the likeliest one is so much likelier, as a logarithm: 5 standard deviations.
const NEGLIGIBLE: f64 = 12.5;

/// More looks than any needle takes that floats can show.
const LOOKS_MAX: usize = 100;

/// Weight of a part of the axis, as a logarithm, with mean and variance of the value on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moments {
    pub ln_weight: f64,
    pub mean: f64,
    pub variance: f64,
}

impl Moments {
    /// The moments of one point.
    pub fn of(ln_weight: f64, value: f64) -> Moments {
        Moments { ln_weight, mean: value, variance: 0.0 }
    }

    fn sum(parts: &[Moments], width: f64) -> Moments {
        let largest = parts.iter().map(|part| part.ln_weight).fold(f64::NEG_INFINITY, f64::max);
        let weight = |part: &Moments| (part.ln_weight - largest).exp();
        let whole: f64 = parts.iter().map(weight).sum();
        let mean_of =
            |of: &dyn Fn(&Moments) -> f64| parts.iter().map(|part| weight(part) * of(part)).sum::<f64>() / whole;
        let mean = mean_of(&|part| part.mean);
        let variance = mean_of(&|part| part.variance + (part.mean - mean).powi(2));
        Moments { ln_weight: largest + (whole * width).ln(), mean, variance }
    }
}

/// Looks at an axis, at first at the part where something is expected. Returns the points that are not negligible, with
/// their logarithms and their distance; `part` becomes where they are. Wants one peak, if a crooked one.
fn look(part: &mut Part, mut ln_weight: impl FnMut(f64) -> f64) -> (Vec<(f64, f64)>, f64) {
    for look in 0.. {
        let (start, width) = (part.start, part.end - part.start);
        let step = width / POINTS as f64;
        let points: Vec<_> =
            (0..POINTS).map(|at| start + (at as f64 + 0.5) * step).map(|x| (x, ln_weight(x))).collect();
        let largest = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        let has_weight = |point: &(f64, f64)| point.1 >= largest - NEGLIGIBLE;
        let (Some(first), Some(last)) = (points.iter().position(has_weight), points.iter().rposition(has_weight))
        else {
            return (points, step);
        };
        // More may be beyond an end.
        let grow = |is_at_end: bool| if is_at_end { BEYOND * width } else { 0.0 };
        let (before, after) =
            (grow(first == 0 && start > WHOLE.start), grow(last == POINTS - 1 && part.end < WHOLE.end));
        if before + after > 0.0 && look < LOOKS_MAX {
            *part = (start - before).max(WHOLE.start)..(part.end + after).min(WHOLE.end);
            continue;
        }
        let found = points[first.saturating_sub(1)].0 - step / 2.0..points[(last + 1).min(POINTS - 1)].0 + step / 2.0;
        if last - first + 1 >= OF_WEIGHT || look >= LOOKS_MAX || found.start + step / 4.0 == found.start {
            *part = found;
            return (points[first..=last].to_vec(), step);
        }
        *part = found;
    }
    unreachable!("looks are bounded")
}

/// Mean and variance of a value on the square of both axes. `parts` are where something is expected, and become where it
/// is.
pub fn integrate(
    parts: &mut [Part; 2],
    ln_likelihood: impl Fn(f64, f64) -> f64,
    value: impl Fn(f64, f64) -> f64,
) -> Moments {
    let [outer, inner] = parts;
    let mut row = |y: f64| {
        let (points, step) = look(inner, |x| ln_likelihood(x, y));
        let moments: Vec<_> = points.iter().map(|(x, ln_weight)| Moments::of(*ln_weight, value(*x, y))).collect();
        Moments::sum(&moments, step)
    };
    let mut rows = Vec::new();
    let (points, step) = look(outer, |y| {
        let moments = row(y);
        rows.push((y, moments));
        moments.ln_weight
    });
    // Those of the last look.
    let of_weight: Vec<_> = rows.split_off(rows.len() - POINTS);
    let is_of_weight = |y: f64| points.iter().any(|point| point.0 == y);
    let moments: Vec<_> = of_weight.into_iter().filter(|row| is_of_weight(row.0)).map(|row| row.1).collect();
    Moments::sum(&moments, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal distribution that is narrow, on a crooked ridge, and as likely as e^-5000.
    #[test]
    fn a_needle_is_found_and_measured() {
        for narrow in [0.1, 1e-3, 1e-6, 1e-9] {
            let (mean, wide) = (0.3, 0.05);
            let ridge = |y: f64| y * y - 0.5;
            let ln_likelihood =
                |x: f64, y: f64| -5000.0 - ((x - ridge(y)) / narrow).powi(2) / 2.0 - ((y - mean) / wide).powi(2) / 2.0;
            let mut parts = [WHOLE, WHOLE];
            for again in [false, true] {
                let moments = integrate(&mut parts, ln_likelihood, |_, y| y);
                assert!((moments.mean - mean).abs() < 1e-3 * wide, "{narrow} {again}: {moments:?}");
                assert!((moments.variance.sqrt() / wide - 1.0).abs() < 1e-2, "{narrow} {again}: {moments:?}");
                let ln_weight = (std::f64::consts::TAU * narrow * wide).ln() - 5000.0;
                assert!((moments.ln_weight - ln_weight).abs() < 1e-3, "{narrow} {again}: {moments:?}");
            }
        }
    }

    /// A peak that moved away from its last interval is found.
    #[test]
    fn a_peak_that_has_moved_is_found_again() {
        let at = |x0: f64| move |x: f64, y: f64| -((x - x0) / 1e-4).powi(2) - ((y - x0) / 1e-4).powi(2);
        let mut parts = [WHOLE, WHOLE];
        for x0 in [-0.9, 0.9, 0.1] {
            let moments = integrate(&mut parts, at(x0), |x, _| x);
            assert!((moments.mean - x0).abs() < 1e-6, "{moments:?}");
        }
    }

    #[test]
    fn what_is_likely_everywhere_has_the_middle_for_its_mean() {
        let moments = integrate(&mut [WHOLE, WHOLE], |_, _| 0.0, |x, _| x);
        assert!(moments.mean.abs() < 1e-12 && (moments.variance - 1.0 / 3.0).abs() < 1e-2, "{moments:?}");
    }
}
