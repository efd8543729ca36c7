//! A whole daemon in a test: the control side on the seeded executor and the workers' turns on one virtual clock,
//! without threads or sockets. For tests of what happens between threads, workers can be given some.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quiver_control::cli::{CommandError, Output, Reply};
use quiver_control::config::Scope;
use quiver_control::object::StandIn;
use quiver_control::transaction::{Terms, TransactionError};
use quiver_control::{Control, Time};
use quiver_engine::capture::{Capture, Captured, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_engine::thread::{self, monotonic};
use quiver_engine::{Buffers, Dataplane, DataplaneError, Domain, Level, Settings, To, Worker};

use crate::executor::Executor;

/// Rounds after which packets that still move are taken to circle.
const ROUNDS_MAX: usize = 20_000;
/// Sleep of idle control while workers have threads.
const PAUSE: Duration = Duration::from_micros(50);

/// Time limit of [`Daemon::run_until`] for other threads.
const OTHERS_MAX: Duration = Duration::from_secs(30);

/// Packets that interfaces have sent, with their names.
pub type Sent = Vec<(String, Vec<u8>)>;

/// The rooms of a test daemon, and the ways to them that the engine, which names no room, needs to be given.
#[derive(Clone, Copy)]
pub struct Rooms {
    /// Registers all rooms, in the daemon's order; [`Dataplane`] is there already.
    pub register: fn(&Control) -> Result<(), String>,
    /// Answers the workers' bell and wakes the rooms' tasks, if a worker rang.
    pub answer: fn(&Control),
    /// Hands a packet to an interface, as if it came in over its wire.
    pub send: fn(&Control, &str, &[u8]) -> Result<(), String>,
    /// Takes what interfaces have sent since the last call. The first call comes before any interface is created.
    pub sent: fn(&Control) -> Sent,
}

impl Rooms {
    /// Rooms whose interfaces end in the system: no packet goes in or out by the hand of the test.
    pub const fn without_wires(register: fn(&Control) -> Result<(), String>, answer: fn(&Control)) -> Rooms {
        Rooms {
            register,
            answer,
            send: |_, interface, _| Err(format!("the wire of {interface} is in the hand of the system")),
            sent: |_| vec![],
        }
    }
}

/// Settings of the daemon.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The instruction set.
    pub level: Level,
    /// Workers.
    pub workers: usize,
    /// Buffers at start.
    pub buffers: u32,
    /// Buffers at most, if those are more.
    pub buffers_limit: u32,
    /// Whether other processes may map the buffers.
    pub share_buffers: bool,
    /// Bytes of the statistics segment: little, for programs that have many daemons, and for valgrind, which has few addresses.
    pub statistics: usize,
    /// Draws the order of control tasks.
    pub seed: u64,
    /// Whether configurations are rehearsed before they run, as those of quiverd are.
    pub rehearses: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            level: Level::best(),
            workers: 1,
            buffers: 2048,
            buffers_limit: 0,
            share_buffers: false,
            statistics: 256 << 20,
            seed: 1,
            rehearses: true,
        }
    }
}

/// Why a test daemon cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A room refused to be registered.
    #[error("a room does not register: {0}")]
    Room(String),
    /// A command's grammar is wrong.
    #[error("the commands do not fit together: {0}")]
    Commands(String),
    /// The data plane refused.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// Packets circle, or tasks wake each other without end.
    #[error("after {ROUNDS_MAX} rounds there is still work: packets circle, or tasks wake each other")]
    Restless,
    /// Buffers were lost.
    #[error("{missing} of {all} buffers have leaked")]
    Leak {
        /// Buffers that never came back.
        missing: i64,
        /// Buffers there are.
        all: u32,
    },
    /// Memory that workers could read was not given back.
    #[error("{0} retired values are still waiting though no worker reads")]
    Retired(usize),
}

/// The daemon.
pub struct Daemon {
    executor: Executor,
    control: Control,
    workers: Vec<Worker>,
    threads: Option<Threads>,
    rooms: Rooms,
    domain: Domain,
    buffers: Buffers,
}

/// The workers' threads, and the moment of the monotonic clock from which the daemon's time counts.
struct Threads {
    running: Vec<JoinHandle<Worker>>,
    start: u64,
}

