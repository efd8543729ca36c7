//! ARP packets by interface, as clients of the statistics segment see them: `/net/arp/...`.

use std::rc::Rc;
use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::stats::Segment;
use quiver_engine::{Counter, Counters, Row};
use quiver_interface::{InterfaceEvent, InterfaceId, LOCAL, watch};
use quiver_wire::arp::{ArpOperation, ArpPacket};

/// Interfaces there can be.
const INTERFACES_MAX: u32 = 1 << 16;

/// What is counted of a packet: gratuitous are those whose sender speaks of its own address to all (RFC 5227, 2.3 and 3).
#[derive(Clone, Copy)]
enum Sort {
    Request,
    Reply,
    Gratuitous,
}

fn sort(packet: &ArpPacket) -> Sort {
    match packet.operation {
        _ if packet.sender() == packet.target() => Sort::Gratuitous,
        ArpOperation::REQUEST => Sort::Request,
        _ => Sort::Reply,
    }
}

/// One direction: a vector for each sort.
struct Direction([Counters<Counter>; 3]);

impl Direction {
    fn new(segment: &Segment, name: &str) -> Direction {
        let of = |sort| Counters::shown(segment, &format!("/net/arp/{name}/{sort}"), INTERFACES_MAX);
        Direction(["requests", "replies", "gratuitous"].map(of))
    }
    fn row(&self, worker: usize) -> ArpRow {
        ArpRow([&self.0[0], &self.0[1], &self.0[2]].map(|counters| counters.row(worker)))
    }
}

/// A worker's counters.
#[derive(Clone)]
pub struct ArpRow([Arc<Row<Counter>>; 3]);

impl ArpRow {
    /// Counts a packet.
    pub fn add(&self, interface: InterfaceId, packet: &ArpPacket) {
        self.0[sort(packet) as usize].add(interface.0.into(), 1);
    }
}

/// ARP packets that were received and sent.
pub(crate) struct ArpCounters {
    rx: Direction,
    tx: Direction,
    /// Control's own: only it sends.
    sent: ArpRow,
}

impl ArpCounters {
    pub fn new(segment: &Segment) -> ArpCounters {
        let (rx, tx) = (Direction::new(segment, "rx"), Direction::new(segment, "tx"));
        ArpCounters { sent: tx.row(0), rx, tx }
    }
    /// The row of what a worker receives.
    pub fn received(&self, worker: usize) -> ArpRow {
        self.rx.row(worker)
    }
    /// Counts a packet that is sent.
    pub fn sent(&self, interface: InterfaceId, packet: &ArpPacket) {
        self.sent.add(interface, packet);
    }
}

pub(crate) fn register(control: &Control, counters: Rc<ArpCounters>) {
    control.insert_room(counters);
    make_room(control, LOCAL);
    watch(control, |control, event| {
        if let InterfaceEvent::Created(id) = event {
            make_room(control, id);
        }
    });
}

/// Counts an interface from zero: its number may have had another owner.
fn make_room(control: &Control, id: InterfaceId) {
    let counters = control.room::<Rc<ArpCounters>>().clone();
    for counters in counters.rx.0.iter().chain(&counters.tx.0) {
        counters.grow(u32::from(id.0) + 1);
        counters.clear(id.0.into());
    }
}
