//! Changes of the wiring on their way to workers.

use std::cell::Cell;

/// Changes of the wiring that are not posted yet.
#[derive(Default)]
pub(super) struct Changes {
    /// Whether changes wait for each other.
    collects: Cell<bool>,
    /// Whether there are changes that wait.
    waits: Cell<bool>,
}

impl Changes {
    /// Begins or ends to let changes wait for each other.
    pub fn collect(&self, collects: bool) {
        self.collects.set(collects);
    }
    /// Notes a change; says whether it is to be posted at once.
    pub fn add(&self) -> bool {
        self.waits.set(true);
        !self.collects.get()
    }
    /// Whether there are changes that wait.
    pub fn are_waiting(&self) -> bool {
        self.waits.get()
    }
    /// Notes that all changes are posted.
    pub fn posted(&self) {
        self.waits.set(false);
    }
}
