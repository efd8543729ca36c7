//! The complementary error function and its integral, without the factor by which they vanish: e^(-x²).

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// Up to here the definitions lose less than two digits.
const NEAR: f64 = 2.5;

/// e^(x²) erfc(x), for x above -20 or so.
pub fn scaled_erfc(x: f64) -> f64 {
    match x {
        x if x <= NEAR => (x * x).exp() * libm::erfc(x),
        x => FRAC_2_SQRT_PI * ratios(x).0,
    }
}

/// e^(x²) times the integral of erfc from x to infinity, for x from 0 on.
pub fn scaled_integral_of_erfc(x: f64) -> f64 {
    match x {
        x if x <= NEAR => 1.0 / PI.sqrt() - x * scaled_erfc(x),
        x => {
            let (first, second) = ratios(x);
            FRAC_2_SQRT_PI * first * second
        }
    }
}

/// Each integral by the one before: with i₋₁ = 2/√π e^(-x²), i₀ = erfc and i₁ its integral, 2(n+1) iₙ₊₁ = iₙ₋₁ - 2x iₙ
/// (Abramowitz and Stegun 7.2.5), so that iₙ / iₙ₋₁ is a continued fraction of positive terms. Here are i₀ / i₋₁ and i₁ / i₀.
fn ratios(x: f64) -> (f64, f64) {
    // So many terms are enough for all digits, as the unit test shows.
    let terms = 6 + (400.0 / (x * x)) as u32;
    let second = (1..terms).rev().fold(0.0, |next, n| 1.0 / (2.0 * x + 2.0 * f64::from(n + 1) * next));
    (1.0 / (2.0 * x + 2.0 * second), second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways are the same where they meet.
    #[test]
    fn the_fraction_is_the_function() {
        for x in [NEAR, 3.0, 4.0, 8.0, 20.0] {
            let (first, second) = ratios(x);
            let erfc = (x * x).exp() * libm::erfc(x);
            assert!((FRAC_2_SQRT_PI * first / erfc - 1.0).abs() < 1e-15 * (10.0 + x * x), "{x}");
            let integral = 1.0 / PI.sqrt() - x * erfc;
            assert!((FRAC_2_SQRT_PI * first * second / integral - 1.0).abs() < 1e-15 * (10.0 + x * x).powi(2), "{x}");
        }
    }

    #[test]
    fn far_out_it_is_a_power() {
        assert!((scaled_integral_of_erfc(1e9) * 2e18 * PI.sqrt() - 1.0).abs() < 1e-14);
        assert_eq!(scaled_integral_of_erfc(0.0), 1.0 / PI.sqrt());
    }
}
