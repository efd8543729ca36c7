//! Tests of how time is divided among nodes, on a clock that nodes and queues set.

use crate::graph::Phase;
use crate::isa::set_clock::{advance, begin, elapsed};
use crate::*;
use std::sync::{Arc, Mutex};

const fn features(name: &'static str) -> ArcSpec {
    ArcSpec { name, to: To::Features(name) }
}
const ASIDE: ArcSpec = ArcSpec::to_node("plain");
const BAD: ArcSpec = ArcSpec { name: "bad", to: To::Drop };
const NEXT_FEATURE: ArcSpec = ArcSpec { name: "next-feature", to: To::NextFeature };
const INPUT: &[ArcSpec] = &[features("device-input")];
const PLAIN: &[ArcSpec] = &[ArcSpec::to_node("third")];

/// Ticks that stages take for eight packets, by their number.
const TICKS: [u64; 4] = [1001, 7, 31, 503];
/// Ticks that it takes to receive a frame, and those of the plain node for one.
const RECEIVE: u64 = 211;
const ASIDE_TICKS: u64 = 70_001;
const NAMES: [&str; 4] = ["first", "second", "third", "feature"];
const ARCS: [&[ArcSpec]; 4] = [
    &[ArcSpec::to_node("second"), ASIDE],
    &[ArcSpec::to_node("third"), ASIDE],
    &[features("interface-output"), BAD],
    &[NEXT_FEATURE, BAD],
];

/// A stage that packets of `200 + N` bytes leave by the second arc.
#[derive(Clone)]
struct Timed<const N: usize>;
impl<const N: usize> Stage for Timed<N> {
    const NAME: &'static str = NAMES[N];
    const ARCS: &'static [ArcSpec] = ARCS[N];
    type Body<'f> = Self;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Self {
        Timed
    }
}
impl<const N: usize> Body for Timed<N> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::NONE;
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        advance(TICKS[N]);
        p.leave(p.length.eq(200 + N as u32), 1u16);
    }
}
struct Plain;
impl Node for Plain {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {
        advance(ASIDE_TICKS);
    }
}

/// Packets by their lengths.
type Queue = Arc<Mutex<Vec<usize>>>;
struct Rx(Queue);
impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let mut waiting = self.0.lock().expect("no panic");
        let n = waiting.len().min(cx.most);
        if n > 0 {
            advance(RECEIVE);
        }
        for length in waiting.drain(..n) {
            assert!(frame.push_bytes(cx.pool, &vec![0; length], cx.interface));
        }
        n
    }
}
struct Tx;
impl TxQueue for Tx {
    fn transmit(&mut self, _: &mut TxContext, batch: &mut Batch) -> usize {
        batch.len()
    }
}

struct Bench {
    dataplane: Dataplane,
    worker: Worker,
    queue: Queue,
}
impl Bench {
    fn new() -> Bench {
        let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
        let graph = dataplane.blueprint();
        let input = graph.input("input", INPUT).expect("new");
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: "first", side: Side::Rx }).expect("new");
        graph.node(NodeSpec::stage(|_| Timed::<0>)).expect("new");
        graph.node(NodeSpec::stage(|_| Timed::<1>)).expect("new");
        graph.node(NodeSpec::stage(|_| Timed::<2>)).expect("new");
        graph.node(NodeSpec::stage(|_| Timed::<3>)).expect("new");
        graph.node(NodeSpec::new("plain", PLAIN, |_| Plain)).expect("new");
        graph.feature(FeatureSpec::new("interface-output", "feature", Phase::Filter)).expect("known");
        let mut worker = dataplane.start().expect("it fits together").remove(0);
        let queue = Queue::default();
        dataplane.attach(0, input, vec![Box::new(Rx(queue.clone()))], vec![Box::new(Tx)]).expect("one each");
        dataplane.set_up(0, true);
        while worker.turn(0) > 0 {}
        begin();
        Bench { dataplane, worker, queue }
    }
    /// A turn that receives packets of these lengths.
    fn receive(&mut self, lengths: impl IntoIterator<Item = usize>) {
        self.queue.lock().expect("no panic").extend(lengths);
        self.worker.turn(0);
    }
    fn clocks(&self, name: &str) -> u64 {
        let graph = self.dataplane.graph();
        graph.counters(graph.find(name).expect("it is there")).map(|counters| counters.clocks.get()).sum()
    }
    fn all_clocks(&self) -> u64 {
        let graph = self.dataplane.graph();
        graph.nodes().map(|node| self.clocks(graph.name(node))).sum()
    }
    /// Settles the counts of all chains.
    fn settle(&mut self) {
        self.worker.turn(0);
        assert_eq!(self.all_clocks(), elapsed(), "all time is some node's");
    }
}

#[test]
fn the_nodes_of_a_chain_share_the_time_that_it_takes() {
    let mut bench = Bench::new();
    // The first frame teaches the chain, the others follow it.
    for n in [1, 64, 9, 3, 64, 64] {
        bench.receive(vec![100; n]);
        assert!(bench.all_clocks() <= elapsed(), "no time is counted twice");
    }
    bench.settle();
    let chain = ["input", "first", "second", "third", "interface-output"].map(|name| bench.clocks(name));
    let groups = 1 + 8 + 2 + 1 + 8 + 8;
    assert_eq!(elapsed(), groups * (TICKS[0] + TICKS[1] + TICKS[2]) + 6 * RECEIVE);
    assert!(chain.iter().all(|clocks| clocks.abs_diff(elapsed() / 5) < 20), "equal shares of {}: {chain:?}", elapsed());
    assert_eq!(["feature", "plain", "drop"].map(|name| bench.clocks(name)), [0; 3], "none of nodes that no packet met");
}

#[test]
fn no_time_is_lost_where_packets_leave_a_chain() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut bench = Bench::new();
    for round in 0..400 {
        if round % 50 == 49 {
            bench.dataplane.enable("interface-output", "feature", 0, round % 100 == 49).expect("known");
        }
        // Chains are followed for a while, then one to all packets leave them somewhere.
        let odd = if random.u8(..4) == 0 { random.usize(..65) } else { 0 };
        let mut length = || 200 + random.usize(..4);
        let odd: Vec<usize> = (0..odd).map(|_| length()).collect();
        bench.receive(odd.into_iter().chain(vec![100; round * 7 % 130]));
        if round % 3 == 0 {
            bench.settle();
        }
        assert!(bench.all_clocks() <= elapsed(), "no time is counted twice");
    }
    bench.settle();
    assert!(bench.clocks("plain") > 30 * ASIDE_TICKS, "a plain node has its own time");
    assert!(bench.clocks("feature") > 0);
}

#[test]
fn stages_that_are_timed_have_their_own_time() {
    let mut bench = Bench::new();
    bench.receive(vec![100; 64]);
    bench.settle();
    let before = ["first", "second", "third"].map(|name| bench.clocks(name));
    bench.dataplane.time_chains(true);
    (0..5).for_each(|_| bench.receive(vec![100; 64]));
    bench.settle();
    let after = ["first", "second", "third"].map(|name| bench.clocks(name));
    // The time to receive frames is that of the first node, for the queue's is no work of its own.
    let own: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(own, [5 * (8 * TICKS[0] + RECEIVE), 40 * TICKS[1], 40 * TICKS[2]]);
}
