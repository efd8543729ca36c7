//! The engine's own counters, under the names by which VPP's clients know them: `/if/...` by interface,
//! `/quiver/rx-queue/...` by receive queue and interface, `/err/...` by node and drop reason, which is an arc.

use super::error::DataplaneError;
use super::rx_rows::RxRows;
use crate::counters::{Counter, Counters, Traffic};
use crate::graph::{ArcSpec, Blueprint, GraphError, NodeId};
use crate::vector::INTERFACES_MAX;
use quiver_stats::layout::name_part;
use quiver_stats::{Cell, Description, Index, Names, Segment, Settings, Target, Threads, Vector};
use std::borrow::Cow;

/// Arcs of nodes that are shown at most.
const ARCS_MAX: u32 = 1 << 16;

/// Names of these drop reasons, as drivers register them.
const NO_BUFFER: &str = "no-buffer";
const RING_FULL: &str = "ring-full";

/// Counts of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Received packets and bytes.
    pub rx: Traffic,
    /// Sent packets and bytes.
    pub tx: Traffic,
    /// Packets that it received and a node dropped.
    pub drops: u64,
    /// Packets that it received and a node gave to control.
    pub punts: u64,
    /// Packets that its queues lost because no buffer was left.
    pub rx_no_buffer: u64,
    /// Packets that found the rings of its queues full.
    pub rx_missed: u64,
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
    pub rx_missed: Counters<Counter>,
    pub rx_errors: Counters<Counter>,
    pub tx_errors: Counters<Counter>,
    /// Counters by queue, then by interface.
    queues: Vec<Counters>,
    /// Counters that rooms add, with bytes and without, by the last part of their names.
    added: Vec<(&'static str, Counters)>,
    added_simple: Vec<(&'static str, Counters<Counter>)>,
    /// Indexes there is room for.
    capacity: u32,
    /// The names of arcs. Those of drops are unique, others are not.
    arcs: Names,
    /// Nodes whose arcs have names.
    nodes: usize,
    /// Other names of arcs.
    others: Vec<OtherName>,
    /// The number of other names that are in the statistics segment.
    others_shown: usize,
}

/// Another name of the packets that took an arc, by which clients look for them.
#[derive(Clone, Debug)]
pub struct OtherName {
    /// The name: `node/reason`.
    pub name: String,
    /// The node that has the arc.
    pub node: NodeId,
    /// The arc.
    pub arc: u16,
    /// Where the count lies that clients know by the name, if that is not the arc's.
    counted: Option<Target>,
}

/// Descriptions of what is counted by interface.
const DESCRIPTIONS: [(&str, &str); 8] = [
    ("/if/rx", "{} received by the interface."),
    ("/if/tx", "{} sent by the interface."),
    ("/if/drops", "Packets that the interface received and a node dropped."),
    ("/if/punt", "Packets that the interface received and a node gave to the control thread."),
    ("/if/rx-no-buf", "Packets lost on receive because no packet buffer was free."),
    ("/if/rx-miss", "Packets lost on receive because a ring of the interface was full."),
    ("/if/rx-error", "Packets that the interface could not receive for another reason."),
    ("/if/tx-error", "Packets that the interface did not take to send."),
];

impl Counted {
    pub fn new(settings: Settings, threads: Threads) -> Result<Counted, DataplaneError> {
        let refused = |error| DataplaneError::Statistics { size: settings.size_for(threads), error };
        let segment = Segment::new(settings, threads).map_err(refused)?;
        let combined = |name| Counters::shown(&segment, name, INTERFACES_MAX);
        let simple = |name| Counters::shown(&segment, name, INTERFACES_MAX);
        for (name, help) in DESCRIPTIONS {
            segment.describe(name, Description::by_interface(help));
        }
        let arcs = segment.edit().names("/quiver/arcs/names");
        Ok(Counted {
            rx: combined("/if/rx"),
            tx: combined("/if/tx"),
            drops: simple("/if/drops"),
            punts: simple("/if/punt"),
            rx_no_buffer: simple("/if/rx-no-buf"),
            rx_missed: simple("/if/rx-miss"),
            rx_errors: simple("/if/rx-error"),
            tx_errors: simple("/if/tx-error"),
            queues: vec![],
            added: vec![],
            added_simple: vec![],
            capacity: 0,
            arcs,
            nodes: 0,
            others: vec![],
            others_shown: 0,
            segment,
        })
    }
    /// The vector that counts the arcs of all nodes.
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
            ("rx-miss", &self.rx_missed),
            ("rx-error", &self.rx_errors),
            ("tx-error", &self.tx_errors),
        ];
        let simple = simple.map(|(name, counters)| (name, counters.target()));
        let added = self.added.iter().map(|(name, counters)| (*name, counters.target()));
        let added_simple = self.added_simple.iter().map(|(name, counters)| (*name, counters.target()));
        let all = combined.into_iter().chain(simple).chain(added).chain(added_simple);
        all.filter_map(|(name, target)| Some((name, target?)))
    }
    fn pairs(&self) -> impl Iterator<Item = &Counters> {
        let added = self.added.iter().map(|(_, counters)| counters);
        [&self.rx, &self.tx].into_iter().chain(&self.queues).chain(added)
    }
    /// Counts something else by interface, too, at `/if/NAME`, with a sentence of help.
    pub fn add(&mut self, name: &'static str, help: Cow<'static, str>) -> Counters {
        let counters: Counters = self.shown(name, help);
        counters.grow(self.capacity);
        self.added.push((name, counters.clone()));
        counters
    }
    /// The same, without bytes.
    pub fn add_simple(&mut self, name: &'static str, help: Cow<'static, str>) -> Counters<Counter> {
        let counters: Counters<Counter> = self.shown(name, help);
        counters.grow(self.capacity);
        self.added_simple.push((name, counters.clone()));
        counters
    }
    fn shown<C: Cell>(&self, name: &str, help: Cow<'static, str>) -> Counters<C> {
        let entry = format!("/if/{name}");
        self.segment.describe(&entry, Description::by_interface(help));
        Counters::shown(&self.segment, &entry, INTERFACES_MAX)
    }
    fn singles(&self) -> impl Iterator<Item = &Counters<Counter>> {
        let own = [&self.drops, &self.punts, &self.rx_no_buffer, &self.rx_missed, &self.rx_errors, &self.tx_errors];
        own.into_iter().chain(self.added_simple.iter().map(|(_, counters)| counters))
    }
    /// Counters without bytes that rooms added, for an interface, by name.
    pub fn added_of(&self, interface: u32) -> impl Iterator<Item = (&'static str, u64)> {
        self.added_simple.iter().map(move |(name, counters)| (*name, counters.sum(interface)))
    }
    /// Makes room for an interface with so many receive queues.
    pub fn grow(&mut self, interface: u32, queues: usize) {
        for queue in self.queues.len()..queues {
            let name = format!("/quiver/rx-queue/{queue}");
            let description = Description::of("{} received by the receive queue.");
            self.segment.describe(&name, Description { index: Index::ReceiveQueue, ..description });
            self.queues.push(Counters::shown(&self.segment, &name, INTERFACES_MAX));
        }
        self.capacity = self.capacity.max(interface + 1);
        self.pairs().for_each(|counters| counters.grow(self.capacity));
        self.singles().for_each(|counters| counters.grow(self.capacity));
    }
    pub fn clear(&self, interface: u32) {
        self.pairs().for_each(|counters| counters.clear(interface));
        self.singles().for_each(|counters| counters.clear(interface));
    }
    pub fn of(&self, interface: u32) -> InterfaceCounters {
        InterfaceCounters {
            rx: self.rx.sum(interface),
            tx: self.tx.sum(interface),
            drops: self.drops.sum(interface),
            punts: self.punts.sum(interface),
            rx_no_buffer: self.rx_no_buffer.sum(interface),
            rx_missed: self.rx_missed.sum(interface),
            rx_errors: self.rx_errors.sum(interface),
            tx_errors: self.tx_errors.sum(interface),
        }
    }
    /// Packets and bytes that an interface's receive queue of this number has received.
    pub fn of_queue(&self, queue: usize, interface: u32) -> Traffic {
        self.queues.get(queue).map_or_else(Traffic::default, |counters| counters.sum(interface))
    }
    /// Where a receive queue of this number counts on a worker. Its interface has been given room; `arcs` are those of the
    /// node that stands for it.
    pub fn rx_rows(&self, queue: usize, arcs: &[ArcSpec], worker: usize) -> RxRows {
        let named = |name| (0..).zip(arcs).find(|(_, arc)| arc.name == name).map(|(arc, _)| arc);
        RxRows {
            rx: self.rx.row(worker),
            queue: self.queues[queue].row(worker),
            apart: [(named(NO_BUFFER), self.rx_no_buffer.row(worker)), (named(RING_FULL), self.rx_missed.row(worker))],
            errors: self.rx_errors.row(worker),
        }
    }
    /// Gives an arc another name below `/err/`, by which clients look for its count, or for one that lies elsewhere.
    pub fn also_called(
        &mut self,
        blueprint: &Blueprint,
        (node, arc): (&str, &str),
        (name, counted): (&str, Option<Target>),
    ) -> Result<(), GraphError> {
        let id = blueprint.find(node)?;
        for (number, _) in (0u16..).zip(blueprint.arcs(id)).filter(|(_, spec)| spec.name == arc) {
            self.others.push(OtherName { name: name.to_owned(), node: id, arc: number, counted });
        }
        if self.nodes > 0 {
            self.show_other_names(blueprint);
        }
        Ok(())
    }
    /// Shows the other names of arcs that are not shown yet. Nodes get no more arcs once the first are named, so that columns stay.
    fn show_other_names(&mut self, blueprint: &Blueprint) {
        let mut edit = self.segment.edit();
        for other in &self.others[self.others_shown..] {
            let column = blueprint.first_arc(other.node) + u32::from(other.arc);
            let (target, column) = other.counted.map_or((blueprint.arc_counters().target(), column), |own| (own, 0));
            edit.symlink(&format!("/err/{}", other.name), target, column);
        }
        self.others_shown = self.others.len();
    }
    /// Other names of arcs.
    pub fn other_names(&self) -> &[OtherName] {
        &self.others
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
        self.show_other_names(blueprint);
    }
}
