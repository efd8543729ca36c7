//! When connections are due.

/// The rate at which connections are opened: it rises evenly, and then stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// In a second; 0 is no limit.
    pub rate: f64,
    /// Seconds of the rise.
    pub ramp: f64,
    /// In all; 0 is no limit.
    pub limit: u64,
}

impl Pace {
    /// Connections that are due after so many nanoseconds, the first one at once.
    pub fn due(&self, elapsed: u64) -> u64 {
        let seconds = elapsed as f64 / 1e9;
        let all = if self.limit > 0 { self.limit } else { u64::MAX };
        if self.rate <= 0.0 {
            return all;
        }
        let rising = seconds.min(self.ramp);
        // The area below the rate: a triangle, and what is behind it.
        let opened = if self.ramp > 0.0 { self.rate * rising * rising / (2.0 * self.ramp) } else { 0.0 };
        let opened = opened + self.rate * (seconds - rising);
        (opened as u64).saturating_add(1).min(all)
    }
    /// Nanoseconds after which the connection behind so many others is due; at once if there is no rate.
    pub fn due_at(&self, opened: u64) -> Option<u64> {
        if self.rate <= 0.0 {
            return None;
        }
        let opened = opened as f64;
        let risen = self.rate * self.ramp / 2.0;
        let seconds = match opened < risen {
            true => (opened * 2.0 * self.ramp / self.rate).sqrt(),
            false => self.ramp + (opened - risen) / self.rate,
        };
        Some((seconds * 1e9).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_exact() {
        let pace = Pace { rate: 1000.0, ramp: 0.0, limit: 2500 };
        assert_eq!((pace.due(0), pace.due(999_999), pace.due(1_000_000), pace.due(10_000_000_000)), (1, 1, 2, 2500));
        assert_eq!(Pace { rate: 0.0, ..pace }.due(0), 2500);
        assert_eq!(Pace { limit: 0, ..pace }.due(60_000_000_000), 60_001);
    }

    #[test]
    fn a_ramp_opens_half_as_many() {
        let pace = Pace { rate: 1000.0, ramp: 2.0, limit: 0 };
        assert_eq!((pace.due(1_000_000_000), pace.due(2_000_000_000), pace.due(3_000_000_000)), (251, 1001, 2001));
    }

    #[test]
    fn moments_and_numbers_agree() {
        for (rate, ramp) in [(3.0, 0.0), (1000.0, 2.0), (1.5e6, 0.1), (7e6, 0.0)] {
            let pace = Pace { rate, ramp, limit: 0 };
            for opened in [1, 2, 77, 1000, 1_234_567] {
                let at = pace.due_at(opened).unwrap();
                assert!(pace.due(at + 1) > opened, "{rate} {ramp} {opened}");
                assert!(pace.due(at.saturating_sub(2000)) <= opened + (rate * 2e-6) as u64, "{rate} {ramp} {opened}");
            }
        }
        assert_eq!(Pace { rate: 0.0, ramp: 0.0, limit: 0 }.due_at(5), None);
    }
}
