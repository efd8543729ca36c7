//! Interfaces: their queues, given to workers and taken from them, and their counters.

use super::{Dataplane, DataplaneError, InterfaceCounters, OtherName, QueueInfo};
use crate::counters::{Counter, Counters, Traffic};
use crate::graph::NodeId;
use crate::handoff::Generations;
use crate::place::{Place, QueueId};
use crate::rx::{RxMode, RxQueue};
use crate::tx::TxQueue;
use crate::worker::Worker;
use quiver_stats::{Segment, Target};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Where counts are that clients know by other names of arcs, and that say of the same packets something else than these.
pub const KNOWN_AS: &str = "/quiver/known-as/";

/// Parts of interfaces, which send by the queues of the whole; every copy of it knows them at any time.
#[derive(Clone, Default)]
pub struct Parts(Rc<RefCell<BTreeMap<u32, u32>>>);

impl Parts {
    /// Whether an interface is a part of another one.
    pub fn contains(&self, interface: u32) -> bool {
        self.0.borrow().contains_key(&interface)
    }
    /// The interface that this one is a part of.
    pub fn whole_of(&self, interface: u32) -> Option<u32> {
        self.0.borrow().get(&interface).copied()
    }
    /// Each part with its whole.
    pub(super) fn all(&self) -> Vec<(u32, u32)> {
        self.0.borrow().iter().map(|(part, whole)| (*part, *whole)).collect()
    }
    fn set(&self, interface: u32, port: Option<u32>) {
        match port {
            Some(port) => self.0.borrow_mut().insert(interface, port),
            None => self.0.borrow_mut().remove(&interface),
        };
    }
}

