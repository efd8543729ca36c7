//! Letters of control that workers are woken for together, and changes of the wiring that are posted as one.

use std::cell::Cell;

/// Changes that wait for each other, and letters for which no worker is woken yet.
#[derive(Default)]
pub(super) struct Changes {
    /// How often [`Changes::begin`] was called without its [`Changes::end`].
    depth: Cell<u32>,
    /// Whether there are changes of the wiring that wait.
    waits: Cell<bool>,
    /// Whether there are letters for which no worker was woken.
    left: Cell<bool>,
}

impl Changes {
    /// From now on changes wait for each other.
    pub fn begin(&self) {
        self.depth.set(self.depth.get() + 1);
    }
    /// Undoes one [`Changes::begin`]; says whether that was the last one.
    pub fn end(&self) -> bool {
        self.depth.set(self.depth.get().saturating_sub(1));
        self.depth.get() == 0
    }
    /// Whether changes wait for each other.
    pub fn collects(&self) -> bool {
        self.depth.get() > 0
    }
    /// Notes a change of the wiring; says whether it is to be posted at once.
    pub fn add(&self) -> bool {
        self.waits.set(true);
        !self.collects()
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
    pub fn leave(&self) -> bool {
        self.left.set(self.collects());
        !self.collects()
    }
    /// Whether there are letters for which no worker was woken. They are woken now.
    pub fn take_left(&self) -> bool {
        self.left.take()
    }
}
