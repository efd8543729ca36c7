//! The measurement: real rooms, configured by real commands; rings of packets in memory at both ends. Only the worker's
//! turns are timed, in CPU time of this thread, so that a busy machine does not show.

pub mod filling;
pub mod peer;

use std::net::Ipv6Addr;

use quiver_engine::{Backing, Dataplane, Level, PacketRing, QueueId, Worker};
use quiver_interface::Interfaces;
use quiver_pg::queue::{Sink, Source};
use quiver_scenarios::UNSEEN;
use quiver_session::room::{SessionDefaults, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::{Ethernet, Ip4, Ip6, Packet, Payload, Udp, Vlan};
use rustix::thread::ClockId;
use serde::Serialize;

use crate::command::command;
use crate::path::{self, Path, Vary};
use filling::{FILL, FILLS, VECTORS};
use peer::{Peer, Programs};

/// Windows, of which the median counts.
const WINDOWS: usize = 9;
/// Buffers of a bench; with more packets under way, more.
const BUFFERS: u32 = 16_384;
/// How packets go: by the graph's nodes. Older rows of the history have others.
pub const WAY: &str = "nodes";

/// A row of the result. Ticks are those of the time stamp counter.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The path.
    pub path: &'static str,
    /// Packets in a vector.
    pub vector: usize,
    /// How packets go.
    pub way: String,
    /// The median of the windows.
    pub ticks: f64,
    /// The least of the windows.
    pub least: f64,
    /// The goal in ticks per packet, if there is one.
    pub goal: Option<u32>,
    /// The same path through VPP, if there is one.
    pub peer: Option<Beside>,
}

/// VPP's figures beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// Its version.
    pub version: String,
    /// The median of its windows, and the least.
    pub ticks: f64,
    pub least: f64,
    /// How many times as many ticks it takes: the median of the windows' ratios.
    pub ratio: f64,
    /// An interval that holds the ratio with 96 % confidence: the second least of nine windows' ratios, and the second greatest
    /// (the median's order statistics of a binomial distribution).
    pub low: f64,
    pub high: f64,
}

impl Beside {
    /// Figures of windows that took turns with ours.
    fn of(version: &str, ours: &[f64], windows: &[f64]) -> Beside {
        let mut ratios: Vec<f64> = windows.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
        let mut windows = windows.to_vec();
        ratios.sort_by(f64::total_cmp);
        windows.sort_by(f64::total_cmp);
        let (middle, last) = (ratios.len() / 2, ratios.len() - 1);
        Beside {
            version: version.to_owned(),
            ticks: windows[middle],
            least: windows[0],
            ratio: ratios[middle],
            low: ratios[1.min(last)],
            high: ratios[last.saturating_sub(1)],
        }
    }
}

/// Which rows are measured.
pub struct Choice {
    /// A part of the path's name.
    pub path: String,
    /// Packets in a vector; all sizes if it is None.
    pub vector: Option<usize>,
    /// A VPP to measure beside us.
    pub peer: Option<Programs>,
}

/// A row, and what its windows have shown so far.
struct Measured {
    row: Row,
    bench: usize,
    windows: Vec<f64>,
    /// Ticks per packet of VPP's windows.
    beside: Vec<f64>,
}

/// Measures paths. The rows take turns, window by window, so that a machine that is fast now and slow then is so for all of them; beside
/// VPP those of one path do, so that there is one VPP at a time and its memory is not taken by others.
pub fn measure(choice: &Choice, level: Level) -> Result<(Vec<Row>, Backing), String> {
    let all = path::all();
    let chosen: Vec<_> = all.iter().filter(|path| path.name.contains(&choice.path)).collect();
    let together = if choice.peer.is_some() { 1 } else { chosen.len().max(1) };
    let (mut rows, mut backing) = (vec![], None);
    for paths in chosen.chunks(together) {
        let (measured, backed) = measure_in_turns(paths, choice, level)?;
        rows.extend(measured);
        backing = backing.or(Some(backed));
    }
    Ok((rows, backing.ok_or("no path has such a name")?))
}

