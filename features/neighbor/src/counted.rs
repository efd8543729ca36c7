//! Messages by interface, as clients of the statistics segment see them: `/net/arp/...`, `/net/ip6-nd/...`.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::stats::{Description, Segment};
use quiver_engine::{Counter, Counters, INTERFACES_MAX, Row};
use quiver_interface::{InterfaceEvent, InterfaceId, LOCAL, watch};

use crate::protocol::{Protocol, Sort};

/// Counters of one direction: a vector for each sort.
struct Direction([Counters<Counter>; 3]);

impl Direction {
    fn new(segment: &Segment, protocol: &str, name: &str) -> Direction {
        let which = if name == "rx" { "received" } else { "sent" };
        let of = |(sort, messages)| {
            let entry = format!("/net/{protocol}/{name}/{sort}");
            segment.describe(&entry, Description::by_interface(format!("{messages} of {protocol} {which}.")));
            Counters::shown(segment, &entry, INTERFACES_MAX)
        };
        let sorts = [("requests", "Requests"), ("replies", "Replies"), ("gratuitous", "Unsolicited announcements")];
        Direction(sorts.map(of))
    }
    fn row(&self, worker: usize) -> Counted {
        Counted([&self.0[0], &self.0[1], &self.0[2]].map(|counters| counters.row(worker)))
    }
}

/// A worker's counters.
#[derive(Clone)]
pub struct Counted([Arc<Row<Counter>>; 3]);

impl Counted {
    /// Counts a message.
    pub fn add(&self, interface: InterfaceId, sort: Sort) {
        self.0[sort as usize].add(interface.0, 1);
    }
}

/// Messages of a protocol that were received and sent.
pub(crate) struct NeighborCounters<F: Protocol> {
    rx: Direction,
    tx: Direction,
    /// Control's own: only it sends.
    sent: Counted,
    protocol: PhantomData<F>,
}

impl<F: Protocol> NeighborCounters<F> {
    pub fn new(segment: &Segment) -> NeighborCounters<F> {
        let [rx, tx] = ["rx", "tx"].map(|name| Direction::new(segment, F::COUNTED, name));
        NeighborCounters { sent: tx.row(0), rx, tx, protocol: PhantomData }
    }
    /// The row of a worker's received messages.
    pub fn received(&self, worker: usize) -> Counted {
        self.rx.row(worker)
    }
    /// Counts of an interface by direction, in the order of [`Sort`].
    pub fn counts(&self, interface: InterfaceId) -> [(&'static str, [u64; 3]); 2] {
        let of = |direction: &Direction| [0, 1, 2].map(|sort| direction.0[sort].sum(interface.0));
        [("rx", of(&self.rx)), ("tx", of(&self.tx))]
    }
    /// Counts a message that is sent.
    pub fn sent(&self, interface: InterfaceId, sort: Sort) {
        self.sent.add(interface, sort);
    }
}

pub(crate) fn register<F: Protocol>(control: &Control, counters: Rc<NeighborCounters<F>>) {
    control.insert_room(counters);
    make_room::<F>(control, LOCAL);
    watch(control, |control, event| {
        if let InterfaceEvent::Created(id) = event {
            make_room::<F>(control, id);
        }
    });
}

/// Counts an interface from zero: its number may have had another owner.
fn make_room<F: Protocol>(control: &Control, id: InterfaceId) {
    let counters = control.room::<Rc<NeighborCounters<F>>>().clone();
    for counters in counters.rx.0.iter().chain(&counters.tx.0) {
        counters.grow(id.0 + 1);
        counters.clear(id.0);
    }
}
