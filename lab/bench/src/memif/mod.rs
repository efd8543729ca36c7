//! Ticks per packet through memif: from the ring of one peer to that of another, cross-connected.
//!
//! - In one process the peers run on the daemon's own thread, between its turns, which alone are timed: steady, but without
//!   the cost of lines that another core has.
//! - Between two processes each has a core. There the round trip between the cores decides, and on a machine that is one of
//!   many it changes: it is measured before and after.
//! - Between two threads [`lines`] alone are passed: what is left of the above is Quiver's.

mod lines;
mod peer;
mod pin;
mod report;
mod role;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quiver_engine::{Backing, Dataplane, Level};
use quiver_memif_protocol::region::LINE;
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};
use serde::Serialize;

use crate::command::command;
use crate::graph::{WAY, cpu, reading};
use crate::machine::Machine;
use clap::ValueEnum;
pub use peer::run as run_peer;
use peer::{Peer, socket_of};
pub use pin::pin;
pub use role::Role;

/// Bytes of the packets.
const SIZES: [usize; 8] = [64, 128, 256, 512, 1024, 1518, 4096, 9000];
/// Windows, of which the median counts.
const WINDOWS: usize = 9;
/// Packets that are in the ring at once.
const FILL: usize = 256;
/// Fillings in a window of one process.
const FILLS: usize = 400;
/// A window of two processes.
const WINDOW: Duration = Duration::from_millis(150);
/// The cores of the daemon and of its peer.
const CORES: [usize; 2] = [0, 1];

/// A row of the result. Ticks are those of the time stamp counter.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `one process` or `two processes`, and in which role the daemon is; or two threads, and no daemon.
    pub placement: String,
    /// Bytes of the packets.
    pub bytes: usize,
    /// How packets go; of lines, what is done with them.
    pub way: String,
    /// The median of the windows.
    pub ticks: f64,
    /// The least of the windows.
    pub least: f64,
    /// Ticks from core to core and back, before and after; of two processes only.
    pub round_trip: Option<(u64, u64)>,
}

/// Measures everything, or one length or role only, prints it, and appends it to a file.
pub fn run(
    only: Option<usize>,
    role: Option<Role>,
    json: bool,
    csv: Option<PathBuf>,
    level: Level,
) -> Result<(), String> {
    let roles = role.map_or(Role::ALL.to_vec(), |role| vec![role]);
    let sizes: Vec<_> = only.map_or(SIZES.to_vec(), |bytes| vec![bytes]);
    // Asked for first: later this thread stays on one core.
    let has_cores = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    let cases: Vec<_> = roles.into_iter().flat_map(|role| sizes.iter().map(move |&bytes| (role, bytes))).collect();
    let (mut rows, backing) = in_one_process(&cases, level)?;
    for (role, bytes) in cases.into_iter().filter(|_| has_cores) {
        let placement = role.placement("two processes");
        eprintln!("{placement}, {bytes} bytes ...");
        rows.push(between_processes(placement, level, role, bytes)?);
    }
    if has_cores && only.is_none_or(|bytes| bytes == LINE) {
        eprintln!("two threads, lines alone ...");
        rows.extend(lines::run(level)?);
    }
    let machine = Machine::here(backing, level);
    match json {
        true => println!("{}", report::json(&machine, &rows)?),
        false => println!("{}", report::table(&machine, &rows)),
    }
    csv.map_or(Ok(()), |file| report::append(&file, &machine, &rows))
}

/// A daemon between two peers.
pub struct Bench {
    pub daemon: Daemon,
    /// The daemon's socket, or what its peers' begin with.
    socket: String,
    role: Role,
}

impl Bench {
    /// A daemon with two interfaces of a role, cross-connected.
    pub fn new(level: Level, role: Role) -> Result<Bench, String> {
        let setup = Setup { level, buffers: 16_384, share_buffers: role == Role::Shared, ..Setup::default() };
        let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
        // Abstract names vanish with their owner; the daemon of the last row may not be gone yet.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = format!("abstract:quiver-bench-{}-{number}", std::process::id());
        let word = if role == Role::Master { "master" } else { "slave" };
        let second = if role == Role::Master { 1 } else { 2 };
        let mut lines = vec![];
        for id in 0..second {
            lines.push(format!("create memif socket id {} filename {}", id + 1, socket_of(role, &socket, id)));
        }
        lines.extend([
            format!("create interface memif id 0 socket-id 1 {word} ring-size 2048"),
            format!("create interface memif id 1 socket-id {second} {word} ring-size 2048"),
            format!("set interface l2 xconnect memif1/0 memif{second}/1"),
            format!("set interface l2 xconnect memif{second}/1 memif1/0"),
            "set interface state memif1/0 up".to_owned(),
            format!("set interface state memif{second}/1 up"),
        ]);
        lines.iter().try_for_each(|line| command(&mut daemon, line))?;
        Ok(Bench { daemon, socket, role })
    }
    /// Lets time pass for the control task.
    fn advance(&mut self) -> Result<(), String> {
        self.daemon.advance(Duration::from_millis(1)).map_err(|error| error.to_string())
    }
    /// Connects the peers that send and receive.
    pub fn peers(&mut self) -> Result<(Peer, Peer), String> {
        let peer = |id| Peer::join(self.role, &self.socket, id);
        let (mut from, mut to) = (peer(0)?, peer(1)?);
        for _ in 0..2000 {
            self.advance()?;
            // A slave posts its buffers when it has heard that it is connected.
            if from.poll()? & to.poll()? & from.has_room()? {
                return Ok((from, to));
            }
        }
        Err("the peers found no connection".into())
    }
    /// Ticks per packet over one window.
    fn window(&mut self, (from, to): &mut (Peer, Peer), bytes: usize) -> Result<f64, String> {
        let (mut nanoseconds, reading) = (0, reading());
        for _ in 0..FILLS {
            from.fill(bytes, FILL)?;
            let (start, mut left) = (cpu(), FILL);
            while left > 0 {
                match self.daemon.workers()[0].turn(0) {
                    0 => return Err(format!("{left} of {FILL} packets were not received")),
                    done => left = left.saturating_sub(done),
                }
            }
            nanoseconds += (cpu() - start).saturating_sub(reading);
            let came = to.drain()?;
            if came != FILL {
                return Err(format!("{came} of {FILL} packets came out; drops: {:?}", self.daemon.drops()));
            }
        }
        Ok(nanoseconds as f64 / quiver_engine::thread::tick_length() / (FILL * FILLS) as f64)
    }
}

