//! Counters of nodes: `/sys/node/...` by node, and the same under `/nodes/NAME/...`.

use std::cell::{Cell, RefCell};

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::graph::NodeCounters;
use quiver_engine::stats::layout::name_part;
use quiver_engine::stats::{Counter, Description, Index, Names, Segment, Vector};

/// Nodes that are shown at most.
const NODES_MAX: u32 = 1 << 14;

/// VPP has `suspends` besides, which only its processes do.
type Count = (&'static str, fn(&NodeCounters) -> &Counter, &'static str);
const COUNTS: [Count; 3] = [
    ("clocks", |node| &node.clocks, "Ticks of the time stamp counter that the node took; 0 unless nodes are timed."),
    ("vectors", |node| &node.packets, "Packets that the node worked on."),
    ("calls", |node| &node.calls, "Calls of the node."),
];

struct Shown {
    names: Names,
    vectors: [Vector<Counter>; 3],
    nodes: Cell<usize>,
}

impl Shown {
    fn new(segment: &Segment) -> Shown {
        let mut edit = segment.edit();
        let names = edit.names("/sys/node/names");
        let vectors = COUNTS.map(|(name, ..)| edit.vector(&format!("/sys/node/{name}"), NODES_MAX));
        drop(edit);
        for (name, _, help) in COUNTS {
            let description = Description { index: Index::Node, ..Description::of(help) };
            segment.describe(&format!("/sys/node/{name}"), description);
        }
        Shown { names, vectors, nodes: Cell::new(0) }
    }
    /// Gives names to nodes that were registered since the last time.
    fn name_nodes(&self, segment: &Segment, dataplane: &Dataplane) {
        let (graph, from) = (dataplane.graph(), self.nodes.get());
        let count = graph.nodes().count();
        if count == from {
            return;
        }
        let mut edit = segment.edit();
        for node in graph.nodes().skip(from) {
            edit.set_name(&self.names, node.index(), Some(graph.name(node)));
            for ((name, ..), vector) in COUNTS.iter().zip(&self.vectors) {
                let link = format!("/nodes/{}/{name}", name_part(graph.name(node)));
                edit.symlink(&link, vector.target(), node.index() as u32);
            }
        }
        drop(edit);
        self.nodes.set(count);
        self.vectors.iter().for_each(|vector| vector.show(count as u32));
    }
    fn copy(&self, dataplane: &Dataplane) {
        let (graph, threads) = (dataplane.graph(), dataplane.statistics().threads());
        for node in graph.nodes() {
            for (worker, counters) in graph.counters(node).enumerate() {
                for ((_, of, _), vector) in COUNTS.iter().zip(&self.vectors) {
                    let cell = vector.rows()[threads.row(worker)].get(node.index());
                    cell.into_iter().for_each(|cell| cell.set(of(counters).get()));
                }
            }
        }
    }
}

pub(crate) fn register(control: &Control) {
    let (segment, shown) = (crate::segment(control), RefCell::new(None));
    crate::collect(control, move |control| {
        if crate::settings(control).per_node_counters {
            let (dataplane, mut shown) = (control.room::<Dataplane>(), shown.borrow_mut());
            let shown = shown.get_or_insert_with(|| Shown::new(&segment));
            shown.name_nodes(&segment, &dataplane);
            shown.copy(&dataplane);
        }
    });
}