/// A control side with these rooms on which configurations are rehearsed.
fn stand_in(
    control: &Control,
    settings: Settings,
    register: fn(&Control) -> Result<(), String>,
) -> Result<StandIn, String> {
    let aside = control.aside();
    aside.insert_room(Dataplane::new(settings).map_err(|error| error.to_string())?);
    register(&aside)?;
    // The last room, which is dropped after all that retire memory.
    let leftovers = aside.room::<Dataplane>().domain().reclaim_on_drop();
    aside.insert_room(leftovers);
    aside.room_mut::<Dataplane>().start_unstaffed().map_err(|error| error.to_string())?;
    Ok(StandIn { control: aside, tidy: |control| control.room::<Dataplane>().discard_letters() })
}

impl Daemon {
    /// A daemon with these rooms and no configuration, at time zero.
    pub fn new(rooms: Rooms, setup: Setup) -> Result<Daemon, DaemonError> {
        let executor = Executor::new(setup.seed);
        let control = executor.control();
        let Setup { level, workers, buffers, .. } = setup;
        let settings = Settings {
            workers,
            level,
            buffers,
            buffers_limit: setup.buffers_limit.max(buffers),
            share_buffers: setup.share_buffers,
            statistics: quiver_engine::stats::Settings { size: Some(setup.statistics) },
            ..Settings::default()
        };
        let dataplane = Dataplane::new(settings)?;
        let domain = dataplane.domain().clone();
        let buffers = dataplane.buffers().clone();
        control.insert_room(dataplane);
        (rooms.register)(&control).map_err(DaemonError::Room)?;
        control.commands().check().map_err(DaemonError::Commands)?;
        if setup.rehearses {
            let register = rooms.register;
            control.objects().rehearse_on(move |control| {
                Box::pin(std::future::ready(stand_in(&control, settings.unstaffed(), register)))
            });
        }
        let workers = {
            let mut dataplane = control.room_mut::<Dataplane>();
            dataplane.start()?
        };
        // The first call says that somebody looks at what is sent.
        (rooms.sent)(&control);
        let mut daemon = Daemon { executor, control, workers, threads: None, rooms, domain, buffers };
        daemon.settle()?;
        Ok(daemon)
    }

    /// The control side.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The executor of the control tasks.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The workers, to call their turns otherwise than [`Daemon::settle`] does.
    pub fn workers(&mut self) -> &mut Vec<Worker> {
        &mut self.workers
    }

    /// The virtual time.
    pub fn time(&self) -> Time {
        self.executor.time()
    }

    /// Gives each worker a thread of its own. From now on time is real, and passes by itself.
    pub fn start_threads(&mut self) -> Result<(), DaemonError> {
        let start = monotonic().saturating_sub(self.time().0);
        let spawned = self.workers.drain(..).map(|worker| thread::spawn(worker, None, start));
        let running = spawned.collect::<Result<_, _>>().map_err(DataplaneError::System)?;
        self.threads = Some(Threads { running, start });
        Ok(())
    }