fn measure_in_turns(paths: &[&Path], choice: &Choice, level: Level) -> Result<(Vec<Row>, Backing), String> {
    let (mut benches, mut peers, mut rows) = (vec![], vec![], vec![]);
    for path in paths {
        eprintln!("{} ...", path.name);
        let mut bench = Bench::new(path, level)?;
        bench.begin(path)?;
        let vectors: Vec<_> =
            VECTORS.into_iter().filter(|size| choice.vector.is_none_or(|vector| vector == *size)).collect();
        let peer = match &choice.peer {
            Some(programs) => bench.peer(programs, path, &vectors).unwrap_or_else(|error| {
                eprintln!("{}: not measured beside VPP: {error}", path.name);
                None
            }),
            None => None,
        };
        for vector in vectors {
            // Goals and VPP's figures are for full vectors.
            let full = vector == 256;
            let goal = path.goal.filter(|_| full);
            let row = Row { path: path.name, vector, way: WAY.into(), ticks: 0.0, least: 0.0, goal, peer: None };
            rows.push(Measured { row, bench: benches.len(), windows: vec![], beside: vec![] });
        }
        benches.push(bench);
        peers.push(peer);
    }
    for window in 1..=WINDOWS {
        eprintln!("window {window} of {WINDOWS} ...");
        for Measured { row, bench, windows, beside } in &mut rows {
            let (bench, peer) = (&mut benches[*bench], &mut peers[*bench]);
            // In every other window VPP comes first.
            if window % 2 == 0 {
                beside.extend(peer_window(peer, row));
            }
            // The first one is unseen: others have used caches and branch predictors meanwhile.
            bench.window(row.vector)?;
            windows.push(bench.window(row.vector)?);
            if window % 2 == 1 {
                beside.extend(peer_window(peer, row));
            }
        }
    }
    let backing = benches.first().ok_or("no path has such a name")?.backing;
    let done = rows.into_iter().map(|Measured { row, bench, mut windows, beside }| {
        let version = peers[bench].as_ref().map(|peer| &peer.version);
        let peer = version.map(|version| Beside::of(version, &windows, &beside));
        windows.sort_by(f64::total_cmp);
        Row { ticks: windows[WINDOWS / 2], least: windows[0], peer, ..row }
    });
    Ok((done.collect(), backing))
}

/// VPP's ticks in a window; without them it is there no longer, and the path's other rows say what we take.
fn peer_window(peer: &mut Option<Peer>, row: &Row) -> Option<f64> {
    match peer.as_mut()?.window(row.vector) {
        Ok(ticks) => Some(ticks),
        Err(error) => {
            eprintln!("{}: not measured beside VPP: {error}", row.path);
            *peer = None;
            None
        }
    }
}

/// The number of an interface.
fn id_of(daemon: &Daemon, interface: &str) -> Result<u32, String> {
    let id = daemon.control().room::<Interfaces>().find(interface).map(|interface| interface.id.0);
    id.ok_or_else(|| format!("{interface} is not there"))
}

/// The queue by which an interface receives.
fn queue_of(daemon: &Daemon, interface: &str) -> Result<QueueId, String> {
    let id = id_of(daemon, interface)?;
    let dataplane = daemon.control().room::<Dataplane>();
    let queue = dataplane.queues_of(id).next().map(|queue| queue.id);
    queue.ok_or_else(|| format!("{interface} has no queue"))
}

/// Source address of the IPv6 packets; their destinations are not local.
const HERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);

