//! Loads on a logarithmic grid.
//!
//! Intervals are split and doubled many times, and have to meet again exactly: that is a matter of integers. A step of the
//! grid is a constant ratio of loads, such that a whole number of steps is each goal's width, or just below it.

use std::cmp::Ordering;

/// A load: steps above the smallest one, which is 0.
pub type Rung = u64;

/// A distance of loads in steps. It may exceed the whole grid: expanded ones, and those of early targets, do.
pub type Width = u64;

/// Allowed quotient of a whole number of steps and a goal's width. The lower end keeps the search from being finer than
/// necessary; the upper end keeps rounding from making the interval too wide.
const QUALITY: std::ops::RangeInclusive<f64> = 0.99..=0.999_999;

/// More steps than this are not exact as floats.
const TOP_MAX: u64 = 1 << 52;

#[derive(Clone, Debug)]
pub struct Grid {
    min: f64,
    max: f64,
    top: Rung,
}

impl Grid {
    /// A grid from one load to another, 0 < min < max, for goals of relative widths within 0 and 1 (both excluded). None
    /// if no number of steps fits all widths, or only more than floats can tell apart.
    pub fn new(min: f64, max: f64, widths: &[f64]) -> Option<Grid> {
        let whole = max.ln() - min.ln();
        let mut top: u64 = 1;
        loop {
            let step = whole / top as f64;
            // The number of steps has to grow so far that the worst of the widths gets its next whole number of steps.
            let mut wanted: Option<f64> = None;
            for width in widths {
                let steps = -(-width).ln_1p() / step;
                // So many steps are always nearer to a whole number than the quality allows, and there will only be more.
                if steps * (1.0 - QUALITY.end()) > 1.0 {
                    return None;
                }
                if !QUALITY.contains(&(steps.floor() / steps)) {
                    let next = (steps.floor() + 1.0) / QUALITY.end() / steps * top as f64;
                    wanted = Some(wanted.unwrap_or((top + 1) as f64).max(next));
                }
            }
            match wanted {
                None => return Some(Grid { min, max, top }),
                Some(wanted) if wanted >= TOP_MAX as f64 => return None,
                Some(wanted) => top = wanted.ceil() as u64,
            }
        }
    }

    /// The largest load.
    pub fn top(&self) -> Rung {
        self.top
    }

    /// The load of a rung, in packets per second.
    pub fn load(&self, rung: Rung) -> f64 {
        match rung {
            0 => self.min,
            rung if rung >= self.top => self.max,
            rung => self.descend(|middle, _| middle.cmp(&rung)).1,
        }
    }

    /// The highest rung that is not above a load; 0 if all are.
    pub fn floor(&self, load: f64) -> Rung {
        match load {
            load if load <= self.min => 0,
            load if load >= self.max => self.top,
            // Loads are finite, so they compare.
            load => self.descend(|_, middle| middle.partial_cmp(&load).unwrap_or(Ordering::Greater)).0,
        }
    }

    /// Number of steps of a relative width.
    pub fn width(&self, relative: f64) -> Width {
        let load = self.min / (1.0 - relative);
        let width = self.floor(load);
        width - u64::from(self.load(width) > load)
    }

    /// Which of two widths is larger, where all that exceed the grid are the same.
    pub fn compare(&self, one: Width, other: Width) -> Ordering {
        one.min(self.top).cmp(&other.min(self.top))
    }

    pub fn wider(&self, one: Width, other: Width) -> Width {
        if self.compare(other, one).is_gt() { other } else { one }
    }

    /// A rung so far above another, or the top.
    pub fn up(&self, rung: Rung, width: Width) -> Rung {
        rung.saturating_add(width).min(self.top)
    }

    /// Halves the grid, then one half, and so on, towards what `order` calls equal. The load of a middle is the geometric
    /// mean of the ends', as near as integers have a middle. That each load is computed along its own halvings, and never
    /// another way, makes it the same float whenever it is asked for.
    fn descend(&self, order: impl Fn(Rung, f64) -> Ordering) -> (Rung, f64) {
        let (mut low, mut high) = ((0, self.min), (self.top, self.max));
        while high.0 - low.0 >= 2 {
            let middle = low.0 + (high.0 - low.0) / 2;
            let part = (middle - low.0) as f64 / (high.0 - low.0) as f64;
            let load = low.1 * ((high.1.ln() - low.1.ln()) * part).exp();
            match order(middle, load) {
                Ordering::Less => low = (middle, load),
                Ordering::Greater => high = (middle, load),
                Ordering::Equal => return (middle, load),
            }
        }
        low
    }
}

/// Where to split an interval that is wider than a goal, so that few trials remain: one part gets a width that is the goal's
/// times a power of two, so that halving it meets the goal without a rest. The smaller part is the lower one, as a load that
/// passes is of use to more goals than one that fails.
pub fn middle(low: Rung, high: Rung, goal: Width) -> Rung {
    let width = high - low;
    let mut goal = goal.max(1);
    // An interval of less than two goals is split by a part of the goal, if it has an even one.
    while width < goal.saturating_mul(2) && goal.is_multiple_of(2) {
        goal /= 2;
    }
    match width.cmp(&goal.saturating_mul(2)) {
        Ordering::Equal => low + goal,
        Ordering::Less => low + width / 2,
        Ordering::Greater => {
            // Below the middle of the interval, and the next one that is not.
            let mut small = goal;
            while width.saturating_sub(small * 2) > small * 2 {
                small *= 2;
            }
            let area = |part: Width| i128::from(part) * (i128::from(width) - i128::from(part));
            match area(small) > area(small * 2) {
                true => low + small,
                false => low + (width - small * 2),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn loads_are_an_even_ladder() {
        let grid = Grid::new(9001.0, 14_880_952.0, &[0.005]).unwrap();
        let width = grid.width(0.005);
        assert!((1..=200).contains(&width), "{width}");
        assert_eq!((grid.load(0), grid.load(grid.top())), (9001.0, 14_880_952.0));
        for rung in 0..grid.top() {
            let (low, high) = (grid.load(rung), grid.load(grid.up(rung, width)));
            assert!(low < grid.load(rung + 1));
            assert!((high - low) / high <= 0.005, "{rung}");
            assert_eq!(grid.floor(low), rung);
        }
    }

    #[test]
    fn widths_too_narrow_for_floats_are_refused() {
        assert!(Grid::new(1.0, 1e9, &[1e-300]).is_none());
        assert!(Grid::new(1.0, 1e9, &[1e-15]).is_none());
        assert!(Grid::new(1.0, 1e9, &[0.9, 1e-7]).is_none());
    }

    #[test]
    fn parts_are_goals_times_powers_of_two() {
        assert_eq!(middle(100, 108, 4), 104);
        // By half the goal: three and four steps.
        assert_eq!(middle(100, 107, 4), 103);
        assert_eq!(middle(100, 105, 3), 102);
        assert_eq!(middle(100, 130, 4), 114);
    }

    proptest! {
        #[test]
        fn each_middle_is_inside(low in 0u64..1 << 50, width in 2u64..1 << 51, goal in 1u64..) {
            let rung = middle(low, low + width, goal);
            prop_assert!(low < rung && rung < low + width);
        }

        #[test]
        fn floors_are_below(min in 1.0f64..1e6, factor in 1.1f64..1e6, width in 1e-4f64..0.9, load in 0.0f64..1e13) {
            let grid = Grid::new(min, min * factor, &[width]).unwrap();
            let floor = grid.floor(load);
            prop_assert!(floor == 0 || grid.load(floor) <= load);
            prop_assert!(floor == grid.top() || grid.load(floor + 1) > load);
        }
    }
}
