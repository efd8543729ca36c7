//! What the engine itself counts, under the names by which VPP's clients know it: `/if/...` by interface,
//! `/quiver/rx-queue/...` by receive queue and interface, `/err/...` by node and reason of a drop, which is an arc.

use super::DataplaneError;
use crate::counters::{Counter, Counters, Row, Traffic};
use crate::graph::{ArcSpec, Blueprint};
use quiver_stats::layout::name_part;
use quiver_stats::{Names, Segment, Settings, Target, Threads, Vector};
use std::sync::Arc;

/// Interfaces there can be.
const INTERFACES_MAX: u32 = 1 << 16;
/// Arcs of nodes that are shown at most.
const ARCS_MAX: u32 = 1 << 16;

/// How drivers name that reason.
const NO_BUFFER: &str = "no-buffer";

/// What an interface counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// What it received.
    pub rx: Traffic,
    /// What it sent.
    pub tx: Traffic,
    /// Packets that it received and a node dropped.
    pub drops: u64,
    /// Packets that it received and a node gave to control.
    pub punts: u64,
    /// Packets that its queues lost because no buffer was left.
    pub rx_no_buffer: u64,
    /// Packets that its queues could not receive for another reason.
    pub rx_errors: u64,
    /// Packets that its queues did not take.
    pub tx_errors: u64,
}

