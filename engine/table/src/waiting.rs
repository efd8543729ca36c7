//! Changes that wait for each other: control makes many in a turn, and readers find them at its end.
//!
//! A change of a [`Paged`](crate::Paged) table copies a page, and readers have to be told of the copy. Between
//! [`Domain::hold`](crate::Domain::hold) and [`Domain::release`](crate::Domain::release), changes by
//! [`Publisher::edit`](crate::Publisher::edit) copy each page once, and are published as one.
//!
//! - Tables are published in the order in which they were first changed, and behind them what waits behind all tables. So rows of
//!   such tables may refer to each other only if a row that is not there yet, or not any more, does no harm.
//! - Every other change is ordered: [`Publisher::publish`](crate::Publisher::publish), and the writers of tables whose words
//!   change in place, publish the changes that wait first ([`Domain::flush`](crate::Domain::flush)).
//! - Memory that is retired meanwhile is kept until the changes are published, since readers may come to it until then.
//!
//! Only the thread of the writers calls any of this.

use crossbeam_queue::SegQueue;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes that readers do not find yet.
pub trait Waiting: Send + Sync {
    /// Lets readers find them.
    fn publish(&self);
}

type List = Mutex<Vec<Arc<dyn Waiting>>>;

/// Changes of a domain's tables that wait.
#[derive(Default)]
pub(crate) struct Turn {
    /// Turns that have begun and not ended, one in the other.
    depth: AtomicU32,
    /// Whether there are changes.
    waits: AtomicBool,
    tables: List,
    behind: List,
    garbage: SegQueue<Box<dyn Send>>,
}

impl Turn {
    pub fn begin(&self) {
        self.depth.fetch_add(1, Ordering::Relaxed);
    }
    /// Says whether it was the outermost one.
    pub fn end(&self) -> bool {
        let less = |depth: u32| depth.checked_sub(1);
        self.depth.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok_and(|before| before == 1)
    }
    pub fn is_outermost(&self) -> bool {
        self.depth.load(Ordering::Relaxed) == 1
    }
    pub fn is_inside(&self) -> bool {
        self.depth.load(Ordering::Relaxed) > 0
    }
    #[inline(always)]
    pub fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }
    pub fn add(&self, changes: Arc<dyn Waiting>) {
        self.note(&self.tables, changes);
    }
    pub fn add_behind(&self, changes: Arc<dyn Waiting>) {
        self.note(&self.behind, changes);
    }
    fn note(&self, list: &List, changes: Arc<dyn Waiting>) {
        list.lock().unwrap_or_else(PoisonError::into_inner).push(changes);
        self.waits.store(true, Ordering::Relaxed);
    }
    /// Publishes all changes. The caller retires the garbage then.
    #[cold]
    pub fn publish(&self) {
        // A table that is published now must not flush the others first.
        self.waits.store(false, Ordering::Relaxed);
        for list in [&self.tables, &self.behind] {
            let all = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
            all.iter().for_each(|changes| changes.publish());
        }
    }
    /// Keeps what is to be retired behind the changes that wait; gives it back if there are none.
    pub fn keep(&self, garbage: Box<dyn Send>) -> Option<Box<dyn Send>> {
        if !self.waits() {
            return Some(garbage);
        }
        self.garbage.push(garbage);
        None
    }
    /// Number of kept objects.
    pub fn kept(&self) -> usize {
        self.garbage.len()
    }
    pub fn take_garbage(&self) -> Option<Box<dyn Send>> {
        self.garbage.pop()
    }
}
