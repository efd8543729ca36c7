//! Hold of the configuration: one author at a time.

use std::cell::Cell;
use std::rc::Rc;

use super::TransactionError;
use super::state::{Held, Transactions};
use crate::control::Control;

/// The configuration is held while this lives.
pub(super) struct Hold {
    control: Control,
    held: Rc<Held>,
}

impl Hold {
    /// Notes how many steps are done, and of how many.
    pub fn progress(&self, done: usize, all: usize) {
        self.held.progress.set((done, all));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        *self.control.transactions().held.borrow_mut() = None;
    }
}

impl Control {
    /// Holds the configuration, though something may wait to be confirmed.
    pub(super) fn hold(&self, what: &str) -> Result<Hold, TransactionError> {
        self.transactions().check_not_held()?;
        let held = Rc::new(Held { by: self.author().clone(), what: what.to_owned(), progress: Cell::default() });
        *self.transactions().held.borrow_mut() = Some(held.clone());
        Ok(Hold { control: self.clone(), held })
    }

    /// Holds the configuration in order to change it.
    pub(super) fn hold_to_change(&self, what: &str) -> Result<Hold, TransactionError> {
        self.check_confirmed()?;
        self.hold(what)
    }

    /// An error if the configuration may not be changed just now.
    pub(crate) fn check_free(&self) -> Result<(), TransactionError> {
        self.transactions().check_not_held()?;
        self.check_confirmed()
    }

    fn check_confirmed(&self) -> Result<(), TransactionError> {
        match &*self.transactions().unconfirmed.borrow() {
            None => Ok(()),
            Some(unconfirmed) => Err(TransactionError::Unconfirmed {
                by: unconfirmed.by.clone(),
                what: unconfirmed.what.clone(),
                seconds: unconfirmed.until.since(self.now()).as_secs(),
            }),
        }
    }
}

impl Transactions {
    fn check_not_held(&self) -> Result<(), TransactionError> {
        match &*self.held.borrow() {
            None => Ok(()),
            Some(held) => Err(TransactionError::Held { by: held.by.clone(), what: held.what() }),
        }
    }
}
