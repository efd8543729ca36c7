//! A thread that calls a worker's turns at its [pace](crate::pace), and watches the gaps between polls.

mod clock;
mod running;

pub use clock::{FineClock, cpu_time, monotonic, tick_length};
pub use running::{Cpu, Running};

use crate::isa::ticks;
use clock::SECOND;

use crate::pace::{Pace, Step, Turn};
use crate::place::Interrupt;
use crate::worker::Worker;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::thread::CpuSet;
use std::num::NonZeroU64;

/// Nanoseconds between two looks at the descriptors of queues in interrupt mode while the worker is awake for others.
const LOOK_EVERY: u64 = 20_000;
/// Nanoseconds between two looks at a queue that can only be polled, while its worker sleeps.
const BLIND_WAIT: u64 = 100_000;
/// Nanoseconds by which Linux may let a nap grow to wake up several threads at once; its default of 50,000 is half a nap.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::new(1000).expect("not zero");
/// Gaps below this many ticks are not worth a look at the clock of the thread's CPU time.
const GAP_TICKS: u64 = 50_000;
/// Ticks after which the CPU clock is read anew, so that small preemptions do not pile up in the estimate.
const CPU_CLOCK_TICKS: u64 = 1_000_000;

/// Starts a thread for a worker, pinned to `core` if there is one, and waits until it has its name and its core. It runs
/// until the worker's mailbox says stop, and returns the worker. The engine's clock counts from `start`, a reading of
/// [`monotonic`].
pub fn spawn(
    worker: Worker,
    core: Option<usize>,
    start: u64,
) -> Result<std::thread::JoinHandle<Worker>, std::io::Error> {
    let name = format!("quiver-{}", worker.id);
    let (ready, started) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        let pinned = core.filter(|core| {
            let mut cores = CpuSet::new();
            cores.set(*core);
            let done = rustix::thread::sched_setaffinity(None, &cores);
            if let Err(error) = &done {
                tracing::warn!("worker {}: cannot be pinned to core {core} ({error}); it runs unpinned", worker.id);
            }
            done.is_ok()
        });
        // A worker that has had a thread before keeps what was said of that one.
        let _ = worker.counters().running.set(Running::here(pinned));
        if let Err(error) = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK)) {
            tracing::warn!("worker {}: naps may take longer than they should ({error})", worker.id);
        }
        let _ = ready.send(());
        run(worker, &mut Machine { start, gaps: Gaps::new() })
    })?;
    // If it panics before, its handle says so.
    let _ = started.recv();
    Ok(thread)
}