/// The counters by interface.
pub(super) struct Counted {
    pub segment: Segment,
    pub rx: Counters,
    pub tx: Counters,
    pub drops: Counters<Counter>,
    pub punts: Counters<Counter>,
    pub rx_no_buffer: Counters<Counter>,
    pub rx_errors: Counters<Counter>,
    pub tx_errors: Counters<Counter>,
    /// By queue, then by interface.
    queues: Vec<Counters>,
    /// What rooms count besides, by the last part of its name.
    added: Vec<(&'static str, Counters)>,
    /// Indexes there is room for.
    capacity: u32,
    /// The names of arcs. Those of drops are unique, others are not.
    arcs: Names,
    /// Nodes whose arcs have names.
    nodes: usize,
}

/// The rows of a worker in which a receive queue counts.
#[derive(Clone)]
pub(crate) struct RxRows {
    pub rx: Arc<Row>,
    pub queue: Arc<Row>,
    no_buffer: Arc<Row<Counter>>,
    errors: Arc<Row<Counter>>,
    /// The arc of packets that are lost because no buffer is left.
    no_buffer_arc: Option<u16>,
}

impl RxRows {
    /// Counts packets that were lost for a reason, which is an arc of the node that stands for the queue.
    pub fn lost(&self, interface: u16, reason: u16, packets: u64) {
        let row = if Some(reason) == self.no_buffer_arc { &self.no_buffer } else { &self.errors };
        row.add(interface.into(), packets);
    }
}

impl Counted {
    pub fn new(settings: Settings, threads: Threads) -> Result<Counted, DataplaneError> {
        let refused = |error| DataplaneError::Statistics { size: settings.size, error };
        let segment = Segment::new(settings, threads).map_err(refused)?;
        let combined = |name| Counters::shown(&segment, name, INTERFACES_MAX);
        let simple = |name| Counters::shown(&segment, name, INTERFACES_MAX);
        let arcs = segment.edit().names("/quiver/arcs/names");
        Ok(Counted {
            rx: combined("/if/rx"),
            tx: combined("/if/tx"),
            drops: simple("/if/drops"),
            punts: simple("/if/punt"),
            rx_no_buffer: simple("/if/rx-no-buf"),
            rx_errors: simple("/if/rx-error"),
            tx_errors: simple("/if/tx-error"),
            queues: vec![],
            added: vec![],
            capacity: 0,
            arcs,
            nodes: 0,
            segment,
        })
    }
    /// What the arcs of nodes are counted in.
    pub fn arcs(segment: &Segment) -> Vector<Counter> {
        segment.edit().vector("/quiver/arcs", ARCS_MAX)
    }
    /// The last part of each name by interface, and what it leads to.
    pub fn by_interface(&self) -> impl Iterator<Item = (&'static str, Target)> {
        let combined = [("rx", &self.rx), ("tx", &self.tx)].map(|(name, counters)| (name, counters.target()));
        let simple = [
            ("drops", &self.drops),
            ("punt", &self.punts),
            ("rx-no-buf", &self.rx_no_buffer),
            ("rx-error", &self.rx_errors),
            ("tx-error", &self.tx_errors),
        ];
        let simple = simple.map(|(name, counters)| (name, counters.target()));
        let added = self.added.iter().map(|(name, counters)| (*name, counters.target()));
        combined.into_iter().chain(simple).chain(added).filter_map(|(name, target)| Some((name, target?)))
    }
    fn pairs(&self) -> impl Iterator<Item = &Counters> {
        let added = self.added.iter().map(|(_, counters)| counters);
        [&self.rx, &self.tx].into_iter().chain(&self.queues).chain(added)
    }
    /// Counts something else by interface, too, at `/if/NAME`.
    pub fn add(&mut self, name: &'static str) -> Counters {
        let counters: Counters = Counters::shown(&self.segment, &format!("/if/{name}"), INTERFACES_MAX);
        counters.grow(self.capacity);
        self.added.push((name, counters.clone()));
        counters
    }
    fn singles(&self) -> [&Counters<Counter>; 5] {
        [&self.drops, &self.punts, &self.rx_no_buffer, &self.rx_errors, &self.tx_errors]
    }
    /// Makes room for an interface with so many receive queues.
    pub fn grow(&mut self, interface: u16, queues: usize) {
        for queue in self.queues.len()..queues {
            let name = format!("/quiver/rx-queue/{queue}");
            self.queues.push(Counters::shown(&self.segment, &name, INTERFACES_MAX));
        }
        self.capacity = self.capacity.max(u32::from(interface) + 1);
        self.pairs().for_each(|counters| counters.grow(self.capacity));
        self.singles().into_iter().for_each(|counters| counters.grow(self.capacity));
    }
    pub fn clear(&self, interface: u16) {
        self.pairs().for_each(|counters| counters.clear(interface.into()));
        self.singles().into_iter().for_each(|counters| counters.clear(interface.into()));
    }
    pub fn of(&self, interface: u16) -> InterfaceCounters {
        let interface = interface.into();
        InterfaceCounters {
            rx: self.rx.sum(interface),
            tx: self.tx.sum(interface),
            drops: self.drops.sum(interface),
            punts: self.punts.sum(interface),
            rx_no_buffer: self.rx_no_buffer.sum(interface),
            rx_errors: self.rx_errors.sum(interface),
            tx_errors: self.tx_errors.sum(interface),
        }
    }
    /// Where a receive queue of this number counts on a worker. Its interface has been given room; `arcs` are those of the
    /// node that stands for it.
    pub fn rx_rows(&self, queue: usize, arcs: &[ArcSpec], worker: usize) -> RxRows {
        RxRows {
            rx: self.rx.row(worker),
            queue: self.queues[queue].row(worker),
            no_buffer: self.rx_no_buffer.row(worker),
            errors: self.rx_errors.row(worker),
            no_buffer_arc: (0..).zip(arcs).find(|(_, arc)| arc.name == NO_BUFFER).map(|(arc, _)| arc),
        }
    }
    /// Names the arcs of nodes that were registered since the last time.
    pub fn name_arcs(&mut self, blueprint: &Blueprint) {
        let (vector, mut edit) = (blueprint.arc_counters(), self.segment.edit());
        for node in blueprint.nodes().skip(self.nodes) {
            let name = name_part(blueprint.name(node));
            for (arc, column) in blueprint.arcs(node).iter().zip(blueprint.first_arc(node)..) {
                let reason = name_part(arc.name);
                edit.set_name(&self.arcs, column as usize, Some(&format!("{name}/{reason}")));
                if arc.is_drop() {
                    edit.symlink(&format!("/err/{name}/{reason}"), vector.target(), column);
                }
            }
        }
        drop(edit);
        self.nodes = blueprint.nodes().count();
        vector.show(blueprint.arc_count());
    }
}
