//! Random graphs, random features, random packets: the engine does with frames what plain code does with one packet at a time.

mod fate;
mod network;
mod nodes;
mod rules;

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;
use quiver_engine::graph::NodeId;
use quiver_engine::*;
use quiver_testkit::wire::{self, Wire};

use fate::PacketEnd;
use network::{Counts, INTERFACES, Network};

quiver_testkit::level_tests![frames_meet_the_fates_that_plain_code_finds];

const GRAPHS: u64 = 30;
const TURNS: usize = 30;
/// Times that the frame of a packet may be split.
const SPLITS: usize = 8;

fn frames_meet_the_fates_that_plain_code_finds(level: Level) {
    let (mut sent, mut lost) = (0, 0);
    for seed in 0..GRAPHS {
        match catch_unwind(AssertUnwindSafe(|| run(level, seed))) {
            Ok((some, none)) => (sent, lost) = (sent + some, lost + none),
            Err(panic) => {
                eprintln!("seed {seed}");
                resume_unwind(panic);
            }
        }
    }
    assert!(sent > 20_000 && lost > 5_000, "{sent} packets were sent, {lost} were dropped");
}

/// The data plane, with both ends of its wires.
struct Bench {
    dataplane: Dataplane,
    worker: Worker,
    received: Vec<Wire>,
    sent: Vec<Wire>,
}
impl Bench {
    fn new(level: Level, network: &Network) -> Bench {
        let settings = Settings { level, buffers: 4000, ..Settings::default() };
        let mut dataplane = Dataplane::new(settings).expect("a data plane");
        let graph = dataplane.blueprint();
        let input = graph.input("test-input", wire::Next::ARCS).expect("new");
        network.register(graph);
        let mut worker = dataplane.start().expect("it fits together").remove(0);
        let (mut received, mut sent) = (vec![], vec![]);
        for interface in 0..=INTERFACES {
            let (into, out) = (Wire::new(), Wire::new());
            dataplane.attach(interface, input, vec![into.rx()], vec![out.tx()]).expect("one each");
            dataplane.set_up(interface, interface < INTERFACES);
            received.push(into);
            sent.push(out);
        }
        while worker.turn(0) > 0 {}
        Bench { dataplane, worker, received, sent }
    }
    /// The engine's counters. No packet may be inside it.
    fn counts(&self, network: &Network) -> Counts {
        let graph = self.dataplane.graph();
        let mut counts = Counts::default();
        let mut add = |name, what, counter: u64| {
            if counter > 0 {
                *counts.nodes.entry((name, what)).or_default() += counter;
            }
        };
        for id in graph.nodes() {
            let counters = graph.counters(id).next().expect("one worker");
            add(graph.name(id), "packets", counters.packets.get());
            graph.arcs(id).iter().zip(&counters.arcs).for_each(|(arc, c)| add(graph.name(id), arc.name, c.get()));
        }
        network.treated().for_each(|(node, what, packets)| add(node, what, packets));
        for interface in 0..=INTERFACES {
            let counted = self.dataplane.interface_counters(interface);
            let both = |traffic: Traffic| (traffic.packets, traffic.bytes);
            let all = [both(counted.rx), both(counted.tx), (counted.drops, 0)];
            if all != [(0, 0); 3] {
                counts.interfaces.insert(interface, all);
            }
        }
        counts
    }
    fn check_calls(&self) {
        let graph = self.dataplane.graph();
        let of = |id: NodeId| graph.counters(id).next().expect("one worker");
        for id in graph.nodes() {
            let (calls, packets) = (of(id).calls.get(), of(id).packets.get());
            assert!(
                calls <= packets && packets <= calls * BLOCK as u64,
                "{}: {calls} calls, {packets}",
                graph.name(id)
            );
        }
    }
}

/// Packets by what they should be when they are sent.
type Expected = HashMap<(u32, Vec<u8>), Vec<usize>>;

