//! Number of packets that wait at a node, for commands and statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of packets that wait at a node, in all workers.
#[derive(Clone, Debug, Default)]
pub struct Counted(Arc<AtomicUsize>);

impl Counted {
    /// The number.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
    /// A gauge for a worker's node.
    pub fn gauge(&self) -> Gauge {
        Gauge { all: self.0.clone(), own: 0 }
    }
}

/// Number of packets that wait at a worker's node.
#[derive(Debug)]
pub struct Gauge {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Gauge {
    pub(crate) fn set(&mut self, now: usize) {
        let before = std::mem::replace(&mut self.own, now);
        if now != before {
            self.all.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
        }
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.set(0);
    }
}
