//! A data plane of one worker: what one interface receives goes through the nodes under test, and is sent.

use quiver_engine::graph::{Blueprint, NodeId};
use quiver_engine::*;
use quiver_testkit::wire::{self, Wire};

/// The data plane, its worker, and both ends of its wires.
pub struct Bench {
    pub dataplane: Dataplane,
    pub worker: Worker,
    pub received: Wire,
    pub sent: Wire,
    pub input: NodeId,
}
impl Bench {
    /// With nodes of which `first` is the one that sees received packets first.
    pub fn new(level: Level, first: &'static str, add: impl FnOnce(&mut Blueprint)) -> Bench {
        let settings = Settings { level, buffers: 2000, ..Settings::default() };
        let mut dataplane = Dataplane::new(settings).expect("a data plane");
        let graph = dataplane.blueprint();
        let input = graph.input("test-input", wire::Next::ARCS).expect("new");
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: first, side: Side::Rx }).expect("new");
        add(graph);
        let worker = dataplane.start().expect("names are right").remove(0);
        let (received, sent) = (Wire::new(), Wire::new());
        dataplane.attach(0, input, vec![received.rx()], vec![sent.tx()]).expect("one each");
        dataplane.attach(1, input, vec![], vec![sent.tx()]).expect("one each");
        dataplane.set_up(0, true);
        dataplane.set_up(1, true);
        Bench { dataplane, worker, received, sent, input }
    }
    /// Makes the worker receive packets until nothing is left to do.
    pub fn receive(&mut self, packets: &[Vec<u8>]) {
        packets.iter().for_each(|bytes| self.received.put(&bytes[..]));
        while self.worker.turn(0) > 0 {}
    }
    /// (node, arc, packets) and (node, calls > 0, packets).
    pub fn counts(&self) -> Vec<(&'static str, &'static str, u64)> {
        let graph = self.dataplane.graph();
        let of = |id: NodeId| {
            let counters = graph.counters(id).next().expect("one worker");
            let arcs = graph.arcs(id).iter().zip(&counters.arcs).map(move |(a, c)| (graph.name(id), a.name, c.get()));
            arcs.chain([(graph.name(id), "packets", counters.packets.get())]).collect::<Vec<_>>()
        };
        graph.nodes().flat_map(of).filter(|c| c.2 > 0).collect()
    }
}
