//! What tells this daemon from all others: a number drawn once, which it keeps over restarts. Rooms derive from it what must differ
//! between daemons that are joined, such as addresses of hardware.

use std::cell::Cell;

use crate::control::Control;

/// The daemon's number; none in tests and simulations, which are to be the same each time.
#[derive(Default)]
pub(crate) struct Identity(Cell<Option<u128>>);

impl Control {
    /// The number that no other daemon has, if this one has any.
    pub fn identity(&self) -> Option<u128> {
        self.part::<Identity>().0.get()
    }

    /// Sets the daemon's number, before anything is configured.
    pub fn set_identity(&self, number: u128) {
        self.part::<Identity>().0.set(Some(number));
    }
}
