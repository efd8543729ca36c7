//! The control thread's view of all workers: what rooms use to put nodes, queues, features and products in place.
//!
//! Nothing here waits for a worker. Wirings and products are computed here and posted; workers swap them in between two
//! turns. What workers may still read is freed by the epochs of [`Dataplane::domain`].

mod counted;
mod placement;

pub use counted::InterfaceCounters;
pub(crate) use counted::RxRows;
pub use placement::PlacementError;

use crate::buffer::{Buffers, Packet, PoolError};
use crate::capture::Capture;
use crate::channel::{Doorbell, Inbox, channel};
use crate::counters::Counters;
use crate::graph::{
    Blueprint, Done, FeatureArcSpec, GraphError, NodeId, NodeSpec, Punt, Punted, Seed, Side, To, Wiring,
};
use crate::handoff::Generations;
use crate::intake::{Place, QueueId, RECEIVED};
use crate::isa::Level;
use crate::mailbox::Mailbox;
use crate::product::{Installed, ProductSpec};
use crate::rx::{RxMode, RxQueue};
use crate::trace::Record;
use crate::tx::{OUTPUT, Output, Ports, TxQueue};
use crate::worker::{Worker, WorkerCounters};
use counted::Counted;
use crossbeam_queue::SegQueue;
use futures_channel::oneshot;
use quiver_stats::{Segment, Target, Threads};
use quiver_table::Domain;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How the data plane is made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Workers; at least one is made. With 0 there is one, and clients of the statistics take it for the main thread.
    pub workers: usize,
    /// The instruction set.
    pub level: Level,
    /// Buffers made at start.
    pub buffers: u32,
    /// Buffers at most.
    pub buffers_limit: u32,
    /// Whether other processes may map the buffers, where rooms let them. Then all are made at start, as many as at most.
    pub share_buffers: bool,
    /// Seeds the hashes of addresses that strangers choose; outside of tests nobody else may know it.
    pub secret: u64,
    /// The statistics segment.
    pub statistics: quiver_stats::Settings,
}
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            workers: 1,
            level: Level::best(),
            buffers: 16_384,
            buffers_limit: 262_144,
            share_buffers: false,
            secret: 0,
            statistics: quiver_stats::Settings::default(),
        }
    }
}

/// Why the data plane refuses.
#[derive(Debug, thiserror::Error)]
pub enum DataplaneError {
    /// The graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The buffers.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The system.
    #[error("the system refused an event channel: {0}")]
    System(#[from] std::io::Error),
    /// The statistics segment.
    #[error("the system refused a memory file of {size} bytes for the statistics: {error}; choose another size")]
    Statistics {
        /// The size that was asked for.
        size: usize,
        /// What the system says.
        error: std::io::Error,
    },
    /// Interfaces with other numbers of transmit queues than workers.
    #[error("interface {interface}: {given} transmit queues for {workers} workers; give one for each worker")]
    Queues {
        /// The interface.
        interface: u16,
        /// Queues given.
        given: usize,
        /// Workers.
        workers: usize,
    },
}

/// A receive queue as control sees it.
#[derive(Clone, Debug)]
pub struct QueueInfo {
    /// Its number.
    pub id: QueueId,
    /// Its interface.
    pub interface: u16,
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
    up: bool,
    /// The product that serves it, or why none does.
    pub product: Result<&'static str, String>,
    path: Vec<(NodeId, u16)>,
}

/// What workers have put away: control drops it, since freeing memory and closing files is no work for a worker.
#[derive(Clone, Default)]
struct Attic(Arc<SegQueue<Box<dyn Send>>>);
impl Attic {
    fn store(&self, thing: impl Send + 'static) {
        self.0.push(Box::new(thing));
    }
}

/// What the plans of all receive queues depend on, whatever their interfaces are.
#[derive(Default)]
struct Planned {
    wiring: Wiring,
    /// Feature arcs that products do not take, since features are enabled for packets that some port is to send.
    avoided: BTreeSet<&'static str>,
}

struct Handle {
    mailbox: Arc<Mailbox>,
    counters: Arc<WorkerCounters>,
}

/// All workers.
pub struct Dataplane {
    settings: Settings,
    domain: Domain,
    buffers: Buffers,
    blueprint: Blueprint,
    output: NodeId,
    products: Vec<ProductSpec>,
    fusion: bool,
    workers: Vec<Handle>,
    queues: Vec<QueueInfo>,
    /// Interfaces with transmit queues of their own.
    ports: BTreeSet<u16>,
    /// What products were planned by last.
    planned: Planned,
    next_queue: u32,
    next_worker: usize,
    counted: Counted,
    bell: Doorbell,
    punted: Inbox<Punted>,
    attic: Attic,
    generations: Generations,
    /// Whether workers have rings to each other.
    connected: bool,
}

/// Workers that a packet is handed on by at most.
const HAND_OFFS_MAX: usize = 2;

/// Asks the worker of this mailbox.
fn ask<T: Send + 'static>(
    mailbox: &Mailbox,
    question: impl FnOnce(&mut Worker) -> T + Send + 'static,
) -> oneshot::Receiver<T> {
    let (to, answer) = oneshot::channel();
    // Nobody waiting for the answer any more is fine.
    mailbox.post(move |worker| drop(to.send(question(worker))));
    answer
}

