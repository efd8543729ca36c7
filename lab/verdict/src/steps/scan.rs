//! The best cut of a section by ranks, and how often chance makes as good a one.

use super::piece::{PIECE_MIN, far, middle};

/// How often the samples are put in a random order.
const ORDERS: usize = 1_999;

/// At most this many of the orders may have as clear a step: 0.7 %, with the samples' own order.
const STEP_MAX: usize = 13;

/// Largest number of orders with as clear a bump: 0.15 %. Together less than 1 % of sections without a change are cut.
const BUMP_MAX: usize = 2;

/// The same series gets the same verdict.
const SEED: u64 = 1;

/// A section to be cut.
pub struct Scan {
    /// Scores of the samples, in their order.
    scores: Vec<f64>,
    measure: Measure,
}

/// Weights of a stretch's clarity: the reciprocal variance of its sum, by its length.
struct Measure {
    weights: Vec<f64>,
}

/// Samples whose ranks differ from those of all others in the section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    /// The first of them.
    pub start: usize,
    /// The first behind them.
    pub end: usize,
    /// How far the average scores are apart, in standard deviations, squared.
    clarity: f64,
}

impl Scan {
    pub fn new(samples: &[f64]) -> Scan {
        Scan { scores: scores(samples), measure: Measure::new(samples.len()) }
    }

    /// The samples before the best place for a step; none where there are too few.
    pub fn best_step(&self) -> Option<Stretch> {
        let mut sums = Vec::new();
        Some(self.measure.step(sum(&self.scores, &mut sums))).filter(|step| step.end > 0)
    }

    /// The samples before a step, or those of a bump, and how often chance makes as clear a one, if it hardly does.
    pub fn significant(&self) -> Option<(Stretch, f64)> {
        self.rare(Measure::step, STEP_MAX).or_else(|| self.rare(Measure::bump, BUMP_MAX))
    }

    /// The clearest stretch by this measure, if at most `orders_max` orders have as clear a one.
    fn rare(&self, clearest: fn(&Measure, &[f64]) -> Stretch, orders_max: usize) -> Option<(Stretch, f64)> {
        let mut sums = Vec::new();
        let found = clearest(&self.measure, sum(&self.scores, &mut sums));
        // Sums in another order round otherwise, which must not look like a difference.
        let as_clear = found.clarity * (1.0 - 1e-9);
        let mut order = self.scores.clone();
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut orders = 0;
        for _ in 0..ORDERS {
            random.shuffle(&mut order);
            orders += usize::from(clearest(&self.measure, sum(&order, &mut sums)).clarity >= as_clear);
            // The rest cannot change the verdict (Besag and Clifford 1991).
            if orders > orders_max {
                return None;
            }
        }
        Some((found, (orders + 1) as f64 / (ORDERS + 1) as f64))
    }
}

/// The sums of the first 0, 1, 2 ... scores, in memory that is used again.
fn sum<'sums>(scores: &[f64], sums: &'sums mut Vec<f64>) -> &'sums [f64] {
    sums.clear();
    sums.push(0.0);
    let mut total = 0.0;
    sums.extend(scores.iter().map(|score| {
        total += score;
        total
    }));
    sums
}

impl Measure {
    fn new(samples: usize) -> Measure {
        let size = samples as f64;
        let weight = |own: f64| 1.0 / (own * (1.0 - own / size));
        // The whole section is no stretch of it.
        Measure { weights: (0..samples).map(|own| if own == 0 { 0.0 } else { weight(own as f64) }).collect() }
    }

    /// The clearest stretch that begins with the section.
    fn step(&self, sums: &[f64]) -> Stretch {
        self.clearest(sums, 0, Stretch::default())
    }

    /// The clearest stretch, wherever it begins.
    fn bump(&self, sums: &[f64]) -> Stretch {
        let starts = PIECE_MIN..sums.len().saturating_sub(PIECE_MIN);
        starts.fold(self.step(sums), |best, start| self.clearest(sums, start, best))
    }

    /// The clearest stretch that begins here, or the best so far. The scores of all samples add up to nothing, so those of
    /// the others have the same sum.
    fn clearest(&self, sums: &[f64], start: usize, mut best: Stretch) -> Stretch {
        let length = sums.len() - 1;
        let before = sums[start];
        let mut consider = |end: usize, sum: f64, weight: f64| {
            let surplus = sum - before;
            let clarity = surplus * surplus * weight;
            if clarity > best.clarity {
                best = Stretch { start, end, clarity };
            }
        };
        let ends = start + PIECE_MIN..(length + 1).saturating_sub(PIECE_MIN);
        if !ends.is_empty() {
            let weights = &self.weights[PIECE_MIN..];
            ends.clone().zip(&sums[ends]).zip(weights).for_each(|((end, sum), weight)| consider(end, *sum, *weight));
        }
        if start >= PIECE_MIN && length - start >= PIECE_MIN {
            consider(length, sums[length], self.weights[length - start]);
        }
        best
    }
}

