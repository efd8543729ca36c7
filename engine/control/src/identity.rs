//! Identity of this daemon: a random number that it keeps over restarts. Rooms derive values from it that must differ
//! between connected daemons, such as MAC addresses.

use std::cell::Cell;

use crate::control::Control;

/// The daemon's number; none in tests and simulations, which are to be the same each time.
#[derive(Default)]
pub(crate) struct Identity(Cell<Option<u128>>);

impl Control {
    /// This daemon's number, which no other daemon has.
    pub fn identity(&self) -> Option<u128> {
        self.part::<Identity>().0.get()
    }

    /// Sets the daemon's number, before anything is configured.
    pub fn set_identity(&self, number: u128) {
        self.part::<Identity>().0.set(Some(number));
    }
}