/// A daemon that is configured for a path.
pub struct Bench {
    daemon: Daemon,
    backing: Backing,
    queue: QueueId,
    sends: u32,
    /// How many packets are sent for so many that were received.
    ratio: (usize, usize),
    in_flight: usize,
    packet: Vec<u8>,
    /// The addresses of pg0 and pg1, and what stations behind both interfaces have sent before.
    macs: [[u8; 6]; 2],
    first: Vec<(&'static str, Vec<u8>)>,
    vary: Vary,
    /// Packets made so far.
    made: u32,
    tick: f64,
}

impl Bench {
    /// Configures one.
    pub fn new(path: &Path, level: Level) -> Result<Bench, String> {
        let setup = Setup { level, buffers: BUFFERS.max(3 * path.in_flight as u32), ..Setup::default() };
        let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
        if let Some(sessions) = path.sessions {
            let defaults = SessionDefaults { sessions, ..SessionDefaults::default() };
            set_session_defaults(daemon.control(), defaults);
        }
        let before = ["create packet-generator interface pg0", "create packet-generator interface pg1"];
        let after = ["set interface state pg0 up", "set interface state pg1 up"];
        let commands = (path.commands)();
        for line in before.into_iter().chain(commands.iter().map(String::as_str)).chain(after) {
            command(&mut daemon, line)?;
        }
        (path.prepare)(&mut daemon)?;
        let (macs, sends) = {
            let interfaces = daemon.control().room::<Interfaces>();
            let find = |name| interfaces.find(name).ok_or_else(|| format!("{name} is not there"));
            ([find("pg0")?.mac.0, find("pg1")?.mac.0], find(path.sends)?.id.0)
        };
        let (queue, backing) = (queue_of(&daemon, "pg0")?, daemon.control().room::<Dataplane>().buffers().backing());
        let (here, there) = ([2, 1, 0, 0, 0, 1], [2, 2, 0, 0, 0, 2]);
        let packet = |from: [u8; 6], to: [u8; 6]| {
            let ethernet = Packet::from(Ethernet::new(quiver_wire::MacAddress(from), quiver_wire::MacAddress(to)));
            let link = path.vlan.map(Vlan::dot1q).into_iter().fold(ethernet, Packet::then);
            let ip = match path.ip6 {
                false => link.then(Ip4::new([10, 1, 0, 2].into(), [48, 0, 0, 1].into())),
                true => link.then(Ip6::new(HERE6, HERE6)),
            };
            ip.then(Udp::new(1024, 1024)).then(Payload::counting(path.payload)).to_bytes()
        };
        // All stations have spoken once, so that a bridge knows them.
        let first = (path.stations > 0).then(|| vec![("pg1", packet(there, here)), ("pg0", packet(here, there))]);
        for n in 0..path.stations {
            for (interface, mut bytes) in [("pg1", packet(there, here)), ("pg0", packet(here, there))] {
                if path.stations > 1 {
                    path::set_station(&mut bytes[..6], n);
                    path::set_station(&mut bytes[6..12], n);
                }
                daemon.send(interface, &bytes)?;
            }
            if n % 256 == 0 || n + 1 == path.stations {
                daemon.settle().map_err(|error| error.to_string())?;
                daemon.sent();
            }
        }
        let packet = packet(here, if path.routed { macs[0] } else { there });
        let buffers = daemon.control().room::<Dataplane>().buffers().clone();
        let (sink, _) = daemon.workers()[0].tx_queue_and_pool::<Sink>(sends).ok_or("there is no transmit queue")?;
        let ratio = path.ratio;
        sink.keep(Some(PacketRing::new(path.in_flight * ratio.0 / ratio.1, &buffers)));
        let (source, _) = daemon.workers()[0].queue_and_pool::<Source>(queue).ok_or("pg0's queue is gone")?;
        if source.ring().room() < path.in_flight {
            *source.ring() = PacketRing::new(path.in_flight, &buffers);
        }
        let (vary, tick) = (path.vary, quiver_engine::thread::tick_length());
        let (first, in_flight) = (first.unwrap_or_default(), path.in_flight);
        Ok(Bench { daemon, backing, queue, sends, ratio, in_flight, packet, macs, first, vary, made: 0, tick })
    }
    /// Has the packets pass that come before all others of a path.
    pub fn begin(&mut self, path: &Path) -> Result<(), String> {
        path.before.iter().try_for_each(|(interface, vary)| self.pass((interface, *vary), path.distinct))
    }
    /// Has so many packets pass that an interface receives.
    fn pass(&mut self, (interface, vary): (&str, Vary), packets: usize) -> Result<(), String> {
        let queue = queue_of(&self.daemon, interface)?;
        let mut packet = self.received(interface);
        for first in (0..packets).step_by(FILL) {
            for n in first..(first + FILL).min(packets) {
                vary(n as u32, &mut packet);
                self.put(queue, &packet)?;
            }
            while self.daemon.workers()[0].turn(0) > 0 {}
            self.take(self.sends, |_| {})?;
            // Packets that other interfaces send are kept until they are taken.
            self.daemon.sent();
        }
        Ok(())
    }
    /// The queue by which an interface receives, and the number by which it sends, whose packets are kept from now on.
    pub fn ends(&mut self, interface: &str) -> Result<(QueueId, u32), String> {
        let id = id_of(&self.daemon, interface)?;
        let buffers = self.daemon.control().room::<Dataplane>().buffers().clone();
        let (sink, _) = self.daemon.workers()[0].tx_queue_and_pool::<Sink>(id).ok_or("there is no transmit queue")?;
        sink.keep(Some(PacketRing::new(self.in_flight, &buffers)));
        Ok((queue_of(&self.daemon, interface)?, id))
    }
    /// Puts a packet into a receive ring.
    pub fn put(&mut self, queue: QueueId, packet: &[u8]) -> Result<(), String> {
        let (source, pool) = self.daemon.workers()[0].queue_and_pool::<Source>(queue).ok_or("the queue is gone")?;
        let packet = pool.packet(packet).ok_or("the pool is empty")?;
        source.ring().push(packet).map_err(|_| "the receive ring is full".into())
    }
    /// Takes the packets that an interface has sent.
    pub fn take(&mut self, sends: u32, mut show: impl FnMut(&[u8])) -> Result<(), String> {
        let worker = &mut self.daemon.workers()[0];
        let (sink, pool) = worker.tx_queue_and_pool::<Sink>(sends).ok_or("the transmit queue is gone")?;
        let ring = sink.kept().ok_or("nothing is kept of what is sent")?;
        while let Some(packet) = ring.pop(pool) {
            show(pool.bytes(&packet));
            pool.free(packet);
        }
        Ok(())
    }
    /// A packet that an interface receives for itself.
    pub fn received(&self, interface: &str) -> Vec<u8> {
        let mut packet = self.packet.clone();
        if interface == "pg1" {
            packet[..6].copy_from_slice(&self.macs[1]);
        }
        packet
    }
    /// A VPP beside it; None if the path is none of VPP's.
    fn peer(&mut self, programs: &Programs, path: &Path, vectors: &[usize]) -> Result<Option<Peer>, String> {
        let made = |interface: &str, vary: Vary| {
            let mut packet = self.received(interface);
            let packets = (0..path.distinct.max(FILL) as u32).map(|n| {
                vary(n, &mut packet);
                packet.clone()
            });
            packets.collect::<Vec<_>>()
        };
        let of_stations = self.first.iter().map(|(interface, packet)| (*interface, vec![packet.clone()]));
        let before =
            of_stations.chain(path.before.iter().map(|(interface, vary)| (*interface, made(interface, *vary))));
        Peer::new(programs, path, self.macs, (&made("pg0", self.vary), vectors), before)
    }
    /// The daemon that is configured.
    pub fn daemon(&mut self) -> &mut Daemon {
        &mut self.daemon
    }
    /// Ends the daemon, and gives back the address space of its tables: callgrind has little.
    pub fn finish(self) -> Result<(), String> {
        self.daemon.finish().map_err(|error| error.to_string())
    }
    /// The worker that forwards, which receives so many packets at once.
    pub fn worker(&mut self, vector: usize) -> &mut Worker {
        let worker = &mut self.daemon.workers()[0];
        worker.vector = vector;
        worker
    }
    /// Ticks per packet over one window.
    fn window(&mut self, vector: usize) -> Result<f64, String> {
        let (mut nanoseconds, reading) = (0, reading());
        let (packets, fills) = (self.in_flight, (FILL * FILLS / self.in_flight).max(1));
        for _ in 0..fills {
            self.fill()?;
            let worker = self.worker(vector);
            let start = cpu();
            for _ in 0..packets / vector {
                worker.turn(0);
            }
            nanoseconds += (cpu() - start).saturating_sub(reading);
            self.empty()?;
        }
        Ok(nanoseconds as f64 / self.tick / (packets * fills) as f64)
    }
    /// Puts packets into the receive ring.
    pub fn fill(&mut self) -> Result<(), String> {
        let mut packet = std::mem::take(&mut self.packet);
        for _ in 0..self.in_flight {
            (self.vary)(self.made, &mut packet);
            self.made = self.made.wrapping_add(1);
            self.put(self.queue, &packet)?;
        }
        self.packet = packet;
        Ok(())
    }
    /// Frees what was sent. Whatever is not there was not forwarded, and the figures would mean nothing.
    pub fn empty(&mut self) -> Result<(), String> {
        self.empty_into(|_| {})
    }
    /// The same, and shows what was sent.
    fn empty_into(&mut self, mut show: impl FnMut(&[u8])) -> Result<(), String> {
        let (mut sent, meant) = (0, self.in_flight * self.ratio.0 / self.ratio.1);
        self.take(self.sends, |packet| {
            sent += 1;
            show(packet);
        })?;
        match sent == meant {
            true => Ok(()),
            false => Err(format!("{sent} of {meant} packets came out; drops: {:?}", self.daemon.drops())),
        }
    }
}

/// Nanoseconds of CPU time of this thread.
pub fn cpu() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks of one reading of the clock, subtracted from each measurement.
pub fn reading() -> u64 {
    (0..100).map(|_| std::hint::black_box((cpu(), cpu()))).map(|(start, end)| end - start).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The nodes without which a path is not what its name says.
    const NODES: [(&str, &str); 15] = [
        ("ip4, 4.1 million sessions of TCP", "sfdp-l4-lifecycle"),
        ("ip4, loose uRPF", "ip4-rx-urpf-loose"),
        ("ip4, strict uRPF", "ip4-rx-urpf-strict"),
        ("ip4, ABF", "abf-input-ip4"),
        ("ip4, ACL of 50 rules, last matches", "acl-input-ip4"),
        ("ip4, ACL of 1,000 rules", "acl-input-ip4"),
        ("ip4, ACL of 10,000 rules", "acl-input-ip4"),
        ("ip4, 256 sessions", "sfdp-l4-lifecycle"),
        ("nat44, in2out, 256 sessions", "nat44-ed-rewrite"),
        ("nat44, out2in, 64,000 sessions", "nat44-ed-rewrite"),
        ("ip4, MSS clamp", "tcp-mss-clamping-ip4-in"),
        ("vlan, strict uRPF, ip4 and ip6", "ip6-rx-urpf-strict"),
        ("ip4, sent in fragments", "ip4-rewrite"),
        ("ip4, echo requests in fragments", "ip4-reassembly"),
        ("ip6, 8 routes", "ip6-rewrite"),
    ];

    /// Sends fillings of packets with every size of vectors, and returns the last one's packets as they left.
    fn run(path: &Path) -> Vec<Vec<u8>> {
        let mut bench = Bench::new(path, Level::best()).unwrap_or_else(|error| panic!("{}: {error}", path.name));
        bench.begin(path).unwrap_or_else(|error| panic!("{}: {error}", path.name));
        let mut left = vec![];
        for vector in VECTORS {
            bench.fill().expect("there is room");
            for _ in 0..path.in_flight / vector {
                bench.worker(vector).turn(0);
            }
            left.clear();
            let emptied = bench.empty_into(|packet| left.push(packet.to_vec()));
            emptied.unwrap_or_else(|error| panic!("{}: {error}", path.name));
        }
        let counts = bench.daemon.counts();
        for (_, node) in NODES.iter().filter(|(name, _)| *name == path.name) {
            assert!(counts.keys().any(|(counted, _)| counted == node), "{}: {counts:?}", path.name);
        }
        left
    }

    /// Packets are those that a path is about, with all sizes of vectors.
    fn check(chosen: fn(&str) -> bool) {
        for path in path::all().iter().filter(|path| chosen(path.name)) {
            let left = run(path);
            let hops: BTreeSet<&[u8]> = left.iter().map(|packet| &packet[..6]).collect();
            match path.name {
                "ip4, ECMP over 16 paths" => assert_eq!(hops.len(), 16, "{}", path.name),
                "ip4, ABF" => assert_eq!(hops.iter().collect::<Vec<_>>(), [&[2, 0, 0, 0, 1, 7]], "{}", path.name),
                "ip4, sent in fragments" => assert!(left.iter().all(|packet| packet.len() <= 614)),
                "ip4, echo requests in fragments" => {
                    assert!(left.iter().all(|packet| packet.len() == 14 + 20 + 2 * 696))
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_path_sends_what_it_is_given() {
        assert!(NODES.iter().all(|(name, _)| path::all().iter().any(|path| path.name == *name)));
        check(|name| !name.contains("million"));
    }

    #[test]
    fn and_so_it_does_with_millions_of_bridged_stations_and_routes() {
        check(|name| name.contains("million") && !name.starts_with("ip6"));
    }

    #[test]
    fn and_with_millions_of_routes_of_ip6() {
        check(|name| name.contains("million") && name.starts_with("ip6"));
    }
}
