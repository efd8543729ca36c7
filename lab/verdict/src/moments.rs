//! Size, average and deviation of samples that are not kept.

/// Size, average and standard deviation (of the population, not an estimate for a larger one) of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// How many samples.
    pub size: usize,
    /// Their average, in the samples' unit.
    pub average: f64,
    /// Their standard deviation, in the samples' unit.
    pub deviation: f64,
}

impl Moments {
    /// Moments of all parts together, by the pairwise form of Welford's recurrence (Chan, Golub, LeVeque 1983).
    ///
    /// The order of operations is part of the result: [`bits`](crate::bits) compares averages exactly, as jumpavg does,
    /// and where groups differ by their deviation only, rounding says which one is larger.
    pub fn of(parts: impl IntoIterator<Item = Moments>) -> Moments {
        let (mut size, mut average, mut squares) = (0, 0.0, 0.0);
        for part in parts.into_iter().filter(|part| part.size > 0) {
            let (before, own) = (size as f64, part.size as f64);
            size += part.size;
            let delta = part.average - average;
            average += delta * own / size as f64;
            squares += part.deviation * part.deviation * own;
            squares += delta * delta * before * own / size as f64;
        }
        match size {
            0 => Moments::default(),
            _ => Moments { size, average, deviation: (squares / size as f64).sqrt() },
        }
    }
}

impl From<f64> for Moments {
    fn from(sample: f64) -> Moments {
        Moments { size: 1, average: sample, deviation: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_to_the_whole() {
        let samples = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let of = |samples: &[f64]| Moments::of(samples.iter().copied().map(Moments::from));
        let whole = of(&samples);
        assert_eq!(whole, Moments { size: 8, average: 5.0, deviation: 2.0 });
        for cut in 0..=samples.len() {
            let joined = Moments::of([of(&samples[..cut]), of(&samples[cut..])]);
            assert_eq!(joined.size, whole.size);
            assert!((joined.average - whole.average).abs() < 1e-12, "{cut}");
            assert!((joined.deviation - whole.deviation).abs() < 1e-12, "{cut}");
        }
        assert_eq!(of(&[]), Moments::default());
    }
}
