//! Control's post to all workers: the wiring when it has changed, and letters. Between [`Dataplane::hold`] and
//! [`Dataplane::release`] changes of the wiring wait with those of tables, and workers are woken at the end.
//!
//! [`Dataplane::hold`]: super::Dataplane::hold
//! [`Dataplane::release`]: super::Dataplane::release

use super::attic::Attic;
use crate::graph::CurrentWiring;
use crate::mailbox::{Letter, Mailbox};
use crate::worker::Worker;
use quiver_table::{Domain, Waiting};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Pairs of calls that lie within each other.
#[derive(Default)]
pub(super) struct Depth(Cell<u32>);

impl Depth {
    pub fn begin(&self) {
        self.0.set(self.0.get() + 1);
    }
    /// Undoes one [`Depth::begin`]; says whether it was the outermost one.
    pub fn end(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
    pub fn is_inside(&self) -> bool {
        self.0.get() > 0
    }
}

/// The workers' mailboxes, and what does not lie in them yet.
pub(super) struct Post {
    workers: OnceLock<Vec<Arc<Mailbox>>>,
    wiring: CurrentWiring,
    /// Where workers put wirings that they had before.
    attic: Attic,
    /// Whether the wiring has changed since it was posted.
    has_changed: AtomicBool,
    /// Letters behind the wiring, each with its worker.
    behind: Mutex<Vec<(usize, Letter)>>,
    /// Whether the domain has this among the changes that wait.
    is_listed: AtomicBool,
    /// Whether there are letters for which no worker was woken.
    has_letters: AtomicBool,
    domain: Domain,
}

impl Post {
    pub fn new(domain: &Domain, wiring: &CurrentWiring, attic: &Attic) -> Arc<Post> {
        Arc::new(Post {
            workers: OnceLock::new(),
            wiring: wiring.clone(),
            attic: attic.clone(),
            has_changed: AtomicBool::new(false),
            behind: Mutex::default(),
            is_listed: AtomicBool::new(false),
            has_letters: AtomicBool::new(false),
            domain: domain.clone(),
        })
    }
    /// Notes the workers, once.
    pub fn start(&self, workers: impl Iterator<Item = Arc<Mailbox>>) {
        // A data plane starts once.
        let _ = self.workers.set(workers.collect());
    }
    fn workers(&self) -> &[Arc<Mailbox>] {
        self.workers.get().map_or(&[], |workers| workers)
    }
    /// Notes a change of the wiring.
    pub fn note_change(&self) {
        self.has_changed.store(true, Relaxed);
    }
    /// Posts a letter before what waits. Its worker is woken at once, or when nothing is held any more.
    pub fn deliver(&self, worker: usize, letter: Letter) {
        let Some(mailbox) = self.workers().get(worker) else { return };
        match self.domain.is_held() {
            true => {
                mailbox.push(letter);
                self.has_letters.store(true, Relaxed);
            }
            false => mailbox.put(letter),
        }
    }
    /// Posts a letter behind the changes that wait.
    pub fn deliver_behind(self: &Arc<Post>, worker: usize, letter: Letter) {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner).push((worker, letter));
        self.wait();
    }
    /// Has the wiring posted with the changes that wait.
    pub fn wait(self: &Arc<Post>) {
        if !self.is_listed.swap(true, Relaxed) {
            self.domain.wait_behind(self.clone());
        }
    }
    /// Posts the wiring, if it has changed since it was posted last.
    pub fn post_wiring(&self) {
        if !self.has_changed.load(Relaxed) {
            return;
        }
        let Some(wiring) = self.wiring.get().map(Arc::new) else { return };
        self.has_changed.store(false, Relaxed);
        for worker in 0..self.workers().len() {
            let (wiring, attic) = (wiring.clone(), self.attic.clone());
            self.deliver(worker, Box::new(move |w: &mut Worker| attic.store(w.graph().swap_wiring(wiring))));
        }
    }
    /// Wakes all workers if there are letters for which none was woken.
    pub fn wake(&self) {
        if self.has_letters.swap(false, Relaxed) {
            self.workers().iter().for_each(|worker| worker.wake());
        }
    }
}

impl Waiting for Post {
    fn publish(&self) {
        self.is_listed.store(false, Relaxed);
        self.post_wiring();
        let behind = std::mem::take(&mut *self.behind.lock().unwrap_or_else(PoisonError::into_inner));
        behind.into_iter().for_each(|(worker, letter)| self.deliver(worker, letter));
    }
}