impl Dataplane {
    /// Gives an interface its queues: `rx` are spread over the workers, `tx` has one for each worker. The interface is
    /// down until [`Dataplane::set_up`].
    pub fn attach(
        &mut self,
        interface: u32,
        input: NodeId,
        rx: Vec<Box<dyn RxQueue>>,
        tx: Vec<Box<dyn TxQueue>>,
    ) -> Result<Vec<QueueId>, DataplaneError> {
        if tx.len() != self.workers.len() {
            let workers = self.workers.len();
            return Err(DataplaneError::Queues { interface, given: tx.len(), workers });
        }
        self.counted.grow(interface, rx.len());
        self.ports.insert(interface);
        self.generations.change(interface);
        for (worker, queue) in tx.into_iter().enumerate() {
            let counters = self.counted.tx.row(worker);
            self.post(worker, move |w| w.attach_tx(interface, queue, counters));
        }
        let mut ids = vec![];
        for (index, queue) in rx.into_iter().enumerate() {
            let (id, worker) = (QueueId(self.next_queue), self.next_worker % self.workers.len());
            self.next_queue += 1;
            self.next_worker += 1;
            let (mode, has_interrupts) = (RxMode::default(), queue.fd().is_some() || queue.wake_at().is_some());
            let place = Place::new(
                id,
                interface,
                input,
                self.counted.rx_rows(index, self.blueprint.arcs(input), worker),
                false,
                mode,
            );
            self.post(worker, move |w| {
                w.expect(place);
                // It is expected, so nothing is given back.
                drop(w.arrive(id, queue));
            });
            self.queues.insert(QueueInfo {
                id,
                interface,
                index,
                input,
                worker,
                home: worker,
                mode,
                has_interrupts,
                up: false,
            });
            ids.push(id);
        }
        Ok(ids)
    }
    /// Lets an interface without queues of its own (a sub-interface) send by another one's port, and counts it; None
    /// for one that sends by no port. Like any other it is down until [`Dataplane::set_up`].
    pub fn attach_via(&mut self, interface: u32, port: Option<u32>) {
        self.generations.change(interface);
        self.parts.set(interface, port);
        self.counted.grow(interface, 0);
        // No change that waits is about this interface.
        self.post_all_early(|worker| {
            let via = port.map(|port| (port, self.counted.tx.row(worker)));
            move |w: &mut Worker| w.attach_via(interface, via)
        });
    }
    /// Takes an interface away from all workers. `gone` is dropped when no worker can refer to the interface any more:
    /// let it free the interface's number.
    pub fn detach(&mut self, interface: u32, gone: impl Send + Sync + 'static) {
        self.queues.remove_of(interface);
        self.up.remove(&interface);
        self.generations.change(interface);
        self.ports.remove(&interface);
        self.parts.set(interface, None);
        // No packet is received once features go. They go before the letter that frees the interface's number, which another
        // interface may get at once.
        self.post_all(|_| move |w: &mut Worker| w.set_up(interface, false));
        if self.blueprint.disable_all(interface) {
            self.wire();
        }
        let gone = Arc::new(gone);
        self.post_all(|_| {
            let (attic, gone) = (self.attic.clone(), gone.clone());
            move |w: &mut Worker| attic.store((w.detach(interface), gone))
        });
    }
    /// Tells users of the same interface number apart.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }
    /// The interfaces that send by another one's queues.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }
    /// Whether an interface has queues of its own.
    pub fn has_port(&self, interface: u32) -> bool {
        self.ports.contains(&interface)
    }
    /// Opens or closes an interface's queues.
    pub fn set_up(&mut self, interface: u32, up: bool) {
        match up {
            true => self.up.insert(interface),
            false => self.up.remove(&interface),
        };
        self.queues.of_mut(interface).for_each(|queue| queue.up = up);
        let letter = |_| move |w: &mut Worker| w.set_up(interface, up);
        // Packets come when all is ready, and stop at once.
        if up { self.post_all_behind(letter) } else { self.post_all(letter) }
    }
    /// Counts of an interface since it was made or cleared.
    pub fn interface_counters(&self, interface: u32) -> InterfaceCounters {
        self.counted.of(interface)
    }
    /// The counters of received packets by interface; nodes add those of sub-interfaces.
    pub fn rx_counters(&self) -> &Counters {
        &self.counted.rx
    }
    /// The counters of sent packets by interface.
    pub fn tx_counters(&self) -> &Counters {
        &self.counted.tx
    }
    /// Counters by interface at `/if/NAME` that a room counts in: they have room for all interfaces, and are set to zero
    /// with the others. `help` is a sentence in which `{}` stands for `Packets` or `Bytes`.
    pub fn add_interface_counters(&mut self, name: &'static str, help: impl Into<Cow<'static, str>>) -> Counters {
        self.counted.add(name, help.into())
    }
    /// The same, without bytes; `show interface` shows them as well.
    pub fn add_simple_interface_counters(
        &mut self,
        name: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) -> Counters<Counter> {
        self.counted.add_simple(name, help.into())
    }
    /// Counters without bytes that rooms added, for an interface, by name.
    pub fn added_interface_counters(&self, interface: u32) -> impl Iterator<Item = (&'static str, u64)> {
        self.counted.added_of(interface)
    }
    /// Sets an interface's counters to zero.
    pub fn clear_interface_counters(&self, interface: u32) {
        self.counted.clear(interface);
    }
    /// The statistics, for rooms to add to.
    pub fn statistics(&self) -> &Segment {
        &self.counted.segment
    }
    /// Gives the count of an arc of a node another name below `/err/`, by which clients look for it.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn also_called(&mut self, arc: (&str, &str), name: &str) -> Result<(), DataplaneError> {
        Ok(self.counted.also_called(&self.blueprint, arc, (name, None))?)
    }
    /// A count, at index 0, that clients know by another name of an arc though it is not the arc's own: see
    /// [`Dataplane::also_counted`].
    pub fn count_known_as(&self, name: &str) -> Counters<Counter> {
        let counters = Counters::shown(self.statistics(), &format!("{KNOWN_AS}{name}"), 1);
        counters.grow(1);
        counters
    }
    /// Gives an arc another name below `/err/`, where clients find a count of [`Dataplane::count_known_as`].
    ///
    /// # Errors
    /// If there is no such node.
    pub fn also_counted(
        &mut self,
        arc: (&str, &str),
        name: &str,
        count: &Counters<Counter>,
    ) -> Result<(), DataplaneError> {
        Ok(self.counted.also_called(&self.blueprint, arc, (name, count.target()))?)
    }
    /// Other names of arcs.
    pub fn other_names(&self) -> &[OtherName] {
        self.counted.other_names()
    }
    /// Packets and bytes that an interface's receive queue of this number has received.
    pub fn queue_counters(&self, queue: usize, interface: u32) -> Traffic {
        self.counted.of_queue(queue, interface)
    }
    /// Counters of every interface: the last part of the name, such as `rx`, and the target for other names.
    pub fn counted_by_interface(&self) -> impl Iterator<Item = (&'static str, Target)> {
        self.counted.by_interface()
    }
    /// The receive queues, by interface and number.
    pub fn queues(&self) -> impl Iterator<Item = &QueueInfo> {
        self.queues.iter()
    }
    /// The receive queues of an interface.
    pub fn queues_of(&self, interface: u32) -> impl Iterator<Item = &QueueInfo> {
        self.queues.of(interface)
    }
}
