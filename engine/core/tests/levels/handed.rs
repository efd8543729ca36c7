//! Packets that workers hand to each other, and changes of the graph, while frames follow chains whose nodes have not counted them yet.

use fastrand::Rng;
use quiver_engine::*;
use quiver_testkit::wire::{self, Wire};

quiver_testkit::level_tests![hand_offs_and_changes_lose_no_packet_and_no_count];

arcs! {
    enum FirstNext {
        On => node "spread",
    }
}
arcs! {
    /// Packets that stay, and those that go on with another worker.
    enum SpreadNext {
        Here => node "second",
        There => node "second",
        Full => drop "full",
    }
}
arcs! {
    enum SecondNext {
        On => features "interface-output",
        Bad => drop "bad",
    }
}
arcs! {
    enum MarkNext {
        On => next_feature,
        Bad => drop "bad",
    }
}

/// The places in packets: the worker, the number in a flow of one byte, and bytes that the nodes raise.
const WORKER: usize = 0;
const NUMBER: usize = 4;
const RAISED: usize = 8;
const BAD: u8 = 1;
const NAMES: [&str; 4] = ["first", "second", "mark-in", "mark-out"];
const ARCS: [&[ArcSpec]; 4] = [FirstNext::ARCS, SecondNext::ARCS, MarkNext::ARCS, MarkNext::ARCS];

/// Raises its byte. But for the first one, packets whose second byte is [`BAD`] are dropped.
#[derive(Clone)]
struct Raise<const N: usize>;
impl<const N: usize> Stage for Raise<N> {
    const NAME: &'static str = NAMES[N];
    const ARCS: &'static [ArcSpec] = ARCS[N];
    type Body<'f> = Self;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Self {
        Raise
    }
}
impl<const N: usize> Body for Raise<N> {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 16);
    const REWRITES: Quarters = Quarters::of(0, 16);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        if N > 0 {
            p.leave(p.header.get(Field::new(1, 8)).eq(u32::from(BAD)), 1u16);
        }
        p.tx = p.rx ^ 1;
        let byte = p.header.get(Field::new(RAISED + N, 8)).array();
        for lane in p.live.bits() {
            windows.of(lane)[RAISED + N] = (byte[lane] as u8).wrapping_add(1);
        }
    }
}

/// Hands packets to the worker that they name.
struct Spread;
impl Node for Spread {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let to = usize::from(frame.bytes(cx.pool, i)[WORKER]);
            if to != cx.worker && !cx.hand_off(frame, i, to, SpreadNext::There) {
                frame.next[i] = SpreadNext::Full.into();
            }
        }
    }
}

fn hand_offs_and_changes_lose_no_packet_and_no_count(level: Level) {
    for seed in 0..12 {
        run(level, seed);
    }
}

