//! The two shapes of loss over load, in logarithms.
//!
//! Both are integrals from 0 to the load of a step that is spread out around `rate`: of a logistic curve, and of a normal
//! one. Far above it all that exceeds the rate is lost, far below almost nothing, but never nothing at all. The search looks
//! at loads where that is less than the smallest float, so only the logarithm is ever computed, and by other terms than the
//! definitions, which would subtract large numbers from each other.

use serde::{Deserialize, Serialize};

use super::normal::{scaled_erfc, scaled_integral_of_erfc};

/// A shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Shape {
    /// `spread * (ln(1 + e^((load - rate) / spread)) - ln(1 + e^(-rate / spread)))`
    Stretch,
    /// The draft's "Erf Function": `spread * (i((rate - load) / spread) - i(rate / spread)) / (1 + erf(rate / spread))`,
    /// where `i` is the integral of erfc from its argument to infinity.
    Erf,
}

/// e to this power is nothing beside e to the power of 0.
const NOTHING: f64 = 40.0;

/// A curve of a shape: the rate that is forwarded at most, and how far from it losses begin. Packets per second, above 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// The shape.
    pub shape: Shape,
    /// The rate, called m or mrr in the draft.
    pub rate: f64,
    /// The spread, called a there.
    pub spread: f64,
}

impl Curve {
    /// The logarithm of the packets per second that are lost on average at a load above 0.
    pub fn ln_loss(&self, load: f64) -> f64 {
        self.spread.ln()
            + match self.shape {
                Shape::Stretch => self.ln_stretch(load),
                Shape::Erf => self.ln_erf(load),
            }
    }

    /// The load between two, `min < max`, at which the given part of the packets is lost; one of the two if it is not
    /// between them. Both shapes lose a larger part of more load, so there is only one.
    pub fn critical_load(&self, min: f64, max: f64, loss_ratio: f64) -> f64 {
        let excess = |load: f64| self.ln_loss(load) - load.ln() - loss_ratio.ln();
        let (mut low, mut high) = ((min, excess(min)), (max, excess(max)));
        if low.1 >= 0.0 || high.1 <= 0.0 {
            return if low.1 >= 0.0 { min } else { max };
        }
        // Secants that halve the weight of an end that stays ("Illinois"), and a bisection whenever they are slow.
        let mut is_slow = false;
        while high.0 - low.0 > high.0 * 1e-14 {
            let secant = high.0 - high.1 * (high.0 - low.0) / (high.1 - low.1);
            let middle = low.0 + (high.0 - low.0) / 2.0;
            let load = if is_slow || !(low.0 < secant && secant < high.0) { middle } else { secant };
            if !(low.0 < load && load < high.0) {
                break;
            }
            let (width, excess) = (high.0 - low.0, excess(load));
            match excess {
                0.0 => return load,
                excess if excess > 0.0 => (low.1, high) = (low.1 / 2.0, (load, excess)),
                excess => (low, high.1) = ((load, excess), high.1 / 2.0),
            }
            is_slow = high.0 - low.0 > width / 2.0;
        }
        low.0 + (high.0 - low.0) / 2.0
    }

    /// ln(ln(1 + e^x) - ln(1 + e^x0)), which is ln(ln(1 + e^q)) with e^q = (e^x - e^x0) / (1 + e^x0).
    fn ln_stretch(&self, load: f64) -> f64 {
        let (x, x0, width) = ((load - self.rate) / self.spread, -self.rate / self.spread, load / self.spread);
        // Of both ends the one nearer to 0 is used: the other one's rounding would add to it.
        let ln_difference = match width {
            width if width > NOTHING => x,
            width if width > 1.0 => x + (-(-width).exp_m1()).ln(),
            width => x0 + width.exp_m1().ln(),
        };
        let q = ln_difference - if x0 < -NOTHING { 0.0 } else { x0.exp().ln_1p() };
        match q {
            q if q > 700.0 => q.ln(),
            q if q < -NOTHING => q,
            q if q < -18.0 => q - q.exp() / 2.0,
            q => q.exp().ln_1p().ln(),
        }
    }

