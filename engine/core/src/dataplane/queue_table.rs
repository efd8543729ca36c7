//! The receive queues as control sees them: found by interface and by number, however many there are.

use std::collections::BTreeMap;

use crate::graph::NodeId;
use crate::place::QueueId;
use crate::rx::RxMode;

/// A receive queue as control sees it.
#[derive(Clone, Debug)]
pub struct QueueInfo {
    /// Its number.
    pub id: QueueId,
    /// Its interface.
    pub interface: u32,
    /// Its number among the interface's queues.
    pub index: usize,
    /// The node that stands for it.
    pub input: NodeId,
    /// The worker that polls it.
    pub worker: usize,
    /// The worker that it was given when it was attached.
    pub home: usize,
    /// When it is polled.
    pub mode: RxMode,
    /// Whether its driver says when packets wait.
    pub has_interrupts: bool,
    /// Whether its interface is up.
    pub(super) up: bool,
}

/// All receive queues.
#[derive(Default)]
pub(super) struct QueueTable {
    /// By interface, and number among its queues.
    queues: BTreeMap<(u32, usize), QueueInfo>,
    places: BTreeMap<QueueId, (u32, usize)>,
}

impl QueueTable {
    pub fn insert(&mut self, queue: QueueInfo) {
        let place = (queue.interface, queue.index);
        self.places.insert(queue.id, place);
        self.queues.insert(place, queue);
    }
    /// Removes the queues of an interface.
    pub fn remove_of(&mut self, interface: u32) {
        let places: Vec<_> = self.of(interface).map(|queue| (queue.interface, queue.index)).collect();
        for place in places {
            if let Some(queue) = self.queues.remove(&place) {
                self.places.remove(&queue.id);
            }
        }
    }
    /// All of them, by interface and number.
    pub fn iter(&self) -> impl Iterator<Item = &QueueInfo> {
        self.queues.values()
    }
    /// Those of an interface.
    pub fn of(&self, interface: u32) -> impl Iterator<Item = &QueueInfo> {
        self.queues.range((interface, 0)..=(interface, usize::MAX)).map(|(_, queue)| queue)
    }
    pub fn of_mut(&mut self, interface: u32) -> impl Iterator<Item = &mut QueueInfo> {
        self.queues.range_mut((interface, 0)..=(interface, usize::MAX)).map(|(_, queue)| queue)
    }
    pub fn get(&self, id: QueueId) -> Option<&QueueInfo> {
        self.queues.get(self.places.get(&id)?)
    }
    pub fn get_mut(&mut self, id: QueueId) -> Option<&mut QueueInfo> {
        self.queues.get_mut(self.places.get(&id)?)
    }
}
