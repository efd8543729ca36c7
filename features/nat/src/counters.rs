//! Counters by interface: packets translated, by direction, by whether they began a session, and by protocol; and those dropped.
//! Names are those of VPP's statistics segment.

use std::sync::Arc;

use quiver_engine::stats::Description;
use quiver_engine::{Counter, Counters, Dataplane, INTERFACES_MAX, Row};
use quiver_interface::InterfaceId;
use quiver_wire::IpProtocol;

/// Whether a packet began its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// It belongs to a session that was there.
    Fast,
    /// It began one, or none.
    Slow,
}

/// Counters of one direction and path: TCP, UDP, ICMP, drops.
const KINDS: [&str; 4] = ["tcp", "udp", "icmp", "drops"];
const DROPS: usize = 3;

/// Direction and path, as a number and as VPP names them.
const SETS: [(bool, Path, &str); 4] = [
    (true, Path::Fast, "in2out/fastpath"),
    (true, Path::Slow, "in2out/slowpath"),
    (false, Path::Fast, "out2in/fastpath"),
    (false, Path::Slow, "out2in/slowpath"),
];

fn set_of(is_from_inside: bool, path: Path) -> usize {
    (if is_from_inside { 0 } else { 2 }) + path as usize
}

/// The counters of all workers.
#[derive(Clone)]
pub struct NatCounters([[Counters<Counter>; KINDS.len()]; SETS.len()]);

impl NatCounters {
    /// Zeros.
    pub fn new(dataplane: &Dataplane) -> NatCounters {
        let segment = dataplane.statistics();
        NatCounters(SETS.map(|(_, _, set)| {
            KINDS.map(|kind| {
                let name = format!("/nat44-ed/{set}/{kind}");
                let counters = Counters::shown(segment, &name, INTERFACES_MAX);
                segment.describe(
                    &name,
                    Description::by_interface("Packets of NAT44, by the interface that received them."),
                );
                counters
            })
        }))
    }
    /// Makes room for an interface.
    pub fn grow(&self, interface: InterfaceId) {
        self.0.iter().flatten().for_each(|counters| counters.grow(interface.0 + 1));
    }
    /// Those of a worker.
    pub fn row(&self, worker: usize) -> WorkerCounters {
        WorkerCounters(std::array::from_fn(|set| std::array::from_fn(|kind| self.0[set][kind].row(worker))))
    }
}

/// The counters of a worker.
pub struct WorkerCounters([[Arc<Row<Counter>>; KINDS.len()]; SETS.len()]);

/// The kind of a protocol's packets.
#[inline(always)]
fn kind_of(protocol: u8) -> usize {
    match IpProtocol(protocol) {
        IpProtocol::TCP => 0,
        IpProtocol::UDP => 1,
        _ => 2,
    }
}

impl WorkerCounters {
    /// Counts a translated packet.
    pub fn count(&self, (is_from_inside, path): (bool, Path), protocol: u8, interface: u32) {
        self.0[set_of(is_from_inside, path)][kind_of(protocol)].add(interface, 1);
    }
    /// Counts a dropped packet.
    pub fn drop(&self, is_from_inside: bool, path: Path, interface: u32) {
        self.0[set_of(is_from_inside, path)][DROPS].add(interface, 1);
    }
}

/// Packets of sessions that an interface has received, as they are counted: most frames are one's.
#[derive(Default)]
pub struct Tally {
    interface: u32,
    /// From the inside, and from the outside; by kind.
    packets: [[u64; DROPS]; 2],
}

impl Tally {
    /// Counts a translated packet of a session that was there.
    #[inline(always)]
    pub fn count(&mut self, counters: &WorkerCounters, is_from_inside: bool, (protocol, interface): (u8, u32)) {
        if interface != self.interface {
            self.end(counters);
            self.interface = interface;
        }
        self.packets[usize::from(!is_from_inside)][kind_of(protocol)] += 1;
    }
    /// Counts all of them.
    pub fn end(&mut self, counters: &WorkerCounters) {
        for (packets, is_from_inside) in std::mem::take(&mut self.packets).iter().zip([true, false]) {
            let kinds = &counters.0[set_of(is_from_inside, Path::Fast)];
            for (kind, packets) in kinds.iter().zip(packets).filter(|(_, packets)| **packets > 0) {
                kind.add(self.interface, *packets);
            }
        }
    }
}
