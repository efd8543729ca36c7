//! Plans that follow change by change are those of somebody who looks at all interfaces, and a change of one interface asks
//! about few.
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use quiver_engine::graph::FeatureSpec;
use quiver_engine::*;
use quiver_testkit::wire::{self, Wire};

arcs! {
    enum Found {
        Part => features "of-part",
    }
}
arcs! {
    enum Sent {
        Out => features "interface-output",
    }
}
arcs! {
    enum Passed {
        On => next_feature,
    }
}

/// Says by which part of an interface packets came.
#[derive(Clone)]
struct Find;
impl Stage for Find {
    const NAME: &'static str = "find";
    const ARCS: &'static [ArcSpec] = Found::ARCS;
    type Body<'f> = Find;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Find {
        Find
    }
}
impl Body for Find {
    const WRITES: Columns = Columns::RX;
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        p.rx = p.rx + 2;
    }
}

/// Sends by parts.
#[derive(Clone)]
struct Send;
impl Stage for Send {
    const NAME: &'static str = "send";
    const ARCS: &'static [ArcSpec] = Sent::ARCS;
    type Body<'f> = Send;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Send {
        Send
    }
}
impl Body for Send {
    const WRITES: Columns = Columns::TX;
    const BY_PARTS: bool = true;
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        p.tx = p.rx;
    }
}

struct Pass;
impl Node for Pass {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

/// Interfaces with queues of their own.
const PORTS: u16 = 2;
const PARTS: u16 = 10;
const FEATURES: [(&str, &str); 2] = [("of-part", "f"), ("interface-output", "g")];

/// A data plane, and beside it what it was told.
struct Bench {
    dataplane: Dataplane,
    /// The parts that ask for the product.
    asking: Rc<RefCell<BTreeSet<u16>>>,
    /// Interfaces that were asked about.
    asked: Rc<Cell<usize>>,
    wholes: BTreeMap<u16, u16>,
    enabled: BTreeSet<(&'static str, u16)>,
    _wires: Vec<Wire>,
}

fn bench() -> Bench {
    let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "find", side: Side::Rx }).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "of-part", end: "send", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::stage(|_| Find)).expect("new");
    graph.node(NodeSpec::stage(|_| Send)).expect("new");
    for (arc, node) in FEATURES {
        graph.node(NodeSpec::new(node, Passed::ARCS, |_| Pass)).expect("new");
        graph.feature(FeatureSpec { arc, node, before: &[], after: &[] }).expect("known");
    }
    let (asking, asked) = (Rc::<RefCell<BTreeSet<u16>>>::default(), Rc::<Cell<usize>>::default());
    let applies = {
        let (asking, asked) = (asking.clone(), asked.clone());
        move |interface| {
            asked.set(asked.get() + 1);
            asking.borrow().contains(&interface)
        }
    };
    let found = Found::Part as u16;
    assert_eq!(found, 0);
    dataplane.product(ProductSpec::new("found", Sent::Out, applies, |_| Chain::<_, 0, _>(Link(Find), Link(Send))));
    drop(dataplane.start().expect("names are right"));
    let wires: Vec<Wire> = (0..PORTS).map(|_| Wire::new()).collect();
    for (port, wire) in (0..).zip(&wires) {
        dataplane.attach(port, input, vec![wire.rx()], vec![wire.tx()]).expect("one each");
    }
    Bench { dataplane, asking, asked, wholes: BTreeMap::new(), enabled: BTreeSet::new(), _wires: wires }
}

impl Bench {
    fn add(&mut self, part: u16, whole: u16) {
        self.dataplane.attach_via(part, Some(whole));
        self.wholes.insert(part, whole);
        self.dataplane.plan_interface(whole);
    }
    fn remove(&mut self, part: u16) {
        self.dataplane.detach(part, ());
        let whole = self.wholes.remove(&part).expect("it is there");
        self.enabled.retain(|(_, on)| *on != part);
        self.dataplane.plan_interface(whole);
    }
    fn enable(&mut self, (arc, node): (&'static str, &'static str), interface: u16, on: bool) {
        self.dataplane.enable(arc, node, interface, on).expect("known");
        match on {
            true => self.enabled.insert((node, interface)),
            false => self.enabled.remove(&(node, interface)),
        };
    }
    fn ask(&mut self, part: u16, asks: bool) {
        match asks {
            true => self.asking.borrow_mut().insert(part),
            false => self.asking.borrow_mut().remove(&part),
        };
        self.dataplane.plan_interface(part);
    }
    /// Whether the product serves a port, of one who looks at everything.
    fn serves(&self, port: u16) -> bool {
        let is_of = |part: &u16| self.wholes.get(part) == Some(&port);
        let sends = |interface: &u16| *interface < PORTS || self.wholes.contains_key(interface);
        self.asking.borrow().iter().any(is_of)
            && !self.enabled.iter().any(|(node, on)| *node == "f" && is_of(on) || *node == "g" && sends(on))
    }
}

#[test]
fn plans_are_those_of_one_who_looks_at_everything() {
    let (mut rng, mut bench, mut served) = (fastrand::Rng::with_seed(7), bench(), [0; 2]);
    for step in 0..5000 {
        let part = rng.u16(PORTS..PORTS + PARTS);
        let is_there = bench.wholes.contains_key(&part);
        match rng.u8(0..8) {
            0 if is_there => bench.remove(part),
            0 | 1 if !is_there => bench.add(part, rng.u16(0..PORTS)),
            // Rare, so that the product has its turns.
            2 => bench.enable(FEATURES[rng.usize(0..2)], rng.u16(0..PORTS + PARTS), rng.u8(0..4) == 0),
            3 => bench.enable(FEATURES[rng.usize(0..2)], part, false),
            4 | 5 => bench.ask(part, rng.bool()),
            _ => {}
        }
        for queue in bench.dataplane.queues() {
            let serves = bench.serves(queue.interface);
            assert_eq!(queue.product.is_ok(), serves, "step {step}, port {}: {:?}", queue.interface, queue.product);
            served[usize::from(serves)] += 1;
        }
    }
    assert!(served.iter().all(|count| *count > 1000), "both happen: {served:?}");
}

#[test]
fn a_change_of_one_interface_asks_about_few() {
    let mut bench = bench();
    for part in PORTS..1000 {
        bench.add(part, part % PORTS);
        bench.ask(part, true);
        bench.enable(FEATURES[0], part, false);
    }
    bench.asked.set(0);
    bench.ask(77, false);
    bench.enable(FEATURES[1], 77, true);
    bench.remove(500);
    bench.add(500, 0);
    assert!((1..20).contains(&bench.asked.get()), "{} questions", bench.asked.get());
}
