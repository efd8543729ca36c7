//! Random graphs: their description, from which the engine's is made, and the way of one packet through it as plain code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use quiver_engine::graph::Blueprint;
use quiver_engine::*;

use super::fate::{Made, PacketEnd, Passed};
use super::nodes::{self, Extra, FORMS, Move};
use super::rules::{Key, Model, Rule, Table};

/// Interfaces that receive and send. One more is down, and others are not there.
pub const INTERFACES: u32 = 3;
const DOWN: u32 = 3;
const NOWHERE: u32 = 9;

const OUTPUT: &str = "interface-output";
const INPUT: &str = "test-input";
/// Nodes one behind the other, `out` the last of them, and those that some packets take aside.
const MAIN: [&str; 7] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6"];
const ASIDE: [&str; 7] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6"];
const OUT: &str = "out";
/// Feature arcs, and their features in order.
const ARCS: [(&str, Side, [&str; 3]); 3] = [
    ("device-input", Side::Rx, ["device0", "device1", "device2"]),
    ("middle", Side::Rx, ["middle0", "middle1", "middle2"]),
    (OUTPUT, Side::Tx, ["output0", "output1", "output2"]),
];
const PHASES: [Phase; 3] = [Phase::Device, Phase::Filter, Phase::Policy];
const DROPS: [&str; 3] = ["bad", "worse", "worst"];

struct Described {
    name: &'static str,
    /// The form of a stage.
    form: Option<usize>,
    extra: Extra,
    rule: Arc<Rule>,
    /// Packets that it has treated.
    treated: Arc<AtomicU64>,
    arcs: &'static [ArcSpec],
}

impl Described {
    /// Whether frames are treated alike, of which the stage does not count packets.
    fn is_alike(&self) -> bool {
        self.form.is_some_and(|form| FORMS[form].is_alike)
    }
}
/// Stands for an arc in counts that nodes keep themselves.
const TREATED: &str = "treated";

