//! Selects the next load that a goal needs a trial of.

use std::ops::Range;

use super::book::{Book, Interval, TargetId};
use super::goal::Target;
use super::grid::{Grid, Rung, Width, middle};
use super::place::place;

/// The way of one goal through its targets, the easiest first.
#[derive(Clone, Debug)]
pub struct Selector {
    /// The current target and those to come.
    targets: Range<TargetId>,
    /// The bounds that the target before has left; the last loads of the start for the first target.
    known: Interval,
    /// How far to go for a bound that is missing. It grows whenever that was not far enough.
    step: Width,
}

/// A trial that a goal asks for.
#[derive(Clone, Copy, Debug)]
pub struct Nomination {
    pub rung: Rung,
    /// Seconds.
    pub duration: f64,
    /// How wide a step led here. All goals go at least so far next.
    pub width: Width,
    /// The step has not been far enough if the load becomes this bound.
    fails_as: Option<Side>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Lower,
    Upper,
}

/// State that all selectors share.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub grid: &'a Grid,
    pub book: &'a Book,
    /// The width of the last step of any goal: a search that goes outwards is not disturbed by smaller steps of others.
    pub stride: Width,
}

impl Nomination {
    /// Whether this one goes first: lower loads, then longer trials, then wider steps. A low load that turns out to be too
    /// high spares the higher ones.
    pub fn precedes(&self, other: &Nomination, grid: &Grid) -> bool {
        let loads = self.rung.cmp(&other.rung);
        let durations = || other.duration.total_cmp(&self.duration);
        let widths = || grid.compare(other.width, self.width);
        loads.then_with(durations).then_with(widths).is_lt()
    }
}

impl Selector {
    pub fn new(targets: Range<TargetId>, (lower, upper): (Rung, Rung), view: View<'_>) -> Selector {
        let known = Interval { lower: Some(lower), upper: Some(upper) };
        let mut selector = Selector { targets, known, step: 0 };
        selector.enter(view);
        selector
    }

    /// The current target.
    pub fn current(&self) -> TargetId {
        self.targets.start
    }

    /// The targets after the current one.
    pub fn to_come(&self) -> Range<TargetId> {
        self.targets.start + 1..self.targets.end
    }

    /// The trial that brings the goal on; None when its bounds are near enough, or when there are none within the grid.
    pub fn nominate(&mut self, view: View<'_>) -> Option<Nomination> {
        loop {
            let bounds = view.book.bounds(self.current());
            let nomination = self.towards(bounds, view);
            if nomination.is_some() || self.to_come().is_empty() {
                return nomination;
            }
            self.targets.start += 1;
            self.known = bounds;
            self.enter(view);
        }
    }

    /// Learns how the trial that it nominated has turned out. Returns the step, if it had to grow.
    pub fn learn(&mut self, nomination: &Nomination, view: View<'_>) -> Option<Width> {
        let bounds = view.book.bounds(self.current());
        let bound = match nomination.fails_as? {
            Side::Lower => bounds.lower,
            Side::Upper => bounds.upper,
        };
        (bound == Some(nomination.rung)).then(|| {
            self.grow(view);
            self.step
        })
    }

    fn target<'a>(&self, view: View<'a>) -> &'a Target {
        &view.book.targets[self.current()]
    }

    fn enter(&mut self, view: View<'_>) {
        let width = self.target(view).width;
        self.step = self.known.width().map_or(width, |known| view.grid.wider(width, known));
        self.grow(view);
    }

    fn grow(&mut self, view: View<'_>) {
        self.step = self.step.saturating_mul(self.target(view).expansion);
    }

    /// Begins anew with small steps, as the bounds have come to be so near.
    fn shrink(&mut self, width: Width, view: View<'_>) {
        self.step = view.grid.wider(width, self.target(view).width);
        self.grow(view);
    }

    /// The first way that applies: split what the target before has left, if that does; look at its bounds again; go
    /// outwards for a bound that is missing; split what is left.
    fn towards(&mut self, bounds: Interval, view: View<'_>) -> Option<Nomination> {
        let (width, known) = (self.target(view).width, self.known);
        let mut again = self.half_of_known(width).into_iter().chain(known.lower).chain(known.upper);
        if let Some(rung) = again.find(|rung| is_of_use(*rung, bounds, width)) {
            self.shrink(width, view);
            return Some(self.nomination(rung, width, None, view));
        }
        match (bounds.lower, bounds.upper) {
            (Some(lower), None) if lower < view.grid.top() => self.up(lower, bounds, view),
            (None, Some(upper)) if upper > 0 => self.down(upper, bounds, view),
            (Some(lower), Some(upper)) if upper - lower > width => self.between(lower, upper, view),
            _ => None,
        }
    }

    /// The middle of the bounds of the target before, if both halves are what this target wants.
    fn half_of_known(&self, width: Width) -> Option<Rung> {
        let (lower, upper) = (self.known.lower?, self.known.upper?);
        let known = upper - lower;
        (width < known && known <= width.saturating_mul(2)).then(|| middle(lower, upper, width))
    }

    fn up(&self, lower: Rung, bounds: Interval, view: View<'_>) -> Option<Nomination> {
        let stride = view.grid.wider(view.stride, self.step);
        let rung = place(view.grid, view.grid.up(lower, stride), self.target(view).width, bounds)?;
        Some(self.nomination(rung, stride, Some(Side::Lower), view))
    }

    fn down(&self, upper: Rung, bounds: Interval, view: View<'_>) -> Option<Nomination> {
        let stride = view.grid.wider(view.stride, self.step);
        let rung = place(view.grid, upper.saturating_sub(stride), self.target(view).width, bounds)?;
        Some(self.nomination(rung, stride, Some(Side::Upper), view))
    }

    /// Splits the interval; but where it reaches beyond what the target before has left, a step from the bound that is
    /// confirmed may be the smaller part.
    fn between(&mut self, lower: Rung, upper: Rung, view: View<'_>) -> Option<Nomination> {
        let bounds = Interval { lower: Some(lower), upper: Some(upper) };
        let half = middle(lower, upper, self.target(view).width);
        if let Some(known) = self.known.upper.filter(|known| half < *known) {
            let step = self.down(upper, bounds, view).filter(|step| half < step.rung && step.rung < known);
            if step.is_some() {
                return step;
            }
        }
        if let Some(known) = self.known.lower.filter(|known| half > *known) {
            let step = self.up(lower, bounds, view).filter(|step| half > step.rung && step.rung > known);
            if step.is_some() {
                return step;
            }
        }
        let width = (half - lower).min(upper - half);
        self.shrink(width, view);
        Some(self.nomination(half, width, None, view))
    }

    fn nomination(&self, rung: Rung, width: Width, fails_as: Option<Side>, view: View<'_>) -> Nomination {
        Nomination { rung, duration: self.target(view).trial, width, fails_as }
    }
}

/// Whether a trial there tells something new: between the bounds, and these are not near enough yet.
fn is_of_use(rung: Rung, bounds: Interval, width: Width) -> bool {
    let is_above = bounds.lower.is_none_or(|lower| rung > lower);
    let is_below = bounds.upper.is_none_or(|upper| rung < upper);
    is_above && is_below && bounds.width().is_none_or(|known| known > width)
}
