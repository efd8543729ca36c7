//! Captures and traces that begin while frames follow chains: they miss nothing, and chains are followed again behind them.

use std::pin::pin;
use std::task::{Poll, Waker};

use quiver_engine::capture::{Capture, Captured, Point};
use quiver_engine::channel::channel;
use quiver_engine::trace::Record;
use quiver_engine::*;

use crate::bench::Bench;
use crate::chains::{ASIDE, BAD, LEFT, RIGHT, bench, packets_of};

quiver_testkit::level_tests![
    captures_get_every_packet_that_follows_a_chain,
    a_capture_of_nodes_sees_packets_before_each_stage_of_a_chain,
    traces_show_every_stage_of_a_chain,
    a_trace_begins_in_the_middle_of_a_chain,
];

/// The way of a packet: nodes with the arcs by which it leaves them.
type Way = Vec<(&'static str, &'static str)>;
fn way(kind: u8) -> Way {
    let side = |arc, node| {
        let to_output = [(node, "meet"), ("meet", "interface-output"), ("interface-output", "sent")];
        [&[("test-input", "device-input"), ("sort", arc)][..], &to_output].concat()
    };
    match kind {
        LEFT => side("left", "left"),
        RIGHT => side("right", "right"),
        ASIDE => side("aside", "aside"),
        _ => vec![("test-input", "device-input"), ("sort", "bad"), ("drop", "")],
    }
}
/// The packet as it is sent.
fn sent(mut packet: Vec<u8>) -> Vec<u8> {
    let raised = [[1, 0, 1], [0, 1, 1], [0, 0, 0]][usize::from(packet[0])];
    packet[1..4].copy_from_slice(&raised);
    packet
}

impl Bench {
    /// Whether packets of one kind are not counted as they come: they follow a chain, and its nodes count later.
    fn follows(&mut self, next: &mut u32) -> bool {
        let before = self.packets("meet");
        packets_of(&[LEFT; 5], next).into_iter().for_each(|packet| self.received.put(packet));
        assert_eq!(self.worker.turn(0), 5);
        let is_counted = self.packets("meet") > before;
        while self.worker.turn(0) > 0 {}
        assert_eq!(self.packets("meet"), before + 5, "its nodes count when nothing comes");
        !is_counted
    }
    /// Makes the worker learn the chain of packets of the kind LEFT; if `all`, also those of other kinds behind the
    /// node that tells them apart.
    fn learn(&mut self, all: bool) -> u32 {
        let mut next = 0;
        let kinds = if all { [LEFT, RIGHT, LEFT, RIGHT] } else { [LEFT; 4] };
        (0..20).for_each(|_| self.receive_kinds(&kinds, &mut next));
        assert!(all || self.follows(&mut next), "a chain is followed");
        self.sent.take();
        next
    }
    fn records(&mut self) -> Vec<Record> {
        let mut answer = pin!(self.dataplane.trace_records());
        self.worker.turn(0);
        match answer.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
            Poll::Ready(records) => records,
            Poll::Pending => panic!("the worker answered"),
        }
    }
}

/// Packets of one kind, of two, and of all.
fn mixes() -> Vec<Vec<u8>> {
    let mix = |n: usize, kinds: &[u8]| (0..n).map(|i| kinds[i * i % kinds.len()]).collect();
    vec![
        mix(64, &[LEFT]),
        mix(3, &[LEFT]),
        mix(100, &[LEFT, RIGHT]),
        mix(150, &[LEFT]),
        mix(77, &[LEFT, LEFT, LEFT, BAD]),
        mix(40, &[LEFT, LEFT, ASIDE, LEFT, RIGHT]),
        mix(65, &[LEFT]),
    ]
}