/// A graph, and the features that are enabled.
pub struct Network {
    nodes: Vec<Described>,
    /// Where feature arcs end.
    ends: [&'static str; 3],
    enabled: BTreeSet<(usize, usize, u32)>,
}

/// The model's counters.
#[derive(Default, PartialEq, Debug)]
pub struct Counts {
    /// Packets by node, with what `packets` is for an arc, and by arc.
    pub nodes: BTreeMap<(&'static str, &'static str), u64>,
    /// Received, sent, dropped, by interface: packets and bytes.
    pub interfaces: BTreeMap<u32, [(u64, u64); 3]>,
}
impl Counts {
    fn add(&mut self, node: &'static str, what: &'static str) {
        *self.nodes.entry((node, what)).or_default() += 1;
    }
    fn of(&mut self, interface: u32, kind: usize, bytes: usize) {
        let counted = &mut self.interfaces.entry(interface).or_default()[kind];
        *counted = (counted.0 + 1, counted.1 + bytes as u64);
    }
}

impl Network {
    /// A graph as the generator draws it.
    pub fn draw(r: &mut Rng) -> Network {
        let (main, middle) = (r.usize(2..MAIN.len()), r.usize(1..3));
        let mut nodes = vec![];
        let later = |r: &mut Rng, i: usize| match i + 1 < main {
            true => ArcSpec::to_node(MAIN[r.usize(i + 1..main)]),
            false => ArcSpec::to_node(OUT),
        };
        for i in 0..main {
            let on = match i + 1 == middle || i < middle && r.u8(..3) == 0 {
                true => ArcSpec { name: "middle", to: To::Features("middle") },
                false if r.u8(..4) == 0 => later(r, i),
                false if i + 1 < main => ArcSpec::to_node(MAIN[i + 1]),
                false => ArcSpec::to_node(OUT),
            };
            let mut arcs = vec![on];
            for _ in 0..r.usize(..3) {
                arcs.push(match r.u8(..4) {
                    0 => later(r, i),
                    1 => ArcSpec { name: DROPS[i % 3], to: To::Drop },
                    _ => ArcSpec::to_node(ASIDE[i]),
                });
            }
            let goes_aside = arcs.iter().any(|arc| arc.to == To::Node(ASIDE[i]));
            nodes.push(described(r, MAIN[i], arcs, 5));
            if goes_aside {
                nodes.push(described(r, ASIDE[i], vec![on], 0));
            }
        }
        let out = |name| ArcSpec { name, to: To::Features(OUTPUT) };
        nodes.push(described(r, OUT, vec![out("out"), ArcSpec { name: "past", to: To::Node(OUTPUT) }], 9));
        let ends = [MAIN[0], if middle < main { MAIN[middle] } else { OUT }, OUTPUT];
        for (at, (.., features)) in ARCS.iter().enumerate() {
            for feature in features {
                let mut arcs = vec![ArcSpec { name: "next-feature", to: To::NextFeature }];
                let end = ArcSpec::to_node([MAIN[r.usize(..main)], ends[1], OUTPUT][at]);
                for _ in 0..r.usize(..3) {
                    arcs.push(if r.bool() { end } else { ArcSpec { name: DROPS[at], to: To::Drop } });
                }
                nodes.push(described(r, feature, arcs, 7));
            }
        }
        Network { nodes, ends, enabled: BTreeSet::new() }
    }
    /// Registers all of it.
    pub fn register(&self, graph: &mut Blueprint) {
        for node in &self.nodes {
            graph
                .node(nodes::spec(node.name, node.arcs, node.form, &node.rule, node.extra, &node.treated))
                .expect("new");
        }
        for ((name, side, features), end) in ARCS.into_iter().zip(self.ends) {
            if name != OUTPUT {
                graph.feature_arc(FeatureArcSpec { name, end, side }).expect("new");
            }
            for (feature, phase) in features.into_iter().zip(PHASES) {
                graph.feature(FeatureSpec::new(name, feature, phase)).expect("known");
            }
        }
    }
    /// Enables a feature that is not enabled, or disables one that is.
    pub fn toggle(&mut self, r: &mut Rng, dataplane: &mut Dataplane) {
        let key = (r.usize(..3), r.usize(..3), r.u32(..INTERFACES));
        let on = self.enabled.insert(key);
        if !on {
            self.enabled.remove(&key);
        }
        let (arc, _, features) = ARCS[key.0];
        dataplane.enable(arc, features[key.1], key.2, on).expect("known");
    }
    /// Packets that nodes have treated, as they say themselves.
    pub fn treated(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let nodes = self.nodes.iter().filter(|node| !node.is_alike());
        nodes.map(|node| (node.name, TREATED, node.treated.load(Ordering::Relaxed)))
    }
    fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }
    /// The node behind so many features of an arc.
    fn onto(&self, arc: usize, passed: usize, packet: &Model) -> &'static str {
        let (_, side, features) = ARCS[arc];
        let interface = if side == Side::Rx { packet.rx } else { packet.tx };
        let next = (passed..3).find(|feature| self.enabled.contains(&(arc, *feature, interface)));
        next.map_or(self.ends[arc], |feature| features[feature])
    }
    /// The fates of a packet that an interface receives, and of its copies.
    pub fn walk(&self, bytes: &[u8], rx: u32, counts: &mut Counts) -> Vec<PacketEnd> {
        counts.of(rx, 0, bytes.len());
        counts.add(INPUT, "packets");
        counts.add(INPUT, "device-input");
        let packet = Model::new(bytes, rx);
        let first = self.onto(0, 0, &packet);
        let mut fates = vec![];
        let mut open = vec![(packet, PacketEnd { sent: None, path: vec![], is_ambiguous: false }, (first, false))];
        while let Some((mut packet, mut fate, (at, is_by_name))) = open.pop() {
            counts.add(at, "packets");
            if at == OUTPUT {
                fate.sent = output(&packet, counts);
                fates.push(fate);
                continue;
            }
            let number = self.find(at).expect("it is described");
            let node = &self.nodes[number];
            let key = (packet.bytes().len() >= super::rules::LEAST as usize).then(|| node.rule.key_of(&packet));
            if key.is_some() && !node.is_alike() {
                counts.add(at, TREATED);
            }
            let arc = node.rule.treat(&mut packet);
            let does_more = arc == 0 && key.is_some_and(|key| key % 2 == 1);
            let copies = does_more && node.extra == Extra::Copies;
            let is_taken = does_more && node.extra == Extra::Takes;
            let is_aside = node.form.is_none() && is_by_name;
            let spec = node.arcs[usize::from(arc)];
            let feature =
                ARCS.iter().enumerate().find_map(|(at, (.., f))| Some((at, f.iter().position(|f| *f == node.name)?)));
            let next = match spec.to {
                To::Node(name) => Some(name),
                To::NextFeature => feature.map(|(arc, place)| self.onto(arc, place + 1, &packet)),
                To::Features(name) => ARCS.iter().position(|arc| arc.0 == name).map(|arc| self.onto(arc, 0, &packet)),
                _ => None,
            };
            let mut copy = packet.clone();
            if copies {
                packet.memory[packet.start + nodes::COPIED] ^= 0xff;
            }
            for is_copy in [false, true].into_iter().take(1 + usize::from(copies)) {
                counts.add(at, spec.name);
                let made = if is_copy {
                    Made::Copied
                } else if is_taken {
                    Made::Taken
                } else {
                    Made::Nothing
                };
                let path = [&fate.path[..], &[Passed { node: number, is_plain: node.form.is_none(), is_aside, made }]]
                    .concat();
                let packet = if is_copy { &mut copy } else { &mut packet };
                match next {
                    Some(next) => {
                        let is_by_name = matches!(spec.to, To::Node(_));
                        open.push((
                            packet.clone(),
                            PacketEnd { sent: None, path, is_ambiguous: false },
                            (next, is_by_name),
                        ));
                    }
                    None => {
                        drop_packet(packet, counts);
                        fates.push(PacketEnd { sent: None, path, is_ambiguous: false });
                    }
                }
            }
        }
        fates
    }
}
fn drop_packet(packet: &Model, counts: &mut Counts) {
    counts.add("drop", "packets");
    counts.of(packet.rx, 2, 0);
}
fn output(packet: &Model, counts: &mut Counts) -> Option<(u32, Vec<u8>)> {
    let sent = packet.tx < INTERFACES;
    counts.add(
        OUTPUT,
        if sent {
            "sent"
        } else if packet.tx == DOWN {
            "interface-down"
        } else {
            "no-such-interface"
        },
    );
    match sent {
        true => counts.of(packet.tx, 1, packet.bytes().len()),
        false => drop_packet(packet, counts),
    }
    sent.then(|| (packet.tx, packet.bytes().to_vec()))
}

