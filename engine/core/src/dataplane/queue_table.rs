//! The receive queues as control sees them: found by interface and by number, however many there are.

use std::collections::BTreeMap;

use super::interfaces::QueueInfo;
use crate::place::QueueId;

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