fn run(level: Level, seed: u64) {
    let r = &mut Rng::with_seed(seed);
    let settings = Settings { level, workers: 2, buffers: 6000, ..Settings::default() };
    let mut dataplane = Dataplane::new(settings).expect("a data plane");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "first", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::stage(|_| Raise::<0>)).expect("new");
    graph.node(NodeSpec::new("spread", SpreadNext::ARCS, |_| Spread)).expect("new");
    graph.node(NodeSpec::stage(|_| Raise::<1>)).expect("new");
    graph.node(NodeSpec::stage(|_| Raise::<2>)).expect("new");
    graph.node(NodeSpec::stage(|_| Raise::<3>)).expect("new");
    graph.feature(FeatureSpec::new("device-input", "mark-in", Phase::Filter)).expect("known");
    graph.feature(FeatureSpec::new("interface-output", "mark-out", Phase::Filter)).expect("known");
    let mut workers = dataplane.start().expect("it fits together");
    dataplane.connect_workers();
    let (received, sent) = (Wire::new(), Wire::new());
    let tx = || vec![sent.tx(), sent.tx()];
    dataplane.attach(0, input, vec![received.rx()], tx()).expect("one each");
    dataplane.attach(1, input, vec![], tx()).expect("one each");
    dataplane.set_up(0, true);
    dataplane.set_up(1, true);

    let (mut next, mut seen, mut raised, mut came, mut on) = ([0u32; 2], [0u32; 2], [0u64; 4], 0u64, [false; 2]);
    for _ in 0..400 {
        if r.u8(..8) == 0 {
            let which = r.usize(..2);
            on[which] = !on[which];
            let (arc, feature, interface) =
                [("device-input", "mark-in", 0), ("interface-output", "mark-out", 1)][which];
            dataplane.enable(arc, feature, interface, on[which]).expect("known");
        }
        // Frames for one worker only, or for both; with bad packets now and then.
        let (to, odd) = ([[0, 0], [1, 1], [0, 1]][r.usize(..3)], [0, 0, 30][r.usize(..3)]);
        for _ in 0..r.usize(..100) {
            let worker = to[r.usize(..2)];
            let mut packet = vec![0; 60];
            packet[WORKER] = worker as u8;
            packet[1] = if r.u8(..100) < odd { BAD } else { 0 };
            packet[NUMBER..NUMBER + 4].copy_from_slice(&next[worker].to_be_bytes());
            next[worker] += 1;
            received.put(packet);
            came += 1;
        }
        // Neither worker is idle for long, so that chains stay uncounted over changes.
        for _ in 0..r.usize(..4) {
            workers[r.usize(..2)].turn(0);
        }
        for packet in sent.take() {
            let worker = usize::from(packet[WORKER]);
            let number =
                u32::from_be_bytes([packet[NUMBER], packet[NUMBER + 1], packet[NUMBER + 2], packet[NUMBER + 3]]);
            assert!(number >= seen[worker], "seed {seed}: {number} of worker {worker} comes late");
            seen[worker] = number + 1;
            let marks = &packet[RAISED..RAISED + 4];
            assert!(marks[..2] == [1, 1] && marks[2] < 2 && marks[3] < 2, "seed {seed}: {marks:?}");
            raised.iter_mut().zip(marks).for_each(|(sum, mark)| *sum += u64::from(*mark));
        }
    }
    on.iter_mut().for_each(|on| *on = false);
    while workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    for packet in sent.take() {
        raised.iter_mut().zip(&packet[RAISED..]).for_each(|(sum, mark)| *sum += u64::from(*mark));
    }
    let graph = dataplane.graph();
    let of = |name: &str| {
        let id = graph.find(name).expect("it is there");
        let arcs = |counters: &quiver_engine::graph::NodeCounters| counters.arcs.iter().map(|arc| arc.get()).collect();
        let sum = |all: Vec<Vec<u64>>| all.into_iter().reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect());
        let calls: u64 = graph.counters(id).map(|counters| counters.calls.get()).sum();
        let packets: u64 = graph.counters(id).map(|counters| counters.packets.get()).sum();
        assert!(calls <= packets, "seed {seed}: {name}");
        (packets, sum(graph.counters(id).map(arcs).collect()).unwrap_or_default())
    };
    let (dropped, sent_by) = (of("drop").0, of("interface-output"));
    assert_eq!((of("test-input").0, dropped + raised[0]), (came, came), "seed {seed}: each is sent or dropped");
    let first = of("first");
    assert_eq!((first.0, first.1[0], of("spread").0), (came - of("mark-in").1[1], first.0, first.0), "seed {seed}");
    assert_eq!(sent_by.1[0], raised[0], "seed {seed}");
    assert_eq!(of("mark-out").1[0], raised[3], "seed {seed}: the feature counts the packets that it marks");
    let (second, spread) = (of("second"), of("spread"));
    assert_eq!((spread.1[2], second.0), (0, spread.1[0] + spread.1[1]), "seed {seed}");
    assert_eq!(second.1.iter().sum::<u64>(), second.0, "seed {seed}");
    let (buffers, all) = (dataplane.buffers().clone(), dataplane.buffers().count());
    drop((workers, dataplane));
    assert_eq!(buffers.stored(), all as usize, "seed {seed}: a buffer leaked");
}
