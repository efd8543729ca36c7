//! The middle.

/// The value in the middle, or the average of both that are; none of nothing.
pub fn median(mut samples: Vec<f64>) -> Option<f64> {
    let half = samples.len() / 2;
    let is_even = samples.len().is_multiple_of(2);
    if samples.is_empty() {
        return None;
    }
    // Cheaper than putting them in order.
    let (below, middle, _) = samples.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(lower.map_or(*middle, |lower| (lower + *middle) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_average_of_two() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }
}
