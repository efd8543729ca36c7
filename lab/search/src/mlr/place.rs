//! Loads keep their distance from what is known already.

use super::book::Interval;
use super::grid::{Grid, Rung, Width, middle};

/// Where to measure instead of at `rung`, so that neither a bound nor an end of the grid is nearer than `width`; None if
/// the bounds leave no room for that, or if the load is not between them. An end of the grid may be measured itself, unless
/// it is a bound.
pub fn place(grid: &Grid, rung: Rung, width: Width, bounds: Interval) -> Option<Rung> {
    let is_outside = bounds.lower.is_some_and(|lower| rung <= lower) || bounds.upper.is_some_and(|upper| rung >= upper);
    if is_outside {
        return None;
    }
    let (floor, ceiling) = (bounds.lower.unwrap_or(0), bounds.upper.unwrap_or(grid.top()));
    if grid.compare(width, ceiling - floor).is_ge() {
        return match bounds {
            Interval { lower: None, .. } => Some(floor),
            Interval { upper: None, .. } => Some(ceiling),
            _ => None,
        };
    }
    let (mut lowest, mut highest) = (floor + width, ceiling - width);
    if lowest > highest {
        lowest = middle(floor, ceiling, width);
        highest = lowest;
    }
    Some(match rung {
        rung if rung < lowest => bounds.lower.map_or(floor, |_| lowest),
        rung if rung > highest => bounds.upper.map_or(ceiling, |_| highest),
        rung => rung,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept_away_from() {
        let grid = Grid::new(1000.0, 1e6, &[0.01]).unwrap();
        let (top, width) = (grid.top(), 10);
        let at = |rung, lower, upper| place(&grid, rung, width, Interval { lower, upper });
        assert_eq!(at(50, None, None), Some(50));
        assert_eq!(at(5, None, None), Some(0));
        assert_eq!(at(top - 5, None, None), Some(top));
        assert_eq!(at(105, Some(100), None), Some(110));
        assert_eq!(at(top - 5, Some(100), Some(top)), Some(top - 10));
        assert_eq!(at(100, Some(100), None), None);
        assert_eq!(at(105, Some(100), Some(110)), None);
        assert_eq!(at(105, Some(100), Some(116)), Some(106));
        assert_eq!(at(5, None, Some(8)), Some(0));
        assert_eq!(at(top - 1, Some(top - 8), None), Some(top));
    }
}