/// Ranks of the samples, with an average of 0 and a deviation of 1; of equal ones, the average rank. Samples far from all
/// others that are too few for a piece have a rank in the middle. Which they are does not depend on the order, so random
/// orders stay as likely as the samples' own.
fn scores(samples: &[f64]) -> Vec<f64> {
    let far = outliers(samples);
    let far = if far.len() < PIECE_MIN { far } else { Vec::new() };
    let mut order: Vec<usize> = (0..samples.len()).filter(|at| !far.contains(at)).collect();
    order.sort_by(|one, other| samples[*one].total_cmp(&samples[*other]));
    let middle = (order.len() + 1) as f64 / 2.0;
    let mut scores = vec![0.0; samples.len()];
    let mut below = 0;
    for equal in order.chunk_by(|one, other| samples[*one] == samples[*other]) {
        let rank = below as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|at| scores[*at] = rank - middle);
        below += equal.len();
    }
    let deviation = (scores.iter().map(|score| score * score).sum::<f64>() / samples.len() as f64).sqrt();
    if deviation > 0.0 {
        scores.iter_mut().for_each(|score| *score /= deviation);
    }
    scores
}

/// The places of samples far from the median.
fn outliers(samples: &[f64]) -> Vec<usize> {
    let level = middle(samples.to_vec());
    far(&samples.iter().map(|sample| sample - level).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_ranks_and_equal_samples_share_theirs() {
        // Ranks 2.5, 1, 2.5, 4 less 2.5, over the root of (2.25 + 2.25) / 4.
        let deviation = 1.125f64.sqrt();
        assert_eq!(scores(&[7.0, 1.0, 7.0, 12.0]), [0.0, -1.5 / deviation, 0.0, 1.5 / deviation]);
        // One that is far from all is in the middle; three are a level.
        let deviation = (10.0f64 / 6.0).sqrt();
        let ranks = [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0].map(|rank| rank / deviation);
        assert_eq!(scores(&[1.0, 2.0, 3.0, 1e9, 4.0, 5.0]), ranks);
        let three = scores(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1e9, 1e9, 1e9]);
        assert!(three[9] > three[6], "{three:?}");
    }

    /// Where four samples are below the six behind them, Mann and Whitney count 24 pairs of 24, of which chance would make
    /// 12, with a variance of 4 * 6 * 11 / 12 = 22. Scores are divided by their own deviation, which takes n - 1 for n.
    #[test]
    fn clarity_is_mann_and_whitneys() {
        let samples = [1.0, 2.0, 3.0, 4.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0];
        let (mut sums, measure) = (Vec::new(), Measure::new(10));
        let sums = sum(&scores(&samples), &mut sums).to_vec();
        let at = |end: usize| sums[end] * sums[end] * measure.weights[end];
        assert!((at(4) - 12.0 * 12.0 / 22.0 * 10.0 / 9.0).abs() < 1e-12, "{}", at(4));
        let clearest = measure.step(&sums);
        assert_eq!(Some(clearest.clarity), (PIECE_MIN..=7).map(at).max_by(f64::total_cmp));
    }

    #[test]
    fn a_bump_is_a_stretch_between_others() {
        let found = |samples: &[f64]| {
            let found = Measure::new(samples.len()).bump(sum(&scores(samples), &mut Vec::new()));
            (found.start, found.end)
        };
        let samples = [1.0, 2.0, 3.0, 1.5, 10.0, 12.0, 11.0, 9.0, 2.5, 0.5, 1.7, 2.2];
        assert_eq!(found(&samples), (4, 8));
        assert_eq!(found(&samples[4..]), (0, 4));
        assert_eq!(found(&samples[..8]), (0, 4));
        assert_eq!(found(&samples[..5]), (0, 0), "there is no place for two pieces");
    }

    /// Against all stretches, one by one.
    #[test]
    fn the_clearest_stretch_is_found() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let samples: Vec<_> = (0..random.usize(1..30)).map(|_| f64::from(random.u8(..20))).collect();
            let length = samples.len();
            let scores = scores(&samples);
            let mut clearest: f64 = 0.0;
            for start in 0..length {
                for end in start + PIECE_MIN..=length {
                    let is_piece = |size: usize| size == 0 || size >= PIECE_MIN;
                    let own = (end - start) as f64;
                    let sum: f64 = scores[start..end].iter().sum();
                    if end - start < length && is_piece(start) && is_piece(length - end) {
                        clearest = clearest.max(sum * sum / (own * (1.0 - own / length as f64)));
                    }
                }
            }
            let found = Measure::new(length).bump(sum(&scores, &mut Vec::new()));
            assert!((found.clarity - clearest).abs() < 1e-9, "{samples:?}");
        }
    }
}
