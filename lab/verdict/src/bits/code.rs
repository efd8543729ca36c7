//! Description length of a group of samples, by the code of jumpavg 0.4.2.

use std::f64::consts::{LN_2, PI};

use super::Resolution;
use crate::{Moments, Unusable};

/// The scale of a series: lengths of code count differences in units, up to the largest sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    unit: f64,
    /// The largest sample, in units.
    max: f64,
}

impl Code {
    /// For samples of at most `max`.
    pub fn new(max: f64, resolution: Resolution) -> Result<Code, Unusable> {
        let (Resolution::Unit(value) | Resolution::SignificantBits(value)) = resolution;
        if !value.is_finite() || value <= 0.0 {
            return Err(Unusable::Resolution { value });
        }
        if max <= 0.0 {
            return Err(Unusable::NotPositive);
        }
        let unit = match resolution {
            Resolution::Unit(unit) => unit,
            Resolution::SignificantBits(bits) => max / ((bits + 1.0).exp2() - 1.0),
        };
        Ok(Code { unit, max: max / unit })
    }

    /// Bits of a group after a predecessor with this average, if there is one.
    pub fn bits(&self, group: Moments, previous: Option<f64>) -> f64 {
        // Once more through the sum: the library does, and it rounds.
        let group = Moments::of([group]);
        if group.size == 0 {
            return 0.0;
        }
        let own = self.size(group.size) + self.average(group.average / self.unit, previous);
        if group.size == 1 {
            return own;
        }
        let deviation = group.deviation / self.unit;
        own + self.deviation(deviation) + samples(group.size as f64, deviation)
    }

    /// A group of n samples is as likely as 1/n(n+1).
    fn size(&self, size: usize) -> f64 {
        let size = size as f64;
        log2(size * (size + 1.0))
    }

    /// The first average is anywhere up to the largest sample; a later one is the likelier, the farther it is from the one
    /// before, since it would not be a group of its own otherwise.
    fn average(&self, average: f64, previous: Option<f64>) -> f64 {
        let Some(previous) = previous.map(|previous| previous / self.unit) else { return log2(self.max + 1.0) };
        let norm = previous * previous - (previous - 1.0) * self.max + self.max * self.max / 2.0;
        -log2(((average - previous).abs() + 1.0) / norm)
    }

    /// Bits of a deviation, coded like the size, up to the largest sample.
    fn deviation(&self, deviation: f64) -> f64 {
        log2((deviation + 1.0) * (deviation + 2.0)) + log2(1.0 - 1.0 / (self.max + 2.0))
    }
}

/// Given average and deviation, n samples lie on a sphere of n-2 dimensions: the logarithm of its surface.
fn samples(size: f64, deviation: f64) -> f64 {
    let half = (size - 1.0) / 2.0;
    let unit_sphere = LN_2 + PI.ln() * half - libm::lgamma(half);
    let radius = (deviation + 1.0).ln() * (size - 2.0) + size.ln() * ((size - 2.0) / 2.0);
    (unit_sphere + radius) / LN_2
}

/// Logarithm to the base 2, computed by the natural one as in the library.
fn log2(value: f64) -> f64 {
    value.ln() / LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand: a unit of 1, and a largest sample of 14 units.
    #[test]
    fn lengths_are_those_of_the_code() {
        let code = Code::new(14.0, Resolution::Unit(1.0)).unwrap();
        let is = |bits: f64, expected: f64| assert!((bits - expected).abs() < 1e-12, "{bits} {expected}");
        // One sample: log2(1 * 2) for the size, log2(15) for the average.
        is(code.bits(Moments::from(3.0), None), 1.0 + 15f64.log2());
        // 7 after 7: norm 49 - 84 + 98 = 63, and a difference of nothing.
        is(code.bits(Moments::from(7.0), Some(7.0)), 1.0 + 63f64.log2());
        // Two equal samples lie on a pair of points: log2(2 * 3), log2(15), log2(1 * 2), log2(15 / 16), log2(2).
        let two = Moments { size: 2, average: 7.0, deviation: 0.0 };
        is(code.bits(two, None), 6f64.log2() + 15f64.log2() + 1.0 + (15f64 / 16.0).log2() + 1.0);
        // Seven ones are three bits and a half of them: the default's way to find the unit.
        assert_eq!(Code::new(7.0, Resolution::SignificantBits(2.0)).unwrap(), Code { unit: 1.0, max: 7.0 });
        is(code.bits(Moments::default(), None), 0.0);
    }
}
