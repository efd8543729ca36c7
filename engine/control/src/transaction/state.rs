//! The state of transactions: the hold, the candidate, and the version that waits for confirmation.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::history::History;
use super::{Audit, Author, Text, Version};
use crate::config::Scope;
use crate::control::Control;
use crate::time::{Task, Time};

/// State of configuration changes: hold, candidate, confirmation and history.
#[derive(Default)]
pub(crate) struct Transactions {
    pub(super) held: RefCell<Option<Rc<Held>>>,
    /// Authors who have changed the running configuration by commands since the newest version.
    pub(super) unsaved: RefCell<BTreeSet<Author>>,
    /// Why the saved configuration, with which the daemon started, does not run.
    pub(super) not_resumed: RefCell<Option<String>>,
    pub(super) unconfirmed: RefCell<Option<Unconfirmed>>,
    pub(super) candidate: RefCell<Option<Candidate>>,
    pub(super) history: History,
    pub(super) audit: RefCell<Option<Rc<dyn Audit>>>,
    /// Counts changes of objects.
    pub(super) changes: Cell<u64>,
}

/// A configuration that was planned.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) author: Author,
    pub(super) file: String,
    pub(super) text: Text,
    pub(super) scope: Scope,
    /// Value of `changes` when it was planned.
    pub(super) after: u64,
}

/// A hold of the configuration by one author.
pub(super) struct Held {
    pub by: Author,
    pub what: String,
    /// Steps done, of how many; nothing while they are still planned.
    pub progress: Cell<(usize, usize)>,
}

impl Held {
    /// Author that holds the configuration.
    pub fn by(&self) -> &Author {
        &self.by
    }

    /// The change in progress, with its step.
    pub fn what(&self) -> String {
        match self.progress.get() {
            (_, 0) => self.what.clone(),
            (done, all) => format!("{}, step {} of {all}", self.what, done + 1),
        }
    }
}

/// The newest version, which runs but must still be confirmed.
pub(super) struct Unconfirmed {
    pub version: Version,
    pub by: Author,
    pub what: String,
    pub until: Time,
    pub timer: Task,
}

impl Control {
    /// State of configuration changes.
    pub(crate) fn transactions(&self) -> &Transactions {
        self.part()
    }

    /// Authors who have changed the running configuration by commands, so that it differs from the saved one; none if
    /// it does not.
    pub fn unsaved_by(&self) -> Option<String> {
        Some(self.transactions().unsaved_by()).filter(|by| !by.is_empty())
    }

    /// Why the saved configuration does not run since the daemon's start; nothing if it does, or if another one was made to run
    /// or saved since.
    pub fn not_resumed(&self) -> Option<String> {
        self.transactions().not_resumed.borrow().clone()
    }

    /// Number of changes of objects since the daemon started, by all authors.
    pub fn changes(&self) -> u64 {
        self.transactions().changes.get()
    }

    /// Whether an author holds the whole configuration just now.
    pub fn is_held(&self) -> bool {
        self.transactions().held.borrow().is_some()
    }
}

impl Transactions {
    /// Notes that an object has changed.
    pub fn note_change(&self) {
        self.changes.set(self.changes.get() + 1);
    }

    /// Notes that the running configuration is the saved one.
    pub(super) fn note_saved(&self) {
        self.unsaved.borrow_mut().clear();
        *self.not_resumed.borrow_mut() = None;
    }

    /// Notes that this author has changed the running configuration by a command.
    pub fn note_unsaved(&self, author: &Author) {
        let mut unsaved = self.unsaved.borrow_mut();
        if !unsaved.contains(author) {
            unsaved.insert(author.clone());
        }
    }

    /// Names of the authors who have changed the running configuration by commands since the newest version; empty if
    /// there are none.
    pub(super) fn unsaved_by(&self) -> String {
        let names: Vec<String> = self.unsaved.borrow().iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}