fn run(level: Level, seed: u64) -> (usize, usize) {
    let r = &mut Rng::with_seed(seed);
    let mut network = Network::draw(r);
    let mut bench = Bench::new(level, &network);
    let (all, mut counts, mut total) = (bench.dataplane.buffers().count(), Counts::default(), (0, 0));
    (0..r.usize(..8)).for_each(|_| network.toggle(r, &mut bench.dataplane));
    let template: Vec<u8> = (0..160).map(|_| r.u8(..)).collect();
    for turn in 0..TURNS {
        if r.u8(..6) == 0 {
            (0..r.usize(1..4)).for_each(|_| network.toggle(r, &mut bench.dataplane));
        }
        let (odd, quiet) = ([0, 1, 8, 60][r.usize(..4)], r.u8(..4) == 0);
        let (mut fates, mut expected) = (Vec::<(usize, PacketEnd)>::new(), Expected::new());
        // Frames are numbered in the order in which queues are polled.
        let mut frames = BTreeMap::<usize, Frames>::new();
        for interface in 0..INTERFACES {
            let n = if r.u8(..3) == 0 { 0 } else { [r.usize(..9), r.usize(..70), r.usize(..257)][r.usize(..3)] };
            for i in 0..n {
                let bytes = packet(r, &template, odd);
                let frame = interface as usize * 256 + i / BLOCK;
                let noted = frames.entry(frame).or_default();
                for fate in network.walk(&bytes, interface, &mut counts) {
                    noted.detours += fate.detours();
                    noted.is_taken |= fate.is_taken();
                    match &fate.sent {
                        Some(sent) => expected.entry(sent.clone()).or_default().push(fates.len()),
                        None => total.1 += 1,
                    }
                    fates.push((frame, fate));
                }
                bench.received[interface as usize].put(bytes);
            }
        }
        for numbers in expected.values().filter(|numbers| numbers.len() > 1) {
            numbers.iter().for_each(|number| fates[*number].1.is_ambiguous = true);
        }
        bench.worker.turn(0);
        for (interface, wire) in (0..).zip(&bench.sent) {
            let numbers: Vec<usize> = wire
                .take()
                .into_iter()
                .map(|bytes| {
                    total.0 += 1;
                    let key = (interface, bytes);
                    let numbers = expected.get_mut(&key).filter(|numbers| !numbers.is_empty());
                    let numbers = numbers.unwrap_or_else(|| panic!("turn {turn}: {interface} sends {:02x?}", key.1));
                    numbers.remove(0)
                })
                .collect();
            check_order(turn, &numbers, &fates, &frames);
        }
        let missing = expected.values().map(Vec::len).sum::<usize>();
        assert_eq!(missing, 0, "turn {turn}: packets that were not sent");
        if quiet {
            while bench.worker.turn(0) > 0 {}
            assert_eq!(bench.counts(&network), counts, "turn {turn}");
        }
        bench.check_calls();
    }
    while bench.worker.turn(0) > 0 {}
    assert_eq!(bench.counts(&network), counts);
    let buffers = bench.dataplane.buffers().clone();
    drop(bench);
    assert_eq!(buffers.stored(), all as usize, "a buffer leaked");
    total
}

/// A frame: how often its packets go to nodes that are no stages, and whether a node takes some out of it.
#[derive(Default)]
struct Frames {
    detours: usize,
    is_taken: bool,
}

/// Frames are sent in their order; and so are the packets of one that go the same way.
fn check_order(turn: usize, sent: &[usize], fates: &[(usize, PacketEnd)], frames: &BTreeMap<usize, Frames>) {
    for (place, number) in sent.iter().enumerate() {
        let (frame, fate) = &fates[*number];
        let is_split = frames[frame].detours <= SPLITS && !frames[frame].is_taken;
        for other in &sent[..place] {
            let (other_frame, other_fate) = &fates[*other];
            assert!(other_frame <= frame, "turn {turn}: {other} of frame {other_frame} before {number} of {frame}");
            let overtaken = other_frame == frame && other > number && fate.keeps_ahead_of(other_fate, is_split);
            assert!(!overtaken, "turn {turn}: {other} overtakes {number}: {:?}, {:?}", other_fate.path, fate.path);
        }
    }
}

/// Mostly the template with another end; of a hundred, `odd` have other bytes somewhere.
fn packet(r: &mut Rng, template: &[u8], odd: u8) -> Vec<u8> {
    let length = match r.u8(..40) {
        0 => r.usize(1..64),
        1..=3 => r.usize(64..160),
        4..=5 => r.usize(900..1500),
        6 => r.usize(2300..5000),
        _ => r.usize(200..260),
    };
    let is_odd = r.u8(..100) < odd;
    let at = if is_odd { r.usize(..100) } else { usize::MAX };
    let is_random = is_odd && r.u8(..4) == 0;
    let byte = |(i, r): (usize, &mut Rng)| match template.get(i) {
        Some(byte) if i != at && !is_random => *byte,
        _ => r.u8(..),
    };
    (0..length).map(|i| byte((i, r))).collect()
}
