//! Workers with threads of their own, and packets for them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quiver_engine::{Backing, Dataplane, Level, PacketRing, QueueId, Worker};
use quiver_interface::Interfaces;
use quiver_pg::queue::{Sink, Source};
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::{Ethernet, Ip4, Packet, Payload, Udp};
use quiver_wire::MacAddress;

use super::case::{Case, Configure};
use crate::command::command;
use crate::graph::{cpu, reading};
use crate::memif::pin;
use crate::path::send_to;

/// Packets that a worker puts into its receive ring at once.
const FILL: u64 = 1024;
/// Fillings of a worker in a window.
const FILLS: u64 = 128;
/// Packets of a worker that are on their way at most: fewer than a ring between workers surely takes.
const UNDER_WAY: u64 = 2 * FILL;
/// Packets received at once.
const VECTOR: usize = 256;
/// Different flows.
const FLOWS: u64 = 256;
/// Longer than any window takes, however busy the machine is.
const DEADLINE: Duration = Duration::from_secs(30);

/// Result of a window.
pub struct Window {
    /// Ticks of each worker for each packet that it received.
    pub ticks: Vec<f64>,
    /// Packets that came out, over the CPU seconds of the worker that needed most.
    pub rate: f64,
}

/// A daemon whose workers share packets in one way.
pub struct Bench {
    daemon: Daemon,
    pub backing: Backing,
    /// The receive queue of each worker, if it has one, with the bytes of its packet.
    queues: Vec<Option<(QueueId, Vec<u8>)>>,
    sends: u32,
}

/// State that the workers of a window share.
struct Shared {
    /// Packets that came out, of each worker that fills.
    out: Vec<AtomicU64>,
    failed: AtomicBool,
}

impl Bench {
    pub fn new(path: &str, configure: Configure, case: &Case, level: Level) -> Result<Bench, String> {
        let setup = Setup { level, buffers: 32_768, workers: case.workers, ..Setup::default() };
        let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
        for line in commands(path, configure, case) {
            command(&mut daemon, &line)?;
        }
        daemon.settle().map_err(|error| error.to_string())?;
        let find = |name: &str| {
            let interfaces = daemon.control().room::<Interfaces>();
            let found = interfaces.find(name).map(|interface| (interface.id.0, interface.mac));
            found.ok_or_else(|| format!("{name} is not there"))
        };
        let mut queues = vec![];
        for worker in 0..case.workers {
            let Some(name) = case.receive.get(worker) else {
                queues.push(None);
                continue;
            };
            let (interface, mac) = find(name)?;
            let dataplane = daemon.control().room::<Dataplane>();
            let queue = dataplane.queues_of(interface).next();
            let queue = queue.ok_or_else(|| format!("{name} has no queue"))?;
            queues.push(Some((queue.id, packet(mac.0))));
        }
        let (sends, _) = find("pg1")?;
        let (buffers, backing) = {
            let dataplane = daemon.control().room::<Dataplane>();
            (dataplane.buffers().clone(), dataplane.buffers().backing())
        };
        for worker in daemon.workers() {
            let (sink, _) = worker.tx_queue_and_pool::<Sink>(sends).ok_or("pg1 has no transmit queue")?;
            sink.keep(Some(PacketRing::new(2 * UNDER_WAY as usize, &buffers)));
            worker.vector = VECTOR;
        }
        Ok(Bench { daemon, backing, queues, sends })
    }
    /// One window of all workers at once.
    pub fn window(&mut self) -> Result<Window, String> {
        let Bench { daemon, queues, sends, .. } = self;
        let shared = Shared { out: queues.iter().map(|_| AtomicU64::new(0)).collect(), failed: AtomicBool::new(false) };
        let done: Vec<_> = std::thread::scope(|scope| {
            let workers = daemon.workers().iter_mut().zip(&*queues).enumerate();
            let threads: Vec<_> = workers
                .map(|(number, (worker, queue))| {
                    let (shared, sends) = (&shared, *sends);
                    scope.spawn(move || work(number, worker, queue.as_ref(), sends, shared))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err("a worker panicked".into()))).collect()
        });
        let drops = daemon.drops();
        let done: Result<Vec<_>, _> = done.into_iter().collect();
        let done: Vec<(u64, u64)> = done.map_err(|error| format!("{error}; drops: {drops:?}"))?;
        let tick = quiver_engine::thread::tick_length();
        let ticks = done.iter().map(|(packets, spent)| *spent as f64 / tick / (*packets).max(1) as f64).collect();
        let came: u64 = shared.out.iter().map(|out| out.load(Ordering::Relaxed)).sum();
        let most = done.iter().map(|(_, spent)| *spent).max().unwrap_or(0).max(1);
        Ok(Window { ticks, rate: came as f64 * 1e9 / most as f64 })
    }
}

