//! Packets that part and meet again: each way is a chain of its own, which the next ones follow.

use std::pin::pin;
use std::task::{Poll, Waker};

use quiver_engine::*;

use crate::bench::Bench;

quiver_testkit::level_tests![packets_that_part_follow_chains_of_their_own, whatever_comes_is_counted_and_kept_in_order];

arcs! {
    /// Where packets part, by their first byte.
    enum SortNext {
        Left => node "left",
        Right => node "right",
        Aside => node "aside",
        Bad => drop "bad",
    }
}
pub const LEFT: u8 = 0;
pub const RIGHT: u8 = 1;
pub const ASIDE: u8 = 2;
pub const BAD: u8 = 3;

arcs! {
    /// Where they meet again.
    enum SideNext {
        Meet => node "meet",
    }
}
arcs! {
    /// Where they leave.
    enum MeetNext {
        Out => features "interface-output",
    }
}

const FIRST: Field = Field::new(0, 8);

#[derive(Clone)]
struct Sort;
impl Stage for Sort {
    const NAME: &'static str = "sort";
    const ARCS: &'static [ArcSpec] = SortNext::ARCS;
    type Body<'f> = Sort;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Sort {
        Sort
    }
}
impl Body for Sort {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(0, 1);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let first = p.header.get(FIRST);
        p.leave(first.eq(u32::from(RIGHT)), SortNext::Right);
        p.leave(first.eq(u32::from(ASIDE)), SortNext::Aside);
        p.leave(first.eq(u32::from(BAD)), SortNext::Bad);
    }
}

/// Raises byte `AT`.
#[derive(Clone)]
struct Raise<const AT: usize>;
impl<const AT: usize> Stage for Raise<AT> {
    const NAME: &'static str = ["", "left", "right"][AT];
    const ARCS: &'static [ArcSpec] = SideNext::ARCS;
    type Body<'f> = Self;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Self {
        Raise
    }
}
impl<const AT: usize> Body for Raise<AT> {
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = Quarters::of(0, 4);
    const REWRITES: Quarters = Quarters::of(0, 4);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let byte = p.header.get(Field::new(AT, 8)).array();
        for lane in p.live.bits() {
            windows.of(lane)[AT] = (byte[lane] as u8).wrapping_add(1);
        }
    }
}

/// A plain node.
struct Aside;
impl Node for Aside {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

/// Sends packets by the other interface of the pair. It sees the changes of earlier stages.
#[derive(Clone)]
struct Meet;
impl Stage for Meet {
    const NAME: &'static str = "meet";
    const ARCS: &'static [ArcSpec] = MeetNext::ARCS;
    type Body<'f> = Meet;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Meet {
        Meet
    }
}
impl Body for Meet {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 8);
    const REWRITES: Quarters = Quarters::of(0, 8);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        p.tx = p.rx ^ 1;
        let (one, two) = (p.header.get(Field::new(1, 8)), p.header.get(Field::new(2, 8)));
        let sums = (one + two).array();
        for lane in p.live.bits() {
            windows.of(lane)[3] = sums[lane] as u8;
        }
    }
}

pub fn bench(level: Level) -> Bench {
    Bench::new(level, "sort", |graph| {
        graph.node(NodeSpec::stage(|_| Sort)).expect("new");
        graph.node(NodeSpec::stage(|_| Raise::<1>)).expect("new");
        graph.node(NodeSpec::stage(|_| Raise::<2>)).expect("new");
        graph.node(NodeSpec::new("aside", SideNext::ARCS, |_| Aside)).expect("new");
        graph.node(NodeSpec::stage(|_| Meet)).expect("new");
    })
}
/// Packets of these kinds, which are numbered from `next` on.
pub fn packets_of(kinds: &[u8], next: &mut u32) -> Vec<Vec<u8>> {
    let packet = |(kind, number): (&u8, u32)| [&[*kind, 0, 0, 0][..], &number.to_be_bytes(), &[0; 52]].concat();
    let packets = kinds.iter().zip(*next..).map(packet).collect();
    *next += kinds.len() as u32;
    packets
}
impl Bench {
    /// Makes the worker receive packets of these kinds, which are numbered from `next` on.
    pub fn receive_kinds(&mut self, kinds: &[u8], next: &mut u32) {
        self.receive(&packets_of(kinds, next));
    }
    pub fn packets(&self, name: &str) -> u64 {
        let graph = self.dataplane.graph();
        let counters = graph.counters(graph.find(name).expect("it is there")).next().expect("one worker");
        assert!(counters.calls.get() <= counters.packets.get(), "{name} was not called for nothing");
        counters.packets.get()
    }
    /// The nodes of its chains, each behind the one in front of it.
    fn chains(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut answer = pin!(self.dataplane.chains());
        self.worker.turn(0);
        let Poll::Ready(chains) = answer.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) else {
            panic!("the worker answered");
        };
        let graph = self.dataplane.graph();
        chains[0][0].1.iter().map(|(behind, node)| (graph.name(*behind), graph.name(*node))).collect()
    }
}

