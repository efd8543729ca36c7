//! A bridge's stations: learned from frames, by worker and control as they are in quiverd, and forgotten when they are old.

use std::time::{Duration, Instant};

use quiver_bridge::bridges::Bridges;
use quiver_engine::{Dataplane, PacketRing, QueueId};
use quiver_interface::{Events, Interfaces};
use quiver_pg::queue::{Sink, Source};
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::{Ethernet, Packet, Payload};
use quiver_wire::MacAddress;

use super::{Row, median};
use crate::command::command;
use crate::graph::{cpu, reading};
use crate::path::set_station;

const STATIONS: u32 = 1000 * FILL;
/// Frames that are in the rings at once.
const FILL: u32 = 1024;
const RUNS: usize = 3;
/// How long it is waited for all of them, with threads.
const PATIENCE: Duration = Duration::from_secs(30);

const CONFIGURATION: [&str; 8] = [
    "create packet-generator interface pg0",
    "create packet-generator interface pg1",
    "create bridge-domain 1 mac-age 1 learn-limit 2000000",
    "set interface l2 bridge pg0 1",
    "set interface l2 bridge pg1 1",
    "l2fib add 02:02:00:00:00:01 1 pg1 static",
    "set interface state pg0 up",
    "set interface state pg1 up",
];
/// A frame of each station, one after the other, again and again.
const GENERATOR: [&str; 2] = [
    "packet-generator new { name stations interface pg0 data { IP4: 02:01:00:00:00:00-02:01:00:0f:9f:ff -> \
     02:02:00:00:00:01 UDP: 10.0.0.1 -> 10.0.0.2 UDP: 1 -> 2 } }",
    "packet-generator enable",
];

/// A daemon that bridges pg0 and pg1.
fn bridge() -> Result<Daemon, String> {
    let setup = Setup { buffers: 16_384, ..Setup::default() };
    let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
    CONFIGURATION.iter().try_for_each(|line| command(&mut daemon, line))?;
    Ok(daemon)
}

/// How many stations were learned, and are not forgotten.
pub fn count(daemon: &Daemon) -> usize {
    daemon.control().room::<Bridges>().macs.count().1
}

struct Bench {
    daemon: Daemon,
    queue: QueueId,
    sends: u32,
    frame: Vec<u8>,
}

/// Times of one million stations, in nanoseconds.
struct Learned {
    worker: f64,
    control: f64,
    /// The longest that control was at it without a break.
    turn: f64,
}

