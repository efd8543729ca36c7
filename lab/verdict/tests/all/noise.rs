//! Noise of simulated machines.

use fastrand::Rng;

/// Samples of the standard normal distribution (Box and Muller 1958).
pub fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}