/// All lengths, which take turns window by window: where the machine is slow for a while, it is so for all.
fn in_one_process(cases: &[(Role, usize)], level: Level) -> Result<(Vec<Row>, Backing), String> {
    let (mut benches, mut backing) = (vec![], Backing::Plain);
    for &(role, bytes) in cases {
        let mut bench = Bench::new(level, role)?;
        backing = bench.daemon.control().room::<Dataplane>().buffers().backing();
        let peers = bench.peers()?;
        benches.push((bench, peers, bytes, vec![]));
    }
    for window in 1..=WINDOWS {
        eprintln!("one process, window {window} of {WINDOWS} ...");
        for (bench, peers, bytes, windows) in &mut benches {
            // The first one is unseen: others have used caches and branch predictors meanwhile.
            bench.window(peers, *bytes)?;
            windows.push(bench.window(peers, *bytes)?);
        }
    }
    let rows = benches
        .into_iter()
        .map(|(bench, _, bytes, windows)| row(bench.role.placement("one process"), bytes, WAY.into(), windows, None));
    Ok((rows.collect(), backing))
}

fn row(placement: String, bytes: usize, way: String, mut windows: Vec<f64>, round_trip: Option<(u64, u64)>) -> Row {
    windows.sort_by(f64::total_cmp);
    Row { placement, bytes, way, ticks: windows[windows.len() / 2], least: windows[0], round_trip }
}

/// Kills the peer's process whatever happens.
struct Running(Child);
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn between_processes(placement: String, level: Level, role: Role, bytes: usize) -> Result<Row, String> {
    pin(CORES[0]);
    let before = round_trip();
    let mut bench = Bench::new(level, role)?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut peer = Command::new(this);
    let word = role.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    peer.args(["memif-peer", &word, &bench.socket, &bytes.to_string(), &CORES[1].to_string()]);
    peer.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut peer = Running(peer.spawn().map_err(|error| format!("the peer cannot start: {error}"))?);
    let (Some(mut go), Some(said)) = (peer.0.stdin.take(), peer.0.stdout.take()) else {
        return Err("the peer has no pipes".into());
    };
    let connected = std::thread::spawn(move || BufReader::new(said).lines().next());
    // The daemon's rooms settle only while nobody sends without end, so the peer waits for a word.
    if bench.daemon.run_until(connected).is_none() {
        return Err("the peer ended before it was connected".into());
    }
    writeln!(go).map_err(|error| format!("the peer does not listen: {error}"))?;
    let worker = &mut bench.daemon.workers()[0];
    let start = Instant::now();
    while worker.counters().busy_turns.get() < 100 {
        if start.elapsed() > Duration::from_secs(60) {
            return Err("the peer sends nothing".into());
        }
        worker.turn(0);
    }
    let mut windows = vec![];
    for window in 0..=WINDOWS {
        let (start, ticks, mut packets) = (Instant::now(), worker.counters().busy_ticks.get(), 0);
        while start.elapsed() < WINDOW {
            for _ in 0..64 {
                packets += worker.turn(0);
            }
        }
        let spent = worker.counters().busy_ticks.get() - ticks;
        if window > 0 && packets > 0 {
            windows.push(spent as f64 / packets as f64);
        }
    }
    if windows.is_empty() {
        return Err("nothing was forwarded".into());
    }
    Ok(row(placement, bytes, WAY.into(), windows, Some((before, round_trip()))))
}

/// Ticks that a word takes from one core to the other and back: the median of many.
pub fn round_trip() -> u64 {
    const TIMES: u64 = 20_000;
    let word = AtomicU64::new(0);
    let mut trips = vec![];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(CORES[1]);
            for turn in 0..TIMES {
                while word.load(Ordering::Acquire) != 2 * turn + 1 {
                    std::hint::spin_loop();
                }
                word.store(2 * turn + 2, Ordering::Release);
            }
        });
        for turn in 0..TIMES {
            let start = quiver_engine::isa::ticks();
            word.store(2 * turn + 1, Ordering::Release);
            while word.load(Ordering::Acquire) != 2 * turn + 2 {
                std::hint::spin_loop();
            }
            trips.push(quiver_engine::isa::ticks().wrapping_sub(start));
        }
    });
    trips.sort_unstable();
    trips[trips.len() / 2]
}
