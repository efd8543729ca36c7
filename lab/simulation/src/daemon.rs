//! The daemon that is simulated: quiverd's rooms and upkeep, its workers' loops and its control side, each a coroutine.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::{Control, Time};
use quiver_engine::capture::{Capture, Captured, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_engine::mailbox::Mailbox;
use quiver_engine::thread::{self, System};
use quiver_engine::worker::WorkerCounters;
use quiver_engine::{Buffers, Dataplane, Domain, Reason, Worker};
use quiver_interface::Events;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_testkit::executor::Executor;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::coroutine::{Coroutine, Pause, pause};
use crate::port::{self, Ports, Wires};
use crate::wire::Journal;

const ROOMS: Rooms = Rooms {
    register: |control| {
        quiverd::features::register(control).map_err(|error| error.to_string())?;
        port::register(control)?;
        control.spawn("upkeep", quiverd::upkeep::upkeep(control.clone()));
        Ok(())
    },
    answer: Events::answer,
    send: |_, _, _| Err("packets come from the simulation's peers".into()),
    sent: |_| vec![],
};

/// Bytes kept of dropped packets: as many as their number is within, behind the headers of a fragment of IPv6 and of some tunnels.
const SNAP: usize = 384;
/// Copies of dropped packets that wait at most; they are taken after every step.
const DROPS_MAX: usize = 65_536;

/// A worker as a coroutine.
pub struct Member {
    /// Its loop.
    pub coroutine: Coroutine,
    /// Mail from the control thread.
    pub mailbox: Arc<Mailbox>,
    /// Turns that it has to end before it has surely seen the last change.
    pub stale: u8,
    /// When it wakes by the clock, while it sleeps.
    pub until: Rc<Cell<Option<Time>>>,
    back: Rc<RefCell<Option<Worker>>>,
}

/// The daemon, taken apart.
pub struct Simulated {
    daemon: Daemon,
    /// Its control side; its rooms may be looked at only while control is between two steps.
    pub control: Control,
    /// Its clock, timers and tasks.
    pub executor: Executor,
    /// Its control thread.
    pub thread: Coroutine,
    /// Its workers.
    pub members: Vec<Member>,
    /// The other ends of its ports.
    pub wires: Wires,
    /// Events at its ports.
    pub journal: Journal,
    /// Its buffers.
    pub buffers: Buffers,
    /// Its epochs.
    pub domain: Domain,
    drops: Inbox<Captured>,
    /// The names of all nodes and their arcs.
    names: Vec<(&'static str, Vec<&'static str>)>,
    ending: Rc<Cell<bool>>,
}

impl Simulated {
    /// A daemon with this configuration, and with what it does not refuse of `tried`. Nothing runs yet.
    pub fn new(setup: Setup, (lines, tried): &(Vec<String>, Vec<String>)) -> Result<Simulated, String> {
        let mut daemon = Daemon::new(ROOMS, setup).map_err(|error| error.to_string())?;
        let (control, executor) = (daemon.control().clone(), daemon.executor().clone());
        let (wires, journal) = {
            let ports = control.room::<Ports>();
            (ports.wires.clone(), ports.journal.clone())
        };
        let mut dataplane = control.room_mut::<Dataplane>();
        let (to, drops) = channel(DROPS_MAX, dataplane.bell());
        dataplane.capture(Capture::new(Capture::bit(Point::Drop), SNAP, to));
        let graph = dataplane.graph();
        let names = graph.nodes().map(|node| (graph.name(node), graph.arcs(node).iter().map(|arc| arc.name).collect()));
        let names = names.collect();
        let (buffers, domain) = (dataplane.buffers().clone(), dataplane.domain().clone());
        let mailboxes: Vec<_> = (0..setup.workers).filter_map(|worker| dataplane.mailbox(worker).cloned()).collect();
        drop(dataplane);
        // Every drop is to be seen from the first one on.
        daemon.settle().map_err(|error| error.to_string())?;
        for line in lines {
            daemon.run(line).map_err(|error| format!("`{line}`: {error}"))?;
        }
        for line in tried {
            let _ = daemon.run(line);
        }
        let ending = Rc::new(Cell::new(false));
        let workers: Vec<_> = daemon.workers().drain(..).collect();
        let members = workers.into_iter().zip(mailboxes).map(|(worker, mailbox)| {
            let back = Rc::new(RefCell::new(None));
            let (kept, until) = (back.clone(), Rc::new(Cell::new(None)));
            let mut system = Virtual { executor: executor.clone(), until: until.clone(), cpu_time: 0 };
            let body = move || *kept.borrow_mut() = Some(thread::run(worker, &mut system));
            Member { coroutine: Coroutine::new(body), mailbox, stale: 0, until, back }
        });
        let members = members.collect();
        let thread = Coroutine::new({
            let (control, executor, ending) = (control.clone(), executor.clone(), ending.clone());
            move || run_control(&control, &executor, &ending)
        });
        Ok(Simulated {
            daemon,
            control,
            executor,
            thread,
            members,
            wires,
            journal,
            buffers,
            domain,
            drops,
            names,
            ending,
        })
    }
    /// Drops since the last call, with node and reason.
    pub fn drops(&self) -> Vec<(Vec<u8>, &'static str, &'static str)> {
        let named = |reason: Option<Reason>| {
            let (node, arcs) = &self.names[reason?.node().index()];
            Some((*node, *arcs.get(reason?.arc())?))
        };
        let drops = std::iter::from_fn(|| self.drops.receive());
        drops
            .map(|copy| (copy.reason, copy.bytes))
            .map(|(reason, bytes)| {
                let (node, reason) = named(reason).unwrap_or(("nobody", "for no reason"));
                (bytes, node, reason)
            })
            .collect()
    }
    /// Copies of drops that were lost, which makes all accounts void.
    pub fn drops_lost(&self) -> u64 {
        self.drops.lost()
    }
    /// Sum of a counter over all workers.
    pub fn sum(&self, count: impl Fn(&WorkerCounters) -> u64) -> u64 {
        let dataplane = self.control.room::<Dataplane>();
        (0..self.members.len()).filter_map(|worker| dataplane.worker_counters(worker)).map(count).sum()
    }
    /// The daemon, whose counters may be looked at.
    pub fn daemon(&self) -> &Daemon {
        &self.daemon
    }
    /// Ends all coroutines, and looks for what leaked.
    pub fn finish(self) -> Result<(), String> {
        let Simulated { mut daemon, control, executor, mut thread, members, wires, ending, .. } = self;
        ending.set(true);
        while !thread.has_ended() {
            thread.resume()?;
        }
        control.room::<Dataplane>().stop();
        for mut member in members {
            while !member.coroutine.has_ended() {
                member.coroutine.resume()?;
            }
            daemon.workers().extend(member.back.take());
        }
        drop((control, executor, wires, thread));
        daemon.finish().map_err(|error| error.to_string())
    }
}

/// The control thread: it hears the bell, and runs one task after the other.
fn run_control(control: &Control, executor: &Executor, ending: &Cell<bool>) {
    while !ending.get() {
        let rung = {
            let dataplane = control.room::<Dataplane>();
            ready(&mut [PollFd::new(&dataplane.bell().as_fd(), PollFlags::IN)])
        };
        if rung {
            Events::answer(control);
        }
        pause(Pause::Done(usize::from(executor.step()) + usize::from(rung)));
    }
}

/// CPU time of a turn, whatever it does, and of each packet or letter, in nanoseconds: dear, so that workers nap.
const TURN_COST: u64 = 100_000;
const PACKET_COST: u64 = 1000;

/// The system under a worker's loop.
struct Virtual {
    executor: Executor,
    until: Rc<Cell<Option<Time>>>,
    /// Nanoseconds.
    cpu_time: u64,
}

impl System for Virtual {
    fn now(&mut self) -> u64 {
        self.executor.time().0
    }
    fn cpu_time(&mut self) -> u64 {
        self.cpu_time
    }
    fn turned(&mut self, _: &Worker, done: usize) {
        self.cpu_time += TURN_COST + PACKET_COST * done as u64;
        pause(Pause::Done(done));
    }
    fn wait(&mut self, descriptors: &mut [PollFd<'_>], until: Option<u64>) {
        self.until.set(until.map(Time));
        while !ready(descriptors) && until.is_none_or(|until| self.now() < until) {
            pause(Pause::Asleep);
        }
        self.until.set(None);
    }
}

/// Whether a descriptor is ready now. Only this process writes to them, so it follows from the seed.
fn ready(descriptors: &mut [PollFd<'_>]) -> bool {
    poll(descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}