fn captures_get_every_packet_that_follows_a_chain(level: Level) {
    for all in [false, true] {
        let mut bench = bench(level);
        let mut next = bench.learn(all);
        let (to, captured) = channel(10_000, bench.dataplane.bell());
        let points = [Point::Rx, Point::Tx, Point::Drop].iter().fold(0, |bits, point| bits | Capture::bit(*point));
        let id = bench.dataplane.capture(Capture::new(points, 2000, to));
        let mut received = vec![];
        for kinds in mixes() {
            let packets = packets_of(&kinds, &mut next);
            bench.receive(&packets);
            received.extend(packets);
        }
        let copies: Vec<Captured> = captured.waiting().collect();
        let at = |point: Point| copies.iter().filter(move |copy| copy.point == point);
        let bytes = |point: Point| at(point).map(|copy| copy.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(bytes(Point::Rx), received);
        let (bad, good): (Vec<_>, Vec<_>) = received.into_iter().partition(|packet| packet[0] == BAD);
        assert_eq!(bytes(Point::Drop), bad);
        let on_wire = bench.sent.take();
        assert_eq!(bytes(Point::Tx), on_wire, "what is on the wire");
        let (mut on_wire, mut good): (Vec<_>, Vec<_>) = (on_wire, good.into_iter().map(sent).collect());
        on_wire.sort();
        good.sort();
        assert_eq!(on_wire, good);
        assert!(at(Point::Rx).all(|copy| copy.interface == 0 && copy.length == 60));
        assert!(at(Point::Tx).all(|copy| copy.interface == 1 && copy.length == 60));
        let sort = bench.dataplane.graph().find("sort").expect("it is there");
        assert!(
            at(Point::Drop).all(|copy| copy.reason.is_some_and(|reason| (reason.node(), reason.arc()) == (sort, 3)))
        );
        assert!(bench.follows(&mut next), "a capture does not keep frames from following chains");
        bench.dataplane.end_capture(id);
        while bench.worker.turn(0) > 0 {}
        captured.waiting().for_each(drop);
        assert!(bench.follows(&mut next) && captured.receive().is_none());
    }
}

fn a_capture_of_nodes_sees_packets_before_each_stage_of_a_chain(level: Level) {
    let mut bench = bench(level);
    let mut next = bench.learn(false);
    let (to, captured) = channel(10_000, bench.dataplane.bell());
    let id = bench.dataplane.capture(Capture::new(Capture::bit(Point::Node), 2000, to));
    let packets: Vec<Vec<u8>> = mixes().iter().flat_map(|kinds| packets_of(kinds, &mut next)).collect();
    packets.chunks(100).for_each(|some| bench.receive(some));
    let graph = bench.dataplane.graph();
    let copies: Vec<_> = captured.waiting().collect();
    for packet in &packets {
        let mut its = copies.iter().filter(|copy| copy.bytes[4..8] == packet[4..8]);
        let nodes: Vec<_> = its.clone().map(|copy| graph.name(copy.seen.expect("before a node").node)).collect();
        let expected: Vec<_> = way(packet[0]).into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes, expected);
        let last = its.next_back().expect("it was seen");
        assert_eq!(last.bytes, if packet[0] == BAD { packet.clone() } else { sent(packet.clone()) });
    }
    bench.dataplane.end_capture(id);
    while bench.worker.turn(0) > 0 {}
    assert!(bench.follows(&mut next), "chains are followed again");
    assert!(captured.receive().is_none());
}

fn traces_show_every_stage_of_a_chain(level: Level) {
    for all in [false, true] {
        for kinds in mixes() {
            let mut bench = bench(level);
            let mut next = bench.learn(all);
            let traced = kinds.len().min(30);
            bench.dataplane.trace(bench.input, traced as u32, None);
            let packets = packets_of(&kinds, &mut next);
            bench.receive(&packets);
            let records = bench.records();
            let graph = bench.dataplane.graph();
            for (number, packet) in (0..).zip(&packets[..traced]) {
                let its: Vec<_> = records.iter().filter(|record| record.packet >> 8 == number).collect();
                let arc = |record: &Record| record.arc.map_or("", |arc| graph.arcs(record.node)[usize::from(arc)].name);
                let seen: Way = its.iter().map(|record| (graph.name(record.node), arc(record))).collect();
                assert_eq!(seen, way(packet[0]), "packet {number} of {kinds:?}");
                assert!(its.iter().all(|record| record.bytes[4..8] == packet[4..8] && record.length == 60));
                let last = its.last().expect("it is traced").bytes[..4].to_vec();
                assert!(
                    packet[0] == BAD || last == sent(packet.clone())[..4],
                    "bytes are those of the moment: {last:?}"
                );
            }
            assert_eq!(records.len(), packets[..traced].iter().map(|packet| way(packet[0]).len()).sum::<usize>());
            bench.dataplane.trace_clear();
            while bench.worker.turn(0) > 0 {}
            (0..10).for_each(|_| bench.receive_kinds(&[LEFT; 4], &mut next));
            assert!(bench.follows(&mut next), "chains are followed again");
            assert!(bench.records().is_empty());
        }
    }
}

fn a_trace_begins_in_the_middle_of_a_chain(level: Level) {
    let mut bench = bench(level);
    let mut next = bench.learn(false);
    let meet = bench.dataplane.graph().find("meet").expect("it is there");
    bench.dataplane.trace(meet, 5, None);
    let packets = packets_of(&[RIGHT, LEFT, ASIDE, BAD, LEFT, LEFT, LEFT], &mut next);
    bench.receive(&packets);
    let records = bench.records();
    let graph = bench.dataplane.graph();
    for number in 0..5 {
        let its = records.iter().filter(|record| record.packet >> 8 == number);
        assert_eq!(its.map(|record| graph.name(record.node)).collect::<Vec<_>>(), ["meet", "interface-output"]);
    }
    assert_eq!(records.len(), 10);
    assert!(bench.follows(&mut next), "what was to be traced is traced");
}
