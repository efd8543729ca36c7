//! Changes of the wiring that are posted as one, and letters for which workers are woken together.

use std::cell::Cell;

/// Pairs of calls that lie within each other.
#[derive(Default)]
pub(super) struct Depth(Cell<u32>);

impl Depth {
    pub fn begin(&self) {
        self.0.set(self.0.get() + 1);
    }
    /// Undoes one [`Depth::begin`]; says whether it was the outermost one.
    pub fn end(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
    fn is_inside(&self) -> bool {
        self.0.get() > 0
    }
}

/// Changes that wait for each other, and letters for which no worker is woken yet.
#[derive(Default)]
pub(super) struct Changes {
    /// Steps whose changes of the wiring wait for each other.
    pub steps: Depth,
    /// Turns at whose end workers are woken.
    pub turns: Depth,
    /// Whether there are changes of the wiring that wait.
    waits: Cell<bool>,
    /// Whether there are letters for which no worker was woken.
    has_letters: Cell<bool>,
}

impl Changes {
    /// Notes a change of the wiring; says whether it is to be posted at once.
    pub fn add(&self) -> bool {
        self.waits.set(true);
        !self.steps.is_inside()
    }
    /// Whether there are changes of the wiring that wait.
    pub fn are_waiting(&self) -> bool {
        self.waits.get()
    }
    /// Notes that the wiring is posted.
    pub fn posted(&self) {
        self.waits.set(false);
    }
    /// Notes a letter; says whether its worker is to be woken at once.
    pub fn wakes_now(&self) -> bool {
        self.has_letters.set(self.turns.is_inside());
        !self.turns.is_inside()
    }
    /// Whether there are letters for which no worker was woken. The caller wakes all.
    pub fn take_letters(&self) -> bool {
        self.has_letters.take()
    }
}