/// The system that a worker's loop runs on: the machine, or a simulation.
pub trait System {
    /// Nanoseconds of the engine's clock.
    fn now(&mut self) -> u64;
    /// Clock for times within a turn. In a simulation it stands still there.
    fn fine_clock(&self) -> FineClock {
        FineClock::default()
    }
    /// Called after every turn; `done` is the number of packets and letters in it.
    fn turned(&mut self, worker: &Worker, done: usize);
    /// Nanoseconds of CPU time that the loop has used. Where none is used, no nap is worth its while.
    fn cpu_time(&mut self) -> u64 {
        0
    }
    /// Waits until a descriptor has an event, at most until a moment of the engine's clock. May end early. The events
    /// stay in the descriptors.
    fn wait(&mut self, descriptors: &mut [PollFd<'_>], until: Option<u64>);
    /// Waits for so many nanoseconds, regardless of events.
    fn nap(&mut self, length: u64) {
        let until = self.now() + length;
        self.wait(&mut [], Some(until));
    }
}

/// Calls turns until the mailbox says stop.
pub fn run(mut worker: Worker, system: &mut impl System) -> Worker {
    worker.fine_clock = system.fine_clock();
    let (mut pace, mut looked) = (Pace::new(system.now(), system.cpu_time()), 0);
    worker.online();
    while !worker.mailbox().stopped() {
        let now = system.now();
        if worker.waits_for_interrupts() && now.saturating_sub(looked) >= LOOK_EVERY {
            looked = now;
            listen(&mut worker, system, Some(now));
        }
        let done = worker.turn(now);
        system.turned(&worker, done);
        let harvest = worker.harvest;
        let turn = Turn { packets: harvest.packets, bytes: harvest.bytes, busy: done > harvest.packets };
        let mode = worker.mode();
        match pace.after(turn, mode, now, || system.cpu_time()) {
            Step::Turn => {}
            // A nap gathers what is yet to come. What others have handed over fills their rings meanwhile.
            Step::Nap(_) if worker.was_handed_packets() => {}
            Step::Nap(length) => {
                worker.counters().naps.add(1);
                worker.offline();
                system.nap(length);
                worker.online();
            }
            Step::Sleep => {
                sleep(&mut worker, system);
                pace.slept(system.now().saturating_sub(now));
            }
        }
    }
    worker.offline();
    worker
}

/// Lets the worker do nothing until there is something to do. It holds no memory up meanwhile.
fn sleep(worker: &mut Worker, system: &mut impl System) {
    let mailbox = worker.mailbox().clone();
    if mailbox.fall_asleep() {
        if !worker.has_packets() {
            worker.offline();
            worker.counters().sleeps.add(1);
            let until = worker.wake_at();
            listen(worker, system, until);
            worker.online();
        }
        mailbox.awake();
    }
}

/// Waits for the bell and the queues' descriptors, and tells the queues the events.
fn listen(worker: &mut Worker, system: &mut impl System, until: Option<u64>) {
    let mailbox = worker.mailbox().clone();
    let (fds, until) = match worker.fds() {
        Some(fds) => (fds, until),
        None => (vec![], Some(until.unwrap_or(u64::MAX).min(system.now() + BLIND_WAIT))),
    };
    let mut poll: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    poll.push(PollFd::new(&mailbox, PollFlags::IN));
    system.wait(&mut poll, until);
    let errors = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    let said = |fd: &PollFd| match fd.revents() {
        events if events.intersects(errors) => Interrupt::Failed,
        events if events.is_empty() => Interrupt::None,
        _ => Interrupt::Raised,
    };
    let said: Vec<Interrupt> = poll.iter().take(fds.len()).map(said).collect();
    drop(poll);
    worker.heard(&said);
}

/// The machine, under one worker's thread.
struct Machine {
    /// The engine's zero on the monotonic clock.
    start: u64,
    gaps: Gaps,
}

impl System for Machine {
    fn now(&mut self) -> u64 {
        monotonic().saturating_sub(self.start)
    }
    fn fine_clock(&self) -> FineClock {
        FineClock::of_ticks()
    }
    fn cpu_time(&mut self) -> u64 {
        cpu_time()
    }
    fn turned(&mut self, worker: &Worker, done: usize) {
        self.gaps.polled(worker);
        if done == 0 {
            std::hint::spin_loop();
        }
    }
    fn wait(&mut self, descriptors: &mut [PollFd<'_>], until: Option<u64>) {
        let timeout = until.map(|until| {
            let wait = until.saturating_sub(self.now());
            Timespec { tv_sec: (wait / SECOND) as i64, tv_nsec: (wait % SECOND) as i64 }
        });
        // An interrupted poll is a short sleep.
        let _ = rustix::event::poll(descriptors, timeout.as_ref());
        self.gaps = Gaps::new();
    }
    /// PERF: to wait for no descriptor takes some 3 us less of 20 than `wait`, on a virtual machine.
    fn nap(&mut self, length: u64) {
        let request = Timespec { tv_sec: (length / SECOND) as i64, tv_nsec: (length % SECOND) as i64 };
        // One that a signal ends is a short nap.
        let _ = rustix::thread::nanosleep(&request);
        self.gaps = Gaps::new();
    }
}

/// The longest gap between polls, in the worker's own CPU time: its own work, without the time that the system took
/// away.
///
/// Reading the thread's CPU clock is a system call, so it is read only after a gap that looks long, against an estimate
/// of its value before: the last reading, plus all time since.
struct Gaps {
    last: u64,
    read_at: u64,
    cpu: u64,
    nanoseconds_per_tick: f64,
}
impl Gaps {
    fn new() -> Gaps {
        // Before the first tick is read: the first call measures for a while.
        let nanoseconds_per_tick = tick_length();
        let now = ticks();
        Gaps { last: now, read_at: now, cpu: cpu_time(), nanoseconds_per_tick }
    }
    fn polled(&mut self, worker: &Worker) {
        let now = ticks();
        let gap = now.wrapping_sub(self.last);
        let long = gap > GAP_TICKS;
        if long || now.wrapping_sub(self.read_at) > CPU_CLOCK_TICKS {
            let cpu = cpu_time();
            if long {
                let since = self.last.wrapping_sub(self.read_at) as f64 * self.nanoseconds_per_tick;
                let before = self.cpu + since as u64;
                let ran = cpu.saturating_sub(before);
                worker.counters().gap_max.raise(ran);
                // Of a turn without packets no ticks were counted.
                let ran = (ran as f64 / self.nanoseconds_per_tick) as u64;
                worker.counters().preempted_ticks.add(gap.saturating_sub(ran).min(worker.busy));
            }
            (self.cpu, self.read_at) = (cpu, ticks());
        } else {
            worker.counters().gap_max.raise((gap as f64 * self.nanoseconds_per_tick) as u64);
        }
        self.last = ticks();
    }
}