fn packets_that_part_follow_chains_of_their_own(level: Level) {
    let (mut bench, mut next) = (bench(level), 0);
    bench.receive_kinds(&[LEFT; 20], &mut next);
    let way = |side| [("test-input", "sort"), ("sort", side), (side, "meet"), ("meet", "interface-output")];
    assert_eq!(bench.chains(), way("left"));
    // One frame whose packets part does not undo that, several do.
    bench.receive_kinds(&[LEFT, RIGHT], &mut next);
    assert_eq!(bench.chains(), way("left"));
    (0..10).for_each(|_| bench.receive_kinds(&[LEFT, RIGHT, RIGHT], &mut next));
    let mut chains = bench.chains();
    chains.sort();
    let mut both = [way("left").to_vec(), way("right")[1..].to_vec()].concat();
    both.sort();
    both.dedup();
    assert_eq!(chains, both);
    // Packets that stay together again are one chain, once it is known where they go.
    (0..2).for_each(|_| bench.receive_kinds(&[RIGHT; 9], &mut next));
    assert_eq!(bench.chains(), way("right"));
    assert_eq!((bench.packets("left"), bench.packets("right"), bench.packets("meet")), (31, 39, 70));
}

fn whatever_comes_is_counted_and_kept_in_order(level: Level) {
    let (mut bench, mut next, mut random) = (bench(level), 0, fastrand::Rng::with_seed(7));
    let all = bench.dataplane.buffers().count();
    let mut sent = [const { vec![] }; 4];
    for _ in 0..400 {
        // Mostly of one kind, of two, or of all.
        let kinds = [[LEFT; 4], [RIGHT; 4], [LEFT, RIGHT, LEFT, RIGHT], [LEFT, RIGHT, ASIDE, BAD]][random.usize(..4)];
        let packets: Vec<u8> = (0..random.usize(1..140)).map(|_| kinds[random.usize(..4)]).collect();
        packets.iter().zip(next..).for_each(|(kind, number)| sent[usize::from(*kind)].push(number));
        bench.receive_kinds(&packets, &mut next);
    }
    let mut seen = [const { vec![] }; 4];
    for packet in bench.sent.take() {
        let raised = [[1, 0, 1], [0, 1, 1], [0, 0, 0]][usize::from(packet[0])];
        assert_eq!(packet[1..4], raised, "stages see what those before them have written");
        seen[usize::from(packet[0])].push(u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]));
    }
    // A frame is split a few times only: behind that, what goes aside may be overtaken, but only by others.
    let counts = sent.each_ref().map(|numbers| numbers.len() as u64);
    let bad = std::mem::take(&mut sent[usize::from(BAD)]);
    assert_eq!(seen, sent, "{} were bad", bad.len());
    let passed = counts[0] + counts[1] + counts[2];
    let of = |name| bench.packets(name);
    assert_eq!([of("sort"), of("left"), of("right"), of("aside")], [next.into(), counts[0], counts[1], counts[2]]);
    assert_eq!([of("meet"), of("interface-output"), of("drop")], [passed, passed, counts[3]]);
    let buffers = bench.dataplane.buffers().clone();
    drop(bench);
    assert_eq!(buffers.stored(), all as usize, "a buffer leaked");
}
