//! Transactions: the configuration changes as a whole, by one at a time, for good or not at all.
//!
//! - The **running** configuration is the objects that run.
//! - A **candidate** is a file that was planned ([`Control::plan`]) and not yet applied.
//! - The **saved** configuration is the newest confirmed [`Version`] of the history; a daemon starts with it.
//!
//! [`Control::apply`] and its like hold the configuration while they work, in turns: `show` commands are answered and
//! timers run meanwhile, other changes are refused with the name of who holds it. What is applied becomes a version of
//! the history, at once or, if it was asked for, when it is confirmed in time; else what ran before comes back.
//!
//! Modules: `change` holds and makes; `confirm` waits for the operator; `history` keeps [`Version`]s in a [`Store`];
//! `command` is how operators reach all this. Why so: docs/decisions/0008-transactions.md.

mod author;
mod change;
mod command;
mod confirm;
mod error;
mod history;
mod hold;
mod store;
mod version;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::control::Control;
pub use author::Author;
pub use change::Terms;
pub(crate) use command::register;
use confirm::Unconfirmed;
pub use error::TransactionError;
use history::History;
use hold::Held;
pub use store::{Memory, Store};
pub use version::{Malformed, Version};

/// Who changes the configuration, and what became of it.
#[derive(Default)]
pub(crate) struct Transactions {
    held: RefCell<Option<Rc<Held>>>,
    /// Who has changed what runs, by commands, since the newest version.
    unsaved: RefCell<BTreeSet<Author>>,
    unconfirmed: RefCell<Option<Unconfirmed>>,
    candidate: RefCell<Option<Candidate>>,
    history: History,
    /// Counts changes of objects.
    changes: Cell<u64>,
}

/// A configuration that was planned.
#[derive(Clone)]
struct Candidate {
    author: Author,
    file: String,
    text: Rc<str>,
    /// How often what runs had changed when it was planned.
    after: u64,
}

impl Control {
    /// Who has changed by commands what runs, so that it is not what is saved; nobody if it is.
    pub fn unsaved_by(&self) -> Option<String> {
        Some(self.transactions().unsaved_by()).filter(|by| !by.is_empty())
    }

    /// How often an object has changed since the daemon began, whoever changed it.
    pub fn changes(&self) -> u64 {
        self.transactions().changes.get()
    }

    /// Whether somebody holds the configuration as a whole just now.
    pub fn is_held(&self) -> bool {
        self.transactions().held.borrow().is_some()
    }
}

impl Transactions {
    /// Notes that an object has changed.
    pub fn note_change(&self) {
        self.changes.set(self.changes.get() + 1);
    }

    /// Notes that somebody has changed what runs by a command.
    pub fn note_unsaved(&self, author: &Author) {
        let mut unsaved = self.unsaved.borrow_mut();
        if !unsaved.contains(author) {
            unsaved.insert(author.clone());
        }
    }

    /// The names of those who have changed what runs by commands since the newest version; empty if nobody has.
    fn unsaved_by(&self) -> String {
        let names: Vec<String> = self.unsaved.borrow().iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}
