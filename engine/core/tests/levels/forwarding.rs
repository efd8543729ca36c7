//! A small graph of one stage: all levels must agree, and nothing may leak.
use quiver_engine::*;

use crate::bench::Bench;

quiver_testkit::level_tests![
    levels_agree,
    traced_packets_show_the_nodes_they_passed,
    what_goes_by_another_arc_is_not_overtaken,
    many_detours_lose_nothing,
    an_empty_pool_drops_by_name_and_recovers,
];

arcs! {
    /// Arcs of the stage under test.
    enum Next {
        Out => features "interface-output",
        /// The same way, by a plain node.
        Aside => node "detour",
        TooShort => drop "too-short",
    }
}

/// Forwards packets to the other interface of the pair, with the first byte raised by one.
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
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 4);
    const REWRITES: Quarters = Quarters::of(0, 4);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        const FIRST: Field = Field::new(0, 8);
        p.leave(p.length.lt(14), Next::TooShort);
        p.leave(p.length.eq(ASIDE), Next::Aside);
        p.tx = p.rx ^ 1;
        let first = p.header.get(FIRST).array();
        for lane in p.live.bits() {
            windows.of(lane)[0] = (first[lane] as u8).wrapping_add(1);
        }
    }
}

arcs! {
    /// Where a detour leads.
    enum Onward {
        Out => features "interface-output",
    }
}

/// A plain node, to which a chain does not lead on.
struct Detour;
impl Node for Detour {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

/// Bytes of packets that go aside.
const ASIDE: u32 = 77;

fn bench(level: Level) -> Bench {
    Bench::new(level, "cross", |graph| {
        graph.node(NodeSpec::stage(|_| Cross)).expect("new");
        graph.node(NodeSpec::new("detour", Onward::ARCS, |_| Detour)).expect("new");
    })
}

/// 700 packets; the longest of them are chains.
fn packets(longest: usize) -> Vec<Vec<u8>> {
    let lengths = [60, 13, 64, 1500, longest];
    (0..700u32).map(|i| (0..lengths[i as usize % 5]).map(|b| (b as u32 ^ i) as u8).collect()).collect()
}

fn levels_agree(level: Level) {
    let batches = [packets(100), packets(9000)];
    let mut expected: Vec<Vec<u8>> = batches.iter().flatten().filter(|p| p.len() >= 14).cloned().collect();
    expected.iter_mut().for_each(|p| p[0] = p[0].wrapping_add(1));
    let mut counts = None;
    for level in [Level::best(), level] {
        let mut bench = bench(level);
        let all = bench.dataplane.buffers().count();
        batches.iter().for_each(|packets| bench.receive(packets));
        // In their order, too: no packet may overtake another because one of them is a chain.
        let sent = bench.sent.take();
        assert!(sent == expected, "{} of {}", sent.len(), expected.len());
        let now = bench.counts();
        assert!(now.contains(&("cross", "too-short", 280)), "{now:?}");
        assert_eq!(counts.get_or_insert(now.clone()), &now);
        let buffers = bench.dataplane.buffers().clone();
        drop(bench);
        assert_eq!(buffers.stored(), all as usize, "a buffer leaked");
    }
}

fn traced_packets_show_the_nodes_they_passed(level: Level) {
    let mut bench = bench(level);
    bench.dataplane.trace(bench.input, 2, None);
    bench.receive(&packets(9000));
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

fn what_goes_by_another_arc_is_not_overtaken(level: Level) {
    for aside in [0, 1, 15, 16, 31, 40, 255, 256, 299] {
        let mut bench = bench(level);
        let length = |i: u32| if i == aside || i == aside + 20 { ASIDE as usize } else { 60 };
        let packets: Vec<Vec<u8>> =
            (0..300u32).map(|i| [&[0, 0][..], &i.to_be_bytes(), &vec![0; length(i) - 6]].concat()).collect();
        bench.receive(&packets);
        let sent = bench.sent.take();
        let order: Vec<_> =
            sent.iter().map(|packet| u32::from_be_bytes([packet[2], packet[3], packet[4], packet[5]])).collect();
        assert_eq!(order, (0..300).collect::<Vec<_>>(), "{aside} went aside");
        let counts = bench.counts();
        let of = |arc| counts.iter().find(|count| (count.0, count.1) == ("cross", arc)).map_or(0, |count| count.2);
        let asides = if aside + 20 < 300 { 2 } else { 1 };
        assert_eq!((of("packets"), of("interface-output")), (300, 300 - asides), "each is counted once");
    }
}

/// A frame is split a few times only; then packets may overtake others, and still each leaves once.
fn many_detours_lose_nothing(level: Level) {
    let mut bench = bench(level);
    let all = bench.dataplane.buffers().count();
    let length = |i: u32| if i.is_multiple_of(2) { ASIDE as usize } else { 60 };
    let packets: Vec<Vec<u8>> =
        (0..300u32).map(|i| [&[0, 0][..], &i.to_be_bytes(), &vec![0; length(i) - 6]].concat()).collect();
    bench.receive(&packets);
    let mut numbers: Vec<_> =
        bench.sent.take().iter().map(|p| (u32::from_be_bytes([p[2], p[3], p[4], p[5]]), p.len())).collect();
    numbers.sort();
    assert_eq!(numbers, (0..300).map(|i| (i, length(i))).collect::<Vec<_>>());
    let counts = bench.counts();
    assert!(counts.contains(&("detour", "packets", 150)), "{counts:?}");
    let buffers = bench.dataplane.buffers().clone();
    drop(bench);
    assert_eq!(buffers.stored(), all as usize, "a buffer leaked");
}

fn an_empty_pool_drops_by_name_and_recovers(level: Level) {
    let mut bench = bench(level);
    let mut held = vec![];
    while let Some(packet) = bench.worker.pool().packet(&[0; 60]) {
        held.push(packet);
    }
    assert!(bench.dataplane.buffers().starved() > 0);
    drop(held);
    bench.receive(&[vec![0; 60]]);
    assert_eq!(bench.sent.take().len(), 1);
    assert!(bench.dataplane.buffers().grow(1).is_ok());
}