fn commands(path: &str, configure: Configure, case: &Case) -> Vec<String> {
    let interfaces = ["pg1"].iter().chain(case.receive);
    let mut lines: Vec<String> =
        interfaces.clone().map(|name| format!("create packet-generator interface {name}")).collect();
    if path.starts_with("ip4") {
        lines.push("set interface ip address pg1 10.2.0.1/16".into());
        lines.extend((0..8).map(|hop| format!("ip neighbor pg1 10.2.0.{} 02:00:00:00:01:{hop:02x}", hop + 2)));
        lines.extend((0..8).map(|net| format!("ip route add 48.{net}.0.0/16 via 10.2.0.{} pg1", net + 2)));
    }
    for (worker, receives) in case.receive.iter().enumerate() {
        lines.extend(configure(receives));
        lines.push(format!("set interface rx-placement {receives} queue 0 worker {worker}"));
    }
    lines.extend(case.handoff.map(|workers| format!("set interface handoff pg0 workers {workers}")));
    lines.extend(interfaces.map(|name| format!("set interface state {name} up")));
    lines
}

/// A packet for an address; where it goes, and so its flow, is set each time.
fn packet(to: [u8; 6]) -> Vec<u8> {
    Packet::from(Ethernet::new(MacAddress([2, 1, 0, 0, 0, 1]), MacAddress(to)))
        .then(Ip4::new([10, 1, 0, 2].into(), [48, 0, 0, 1].into()))
        .then(Udp::new(1024, 1024))
        .then(Payload::counting(18))
        .to_bytes()
}

/// One worker's window: the packets that it received, and the nanoseconds of its turns with packets. A worker with a
/// queue fills it while few enough of its packets are under way; packets from other workers are received until all have
/// come out.
fn work(
    number: usize,
    worker: &mut Worker,
    queue: Option<&(QueueId, Vec<u8>)>,
    sends: u32,
    shared: &Shared,
) -> Result<(u64, u64), String> {
    pin(number);
    let start = Instant::now();
    let (reading, mut made, mut received, mut spent) = (reading(), 0, 0, 0);
    // Whoever has no queue works on packets of the first.
    let of = if queue.is_some() { number } else { 0 };
    let all = shared.out.len() as u64;
    let failed = |error: String| {
        shared.failed.store(true, Ordering::Relaxed);
        Err(error)
    };
    loop {
        let out = shared.out[of].load(Ordering::Acquire);
        if out == FILL * FILLS {
            return Ok((received, spent));
        }
        if let Some((queue, packet)) = queue.filter(|_| made < FILL * FILLS && made + FILL <= out + UNDER_WAY) {
            if let Err(error) = fill(worker, *queue, &mut packet.clone(), made) {
                return failed(error);
            }
            made += FILL;
        }
        // A turn without packets is waiting, and no work.
        for _ in 0..FILL as usize / VECTOR {
            let begin = cpu();
            let came = worker.turn(0) as u64;
            let took = (cpu() - begin).saturating_sub(reading);
            if came > 0 {
                (received, spent) = (received + came, spent + took);
            }
        }
        match empty(worker, sends) {
            Ok(sent) => _ = shared.out[of].fetch_add(sent, Ordering::Release),
            Err(error) => return failed(error),
        }
        if shared.failed.load(Ordering::Relaxed) || start.elapsed() > DEADLINE {
            return failed(format!("worker {number} of {all}: {out} of {} packets came out", FILL * FILLS));
        }
    }
}

fn fill(worker: &mut Worker, queue: QueueId, packet: &mut [u8], made: u64) -> Result<(), String> {
    let (source, pool) = worker.queue_and_pool::<Source>(queue).ok_or("the queue is gone")?;
    for n in made..made + FILL {
        // The order of flows is one that a hash does not follow.
        let flow = n * 97 % FLOWS;
        send_to(packet, [48, (flow % 8) as u8, (flow / 8) as u8, 1].into());
        let packet = pool.packet(packet).ok_or("the pool is empty")?;
        source.ring().push(packet).map_err(|_| "the receive ring is full")?;
    }
    Ok(())
}

/// Frees what this worker has sent; says how many that was.
fn empty(worker: &mut Worker, sends: u32) -> Result<u64, String> {
    let (sink, pool) = worker.tx_queue_and_pool::<Sink>(sends).ok_or("pg1's queue is gone")?;
    let ring = sink.kept().ok_or("pg1 keeps nothing")?;
    let mut sent = 0;
    while let Some(packet) = ring.pop(pool) {
        pool.free(packet);
        sent += 1;
    }
    Ok(sent)
}
