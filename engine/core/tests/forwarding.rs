//! A small graph of one stage: nodes and the fused product must agree, on every level, and nothing may leak.
use quiver_engine::graph::NodeId;
use quiver_engine::*;

quiver_testkit::level_tests![
    nodes_and_product_agree,
    traced_packets_show_the_nodes_they_passed,
    an_empty_pool_drops_by_name_and_recovers,
];

arcs! {
    /// Arcs of the stage under test.
    enum Next {
        Out => features "interface-output",
        TooShort => drop "too-short",
    }
}

/// Whatever an interface receives leaves by the other one of the pair; the first byte is raised by one.
#[derive(Clone)]
struct Cross;
impl Stage for Cross {
    const NAME: &'static str = "cross";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = Cross;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Cross {
        Cross
    }
}
impl Body for Cross {
    const WRITES: Columns = Columns::TX.and(Columns::HEADER);
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        const FIRST: Field = Field::new(0, 8);
        p.leave(p.length.lt(14), Next::TooShort);
        p.tx = p.rx ^ 1;
        let first = p.header.get(FIRST);
        p.header.set(FIRST, (first + 1) & 0xff);
    }
}

struct Rx(PacketRing);
impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        self.0.receive(cx.pool, frame, cx.interface, cx.most)
    }
}
/// Sends what it is told to the test.
struct Tx(std::sync::mpsc::Sender<Vec<u8>>);
impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        for i in 0..batch.len() {
            self.0.send(batch.segments(cx.pool, i).flatten().copied().collect()).expect("the test listens");
        }
        batch.len()
    }
}

struct Bench {
    dataplane: Dataplane,
    worker: Worker,
    queue: QueueId,
    sent: std::sync::mpsc::Receiver<Vec<u8>>,
    input: NodeId,
}
fn bench(level: Level, fusion: bool) -> Bench {
    let settings = Settings { level, buffers: 2000, ..Settings::default() };
    let mut dataplane = Dataplane::new(settings).expect("a data plane");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input").expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "cross", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::stage(|_| Cross)).expect("new");
    dataplane.product(ProductSpec::new("cross", Next::Out, |_| true, |_| Last(Cross)));
    dataplane.set_fusion(fusion);
    let worker = dataplane.start().expect("names are right").remove(0);
    let (to, sent) = std::sync::mpsc::channel();
    let rx = Box::new(Rx(PacketRing::new(4096, dataplane.buffers())));
    let queue = dataplane.attach(0, input, vec![rx], vec![Box::new(Tx(to.clone()))]).expect("one each")[0];
    dataplane.attach(1, input, vec![], vec![Box::new(Tx(to))]).expect("one each");
    dataplane.set_up(0, true);
    dataplane.set_up(1, true);
    Bench { dataplane, worker, queue, sent, input }
}
impl Bench {
    fn receive(&mut self, packets: &[Vec<u8>]) {
        self.worker.turn(0);
        for bytes in packets {
            let packet = self.worker.pool().packet(bytes).expect("buffers");
            let ring = &mut self.worker.queue_mut::<Rx>(self.queue).expect("attached").0;
            assert!(ring.push(packet).is_ok());
        }
        while self.worker.turn(0) > 0 {}
    }
    /// (node, arc, packets) and (node, calls > 0, packets).
    fn counts(&self) -> Vec<(&'static str, &'static str, u64)> {
        let graph = self.dataplane.graph();
        let of = |id: NodeId| {
            let counters = graph.counters(id).next().expect("one worker");
            let arcs = graph.arcs(id).iter().zip(&counters.arcs).map(move |(a, c)| (graph.name(id), a.name, c.get()));
            arcs.chain([(graph.name(id), "packets", counters.packets.get())]).collect::<Vec<_>>()
        };
        graph.nodes().flat_map(of).filter(|c| c.2 > 0).collect()
    }
}

fn packets() -> Vec<Vec<u8>> {
    (0..700u32).map(|i| (0..[60, 13, 64, 1500, 9000][i as usize % 5]).map(|b| (b as u32 ^ i) as u8).collect()).collect()
}

fn nodes_and_product_agree(level: Level) {
    let packets = packets();
    let expected: Vec<Vec<u8>> = packets
        .iter()
        .filter(|p| p.len() >= 14)
        .cloned()
        .map(|mut p| {
            p[0] = p[0].wrapping_add(1);
            p
        })
        .collect();
    let mut counts = None;
    for (level, fusion) in [(Level::best(), false), (level, false), (level, true)] {
        let mut bench = bench(level, fusion);
        let all = bench.dataplane.buffers().count();
        bench.receive(&packets);
        let mut sent: Vec<_> = bench.sent.try_iter().collect();
        let mut expected = expected.clone();
        // Chained packets leave the product for the nodes and may be overtaken.
        sent.sort();
        expected.sort();
        assert!(sent == expected, "fusion {fusion}: {} of {}", sent.len(), expected.len());
        let now = bench.counts();
        assert!(now.contains(&("cross", "too-short", 140)), "{now:?}");
        assert_eq!(counts.get_or_insert(now.clone()), &now, "fusion {fusion}");
        assert_eq!(bench.dataplane.queues()[0].product.is_ok(), fusion);
        let buffers = bench.dataplane.buffers().clone();
        drop(bench);
        assert_eq!(buffers.stored(), all as usize, "a buffer leaked");
    }
}

fn traced_packets_show_the_nodes_they_passed(level: Level) {
    let mut bench = bench(level, true);
    bench.dataplane.trace(bench.input, 2);
    bench.receive(&packets());
    let mut answer = Box::pin(bench.dataplane.trace_records());
    bench.worker.turn(0);
    let waker = std::task::Waker::noop();
    let std::task::Poll::Ready(records) = answer.as_mut().poll(&mut std::task::Context::from_waker(waker)) else {
        panic!("the worker answered");
    };
    let graph = bench.dataplane.graph();
    let name =
        |r: &trace::Record| (r.packet >> 8, graph.name(r.node), r.arc.map(|a| graph.arcs(r.node)[a as usize].name));
    let mut seen: Vec<_> = records.iter().map(name).collect();
    seen.sort();
    let path = |p| {
        [
            (p, "cross", Some("interface-output")),
            (p, "interface-output", Some("sent")),
            (p, "test-input", Some("device-input")),
        ]
    };
    let dropped = [(1, "cross", Some("too-short")), (1, "drop", None), (1, "test-input", Some("device-input"))];
    assert_eq!(seen, [path(0), dropped].concat());
}

fn an_empty_pool_drops_by_name_and_recovers(level: Level) {
    let mut bench = bench(level, true);
    let mut held = vec![];
    while let Some(packet) = bench.worker.pool().packet(&[0; 60]) {
        held.push(packet);
    }
    assert!(bench.dataplane.buffers().starved() > 0);
    drop(held);
    bench.receive(&[vec![0; 60]]);
    assert_eq!(bench.sent.try_iter().count(), 1);
    assert!(bench.dataplane.buffers().grow(1).is_ok());
}