    /// ln((i(x) - i(x0)) / erfc(-x0))
    fn ln_erf(&self, load: f64) -> f64 {
        let (x, x0, width) = ((self.rate - load) / self.spread, self.rate / self.spread, load / self.spread);
        let ln_difference = match x {
            // Both ends are about the same: the integral of erfc between them, by Gauss's three points. What is left of
            // the integrand when e^-x² is taken out is all but constant.
            x if width * (1.0 + x.abs() + x0) < 0.1 => {
                let at = |part: f64| {
                    let far = width * part;
                    (-far * (far + 2.0 * x)).exp() * scaled_erfc(x + far)
                };
                let outer = 0.6_f64.sqrt() / 2.0;
                -x * x + (width * (8.0 * at(0.5) + 5.0 * (at(0.5 - outer) + at(0.5 + outer))) / 18.0).ln()
            }
            x if x >= 0.0 => {
                let (ln_one, apart) = (scaled_integral_of_erfc(x).ln(), width * (x0 + x));
                let ln_rest = match apart {
                    apart if apart > NOTHING => 0.0,
                    apart => (-(scaled_integral_of_erfc(x0).ln() - ln_one - apart).exp_m1()).ln(),
                };
                -x * x + ln_one + ln_rest
            }
            x => {
                let integral = -2.0 * x + (-x * x).exp() * scaled_integral_of_erfc(-x);
                (integral - (-x0 * x0).exp() * scaled_integral_of_erfc(x0)).ln()
            }
        };
        ln_difference - libm::erfc(-x0).ln()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHAPES: [Shape; 2] = [Shape::Stretch, Shape::Erf];

    #[test]
    fn far_above_the_rate_all_the_rest_is_lost() {
        for shape in SHAPES {
            let loss = Curve { shape, rate: 1e6, spread: 1e3 }.ln_loss(3e6).exp();
            assert!((loss - 2e6).abs() < 1e-3, "{shape:?} {loss}");
        }
    }

    #[test]
    fn definitions_hold_where_they_can_be_computed() {
        let (rate, spread) = (1000.0, 400.0);
        for load in [100.0, 900.0, 1000.0, 2500.0] {
            let stretch = Curve { shape: Shape::Stretch, rate, spread }.ln_loss(load);
            let softplus = |x: f64| x.exp().ln_1p();
            let loss = spread * (softplus((load - rate) / spread) - softplus(-rate / spread));
            assert!((stretch - loss.ln()).abs() < 1e-12, "{load}");
            let erf = Curve { shape: Shape::Erf, rate, spread }.ln_loss(load);
            let integral = |x: f64| (-x * x).exp() / std::f64::consts::PI.sqrt() - x * libm::erfc(x);
            let loss =
                spread * (integral((rate - load) / spread) - integral(rate / spread)) / libm::erfc(-rate / spread);
            assert!((erf - loss.ln()).abs() < 1e-12, "{load}");
        }
    }

    proptest! {
        #[test]
        fn the_critical_load_is_critical(rate in 1e2f64..1e9, part in 0.0f64..1.0, exponent in -7.0f64..-0.5) {
            for shape in SHAPES {
                let (curve, loss_ratio) = (Curve { shape, rate, spread: rate.powf(part) }, 10f64.powf(exponent));
                let load = curve.critical_load(1.0, 1e10, loss_ratio);
                let part = |load: f64| curve.ln_loss(load) - load.ln();
                prop_assert!(load == 1.0 || part(load * (1.0 - 1e-9)) < loss_ratio.ln(), "{shape:?} {load}");
                prop_assert!(part(load * (1.0 + 1e-9)) > loss_ratio.ln(), "{shape:?} {load}");
            }
        }
    }
}
