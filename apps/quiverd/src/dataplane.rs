//! The data plane's host: settings, the workers' threads, and the control tasks that serve all workers.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use clap::Args;
use clap::builder::{RangedI64ValueParser, TypedValueParser};
use quiver_control::Control;
use quiver_engine::thread;
use quiver_engine::{Dataplane, Level, Settings, Worker};
use quiver_interface::Events;
use quiverd::upkeep::{downgrade, upkeep};
use rustix::thread::{CpuSet, sched_getaffinity};
use tokio::net::unix::pipe::Receiver;

/// Parses a number of buffers: from some for a small vector to 160 GB of them.
fn buffers() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(64..=1 << 26)
}

/// Parser of `--workers`. Each worker has a row of every counter, and a ring from every other one.
fn workers() -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u16).range(0..=WORKERS_MAX).map(usize::from)
}

/// Workers at most; VPP has as many threads.
const WORKERS_MAX: i64 = 255;

/// Settings of the data plane, fixed while the daemon runs.
#[derive(Debug, Args)]
pub struct DataplaneArguments {
    /// Number of worker threads, each pinned to a core. With 0 there is one thread that is not pinned.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = workers())]
    workers: usize,
    /// Cores of the workers, in order. Default: the highest ones, without core 0.
    #[arg(long, value_delimiter = ',', value_name = "CORE,...")]
    cores: Vec<usize>,
    /// Number of packet buffers at start.
    #[arg(long, default_value_t = Settings::default().buffers, value_name = "N", value_parser = buffers())]
    buffers: u32,
    /// Largest number of packet buffers; the pool grows on demand. Default: at least 262144.
    #[arg(long, value_name = "N", value_parser = buffers())]
    buffers_limit: Option<u32>,
    /// Allocate all buffers at start in memory that other processes can map, so that memif masters read and write
    /// packets in place. These processes can see all packets of all interfaces.
    #[arg(long)]
    share_buffers: bool,
    /// Instruction set of the hot paths. Default: the best one that the CPU supports.
    #[arg(long, value_name = "baseline|avx2|avx512")]
    isa: Option<Level>,
    /// Run workers with real-time priority (SCHED_RR; needs CAP_SYS_NICE) for low latency on busy cores. A worker
    /// that is always busy leaves almost no CPU time to other threads of its core, quiverd's control thread included.
    #[arg(long)]
    realtime: bool,
}

/// The running threads; dropping it without [`Threads::stop`] leaves them running until the process ends.
pub struct Threads(Vec<JoinHandle<Worker>>);

/// Makes the data plane and gives it to control; rooms register their nodes next.
pub fn insert(
    control: &Control,
    arguments: &DataplaneArguments,
    statistics: quiver_stats::Settings,
) -> Result<(), String> {
    let level = arguments.isa.unwrap_or_else(Level::best);
    let buffers = arguments.buffers;
    let buffers_limit = arguments.buffers_limit.unwrap_or_else(|| Settings::default().buffers_limit.max(buffers));
    if buffers_limit < buffers {
        return Err(format!(
            "--buffers-limit: {buffers_limit} is less than the {buffers} buffers made at start; say more, or fewer by --buffers"
        ));
    }
    let secret = RandomState::new().hash_one("the daemon's secret");
    let (workers, share_buffers) = (arguments.workers, arguments.share_buffers);
    let settings = Settings { workers, level, buffers, buffers_limit, share_buffers, secret, statistics };
    let dataplane = Dataplane::new(settings).map_err(|error| error.to_string())?;
    if let Some(sentence) = downgrade(dataplane.buffers().backing(), share_buffers) {
        tracing::warn!("{sentence}");
    }
    control.insert_room(dataplane);
    Ok(())
}

/// Starts the workers' threads and the tasks that serve them. `start` is the daemon's start on the monotonic clock.
pub fn start(control: &Control, arguments: &DataplaneArguments, start: u64) -> Result<Threads, String> {
    let workers = control.room_mut::<Dataplane>().start().map_err(|e| e.to_string())?;
    let cores = cores(arguments)?;
    let spawned = workers.into_iter().map(|worker| {
        let core = cores.get(worker.id).copied();
        thread::spawn(worker, core, start).map_err(|e| format!("a worker's thread cannot start: {e}"))
    });
    let threads = spawned.collect::<Result<Vec<_>, _>>()?;
    if arguments.realtime
        && let Err(error) = crate::realtime::prefer(&threads)
    {
        tracing::error!(
            "--realtime is refused ({error}), so workers run as ordinary threads: give quiverd CAP_SYS_NICE, by `AmbientCapabilities=` in its \
             systemd unit or by `setcap cap_net_admin,cap_net_raw,cap_sys_nice+ep` on its program, or start it without --realtime"
        );
    }
    control.spawn("doorbell", answer(control.clone())?);
    control.spawn("upkeep", upkeep(control.clone()));
    control.spawn("statistics", quiver_statistics::keep_fresh(control.clone()));
    Ok(Threads(threads))
}

/// The core of each worker; none if the one worker is not to be pinned.
fn cores(arguments: &DataplaneArguments) -> Result<Vec<usize>, String> {
    let allowed = sched_getaffinity(None).map_err(|error| format!("which cores there are is not known: {error}"))?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let available = allowed.len();
    match (arguments.workers, &arguments.cores[..]) {
        (0, []) => Ok(vec![]),
        (0, _) => Err("--cores: with --workers 0 nothing is pinned; leave it out, or say --workers 1".into()),
        (n, []) => {
            if n >= available {
                tracing::warn!("{n} workers on {available} cores: they share cores with each other or with control");
            }
            Ok(allowed.iter().rev().copied().cycle().take(n).collect())
        }
        (n, cores) if cores.len() == n => Ok(cores.to_vec()),
        (n, cores) => Err(format!("--cores: {} cores for {n} workers; give one for each", cores.len())),
    }
}

impl Threads {
    /// Ends the workers, and waits for them.
    pub fn stop(self, control: &Control) {
        control.room::<Dataplane>().stop();
        for thread in self.0 {
            if let Ok(worker) = thread.join() {
                drop(worker);
            } else {
                tracing::error!("a worker had failed");
            }
        }
    }
}

/// Tells the rooms' tasks when workers rang.
fn answer(control: Control) -> Result<impl Future<Output = ()>, String> {
    let lost = |error: std::io::Error| format!("the doorbell cannot be waited for: {error}");
    let bell = control.room::<Dataplane>().bell().as_fd().try_clone_to_owned().map_err(lost)?;
    // An eventfd is waited for like a pipe.
    let waited = Receiver::from_owned_fd_unchecked(bell).map_err(lost)?;
    Ok(async move {
        while waited.readable().await.is_ok() {
            // Nothing to read is how tokio learns that it has to wait again.
            if waited.try_read(&mut [0; 8]).is_ok() {
                Events::answer(&control);
            }
        }
        tracing::error!("the doorbell is lost: what workers tell control is not heard any more");
    })
}
