//! Null distributions of Wilcoxon's signed ranks and of Mann and Whitney's pairs.

/// Up to as many measurements the distributions are exact.
pub const EXACT_MAX: usize = 60;

/// The distribution of a count that is symmetric around its middle.
pub enum Chance {
    /// The chances of 0, 1, 2 ...
    Exact(Vec<f64>),
    /// The normal distribution that it is nearly.
    Normal {
        /// The largest count.
        largest: usize,
        deviation: f64,
    },
}

impl Chance {
    /// Null distribution of the sum of the positive ranks among 1 to n, where each sign is equally likely.
    pub fn signed_ranks(size: usize) -> Chance {
        let largest = size * (size + 1) / 2;
        if size > EXACT_MAX {
            let deviation = (largest as f64 * (2 * size + 1) as f64 / 12.0).sqrt();
            return Chance::Normal { largest, deviation };
        }
        let mut chances = vec![0.0; largest + 1];
        chances[0] = 1.0;
        for rank in 1..=size {
            for sum in (0..=largest).rev() {
                let with = sum.checked_sub(rank).map_or(0.0, |sum| chances[sum]);
                chances[sum] = (chances[sum] + with) / 2.0;
            }
        }
        Chance::Exact(chances)
    }

    /// Null distribution of the number of pairs, one of m and one of n samples, in which the second is larger, where
    /// each order is equally likely.
    pub fn pairs_in_order(first: usize, second: usize) -> Chance {
        let largest = first * second;
        if first + second > EXACT_MAX {
            let deviation = (largest as f64 * (first + second + 1) as f64 / 12.0).sqrt();
            return Chance::Normal { largest, deviation };
        }
        // By the largest of all: one of the first, which is in no pair, or one of the second, which is in a pair with each
        // of the first. A row holds the chances for the first so many, and one more of the second than the row before.
        let start = |first: usize| [vec![1.0], vec![0.0; first * second]].concat();
        let mut row: Vec<Vec<f64>> = (0..=first).map(start).collect();
        for second in 1..=second {
            for first in 1..=first {
                let share = second as f64 / (first + second) as f64;
                let largest = first * second;
                for pairs in (0..=largest).rev() {
                    let by_second = pairs.checked_sub(first).map_or(0.0, |pairs| row[first][pairs]);
                    let by_first = row[first - 1].get(pairs).copied().unwrap_or(0.0);
                    row[first][pairs] = share * by_second + (1.0 - share) * by_first;
                }
            }
        }
        Chance::Exact(row.pop().unwrap_or_default())
    }

    /// How many counts, from 0 on, may be left out together with a chance of at most `tail`, less one: the place of the
    /// first candidate that an interval may begin with. None where not even the count of 0 is so rare.
    pub fn passed_over(&self, tail: f64) -> Option<usize> {
        let left_out = match self {
            Chance::Exact(chances) => {
                let mut sum = 0.0;
                let is_rare = |chance: &&f64| {
                    sum += **chance;
                    sum <= tail
                };
                chances.iter().take_while(is_rare).count()
            }
            Chance::Normal { largest, deviation } => {
                let middle = *largest as f64 / 2.0;
                // Up to a count, with the correction for continuity.
                let chance = |count: usize| libm::erfc((middle - count as f64 - 0.5) / (deviation * 2f64.sqrt())) / 2.0;
                (0..=largest / 2).take_while(|count| chance(*count) <= tail).count()
            }
        };
        left_out.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(chance: Chance) -> Vec<f64> {
        match chance {
            Chance::Exact(chances) => chances,
            Chance::Normal { .. } => Vec::new(),
        }
    }

    fn assert_is(chances: &[f64], counts: &[u32]) {
        let all: u32 = counts.iter().sum();
        assert_eq!(chances.len(), counts.len());
        for (chance, count) in chances.iter().zip(counts) {
            assert!((chance - f64::from(*count) / f64::from(all)).abs() < 1e-12, "{chances:?} {counts:?}");
        }
    }

    /// Against all signs.
    #[test]
    fn signed_ranks_are_counted() {
        for size in 0..=10 {
            let mut counts = vec![0; size * (size + 1) / 2 + 1];
            for signs in 0..1u32 << size {
                let sum: usize = (1..=size).filter(|rank| signs >> (rank - 1) & 1 == 1).sum();
                counts[sum] += 1;
            }
            assert_is(&exact(Chance::signed_ranks(size)), &counts);
        }
    }

    /// Against all orders.
    #[test]
    fn pairs_in_order_are_counted() {
        for (first, second) in [(0, 3), (3, 0), (1, 1), (1, 4), (2, 3), (4, 4), (5, 2), (6, 5)] {
            let mut counts = vec![0; first * second + 1];
            for order in (0..1u32 << (first + second)).filter(|order| order.count_ones() as usize == second) {
                let (mut below, mut pairs) = (0, 0);
                for place in 0..first + second {
                    match order >> place & 1 {
                        0 => below += 1,
                        _ => pairs += below,
                    }
                }
                counts[pairs] += 1;
            }
            assert_is(&exact(Chance::pairs_in_order(first, second)), &counts);
        }
    }

    /// Where both are known they agree, but for one count.
    #[test]
    fn the_normal_distribution_is_near() {
        let normal = |largest: usize, variance: f64| Chance::Normal { largest, deviation: variance.sqrt() };
        for tail in [0.05, 0.005, 0.0005] {
            let (exact, near) = (Chance::signed_ranks(60), normal(1830, 1830.0 * 121.0 / 12.0));
            assert!(exact.passed_over(tail).unwrap().abs_diff(near.passed_over(tail).unwrap()) <= 12, "{tail}");
            let (exact, near) = (Chance::pairs_in_order(30, 30), normal(900, 900.0 * 61.0 / 12.0));
            assert!(exact.passed_over(tail).unwrap().abs_diff(near.passed_over(tail).unwrap()) <= 6, "{tail}");
        }
    }
}
