//! The room: instances by name and number, and the inspectors that are connected.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quiver_control::{LowestFree, ObjectError, Signal};
use quiver_engine::{Dataplane, NodeId, Publisher, Snapshot};
use quiver_memif_protocol::Waker;

use crate::client::Client;
use crate::instance::{Instance, Instances, SnortInstance};

/// Instances at most: a descriptor has a byte for the number of the memory.
const INSTANCES_MAX: u32 = 255;

/// The room.
pub struct Snort {
    numbers: BTreeMap<String, u32>,
    free: LowestFree,
    instances: Publisher<Instances>,
    serials: u64,
    /// Attachments of inspectors to queue pairs so far.
    attachments: u32,
    waker: OnceCell<Arc<Waker>>,
    /// The node that takes packets from inspectors.
    pub(crate) release: NodeId,
    pub(crate) clients: BTreeMap<u32, Client>,
    pub(crate) free_clients: LowestFree,
    /// Notified when a client is disconnected.
    pub(crate) disconnected: Signal,
}

impl Snort {
    pub(crate) fn new(instances: Publisher<Instances>, release: NodeId) -> Snort {
        Snort {
            numbers: BTreeMap::new(),
            free: LowestFree::default(),
            instances,
            serials: 0,
            attachments: 0,
            waker: OnceCell::new(),
            release,
            clients: BTreeMap::new(),
            free_clients: LowestFree::default(),
            disconnected: Signal::new(),
        }
    }
    /// The number of the next attachment of an inspector.
    pub(crate) fn next_attachment(&mut self) -> u32 {
        self.attachments = self.attachments.wrapping_add(1);
        self.attachments
    }
    /// The number of an instance.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }
    /// The instance of a number.
    pub fn instance(&self, number: u32) -> Option<&Arc<Instance>> {
        self.instances.current().get(number as usize)?.as_ref()
    }
    /// All instances, by number.
    pub fn instances(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.instances.current().iter().flatten()
    }
    /// Clients by number.
    pub fn clients(&self) -> &BTreeMap<u32, Client> {
        &self.clients
    }
    /// Number of memories that a client is told of.
    pub(crate) fn pools(&self) -> u16 {
        self.instances.current().len() as u16
    }
    fn set(&mut self, number: u32, instance: Option<Arc<Instance>>) {
        self.instances.update(|instances| {
            let mut instances = instances.clone();
            instances.resize(instances.len().max(number as usize + 1), None);
            instances[number as usize] = instance;
            instances
        });
    }
    /// Has workers use an instance; returns the one that had its number.
    pub(crate) fn insert(&mut self, made: Arc<Instance>) -> Option<Arc<Instance>> {
        let before = self.instance(made.number).cloned();
        self.numbers.insert(made.name.clone(), made.number);
        self.set(made.number, Some(made));
        before
    }
    /// Has workers use an instance no more, and returns it.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<Instance>> {
        let number = self.numbers.remove(name)?;
        let gone = self.instance(number).cloned();
        self.set(number, None);
        self.free.release(number);
        gone
    }
    /// Makes an instance, which is not there yet. One that has the name of another one has its number.
    pub(crate) fn make(&mut self, config: &SnortInstance, workers: usize) -> Result<Arc<Instance>, ObjectError> {
        let known = self.number(&config.name);
        let taken: BTreeSet<u32> = self.numbers.values().copied().collect();
        let number = known.unwrap_or_else(|| self.free.find(|number| taken.contains(&number)));
        let number = u8::try_from(number).ok().filter(|number| u32::from(*number) < INSTANCES_MAX);
        let full = || ObjectError::whole(format!("there are {INSTANCES_MAX} instances")).remedy("delete one of them");
        let number = number.ok_or_else(full)?;
        self.serials += 1;
        let waker = self.waker.get_or_init(|| Arc::new(Waker::new()));
        Ok(Arc::new(Instance::new(config, (number, self.serials), workers, waker)?))
    }
}

/// A table of instances, for the room and for workers.
pub(crate) fn instances(dataplane: &Dataplane) -> (Publisher<Instances>, Snapshot<Instances>) {
    let publisher = Publisher::new(dataplane.domain(), vec![]);
    let snapshot = publisher.snapshot();
    (publisher, snapshot)
}
