//! A thread that calls a worker's turns, sleeps when there is nothing to do, and watches the gaps between polls.

use crate::isa::ticks;
use crate::worker::Worker;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::thread::{ClockId, CpuSet};
use std::os::fd::AsFd;

/// Empty turns before the worker sleeps.
///
/// PERF: an empty turn costs a system call for each TAP, and on few cores the time is the sender's. TCP from tap to tap on 2
/// cores of a Zen 4 machine under load took 0.65 CPU seconds a gigabyte in the worker with 200 turns, 0.5 with 20 or 2; pings
/// took the same. With 2 it slept ten times as often.
const IDLE_TURNS: u32 = 20;
/// Nanoseconds between two looks at a queue that can only be polled, while its worker sleeps.
const BLIND_WAIT: u64 = 100_000;
/// Gaps below this many ticks are not worth a look at the clock of the thread's CPU time.
const GAP_TICKS: u64 = 50_000;
/// Ticks after which the CPU clock is read anew, so that small preemptions do not pile up in the estimate.
const CPU_CLOCK_TICKS: u64 = 1_000_000;

/// Nanoseconds of the system's monotonic clock: the engine's clock outside of simulations.
pub fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}
fn nanoseconds(clock: ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Starts a thread for a worker, pinned to `core` if there is one. It runs until the worker's mailbox says stop, and
/// returns the worker. The engine's clock counts from `start`, a reading of [`monotonic`].
pub fn spawn(
    worker: Worker,
    core: Option<usize>,
    start: u64,
) -> Result<std::thread::JoinHandle<Worker>, std::io::Error> {
    let name = format!("quiver-{}", worker.id);
    std::thread::Builder::new().name(name).spawn(move || {
        if let Some(core) = core {
            let mut cores = CpuSet::new();
            cores.set(core);
            if let Err(error) = rustix::thread::sched_setaffinity(None, &cores) {
                tracing::warn!("worker {}: cannot be pinned to core {core} ({error}); it runs unpinned", worker.id);
            }
        }
        run(worker, &mut Machine { start, gaps: Gaps::new() })
    })
}

/// What a worker's loop asks of the system it runs on. A simulation is another one than the machine.
pub trait System {
    /// Nanoseconds of the engine's clock.
    fn now(&mut self) -> u64;
    /// Called after every turn; `done` is what it had to do.
    fn turned(&mut self, worker: &Worker, done: usize);
    /// Waits until one of the descriptors has something to say, at most until a moment of the engine's clock. May end
    /// early. It leaves in the descriptors what they said.
    fn wait(&mut self, descriptors: &mut [PollFd<'_>], until: Option<u64>);
}

/// Calls turns until the mailbox says stop.
pub fn run(mut worker: Worker, system: &mut impl System) -> Worker {
    let mut idle = 0;
    worker.online();
    while !worker.mailbox().stopped() {
        let done = worker.turn(system.now());
        system.turned(&worker, done);
        idle = if done > 0 { 0 } else { idle + 1 };
        if idle > IDLE_TURNS {
            sleep(&mut worker, system);
            // One empty turn after waking is enough to sleep again: the bell rang for somebody else.
            idle = IDLE_TURNS / 2;
        }
    }
    worker.offline();
    worker
}

fn sleep(worker: &mut Worker, system: &mut impl System) {
    let mailbox = worker.mailbox().clone();
    if !mailbox.fall_asleep() {
        return;
    }
    worker.offline();
    // A queue that can only be polled gets a look every 100 microseconds.
    let (fds, until) = match worker.fds() {
        Some(fds) => (fds, worker.wake_at()),
        None => (vec![], Some(system.now() + BLIND_WAIT)),
    };
    let mut poll: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let bell = mailbox.as_fd();
    poll.push(PollFd::new(&bell, PollFlags::IN));
    system.wait(&mut poll, until);
    let is_error = |fd: &PollFd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    let failed: Vec<bool> = poll.iter().map(is_error).collect();
    drop(poll);
    worker.failed(&failed);
    worker.counters().sleeps.add(1);
    mailbox.awake();
    worker.online();
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
    fn turned(&mut self, worker: &Worker, done: usize) {
        self.gaps.polled(worker);
        if done == 0 {
            std::hint::spin_loop();
        }
    }
    fn wait(&mut self, descriptors: &mut [PollFd<'_>], until: Option<u64>) {
        let timeout = until.map(|until| {
            let wait = until.saturating_sub(self.now());
            Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 }
        });
        // An interrupted poll is a short sleep.
        let _ = rustix::event::poll(descriptors, timeout.as_ref());
        self.gaps = Gaps::new();
    }
}

/// The longest gap between polls, in the worker's own CPU time: what its own work took, not what the system took away.
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
        Gaps { last: now, read_at: now, cpu: nanoseconds(ClockId::ThreadCPUTime), nanoseconds_per_tick }
    }
    fn polled(&mut self, worker: &Worker) {
        let now = ticks();
        let gap = now.wrapping_sub(self.last);
        let long = gap > GAP_TICKS;
        if long || now.wrapping_sub(self.read_at) > CPU_CLOCK_TICKS {
            let cpu = nanoseconds(ClockId::ThreadCPUTime);
            if long {
                let since = self.last.wrapping_sub(self.read_at) as f64 * self.nanoseconds_per_tick;
                let before = self.cpu + since as u64;
                worker.counters().gap_max.raise(cpu.saturating_sub(before));
            }
            (self.cpu, self.read_at) = (cpu, ticks());
        } else {
            worker.counters().gap_max.raise((gap as f64 * self.nanoseconds_per_tick) as u64);
        }
        self.last = ticks();
    }
}

/// Nanoseconds of one tick, measured once against the monotonic clock.
pub fn tick_length() -> f64 {
    static LENGTH: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *LENGTH.get_or_init(|| {
        let (t, n) = (ticks(), monotonic());
        while monotonic() - n < 2_000_000 {
            std::hint::spin_loop();
        }
        (monotonic() - n) as f64 / ticks().wrapping_sub(t).max(1) as f64
    })
}