impl Bench {
    fn new() -> Result<Bench, String> {
        let mut daemon = bridge()?;
        let (receives, sends) = {
            let interfaces = daemon.control().room::<Interfaces>();
            let id = |name| interfaces.id_of(name).map_err(|error| error.to_string());
            (id("pg0")?.0, id("pg1")?.0)
        };
        let (queue, buffers) = {
            let dataplane = daemon.control().room::<Dataplane>();
            let queue = dataplane.queues_of(receives).next().map(|queue| queue.id);
            (queue.ok_or("pg0 has no queue")?, dataplane.buffers().clone())
        };
        let (sink, _) = daemon.workers()[0].tx_queue_and_pool::<Sink>(sends).ok_or("pg1 has no transmit queue")?;
        sink.keep(Some(PacketRing::new(FILL as usize, &buffers)));
        let ethernet = Ethernet::new(MacAddress([2, 1, 0, 0, 0, 0]), MacAddress([2, 2, 0, 0, 0, 1]));
        let frame = Packet::from(ethernet).then(Payload::counting(46)).to_bytes();
        Ok(Bench { daemon, queue, sends, frame })
    }
    /// A frame of each station, and a turn of control after each thousand.
    fn speak(&mut self) -> Result<Learned, String> {
        let (mut worker_time, mut control_time, mut turn, reading) = (0, 0, 0, reading());
        for first in (0..STATIONS).step_by(FILL as usize) {
            let worker = &mut self.daemon.workers()[0];
            let (source, pool) = worker.queue_and_pool::<Source>(self.queue).ok_or("pg0's queue is gone")?;
            for n in first..first + FILL {
                set_station(&mut self.frame[6..12], n);
                let packet = pool.packet(&self.frame).ok_or("the pool is empty")?;
                source.ring().push(packet).map_err(|_| "the receive ring is full")?;
            }
            let start = cpu();
            for _ in 0..FILL / 256 {
                worker.turn(0);
            }
            worker_time += (cpu() - start).saturating_sub(reading);
            let (sink, pool) = worker.tx_queue_and_pool::<Sink>(self.sends).ok_or("pg1's queue is gone")?;
            let ring = sink.kept().ok_or("pg1 keeps nothing")?;
            while let Some(packet) = ring.pop(pool) {
                pool.free(packet);
            }
            let start = cpu();
            Events::answer(self.daemon.control());
            self.daemon.executor().run_ready();
            self.daemon.control().room::<Dataplane>().reclaim();
            let took = (cpu() - start).saturating_sub(reading);
            (control_time, turn) = (control_time + took, turn.max(took));
        }
        let each = |nanoseconds: u64| nanoseconds as f64 / f64::from(STATIONS);
        Ok(Learned { worker: each(worker_time), control: each(control_time), turn: turn as f64 })
    }
    /// Lets all be too old: nanoseconds of control for each, and the longest of its turns.
    fn age(&mut self) -> Result<(f64, f64), String> {
        let (mut whole, mut longest) = (0, 0);
        let executor = self.daemon.executor().clone();
        executor.advance_to(executor.time() + Duration::from_secs(70));
        loop {
            let start = cpu();
            let ran = executor.step();
            let took = cpu() - start;
            (whole, longest) = (whole + took, longest.max(took));
            if !ran && count(&self.daemon) == 0 {
                return Ok((whole as f64 / f64::from(STATIONS), longest as f64));
            }
            if !ran {
                self.daemon.advance(Duration::from_secs(1)).map_err(|error| error.to_string())?;
            }
        }
    }
}

/// Seconds until a million stations are learned by a daemon with a worker's thread, which makes their frames itself, too.
fn learn_on_threads() -> Result<f64, String> {
    let mut daemon = bridge()?;
    daemon.start_threads().map_err(|error| error.to_string())?;
    let start = Instant::now();
    GENERATOR.iter().try_for_each(|line| command(&mut daemon, line))?;
    while count(&daemon) < STATIONS as usize {
        daemon.run_threads(Duration::from_millis(1));
        if start.elapsed() > PATIENCE {
            return Err(format!("{} of {STATIONS} stations were learned within {PATIENCE:?}", count(&daemon)));
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// A million stations of a bridge are learned, seen again, and forgotten.
pub fn measure() -> Result<Vec<Row>, String> {
    let (mut worker, mut control, mut turn, mut seen, mut aged, mut longest, mut threads) =
        (vec![], vec![], vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        let mut bench = Bench::new()?;
        let heard = bench.speak()?;
        if count(&bench.daemon) < STATIONS as usize {
            return Err(format!("{} of {STATIONS} stations were learned", count(&bench.daemon)));
        }
        worker.push(heard.worker);
        control.push(heard.control);
        turn.push(heard.turn / 1000.0);
        seen.push(bench.speak()?.worker);
        let (each, turn) = bench.age()?;
        aged.push(each);
        longest.push(turn / 1000.0);
        threads.push(f64::from(STATIONS) / 1e6 / learn_on_threads()?);
    }
    let (worker, control) = (median(worker), median(control));
    let row = |what, value, unit| Row { what, to: "1 million stations of a bridge".into(), value, unit };
    Ok(vec![
        row("worker, first frame", worker, "ns each"),
        row("worker, later frames", median(seen), "ns each"),
        row("control, learned", control, "ns each"),
        row("control, longest turn while learning", median(turn), "us"),
        row("learned, worker and control on a core each", 1000.0 / worker.max(control), "million/s"),
        row("learned, both on one core", 1000.0 / (worker + control), "million/s"),
        row("learned, by the clock, on threads, frames made there", median(threads), "million/s"),
        row("control, aged", median(aged), "ns each"),
        row("control, longest turn while ageing", median(longest), "us"),
    ])
}
