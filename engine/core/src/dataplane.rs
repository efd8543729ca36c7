//! The control thread's view of all workers. Rooms use it to place nodes, queues and features.
//!
//! Nothing here waits for a worker. Wirings are computed here and posted; workers swap them in between two turns.
//! Memory that workers may still read is freed by the epochs of [`Dataplane::domain`].
//!
//! - this module: the workers, and how they are told and asked; `interfaces`: their queues; `placement`: which worker polls
//!   them; `counted`: what is counted by interface.
//! - `rewiring`: changes of the graph; `packets`: what control sends and follows;
//!   `rehearsal`: what would become of one, and `recall`: asks workers for what it wants to know.

mod attic;
mod counted;
mod error;
mod interfaces;
mod packets;
mod placement;
mod post;
mod queue_table;
mod recall;
mod rehearsal;
mod rewiring;
mod rx_rows;

pub use counted::{InterfaceCounters, OtherName};
pub use error::DataplaneError;
pub use interfaces::{KNOWN_AS, Parts};
pub use packets::{Injected, QueueChain};
pub use placement::PlacementError;
pub use rehearsal::RehearsalError;
pub(crate) use rx_rows::RxRows;

use crate::buffer::{Buffers, Metadata, MetadataKey, MetadataKeys, PoolError};
use crate::channel::{Doorbell, Inbox, channel};
use crate::graph::{Blueprint, Done, FeatureArcSpec, NodeId, NodeSpec, Punt, Punted, Seed, Side};
use crate::handoff::Generations;
use crate::isa::Level;
use crate::mailbox::Mailbox;
use crate::output::Output;
use crate::tx::{OUTPUT, Ports};
use crate::worker::{Worker, WorkerCounters};
use attic::Attic;
use counted::Counted;
use futures_channel::oneshot;
use post::{Depth, Post};
pub use queue_table::QueueInfo;
use queue_table::QueueTable;
use quiver_stats::Threads;
use quiver_table::Domain;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Settings of the data plane.
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
    /// Seed of the hashes of addresses that remote hosts choose; secret outside of tests.
    pub secret: u64,
    /// The statistics segment.
    pub statistics: quiver_stats::Settings,
}
impl Settings {
    /// The same for a data plane without workers ([`Dataplane::start_unstaffed`]), which sends nothing.
    pub fn unstaffed(self) -> Settings {
        const BUFFERS: u32 = 64;
        Settings { buffers: BUFFERS, buffers_limit: BUFFERS, share_buffers: false, ..self }
    }
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
    workers: Vec<Handle>,
    queues: QueueTable,
    /// Interfaces with transmit queues of their own.
    ports: BTreeSet<u32>,
    /// Interfaces that are up.
    up: BTreeSet<u32>,
    parts: Parts,
    next_queue: u32,
    next_worker: usize,
    next_capture: u32,
    counted: Counted,
    bell: Doorbell,
    punted: Inbox<Punted>,
    attic: Attic,
    generations: Generations,
    post: Arc<Post>,
    /// Steps whose changes of the wiring wait for each other.
    steps: Depth,
    /// Whether workers have rings to each other.
    connected: bool,
    metadata: MetadataKeys,
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
    /// Gives a room a key of packet metadata. There are [`METADATA_KEYS`](crate::METADATA_KEYS) of them.
    ///
    /// # Errors
    /// If another room has a key of this name, or no key is left.
    pub fn metadata<T: Metadata>(&mut self, name: &'static str) -> Result<MetadataKey<T>, DataplaneError> {
        Ok(self.metadata.add(name)?)
    }
    /// The key of this name, for plugins; a new one if there is none yet.
    ///
    /// # Errors
    /// If no key is left.
    pub fn shared_metadata(&mut self, name: &'static str) -> Result<MetadataKey<u64>, DataplaneError> {
        Ok(self.metadata.shared(name)?)
    }
    /// The keys of packet metadata, of rooms and plugins.
    pub fn metadata_keys(&self) -> &MetadataKeys {
        &self.metadata
    }
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
        let punt = move |seed: Seed| Punt { to: outbox.of(seed), counters: punts.row(seed.worker) };
        blueprint.node(NodeSpec::new("punt", &[], punt))?;
        let output = blueprint.node(NodeSpec::new(OUTPUT, crate::tx::Next::ARCS, |_| Output))?;
        blueprint.feature_arc(FeatureArcSpec { name: OUTPUT, end: OUTPUT, side: Side::Tx })?;
        let (domain, attic) = (Domain::new(), Attic::default());
        let post = Post::new(&domain, blueprint.current_wiring(), &attic);
        Ok(Dataplane {
            domain,
            buffers: match settings.share_buffers {
                true => Buffers::shared(settings.buffers_limit)?,
                false => Buffers::new(settings.buffers, settings.buffers_limit)?,
            },
            blueprint,
            output,
            workers: vec![],
            queues: QueueTable::default(),
            ports: BTreeSet::new(),
            up: BTreeSet::new(),
            parts: Parts::default(),
            next_queue: 0,
            next_worker: 0,
            next_capture: 0,
            counted,
            bell,
            punted,
            attic,
            generations: Generations::new(),
            post,
            steps: Depth::default(),
            connected: false,
            metadata: MetadataKeys::default(),
            settings,
        })
    }
    /// The settings it was created with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// The epochs of everything that workers read.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }
    /// Frees memory that no worker reads any more, and values that workers have put away. Control calls it every few
    /// milliseconds.
    pub fn reclaim(&self) -> usize {
        let put_away = self.attic.clear();
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
    /// Checks the graph and makes the workers. The caller runs their turns.
    pub fn start(&mut self) -> Result<Vec<Worker>, DataplaneError> {
        self.blueprint.check()?;
        let mut workers = vec![];
        for id in 0..self.settings.workers {
            let (mailbox, counters) = (Arc::new(Mailbox::new()?), Arc::<WorkerCounters>::default());
            let pool = self.buffers.pool();
            let (buffers, wanted) = (self.buffers.count(), self.settings.workers);
            let pool = pool.ok_or(PoolError::TooFew { buffers, workers: wanted })?;
            let graph = self.blueprint.instantiate(id, pool.home())?;
            let ports =
                Ports::new(self.output, self.blueprint.counters_of(self.output, id), self.counted.tx_errors.row(id));
            let (reader, level) = (self.domain.register(), self.settings.level);
            workers.push(Worker::new(id, level, reader, pool, graph, ports, mailbox.clone(), counters.clone()));
            self.workers.push(Handle { mailbox, counters });
        }
        self.post.start(self.workers.iter().map(|worker| worker.mailbox.clone()));
        self.counted.name_arcs(&self.blueprint);
        Ok(workers)
    }
    /// The same without workers: for a control side on which changes are rehearsed. Letters to workers stay unread.
    pub fn start_unstaffed(&mut self) -> Result<(), DataplaneError> {
        self.blueprint.check()?;
        for _ in 0..self.settings.workers {
            let (mailbox, counters) = (Arc::new(Mailbox::new()?), Arc::<WorkerCounters>::default());
            self.workers.push(Handle { mailbox, counters });
        }
        self.post.start(self.workers.iter().map(|worker| worker.mailbox.clone()));
        Ok(())
    }
    /// Discards the letters to the workers that do not exist, and reclaims memory.
    pub fn discard_letters(&self) {
        for worker in &self.workers {
            while worker.mailbox.take().is_some() {}
        }
        self.reclaim();
    }
    /// Workers there are.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }
    /// Counters of a worker.
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
    /// Posts work to one worker, behind all changes that wait.
    pub fn post(&self, worker: usize, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        self.flush();
        self.post.deliver(worker, Box::new(letter));
    }
    /// Posts work to every worker, made for each.
    pub fn post_all<F: FnOnce(&mut Worker) + Send + 'static>(&self, letter: impl Fn(usize) -> F) {
        self.flush();
        self.post_all_early(letter);
    }
    /// The same for work that may be done before the changes that wait.
    fn post_all_early<F: FnOnce(&mut Worker) + Send + 'static>(&self, letter: impl Fn(usize) -> F) {
        (0..self.workers.len()).for_each(|worker| self.post.deliver(worker, Box::new(letter(worker))));
    }
    /// The same for work that may wait with them.
    fn post_all_behind<F: FnOnce(&mut Worker) + Send + 'static>(&self, letter: impl Fn(usize) -> F) {
        match self.domain.is_held() {
            true => (0..self.workers.len()).for_each(|w| self.post.deliver_behind(w, Box::new(letter(w)))),
            false => self.post_all(letter),
        }
    }
    /// Asks a worker; the answer comes when it has read its mail. An error means that the worker is gone.
    pub fn ask<T: Send + 'static>(
        &self,
        worker: usize,
        question: impl FnOnce(&mut Worker) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        self.flush();
        match self.workers.get(worker) {
            Some(handle) => ask(&handle.mailbox, question),
            None => oneshot::channel().1,
        }
    }
    /// Asks all workers; done when each has read its mail, so that all earlier letters have taken effect.
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
        self.flush();
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
}
