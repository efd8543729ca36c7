//! Packets that go aside and come back, and those that never end: order, and circles.

use quiver_engine::*;

use crate::bench::Bench;

quiver_testkit::level_tests![
    packets_keep_their_order_where_ways_meet_and_some_go_aside_again,
    copies_that_fill_several_frames_keep_their_order_where_some_go_aside,
    packets_that_circle_through_stages_are_dropped_by_name,
];

arcs! {
    /// Stages with a way on and a way aside, through a plain node.
    enum FirstNext {
        On => node "second",
        Aside => node "first-aside",
    }
}
arcs! {
    enum FirstAsideNext {
        Back => node "second",
    }
}
arcs! {
    enum SecondNext {
        On => node "last",
        Aside => node "second-aside",
    }
}
arcs! {
    enum SecondAsideNext {
        Back => node "last",
    }
}
arcs! {
    enum LastNext {
        Out => features "interface-output",
    }
}
arcs! {
    /// A circle of two stages with a plain node between them.
    enum CircleNext {
        Plain => node "plain",
    }
}
arcs! {
    enum PlainNext {
        Back => node "back",
    }
}
arcs! {
    enum BackNext {
        Circle => node "circle",
    }
}

/// Diverts packets whose first byte has this bit.
#[derive(Clone)]
struct Sort<const BIT: u32>;
impl<const BIT: u32> Stage for Sort<BIT> {
    const NAME: &'static str = ["first", "second", "last", "circle", "back"][BIT as usize];
    const ARCS: &'static [ArcSpec] =
        [FirstNext::ARCS, SecondNext::ARCS, LastNext::ARCS, CircleNext::ARCS, BackNext::ARCS][BIT as usize];
    type Body<'f> = Self;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Self {
        Sort
    }
}
impl<const BIT: u32> Body for Sort<BIT> {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 1);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        p.tx = p.rx ^ 1;
        if BIT < 2 {
            let aside = (p.header.get(Field::new(0, 8)) & (1 << BIT)).ne(0);
            p.leave(aside, 1u16);
        }
    }
}

struct Plain;
impl Node for Plain {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

fn packets_keep_their_order_where_ways_meet_and_some_go_aside_again(level: Level) {
    let mut bench = Bench::new(level, "first", |graph| {
        graph.node(NodeSpec::stage(|_| Sort::<0>)).expect("new");
        graph.node(NodeSpec::new("first-aside", FirstAsideNext::ARCS, |_| Plain)).expect("new");
        graph.node(NodeSpec::stage(|_| Sort::<1>)).expect("new");
        graph.node(NodeSpec::new("second-aside", SecondAsideNext::ARCS, |_| Plain)).expect("new");
        graph.node(NodeSpec::stage(|_| Sort::<2>)).expect("new");
    });
    let (mut random, mut next) = (fastrand::Rng::with_seed(11), 0u32);
    // What overtook others: of three packets the last goes aside before the ways meet, and the first one there.
    let mut kinds = vec![vec![2, 0, 1]];
    kinds.extend((0..300).map(|_| (0..random.usize(1..9)).map(|_| [0, 0, 1, 2, 3][random.usize(..5)]).collect()));
    for kinds in &kinds {
        let packet = |(kind, number): (&u8, u32)| [&[*kind, 0, 0, 0][..], &number.to_be_bytes(), &[0; 52]].concat();
        let packets: Vec<_> = kinds.iter().zip(next..).map(packet).collect();
        next += kinds.len() as u32;
        bench.receive(&packets);
    }
    let number = |packet: Vec<u8>| u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
    let sent: Vec<u32> = bench.sent.take().into_iter().map(number).collect();
    assert_eq!(sent.len(), next as usize);
    assert_eq!(sent.windows(2).find(|pair| pair[0] > pair[1]), None, "one has overtaken the other");
}

/// Emits a copy of each packet, as if the other interface had received it.
struct Double;
impl Node for Double {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let mut copy = frame.copy(cx.pool, i).expect("there are buffers");
            copy.rx = 1;
            cx.emit(FirstAsideNext::Back, copy);
        }
    }
}

fn copies_that_fill_several_frames_keep_their_order_where_some_go_aside(level: Level) {
    let mut bench = Bench::new(level, "double", |graph| {
        graph.node(NodeSpec::new("double", FirstAsideNext::ARCS, |_| Double)).expect("new");
        graph.node(NodeSpec::stage(|_| Sort::<1>)).expect("new");
        graph.node(NodeSpec::new("second-aside", SecondAsideNext::ARCS, |_| Plain)).expect("new");
        graph.node(NodeSpec::stage(|_| Sort::<2>)).expect("new");
    });
    // Twice as many as have room in a frame; of those in the first one a packet and its copy go aside.
    for packets in [40u8, 50, 64] {
        bench.receive(
            &(0..packets).map(|i| [&[if i == 3 { 2 } else { 0 }, i], &[0; 58][..]].concat()).collect::<Vec<_>>(),
        );
        let sent: Vec<u8> = bench.sent.take().into_iter().map(|packet| packet[1]).collect();
        let numbers: Vec<u8> = (0..packets).collect();
        // By each interface, one after the other.
        assert_eq!(sent, [&numbers[..], &numbers].concat());
    }
}

fn packets_that_circle_through_stages_are_dropped_by_name(level: Level) {
    let mut bench = Bench::new(level, "circle", |graph| {
        graph.node(NodeSpec::stage(|_| Sort::<3>)).expect("new");
        graph.node(NodeSpec::new("plain", PlainNext::ARCS, |_| Plain)).expect("new");
        graph.node(NodeSpec::stage(|_| Sort::<4>)).expect("new");
    });
    for _ in 0..10 {
        bench.receive(&vec![vec![0; 60]; 20]);
    }
    let dropped =
        bench.counts().into_iter().find(|(node, reason, _)| (*node, *reason) == ("dispatch", "too-many-passes"));
    assert_eq!(dropped, Some(("dispatch", "too-many-passes", 200)));
}