/// A node with these arcs and one more; of ten `stages` more are stages. Without any, it is one that does nothing else than its rule.
fn described(r: &mut Rng, name: &'static str, mut arcs: Vec<ArcSpec>, stages: u8) -> Described {
    arcs.push(ArcSpec { name: "too-short", to: To::Drop });
    let form = if name == OUT { Some([5, 6, 7, 9][r.usize(..4)]) } else { Some(r.usize(..FORMS.len() - 1)) };
    let form = form.filter(|_| name == OUT || r.u8(..10) < stages + 3 && stages > 0);
    let extra = match r.u8(..6) {
        0 if stages > 0 && form.is_none() => Extra::Copies,
        1 if stages > 0 && form.is_none() => Extra::Takes,
        _ => Extra::Nothing,
    };
    let rule = Arc::new(rule(r, form.unwrap_or(FORMS.len() - 1), arcs.len() as u16 - 1));
    Described { name, form, extra, rule, treated: Arc::default(), arcs: Vec::leak(arcs) }
}

fn table(r: &mut Rng, choices: &[u32]) -> Table {
    let one = r.bool().then(|| choices[r.usize(..choices.len())]);
    Arc::new(std::array::from_fn(|_| one.unwrap_or_else(|| choices[r.usize(..choices.len())])))
}
/// A rule for nodes of a form with so many arcs beside that of packets that are too short.
fn rule(r: &mut Rng, form: usize, arcs: u16) -> Rule {
    let form = &FORMS[form];
    let back = form.back as usize;
    let place = |r: &mut Rng, quarter: usize| r.usize((16 * quarter).max(back)..16 * quarter + 16);
    let common = if r.u8(..5) == 0 { r.u16(..arcs) } else { 0 };
    let is_common = r.u8(100..255);
    let by = |bytes: i32| Arc::new([bytes as u32; 256]);
    Rule {
        back,
        key: match form.reads {
            Some(quarter) => Key::Byte(place(r, quarter)),
            None if form.is_alike => Key::Rx,
            None => Key::Hop,
        },
        arcs: Arc::new(std::array::from_fn(|_| if r.u8(..) <= is_common { common } else { r.u16(..arcs) }.into())),
        short: arcs,
        is_early: form.is_alike || r.u8(..4) == 0,
        cuts: form.cuts,
        tx: form.tx.then(|| {
            let choices: Vec<u32> =
                (0..20).map(|_| [0, 0, 1, 1, 2, 2, DOWN, NOWHERE][r.usize(..8).min(r.usize(..10))]).collect();
            table(r, &choices)
        }),
        tx_by_rx: form.reads.is_none(),
        hop: form.hop.then(|| Arc::new(std::array::from_fn(|_| r.u32(..0x10000)))),
        rx: form.rx.then(|| table(r, &[0, 1, 2])),
        add: form.rewrites.filter(|_| form.back == 0).map(|quarter| (place(r, quarter), r.u8(..))),
        front: (form.rewrites.is_some() && form.back > 0).then(|| r.u32(..).to_be_bytes()),
        moves: match form.moves {
            Move::None => None,
            Move::By(bytes) => Some(by(bytes)),
            Move::Mixed => Some(table(r, &[0, 0, 4])),
        },
        ordinary: if form.has_ordinary && r.bool() { common } else { 0 },
    }
}
