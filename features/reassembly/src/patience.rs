//! The task that ends waiting: a worker without packets has no clock of its own. And how many packets wait, for who asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, Worker};
use quiver_interface::Events;

use crate::config::{Kinds, Reassemblies};
use crate::keeper::{Keeper, Parts};

/// A worker's clock that goes ahead when control's does (`set clock adjust`).
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// What control's clock said, until it was looked at.
    said: Option<u64>,
    /// How far the worker's clock was behind it when it was heard first.
    behind: Option<u64>,
    by: u64,
}

impl Ahead {
    pub fn say(&mut self, now: u64) {
        self.said = Some(now);
    }
    /// Whether control's clock was heard since this was asked last; by the worker's it is `now`.
    pub fn hears(&mut self, now: u64) -> bool {
        let Some(said) = self.said.take() else { return false };
        // Both begin anywhere; the difference says how far one has gone ahead.
        let behind = said.wrapping_sub(now);
        let first = *self.behind.get_or_insert(behind);
        let further = behind.wrapping_sub(first);
        // A letter that took its time makes the other seem to be late.
        self.by = self.by.max(if further > u64::MAX / 2 { 0 } else { further });
        true
    }
    /// The time.
    pub fn now(&self, now: u64) -> u64 {
        now.saturating_add(self.by)
    }
}

/// How many packets wait at a node, in all workers.
#[derive(Clone, Debug, Default)]
pub struct Counted(Arc<AtomicUsize>);

impl Counted {
    /// So many.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
    /// For a worker's node.
    pub fn gauge(&self) -> Gauge {
        Gauge { all: self.0.clone(), own: 0 }
    }
}

/// How many wait at a worker's node.
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

/// Has workers end what has waited for too long, as long as anything waits.
pub(crate) async fn end<P: Parts>(control: Control, node: NodeId, kind: Kinds, waiting: Inbox<()>) {
    // Whether anything waited when workers looked last.
    let waits = Arc::new(AtomicBool::new(false));
    loop {
        let changed = control.room::<Events>().signal.changed();
        // Each letter that no worker has read yet has one of these.
        let all_have_looked = Arc::strong_count(&waits) == 1;
        if !waits.swap(false, Ordering::Acquire) && all_have_looked && waiting.waiting().count() == 0 {
            changed.await;
            continue;
        }
        let now = control.now().0;
        let post = |_| {
            let waits = waits.clone();
            move |worker: &mut Worker| {
                let Some(this) = worker.graph().node_mut::<Keeper<P>>(node) else { return };
                if this.end(now) {
                    waits.store(true, Ordering::Release);
                }
                worker.wake_node(node);
            }
        };
        control.room::<Dataplane>().post_all(post);
        let (walk, changed) = {
            let room = control.room::<Reassemblies<P::Family>>();
            (room.settings(kind).walk, room.changed())
        };
        _ = control.timeout(walk, changed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_ahead_with_the_other_and_never_back() {
        let mut ahead = Ahead::default();
        assert!(!ahead.hears(5));
        for (said, now, then) in [(100, 1000, 1000), (140, 1050, 1050), (900, 1100, 1800), (1000, 1300, 2000)] {
            ahead.say(said);
            assert!(ahead.hears(now) && !ahead.hears(now));
            assert_eq!(ahead.now(now), then, "{said} {now}");
        }
    }
}
