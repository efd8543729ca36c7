//! Whether a client still waits for the change that it asked for.

use std::cell::Cell;
use std::rc::Rc;

use crate::signal::Signal;

/// Lives as long as a client waits.
#[derive(Default)]
pub(super) struct Asker(Asked);

/// The same, as the change sees it.
#[derive(Clone, Default)]
pub(super) struct Asked {
    has_left: Rc<Cell<bool>>,
    signal: Signal,
}

impl Asker {
    pub fn asked(&self) -> Asked {
        self.0.clone()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.has_left.set(true);
        self.0.signal.notify();
    }
}

impl Asked {
    /// Waits until the client waits no more.
    pub async fn left(&self) {
        let changed = self.signal.changed();
        if !self.has_left.get() {
            changed.await;
        }
    }
}
