//! The history: versions of the configuration, newest last.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use super::{Memory, Store, Text, Version};
use crate::control::Control;

/// Versions that are kept at most.
const VERSIONS_MAX: usize = 50;
/// Bytes of all of them at most, though the newest two are kept however long they are.
const BYTES_MAX: usize = 64 << 20;

/// Bytes in front of the configuration in the text of a version, at most.
const HEADER_MAX: usize = 64 << 10;

/// The versions that are kept.
pub(super) struct History {
    store: RefCell<Rc<dyn Store>>,
    /// Newest last, each with the length of its text.
    versions: RefCell<Vec<(Version, usize)>>,
    /// The number of the next one.
    next: Cell<u64>,
}

impl Default for History {
    fn default() -> History {
        let store: Rc<dyn Store> = Rc::new(Memory::default());
        History { store: RefCell::new(store), versions: RefCell::default(), next: Cell::new(1) }
    }
}

impl History {
    /// Takes over a store's versions. Unreadable ones are left alone, and logged.
    pub async fn open(&self, store: Rc<dyn Store>) -> io::Result<()> {
        let mut numbers = store.list().await?;
        numbers.sort_unstable();
        let mut found = Vec::new();
        for number in &numbers {
            let text = store.read(*number).await?;
            match Version::read(&text) {
                Ok((version, _)) => found.push((Version { number: *number, ..version }, text.len())),
                Err(error) => {
                    tracing::error!("version {number} of the configuration's history cannot be read: {error}")
                }
            }
        }
        self.next.set(numbers.last().map_or(1, |last| last + 1));
        *self.versions.borrow_mut() = found;
        *self.store.borrow_mut() = store;
        Ok(())
    }

    /// All versions, newest first.
    pub fn versions(&self) -> Vec<Version> {
        self.versions.borrow().iter().rev().map(|(version, _)| version.clone()).collect()
    }

    /// The saved configuration: the newest version that was confirmed.
    pub fn saved(&self) -> Option<Version> {
        self.versions().into_iter().find(|version| version.confirmed)
    }

    /// The configuration of a version.
    pub async fn text(&self, number: u64) -> io::Result<Text> {
        let store = self.store.borrow().clone();
        let text = store.read(number).await?;
        match Version::read(&text) {
            Ok((_, configuration)) => {
                let head = text.len() - configuration.len();
                Ok(text.behind(head))
            }
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("version {number}: {error}"))),
        }
    }

    /// Whether this is the configuration of a version. One of another length is not read for that. A helper of `control` compares them.
    pub async fn is_text(&self, control: &Control, number: u64, text: &Text) -> bool {
        let length =
            self.versions.borrow().iter().find(|(version, _)| version.number == number).map(|(_, length)| *length);
        if !length.is_some_and(|length| length >= text.len() && length - text.len() <= HEADER_MAX) {
            return false;
        }
        let Ok(known) = self.text(number).await else { return false };
        let text = text.clone();
        control.by_helper(move || *known == *text).await.unwrap_or_default()
    }

    /// Adds the newest version; its number is given here.
    pub async fn record(&self, version: Version, configuration: Text) -> io::Result<Version> {
        let version = Version { number: self.next.get(), ..version };
        self.put(&version, configuration).await?;
        self.next.set(version.number + 1);
        self.forget_oldest().await;
        Ok(version)
    }

    /// Notes that a version was confirmed.
    pub async fn confirm(&self, version: &Version) -> io::Result<()> {
        let configuration = self.text(version.number).await?;
        self.put(&Version { confirmed: true, ..version.clone() }, configuration).await
    }

    async fn put(&self, version: &Version, configuration: Text) -> io::Result<()> {
        let head = version.head();
        let (store, length) = (self.store.borrow().clone(), head.len() + configuration.len());
        store.write(version.number, head, configuration).await?;
        let mut versions = self.versions.borrow_mut();
        versions.retain(|(other, _)| other.number != version.number);
        versions.push((version.clone(), length));
        Ok(())
    }

    async fn forget_oldest(&self) {
        loop {
            let oldest = {
                let versions = self.versions.borrow();
                let bytes: usize = versions.iter().map(|(_, length)| length).sum();
                let too_many = versions.len() > VERSIONS_MAX || versions.len() > 2 && bytes > BYTES_MAX;
                let Some((oldest, _)) = versions.first().filter(|_| too_many) else { return };
                oldest.number
            };
            let store = self.store.borrow().clone();
            if let Err(error) = store.remove(oldest).await {
                tracing::warn!("version {oldest} of the configuration's history cannot be removed: {error}");
            }
            self.versions.borrow_mut().retain(|(version, _)| version.number != oldest);
        }
    }
}
