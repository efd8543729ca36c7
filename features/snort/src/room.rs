//! The room: instances by name and number, and the inspectors that are connected.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::{Change, Control, LowestFree, ObjectError, Signal};
use quiver_engine::{Dataplane, NodeId, Publisher, Snapshot, Source, Worker};
use quiver_memif_protocol::Waker;

use crate::clients::Client;
use crate::instance::{Instance, SnortInstance};
use crate::pair::{NO_CLIENT, Pair};
use crate::release::of_lost;

/// Instances by number, as workers read them.
pub type Instances = Vec<Option<Arc<Instance>>>;

/// Instances at most: a descriptor has a byte for the number of the memory.
const INSTANCES_MAX: u32 = 255;

/// The room.
pub struct Snort {
    numbers: BTreeMap<String, u32>,
    free: LowestFree,
    instances: Publisher<Instances>,
    serials: u64,
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
            waker: OnceCell::new(),
            release,
            clients: BTreeMap::new(),
            free_clients: LowestFree::default(),
            disconnected: Signal::new(),
        }
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
    fn make(&mut self, config: &SnortInstance, workers: usize) -> Result<Arc<Instance>, ObjectError> {
        let known = self.number(&config.name);
        let taken: std::collections::BTreeSet<u32> = self.numbers.values().copied().collect();
        let number = known.unwrap_or_else(|| self.free.find(|number| taken.contains(&number)));
        let number = u8::try_from(number).ok().filter(|number| u32::from(*number) < INSTANCES_MAX);
        let full = || ObjectError::whole(format!("there are {INSTANCES_MAX} instances")).remedy("delete one of them");
        let number = number.ok_or_else(full)?;
        self.serials += 1;
        let waker = self.waker.get_or_init(|| Arc::new(Waker::new()));
        Ok(Arc::new(Instance::new(config, (number, self.serials), workers, waker)?))
    }
}

pub(crate) fn instances(dataplane: &Dataplane) -> (Publisher<Instances>, Snapshot<Instances>) {
    let publisher = Publisher::new(dataplane.domain(), vec![]);
    let snapshot = publisher.snapshot();
    (publisher, snapshot)
}

pub(crate) fn apply(control: &Control, change: Change<'_, SnortInstance>) -> Result<(), ObjectError> {
    let memory = |config: &SnortInstance| (config.queue_size, config.queues_per_thread);
    match change.sides() {
        (Some(old), Some(new)) if memory(old) == memory(new) => {
            let room = control.room::<Snort>();
            let instance = room.number(&new.name).and_then(|number| room.instance(number));
            instance.into_iter().for_each(|instance| instance.configure(new));
        }
        (_, Some(new)) => {
            let workers = control.room::<Dataplane>().workers().max(1);
            // Made before anything changes: the system may refuse it.
            let made = control.room_mut::<Snort>().make(new, workers)?;
            let before = control.room::<Snort>().instance(made.number).cloned();
            {
                let mut room = control.room_mut::<Snort>();
                room.numbers.insert(new.name.clone(), made.number);
                room.set(made.number, Some(made));
            }
            before.into_iter().for_each(|before| end(control, before));
        }
        (Some(old), None) => {
            let gone = {
                let mut room = control.room_mut::<Snort>();
                let number = room.numbers.remove(&old.name);
                let gone = number.and_then(|number| room.instance(number).cloned());
                if let Some(number) = number {
                    room.set(number, None);
                    room.free.release(number);
                }
                gone
            };
            gone.into_iter().for_each(|gone| end(control, gone));
        }
        (None, None) => {}
    }
    Ok(())
}

/// Ends an instance that workers are not given any more: its clients are disconnected, and what they hold is taken back.
fn end(control: &Control, instance: Arc<Instance>) {
    let clients: Vec<u32> = instance.pairs.iter().filter_map(|pair| pair.client()).collect();
    clients.into_iter().for_each(|client| crate::clients::disconnect(control, client));
    let later = control.clone();
    control.spawn("the end of an inspection instance", async move {
        // Workers may hold it until then, and it is not to be dropped by one of them.
        let settled = later.room::<Dataplane>().settled();
        settled.await;
        drop(instance);
    });
}

/// Takes a queue pair from its client. Packets that the client holds pass or are dropped, as the instance says.
pub(crate) fn take_back(control: &Control, instance: &Arc<Instance>, pair: &Arc<Pair>) {
    pair.client.store(NO_CLIENT, Relaxed);
    let release = control.room::<Snort>().release;
    let (instance, pair) = (instance.clone(), pair.clone());
    let dataplane = control.room::<Dataplane>();
    let generations = dataplane.generations().clone();
    let source: Arc<dyn Source> = pair.clone();
    dataplane.post(pair.worker, move |worker: &mut Worker| {
        worker.unwatch(&source);
        let held = pair.detach(&mut pair.own());
        for held in held {
            let next = of_lost(&instance, &pair, &held, &generations);
            worker.emit(release, next, held.packet);
        }
    });
}
