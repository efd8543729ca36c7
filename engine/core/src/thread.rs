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
        run(worker, start)
    })
}

/// Calls turns until the mailbox says stop.
pub fn run(mut worker: Worker, start: u64) -> Worker {
    let mut gaps = Gaps::new();
    let mut idle = 0;
    worker.online();
    while !worker.mailbox().stopped() {
        let done = worker.turn(monotonic().saturating_sub(start));
        gaps.polled(&worker);
        idle = if done > 0 { 0 } else { idle + 1 };
        if idle > IDLE_TURNS {
            sleep(&mut worker, start);
            gaps = Gaps::new();
            // One empty turn after waking is enough to sleep again: the bell rang for somebody else.
            idle = IDLE_TURNS / 2;
        } else if done == 0 {
            std::hint::spin_loop();
        }
    }
    worker.offline();
    worker
}

fn sleep(worker: &mut Worker, start: u64) {
    let mailbox = worker.mailbox().clone();
    if !mailbox.fall_asleep() {
        return;
    }
    worker.offline();
    let timeout = worker.wake_at().map(|at| {
        let wait = at.saturating_add(start).saturating_sub(monotonic());
        Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 }
    });
    // A queue that can only be polled gets a look every 100 microseconds.
    let brief = Timespec { tv_sec: 0, tv_nsec: 100_000 };
    let (fds, timeout) = match worker.fds() {
        Some(fds) => (fds, timeout),
        None => (vec![], Some(brief)),
    };
    let mut poll: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let bell = mailbox.as_fd();
    poll.push(PollFd::new(&bell, PollFlags::IN));
    // An interrupted poll is a short sleep.
    let _ = rustix::event::poll(&mut poll, timeout.as_ref());
    let is_error = |fd: &PollFd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    let failed: Vec<bool> = poll.iter().map(is_error).collect();
    drop(poll);
    worker.failed(&failed);
    worker.counters().sleeps.add(1);
    mailbox.awake();
    worker.online();
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