    /// Ends the workers' threads; the workers are here again, and time stands still.
    ///
    /// # Panics
    /// If a worker had panicked.
    pub fn stop_threads(&mut self) {
        if let Some(threads) = self.threads.take() {
            self.control.room::<Dataplane>().stop();
            let joined = threads.running.into_iter().map(|thread| match thread.join() {
                Ok(worker) => worker,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            self.workers.extend(joined);
        }
    }

    /// Lets the daemon run for a while of real time, with its threads.
    pub fn run_threads(&mut self, duration: Duration) {
        let end = self.time() + duration;
        while self.threads.is_some() && self.time() < end {
            if !self.round() {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Lets real time pass, and workers turn, until another thread has done its work; returns what that returned. For
    /// workers without threads of their own.
    ///
    /// # Panics
    /// If the other thread did, or is not done within half a minute.
    pub fn run_until<T>(&mut self, other: JoinHandle<T>) -> T {
        let (start, begin) = (Instant::now(), self.time());
        while !other.is_finished() {
            self.executor.advance_to((begin + start.elapsed()).max(self.time()));
            if !self.round() {
                std::thread::yield_now();
            }
            assert!(start.elapsed() < OTHERS_MAX, "the other thread takes longer than {OTHERS_MAX:?}");
        }
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Runs a task of control to its end, letting time pass if it waits.
    ///
    /// # Panics
    /// If nothing will ever end it.
    pub fn run_task<T: 'static>(&mut self, task: impl Future<Output = T> + 'static) -> T {
        self.answer_of("task", task).unwrap_or_else(|| panic!("nothing will ever end the task"))
    }

    /// Runs a line to the end of its answer, letting time pass if it waits. What it answers in parts is joined.
    pub fn run(&mut self, line: &str) -> Result<Reply, CommandError> {
        let answer = Rc::new(RefCell::new(None));
        let parts = Rc::new(RefCell::new(Vec::<Reply>::new()));
        let output = Output::default();
        self.control.spawn("command", {
            let (control, line, output, answer) =
                (self.control.clone(), line.to_owned(), output.clone(), answer.clone());
            async move {
                let reply = control.commands().run(&control, &line, &output).await;
                *answer.borrow_mut() = Some(reply);
            }
        });
        self.control.spawn("answer", {
            let parts = parts.clone();
            async move {
                while let Some(part) = output.next().await {
                    parts.borrow_mut().push(part);
                }
            }
        });
        let Some(reply) = self.answered(&answer) else {
            return Err(CommandError::new(format!("nothing will ever end the command '{line}'")));
        };
        self.executor.run_ready();
        let mut whole = Reply::default();
        for part in parts.take().into_iter().chain([reply?]) {
            // Of what comes in parts that stand alone, the JSON of the last one counts.
            if !whole.more {
                whole.json = Default::default();
            }
            whole.append(part);
        }
        Ok(whole)
    }

    /// Applies a configuration file, which may be empty, while the workers take their turns.
    pub fn apply(&mut self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        let (control, file, text) = (self.control.clone(), file.to_owned(), text.to_owned());
        let terms = Terms { allow_empty: true, ..Terms::default() };
        self.transaction(async move { control.apply(&file, &text, terms).await })
    }

    /// Compares a configuration file with what runs.
    pub fn diff(&mut self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        let (control, file, text) = (self.control.clone(), file.to_owned(), text.to_owned());
        self.transaction(async move { control.diff(&file, &text, Scope::Whole).await })
    }

    /// Plans a configuration file.
    pub fn plan(&mut self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        let (control, file, text) = (self.control.clone(), file.to_owned(), text.to_owned());
        self.transaction(async move { control.plan(&file, &text, Scope::Whole).await })
    }

    fn transaction(
        &mut self,
        work: impl Future<Output = Result<Reply, TransactionError>> + 'static,
    ) -> Result<Reply, TransactionError> {
        self.answer_of("transaction", work).unwrap_or(Err(TransactionError::Failed))
    }

    /// Result of a control task; None if nothing will ever complete it.
    fn answer_of<T: 'static>(&mut self, name: &'static str, task: impl Future<Output = T> + 'static) -> Option<T> {
        let answer = Rc::new(RefCell::new(None));
        let kept = answer.clone();
        self.control.spawn(name, async move { *kept.borrow_mut() = Some(task.await) });
        self.answered(&answer)
    }

    /// Lets the daemon run, and time pass, until there is an answer and the workers have read their letters; nothing if
    /// there will never be one.
    fn answered<T>(&mut self, answer: &RefCell<Option<T>>) -> Option<T> {
        loop {
            let busy = self.round();
            let mail = self.workers.iter().any(Worker::has_mail);
            if let Some(answer) = answer.borrow_mut().take_if(|_| !mail) {
                return Some(answer);
            }
            match self.next_event() {
                _ if busy => {}
                _ if self.threads.is_some() => std::thread::sleep(PAUSE),
                Some(moment) => self.executor.advance_to(moment),
                None => return None,
            }
        }
    }

    /// Runs lines that must be accepted.
    ///
    /// # Panics
    /// At the first line that is refused, with its error.
    pub fn configure(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Err(error) = self.run(line) {
                panic!("`{line}`: {error}");
            }
        }
    }

    /// Hands a packet to an interface, as if it came in over its wire. Those handed over before the next
    /// [`Daemon::settle`] arrive together.
    pub fn send(&mut self, interface: &str, packet: &[u8]) -> Result<(), String> {
        (self.rooms.send)(&self.control, interface, packet)
    }

    /// Takes what interfaces have sent since the last call: names and packets, by interface, in their order.
    pub fn sent(&mut self) -> Sent {
        let mut sent = (self.rooms.sent)(&self.control);
        sent.sort_by(|a, b| a.0.cmp(&b.0));
        sent
    }

    /// Keeps copies of what is received from now on: up to 100,000 packets, of each the first `snap` bytes.
    pub fn capture_received(&self, snap: usize) -> Inbox<Captured> {
        let mut dataplane = self.control.room_mut::<Dataplane>();
        let (to, captured) = channel(100_000, dataplane.bell());
        dataplane.capture(Capture::new(Capture::bit(Point::Rx), snap, to));
        captured
    }

    /// Lets everything run that can run now; time stands still.
    pub fn settle(&mut self) -> Result<(), DaemonError> {
        for _ in 0..ROUNDS_MAX {
            if !self.round() {
                return Ok(());
            }
        }
        Err(DaemonError::Restless)
    }

    /// Lets time pass.
    pub fn advance(&mut self, duration: Duration) -> Result<(), DaemonError> {
        let end = self.time() + duration;
        loop {
            self.settle()?;
            match self.next_event() {
                Some(moment) if moment < end => self.executor.advance_to(moment),
                _ => break,
            }
        }
        self.executor.advance_to(end);
        self.settle()
    }

    /// Lets time pass for the workers alone, as if one thing kept the control thread busy for so long.
    pub fn stall(&mut self, duration: Duration) {
        let (mut now, end) = (self.time(), self.time() + duration);
        loop {
            for worker in &mut self.workers {
                while worker.turn(now.0) > 0 {}
            }
            let soonest = now + Duration::from_micros(1);
            let wakes = self.workers.iter().filter_map(Worker::wake_at).map(|moment| Time(moment).max(soonest));
            match wakes.min().filter(|moment| *moment < end) {
                Some(moment) => now = moment,
                None => break,
            }
        }
        self.executor.advance_to(end);
    }

    /// Packets by node and arc, without those that are zero: equal on all instruction sets.
    pub fn counts(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.arcs(|_| true)
    }

    /// Dropped packets by node and reason.
    pub fn drops(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.arcs(|to| to == To::Drop)
    }

    fn arcs(&self, wanted: impl Fn(To) -> bool) -> BTreeMap<(&'static str, &'static str), u64> {
        let dataplane = self.control.room::<Dataplane>();
        let graph = dataplane.graph();
        let mut counts = BTreeMap::new();
        for node in graph.nodes() {
            for counters in graph.counters(node) {
                for (arc, counter) in graph.arcs(node).iter().zip(&counters.arcs) {
                    if counter.get() > 0 && wanted(arc.to) {
                        *counts.entry((graph.name(node), arc.name)).or_default() += counter.get();
                    }
                }
            }
        }
        counts
    }

    /// Ends the daemon. An error if a buffer is missing or something retired was never freed.
    pub fn finish(mut self) -> Result<(), DaemonError> {
        self.stop_threads();
        self.settle()?;
        let waiting = self.domain.pending();
        let Daemon { executor, control, workers, domain, buffers, .. } = self;
        drop(workers);
        executor.drop_tasks();
        drop(control);
        domain.reclaim();
        if waiting > 0 {
            return Err(DaemonError::Retired(waiting));
        }
        let (all, stored) = (buffers.count(), buffers.stored());
        match i64::from(all) - stored as i64 {
            0 => Ok(()),
            missing => Err(DaemonError::Leak { missing, all }),
        }
    }

    /// The bell, tasks, a turn of every worker, reclamation. Whether anything happened.
    fn round(&mut self) -> bool {
        if let Some(threads) = &self.threads {
            self.executor.advance_to(Time(monotonic().saturating_sub(threads.start)).max(self.time()));
        }
        (self.rooms.answer)(&self.control);
        let mut busy = self.executor.run_ready();
        let now = self.executor.time().0;
        for worker in &mut self.workers {
            busy |= worker.turn(now) > 0;
        }
        self.control.room::<Dataplane>().reclaim();
        busy
    }

    /// The next moment at which a timer or a receive queue has something to do; always later than now.
    fn next_event(&self) -> Option<Time> {
        let soonest = self.time() + Duration::from_micros(1);
        let queues = self.workers.iter().filter_map(Worker::wake_at).map(Time);
        queues.chain(self.executor.next_timer()).min().map(|moment| moment.max(soonest))
    }
}