impl Dataplane {
    /// A data plane with the engine's own nodes and no workers yet.
    pub fn new(settings: Settings) -> Result<Dataplane, DataplaneError> {
        let main = settings.workers > 0;
        let settings = Settings { workers: settings.workers.max(1), ..settings };
        let mut counted = Counted::new(settings.statistics, Threads { main, workers: settings.workers })?;
        // Interface 0 is there from the beginning: what we send ourselves has come by it.
        counted.grow(0, 0);
        let bell = Doorbell::new()?;
        let (outbox, punted) = channel(4096, &bell);
        let mut blueprint = Blueprint::new(Counted::arcs(&counted.segment), counted.segment.threads());
        blueprint.discard("drop", counted.drops.clone())?;
        blueprint.node(NodeSpec::new("done", &[], |_| Done))?;
        blueprint.dispatcher()?;
        let punts = counted.punts.clone();
        let punt = move |seed: Seed| Punt { to: outbox.clone(), counters: punts.row(seed.worker) };
        blueprint.node(NodeSpec::new("punt", &[], punt))?;
        let output = blueprint.node(NodeSpec::new(OUTPUT, crate::tx::Next::ARCS, |_| Output))?;
        blueprint.feature_arc(FeatureArcSpec { name: OUTPUT, end: OUTPUT, side: Side::Tx })?;
        Ok(Dataplane {
            domain: Domain::new(),
            buffers: match settings.share_buffers {
                true => Buffers::shared(settings.buffers_limit)?,
                false => Buffers::new(settings.buffers, settings.buffers_limit)?,
            },
            blueprint,
            output,
            products: vec![],
            fusion: true,
            workers: vec![],
            queues: vec![],
            ports: BTreeSet::new(),
            planned: Planned::default(),
            next_queue: 0,
            next_worker: 0,
            counted,
            bell,
            punted,
            attic: Attic::default(),
            generations: Generations::new(),
            connected: false,
            settings,
        })
    }
    /// How it was made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// The epochs of everything that workers read.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }
    /// Frees what no worker reads any more, and what workers have put away. Control calls it every few milliseconds.
    pub fn reclaim(&self) -> usize {
        let put_away = std::iter::from_fn(|| self.attic.0.pop()).count();
        put_away + self.domain.reclaim()
    }
    /// The buffers.
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }
    /// The bell that workers ring when they have something for control.
    pub fn bell(&self) -> &Doorbell {
        &self.bell
    }
    /// Packets that nodes sent to control.
    pub fn punted(&self) -> &Inbox<Punted> {
        &self.punted
    }
    /// The registered nodes, to add to before [`Dataplane::start`].
    pub fn blueprint(&mut self) -> &mut Blueprint {
        &mut self.blueprint
    }
    /// The same, to look at.
    pub fn graph(&self) -> &Blueprint {
        &self.blueprint
    }
    /// Offers a product; the first one that applies and whose path is the configured one serves a queue.
    pub fn product(&mut self, product: ProductSpec) {
        self.products.push(product);
    }
    /// The products on offer.
    pub fn products(&self) -> &[ProductSpec] {
        &self.products
    }
    /// Checks the graph and makes the workers. Whoever gets them calls their turns.
    pub fn start(&mut self) -> Result<Vec<Worker>, DataplaneError> {
        self.blueprint.check()?;
        let mut workers = vec![];
        for id in 0..self.settings.workers {
            let (mailbox, counters) = (Arc::new(Mailbox::new()?), Arc::<WorkerCounters>::default());
            let pool = self.buffers.pool();
            let limit = self.buffers.limit();
            let pool = pool.ok_or(PoolError::AtLimit { limit })?;
            let graph = self.blueprint.instantiate(id, pool.home())?;
            let ports =
                Ports::new(self.output, self.blueprint.counters_of(self.output, id), self.counted.tx_errors.row(id));
            let (reader, level) = (self.domain.register(), self.settings.level);
            workers.push(Worker::new(id, level, reader, pool, graph, ports, mailbox.clone(), counters.clone()));
            self.workers.push(Handle { mailbox, counters });
        }
        self.counted.name_arcs(&self.blueprint);
        Ok(workers)
    }
    /// Workers there are.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }
    /// What a worker says of itself.
    pub fn worker_counters(&self, worker: usize) -> Option<&WorkerCounters> {
        self.workers.get(worker).map(|w| &*w.counters)
    }
    /// A worker's mailbox.
    pub fn mailbox(&self, worker: usize) -> Option<&Arc<Mailbox>> {
        self.workers.get(worker).map(|w| &w.mailbox)
    }
    /// Asks all workers' threads to end.
    pub fn stop(&self) {
        self.workers.iter().for_each(|w| w.mailbox.stop());
    }
    /// Posts work to one worker.
    pub fn post(&self, worker: usize, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        if let Some(handle) = self.workers.get(worker) {
            handle.mailbox.post(letter);
        }
    }
    /// Posts work to every worker, made for each.
    pub fn post_all<F: FnOnce(&mut Worker) + Send + 'static>(&self, letter: impl Fn(usize) -> F) {
        self.workers.iter().enumerate().for_each(|(i, w)| w.mailbox.post(letter(i)));
    }
    /// Asks a worker; the answer comes when it has read its mail. An error means that the worker is gone.
    pub fn ask<T: Send + 'static>(
        &self,
        worker: usize,
        question: impl FnOnce(&mut Worker) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        match self.workers.get(worker) {
            Some(handle) => ask(&handle.mailbox, question),
            None => oneshot::channel().1,
        }
    }
    /// Asks all workers; done when each has read its mail, so that whatever was posted before has taken effect.
    pub fn settled(&self) -> impl Future<Output = ()> + 'static {
        let answers: Vec<_> = (0..self.workers.len()).map(|w| self.ask(w, |_| ())).collect();
        async move {
            for answer in answers {
                let _ = answer.await;
            }
        }
    }
    /// Done when every packet that workers have received by now is through: sent, dropped, or with control. Those that
    /// workers hand to each other are waited for, too. No worker waits, and new packets may come meanwhile.
    pub fn drained(&self) -> impl Future<Output = ()> + 'static {
        let mailboxes: Vec<_> = self.workers.iter().map(|worker| worker.mailbox.clone()).collect();
        async move {
            for _ in 0..=HAND_OFFS_MAX {
                // A letter is read between two turns: what a worker has received before is behind it, or in a ring.
                let marks: Vec<_> =
                    mailboxes.iter().map(|mailbox| ask(mailbox, |worker| worker.outbound().marks())).collect();
                let mut waiting = vec![];
                for (mailbox, marks) in mailboxes.iter().zip(marks) {
                    waiting.extend(marks.await.ok().map(|marks| (mailbox, Arc::new(marks))));
                }
                for (mailbox, marks) in waiting {
                    let is_drained = || {
                        let marks = marks.clone();
                        ask(mailbox, move |worker| worker.outbound().is_drained(&marks))
                    };
                    while is_drained().await == Ok(false) {}
                }
            }
        }
    }
    /// Gives an interface its queues: `rx` are spread over the workers, `tx` has one for each worker. The interface is
    /// down until [`Dataplane::set_up`].
    pub fn attach(
        &mut self,
        interface: u16,
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
            self.queues.push(QueueInfo {
                id,
                interface,
                index,
                input,
                worker,
                home: worker,
                mode,
                has_interrupts,
                up: false,
                product: Err("not planned yet".into()),
                path: vec![],
            });
            ids.push(id);
        }
        self.plan_interface(interface);
        Ok(ids)
    }
    /// Lets an interface without queues of its own (a sub-interface) send by another one's, and counts it; None for one
    /// that sends by nobody's. Like any other it is down until [`Dataplane::set_up`].
    pub fn attach_via(&mut self, interface: u16, port: Option<u16>) {
        self.generations.change(interface);
        self.counted.grow(interface, 0);
        self.post_all(|worker| {
            let via = port.map(|port| (port, self.counted.tx.row(worker)));
            move |w: &mut Worker| w.attach_via(interface, via)
        });
    }
    /// Takes an interface away from all workers. `gone` is dropped when no worker can refer to the interface any more:
    /// let it free the interface's number.
    pub fn detach(&mut self, interface: u16, gone: impl Send + Sync + 'static) {
        self.queues.retain(|q| q.interface != interface);
        self.ports.remove(&interface);
        self.generations.change(interface);
        let disabled = self.blueprint.disable_all(interface);
        let gone = Arc::new(gone);
        self.post_all(|_| {
            let (attic, gone) = (self.attic.clone(), gone.clone());
            move |w: &mut Worker| attic.store((w.detach(interface), gone))
        });
        if disabled {
            self.rewire_interface(interface);
        }
    }
    /// Tells users of the same interface number apart.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }
    /// Whether an interface has queues of its own.
    pub fn has_port(&self, interface: u16) -> bool {
        self.ports.contains(&interface)
    }
    /// Opens or closes an interface's queues.
    pub fn set_up(&mut self, interface: u16, up: bool) {
        self.queues.iter_mut().filter(|queue| queue.interface == interface).for_each(|queue| queue.up = up);
        self.post_all(|_| move |w: &mut Worker| w.set_up(interface, up));
    }
    /// What an interface counted since it was made or cleared.
    pub fn interface_counters(&self, interface: u16) -> InterfaceCounters {
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
    /// Sets an interface's counters to zero.
    pub fn clear_interface_counters(&self, interface: u16) {
        self.counted.clear(interface);
    }
    /// The statistics, for rooms to add to.
    pub fn statistics(&self) -> &Segment {
        &self.counted.segment
    }
    /// What is counted of every interface: its name, `rx` for instance, and what other names for it lead to.
    pub fn counted_by_interface(&self) -> impl Iterator<Item = (&'static str, Target)> {
        self.counted.by_interface()
    }
    /// The receive queues.
    pub fn queues(&self) -> &[QueueInfo] {
        &self.queues
    }
    /// Enables or disables a feature on an interface.
    pub fn enable(&mut self, arc: &str, node: &str, interface: u16, on: bool) -> Result<(), GraphError> {
        if self.blueprint.enable(arc, node, interface, on)? {
            self.rewire_interface(interface);
        }
        Ok(())
    }
    /// Registers a node while workers run.
    pub fn insert_node(&mut self, spec: NodeSpec) -> Result<NodeId, GraphError> {
        self.extend(|blueprint| blueprint.node(spec))
    }
    /// Registers nodes, feature arcs, features and stand-ins while workers run: all that `add` does, or, if the graph
    /// would not fit together then, nothing.
    pub fn extend<T>(&mut self, add: impl FnOnce(&mut Blueprint) -> Result<T, GraphError>) -> Result<T, GraphError> {
        let before = self.blueprint.nodes().count();
        let added = self.blueprint.extend(add)?;
        for id in self.blueprint.nodes().skip(before).collect::<Vec<_>>() {
            for worker in 0..self.workers.len() {
                let instance = self.blueprint.instance(id, worker);
                self.post(worker, move |w| w.graph().add(instance));
            }
        }
        self.counted.name_arcs(&self.blueprint);
        self.rewire();
        Ok(added)
    }
    /// Closes all paths over a node that is not to be used any more, or not yet: see [`Blueprint::bypass`].
    pub fn bypass(&mut self, node: NodeId, pass: Option<u16>) {
        self.blueprint.bypass(node, pass);
        self.rewire();
    }
    /// Opens them again.
    pub fn open(&mut self, node: NodeId) {
        self.blueprint.open(node);
        self.rewire();
    }
    /// Lets an arc lead elsewhere from now on, or (None) where it was declared to lead.
    pub fn lead(&mut self, node: NodeId, arc: u16, to: Option<NodeId>) {
        self.blueprint.rewire(node, arc, to);
        self.rewire();
    }
    /// Posts the wiring as it is now, then plans the products. Called after every change of the blueprint.
    pub fn rewire(&mut self) {
        if self.post_wiring() {
            self.plan();
        }
    }
    /// The same after a change that concerns one interface.
    fn rewire_interface(&mut self, interface: u16) {
        if self.post_wiring() {
            self.plan_interface(interface);
        }
    }
    fn post_wiring(&mut self) -> bool {
        match self.blueprint.wiring() {
            Ok(wiring) => {
                let wiring = Arc::new(wiring);
                self.post_all(|_| {
                    let (wiring, attic) = (wiring.clone(), self.attic.clone());
                    move |w: &mut Worker| attic.store(w.graph().rewire(wiring))
                });
                true
            }
            // Names were checked when they were registered; a change that breaks them is refused before.
            Err(error) => {
                tracing::error!("the graph keeps its old wiring: {error}");
                false
            }
        }
    }
    /// Switches fused products on or off.
    pub fn set_fusion(&mut self, on: bool) {
        self.fusion = on;
        self.plan();
    }
    /// Whether fused products are used.
    pub fn fusion(&self) -> bool {
        self.fusion
    }
    /// Decides for each receive queue which product serves it. Called by rooms after a change that a product's
    /// `applies` looks at.
    pub fn plan(&mut self) {
        if self.survey().is_some() {
            self.plan_queues(|_| true);
        }
    }
    /// The same after a change that concerns only what one interface receives.
    pub fn plan_interface(&mut self, interface: u16) {
        match self.survey() {
            Some(false) => self.plan_queues(|queue| queue.interface == interface),
            Some(true) => self.plan_queues(|_| true),
            None => {}
        }
    }
    /// Notes what all plans depend on. Whether that is something new; None if the graph does not fit together.
    fn survey(&mut self) -> Option<bool> {
        let wiring = match self.blueprint.wiring() {
            Ok(wiring) => wiring,
            Err(error) => {
                tracing::error!("products are left as they are: {error}");
                return None;
            }
        };
        // Features on the way out are decided by the sending interface, which a product does not know beforehand. It
        // sends by ports only: features of interfaces without one are met by the nodes.
        let arcs = self.products.iter().flat_map(|product| product.path.iter());
        let arcs = arcs.filter_map(|(node, arc)| {
            let id = self.blueprint.find(node).ok()?;
            match self.blueprint.arcs(id).get(usize::from(*arc))?.to {
                To::Features(name) => Some(name),
                _ => None,
            }
        });
        let arcs: BTreeSet<&'static str> = arcs.collect();
        let on_port = |arc: &&str| self.ports.iter().any(|port| self.blueprint.meets_features(arc, *port));
        let avoided = arcs.into_iter().filter(on_port).collect();
        let new = avoided != self.planned.avoided || !Arc::ptr_eq(&wiring.shape, &self.planned.wiring.shape);
        self.planned = Planned { wiring, avoided };
        Some(new)
    }
    fn plan_queues(&mut self, wanted: impl Fn(&QueueInfo) -> bool) {
        let mut queues = std::mem::take(&mut self.queues);
        for queue in queues.iter_mut().filter(|queue| wanted(queue)) {
            let planned = self.plan_for(queue);
            let path = planned.as_ref().map_or(vec![], |(_, path)| path.clone());
            let same = planned.as_ref().map(|(product, _)| product.name) == queue.product.as_ref().copied();
            if same && path == queue.path {
                continue;
            }
            queue.path = path;
            let installed = planned.as_ref().ok().map(|(product, path)| Installed {
                product: product.make(Seed { worker: queue.worker }),
                path: path.iter().map(|(id, arc)| (*id, *arc, self.blueprint.counters_of(*id, queue.worker))).collect(),
            });
            queue.product = planned.map(|(product, _)| product.name);
            let (id, attic) = (queue.id, self.attic.clone());
            self.post(queue.worker, move |w| attic.store(w.install(id, installed)));
        }
        self.queues = queues;
    }
    #[allow(clippy::type_complexity)]
    fn plan_for(&self, queue: &QueueInfo) -> Result<(&ProductSpec, Vec<(NodeId, u16)>), String> {
        if !self.fusion {
            return Err("fusion is off".into());
        }
        let Planned { wiring, avoided } = &self.planned;
        let entry = wiring.follow(queue.input, RECEIVED, queue.interface);
        let product = self.products.iter().find(|p| (p.applies)(queue.interface));
        let product = product.ok_or("no product has the configured path")?;
        let mut at = entry.ok_or("the input leads nowhere")?;
        let mut path = vec![];
        for (name, arc) in &product.path {
            let found = self.blueprint.name(at);
            if found != *name {
                return Err(format!("{} has {name} where the graph has {found}", product.name));
            }
            path.push((at, *arc));
            let spec = self.blueprint.arcs(at).get(usize::from(*arc));
            if let Some(To::Features(arc)) = spec.map(|s| s.to)
                && avoided.contains(arc)
            {
                return Err(format!("features are enabled on {arc}"));
            }
            at = wiring.follow(at, *arc, queue.interface).ok_or_else(|| format!("{name} has no arc {arc}"))?;
        }
        if at != self.output {
            return Err(format!("{} ends at {OUTPUT}, the graph at {}", product.name, self.blueprint.name(at)));
        }
        path.push((at, u16::MAX));
        Ok((product, path))
    }
    /// Chooses the next packets that come to a node, on every worker.
    pub fn trace(&self, node: NodeId, count: u32) {
        self.post_all(|_| move |w: &mut Worker| w.trace_arm(node, count));
    }
    /// Forgets all records and choices.
    pub fn trace_clear(&self) {
        self.post_all(|_| Worker::trace_clear);
    }
    /// The records of all workers, in the order of each worker.
    pub fn trace_records(&self) -> impl Future<Output = Vec<Record>> + 'static {
        let answers: Vec<_> = (0..self.workers.len()).map(|w| self.ask(w, |w| w.trace_records())).collect();
        async move {
            let mut records = vec![];
            for answer in answers {
                records.extend(answer.await.unwrap_or_default());
            }
            records
        }
    }
    /// Starts or ends the copying of packets.
    pub fn capture(&self, capture: Option<Capture>) {
        self.post_all(|_| {
            let capture = capture.clone();
            move |w: &mut Worker| w.capture(capture)
        });
    }
    /// Sends a packet into the graph of a worker, before a node.
    pub fn inject(&self, worker: usize, at: NodeId, packet: Injected) {
        self.post(worker, move |w| {
            if let Some(made) = packet.make(w) {
                w.inject(at, made);
            }
        });
    }
    /// Sends a packet along an arc of a node: features on that arc see it.
    pub fn emit(&self, worker: usize, at: NodeId, arc: impl Into<u16>, packet: Injected) {
        let arc = arc.into();
        self.post(worker, move |w| {
            if let Some(made) = packet.make(w) {
                w.emit(at, arc, made);
            }
        });
    }
}

/// A packet of control's making.
#[derive(Clone, Default, Debug)]
pub struct Injected {
    /// Its bytes, from the header on that the node reads.
    pub bytes: Vec<u8>,
    /// The interface taken to have received it.
    pub rx: u16,
    /// The interface that is to send it.
    pub tx: u16,
    /// What a lookup would have chosen.
    pub hop: u32,
}

impl Injected {
    /// The packet in buffers of a worker. None if they are used up: the pool has counted it.
    fn make(&self, worker: &mut Worker) -> Option<Packet> {
        let mut made = worker.pool().packet(&self.bytes)?;
        (made.rx, made.tx, made.hop) = (self.rx, self.tx, self.hop);
        made.set_local();
        Some(made)
    }
}
