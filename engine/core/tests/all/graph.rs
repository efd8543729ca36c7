//! Feature arcs, re-wiring at run time, and the errors of a graph that does not fit together.
use quiver_engine::*;
use quiver_testkit::wire::{self, Wire};

arcs! {
    /// The entry.
    enum Start {
        On => features "middle",
    }
}
arcs! {
    /// A feature.
    enum Pass {
        On => next_feature,
        Odd => drop "odd",
    }
}
arcs! {
    /// The end.
    enum End {
        Out => features "interface-output",
    }
}

/// Writes its letter into the next byte of the packet that is zero; 'a' drops packets that begin with 'x'.
struct Letter(u8);
impl Node for Letter {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let bytes = frame.bytes_mut(cx.pool, i);
            if self.0 == b'a' && bytes.first() == Some(&b'x') {
                frame.next[i] = Pass::Odd.into();
            } else if let Some(free) = bytes.iter_mut().find(|b| **b == 0) {
                *free = self.0;
            }
        }
    }
}
/// Sends packets back to interface 0.
struct Back;
impl Node for Back {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        frame.tx.fill(0);
    }
}
struct Net {
    dataplane: Dataplane,
    worker: Worker,
    /// Into interfaces 0 and 1.
    into: Vec<Wire>,
    out: Wire,
}
fn feature(node: &'static str, before: &'static [&'static str], after: &'static [&'static str]) -> FeatureSpec {
    FeatureSpec::new("middle", node, Phase::Policy).before(before).after(after)
}
fn blueprint(dataplane: &mut Dataplane) -> NodeId {
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "start", side: Side::Rx }).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "middle", end: "back", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::new("start", Start::ARCS, |_| Letter(b's'))).expect("new");
    graph.node(NodeSpec::new("back", End::ARCS, |_| Back)).expect("new");
    input
}
fn net() -> Net {
    let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
    let input = blueprint(&mut dataplane);
    let graph = dataplane.blueprint();
    for (name, letter) in [("c", b'c'), ("a", b'a'), ("b", b'b')] {
        graph.node(NodeSpec::new(name, Pass::ARCS, move |_| Letter(letter))).expect("new");
    }
    // Registered out of order: the orders decide.
    graph.feature(feature("c", &[], &["b"])).expect("known");
    graph.feature(feature("a", &["b"], &[])).expect("known");
    graph.feature(feature("b", &[], &[])).expect("known");
    let worker = dataplane.start().expect("it fits together").remove(0);
    let (into, out) = (vec![Wire::new(), Wire::new()], Wire::new());
    for (interface, into) in (0..).zip(&into) {
        dataplane.attach(interface, input, vec![into.rx()], vec![out.tx()]).expect("one each");
        dataplane.set_up(interface, true);
    }
    Net { dataplane, worker, into, out }
}
impl Net {
    /// Packets sent after interfaces 0 and 1 have received one each.
    fn run(&mut self) -> Vec<String> {
        self.into.iter().zip(*b"01").for_each(|(into, id)| into.put([id, 0, 0, 0, 0, 0]));
        while self.worker.turn(0) > 0 {}
        let text = |bytes: Vec<u8>| bytes.into_iter().filter(|b| *b != 0).map(char::from).collect();
        let mut out: Vec<String> = self.out.take().into_iter().map(text).collect();
        out.sort();
        out
    }
}

#[test]
fn features_run_in_their_order_where_they_are_enabled() {
    let mut net = net();
    assert_eq!(net.run(), ["0s", "1s"], "an empty arc leads straight to its end");
    net.dataplane.enable("middle", "c", 0, true).expect("known");
    net.dataplane.enable("middle", "a", 0, true).expect("known");
    net.dataplane.enable("middle", "b", 1, true).expect("known");
    assert_eq!(net.run(), ["0sac", "1sb"]);
    net.dataplane.enable("middle", "b", 0, true).expect("known");
    net.dataplane.enable("middle", "b", 1, false).expect("known");
    assert_eq!(net.run(), ["0sabc", "1s"]);
    net.dataplane.detach(0, ());
    net.dataplane.enable("middle", "a", 1, true).expect("known");
    while net.worker.turn(0) > 0 {}
    net.into[1].put(*b"1\0\0\0");
    net.into[1].put(*b"x\0\0\0");
    while net.worker.turn(0) > 0 {}
    let node = |name| net.dataplane.graph().counters(net.dataplane.graph().find(name).expect("known")).next();
    assert_eq!(node("a").expect("one worker").arcs[Pass::Odd as usize].get(), 1, "dropped by name");
    assert_eq!(node("drop").expect("one worker").packets.get(), 2, "and the one without a way out");
    // Their way out is gone with interface 0.
    let refused = node("interface-output").expect("one worker").arcs[tx::Next::NoInterface as usize].get();
    assert_eq!((refused, net.out.take().len()), (1, 0));
}

#[test]
fn changes_that_wait_for_each_other_are_one_letter_that_no_other_overtakes() {
    let mut net = net();
    assert_eq!(net.run(), ["0s", "1s"]);
    net.dataplane.collect_changes();
    net.dataplane.enable("middle", "c", 0, true).expect("known");
    net.dataplane.enable("middle", "a", 0, true).expect("known");
    assert_eq!(net.run(), ["0s", "1s"], "they wait");
    net.dataplane.post_changes();
    assert_eq!(net.worker.turn(0), 1, "one letter has both");
    assert_eq!(net.run(), ["0sac", "1s"]);
    net.dataplane.collect_changes();
    net.dataplane.enable("middle", "b", 1, true).expect("known");
    net.dataplane.enable("middle", "b", 1, true).expect("known");
    net.dataplane.post(0, |_| {});
    assert_eq!(net.worker.turn(0), 2, "a letter goes behind the changes before it");
    assert_eq!(net.run(), ["0sac", "1sb"]);
    net.dataplane.enable("middle", "a", 0, false).expect("known");
    let _asked = net.dataplane.ask(0, |_| ());
    assert_eq!(net.worker.turn(0), 2, "and so does a question");
    net.dataplane.enable("middle", "b", 1, false).expect("known");
    net.dataplane.set_up(0, true);
    assert_eq!(net.worker.turn(0), 2, "and what all workers are told");
    net.dataplane.post_changes();
    assert_eq!((net.worker.turn(0), net.run()), (0, vec!["0sc".to_owned(), "1s".to_owned()]), "nothing is left");
    net.dataplane.enable("middle", "b", 1, true).expect("known");
    assert_eq!(net.worker.turn(0), 1, "a change that waits for no other");
    for enabled in [false, true] {
        net.dataplane.collect_changes();
        net.dataplane.enable("middle", "b", 1, enabled).expect("known");
    }
    net.dataplane.post_changes();
    assert_eq!(net.worker.turn(0), 0, "they wait for the outer end");
    net.dataplane.post_changes();
    assert_eq!(net.worker.turn(0), 1);
    // The number that a letter frees belongs to no feature any more.
    net.dataplane.collect_changes();
    net.dataplane.detach(0, ());
    assert_eq!(net.worker.turn(0), 3, "it receives no more, then its features are disabled, then it goes");
    net.dataplane.post_changes();
    assert_eq!(net.worker.turn(0), 0);
}

#[test]
fn changes_of_a_turn_reach_workers_before_the_letters_that_open_interfaces() {
    let mut net = net();
    net.dataplane.set_up(1, false);
    assert_eq!(net.run(), ["0s"]);
    net.dataplane.hold();
    net.dataplane.set_up(1, true);
    net.dataplane.enable("middle", "a", 1, true).expect("known");
    net.dataplane.attach_via(2, Some(0));
    assert_eq!(net.worker.turn(0), 1, "a new interface is told of at once, and all else waits");
    assert_eq!(net.run(), ["0s"]);
    net.dataplane.release();
    assert_eq!(net.run(), ["0s", "1sa", "1sa", "1sa"], "no packet overtakes the wiring");
    // One that goes down does so at once, with all changes before it.
    net.dataplane.hold();
    net.dataplane.enable("middle", "b", 1, true).expect("known");
    net.dataplane.set_up(1, false);
    net.dataplane.enable("middle", "b", 0, true).expect("known");
    assert_eq!(net.worker.turn(0), 2);
    assert_eq!(net.run(), ["0s"]);
    // So does a table whose words change in place.
    net.dataplane.domain().flush();
    assert_eq!(net.run(), ["0sb"]);
    net.dataplane.release();
    assert_eq!(net.worker.turn(0), 0, "nothing is left");
    net.dataplane.set_up(1, true);
    assert_eq!(net.run(), ["0sb", "1sab", "1sab", "1sab"]);
}

arcs! {
    /// Leaves by the second of two arcs in line.
    enum Last {
        On => features "first",
    }
}

/// A data plane with two arcs in line, `first` with the features `f` and `g`, and `interface-output` with `h`.
fn in_line() -> Dataplane {
    let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    graph.node(NodeSpec::new("last", Last::ARCS, |_| Back)).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "first", end: "interface-output", side: Side::Tx }).expect("new");
    for (arc, node, letter) in [("first", "f", b'f'), ("first", "g", b'g'), ("interface-output", "h", b'h')] {
        graph.node(NodeSpec::new(node, Pass::ARCS, move |_| Letter(letter))).expect("new");
        graph.feature(FeatureSpec::new(arc, node, Phase::Policy)).expect("known");
    }
    graph.check().expect("it fits together");
    dataplane
}

/// The names of the nodes that packets of an interface meet from `last` on.
fn way(dataplane: &mut Dataplane, interface: u32) -> Vec<&'static str> {
    let graph = dataplane.blueprint();
    let wiring = graph.wiring().expect("it fits together");
    let (mut at, mut way) = (graph.find("last").expect("known"), vec![]);
    while graph.name(at) != "interface-output" {
        at = wiring.follow(at, 0, interface).expect("every node has an arc");
        way.push(graph.name(at));
    }
    way
}

#[test]
fn an_arc_may_end_at_the_beginning_of_another() {
    let mut dataplane = in_line();
    assert_eq!(way(&mut dataplane, 7), ["interface-output"], "straight to the end of both");
    dataplane.enable("interface-output", "h", 7, true).expect("known");
    assert_eq!(way(&mut dataplane, 7), ["h", "interface-output"]);
    dataplane.enable("first", "g", 7, true).expect("known");
    dataplane.enable("first", "f", 8, true).expect("known");
    assert_eq!(way(&mut dataplane, 7), ["g", "h", "interface-output"]);
    assert_eq!(way(&mut dataplane, 8), ["f", "interface-output"]);
    dataplane.detach(7, ());
    assert_eq!(way(&mut dataplane, 7), ["interface-output"]);

    let graph = dataplane.blueprint();
    graph.feature_arc(FeatureArcSpec { name: "there", end: "back", side: Side::Tx }).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "back", end: "there", side: Side::Tx }).expect("new");
    let error = graph.check().expect_err("a circle").to_string();
    assert_eq!(
        error,
        "feature arc `there` cannot end at feature arc `back`: it leads back there; let one of them end at a node"
    );
    let mut dataplane = in_line();
    let graph = dataplane.blueprint();
    graph.feature_arc(FeatureArcSpec { name: "in", end: "first", side: Side::Rx }).expect("new");
    let error = graph.check().expect_err("two sides").to_string();
    assert!(error.contains("`in`") && error.contains("`first`") && error.contains("sending"), "{error}");
}

/// The wiring follows each change; one that is computed of the same state at once must be equal.
#[test]
fn a_wiring_changed_step_by_step_is_that_of_the_whole() {
    let features = [("first", "f"), ("first", "g"), ("interface-output", "h")];
    let (mut dataplane, mut draws) = (in_line(), 0x9e37_79b9_u32);
    let mut on = std::collections::BTreeSet::new();
    for _ in 0..400 {
        draws = draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (feature, interface, enable) = (draws as usize >> 8 & 3, (draws >> 12) % 5 * 30_000, draws >> 28 < 7);
        match features.get(feature) {
            None => {
                dataplane.detach(interface, ());
                on.retain(|(_, _, at)| *at != interface);
            }
            Some((arc, node)) => {
                dataplane.enable(arc, node, interface, enable).expect("known");
                if enable {
                    on.insert((*arc, *node, interface))
                } else {
                    on.remove(&(*arc, *node, interface))
                };
            }
        }
        let mut whole = in_line();
        for (arc, node, interface) in &on {
            whole.blueprint().enable(arc, node, *interface, true).expect("known");
        }
        for interface in (0..5).map(|place| place * 300).chain([1, 999]) {
            assert_eq!(way(&mut dataplane, interface), way(&mut whole, interface), "{on:?}");
        }
    }
}

#[test]
fn nodes_are_inserted_replaced_and_rewired_while_packets_flow() {
    let mut net = net();
    let start = net.dataplane.graph().find("start").expect("known");
    let inserted = net.dataplane.insert_node(NodeSpec::new("late", End::ARCS, |_| Letter(b'L'))).expect("new");
    assert_eq!(net.run(), ["0s", "1s"], "inserted, but nothing leads there");
    net.dataplane.rewire(start, 0, Some(inserted));
    assert_eq!(net.run(), ["0sL", "1sL"]);
    net.dataplane.post(0, move |w| drop(w.graph().replace(inserted, Box::new(Letter(b'R')))));
    assert_eq!(net.run(), ["0sR", "1sR"]);
    net.dataplane.rewire(start, 0, None);
    assert_eq!(net.run(), ["0s", "1s"]);
}

arcs! {
    /// Before another node, or in its place.
    enum Before {
        On => node "back",
    }
}
arcs! {
    /// In the place of a feature.
    enum Instead {
        On => next_feature,
    }
}

#[test]
fn nodes_stand_for_others_and_paths_close_over_them() {
    let mut net = net();
    net.dataplane.enable("middle", "a", 0, true).expect("known");
    net.dataplane.enable("middle", "c", 0, true).expect("known");
    let stood = net.dataplane.extend(|graph| {
        let before = graph.node(NodeSpec::new("before-back", Before::ARCS, |_| Letter(b'B')))?;
        graph.stand_in(graph.find("back")?, before)?;
        let instead = graph.node(NodeSpec::new("instead-of-a", Instead::ARCS, |_| Letter(b'A')))?;
        graph.stand_in(graph.find("a")?, instead)?;
        Ok([before, instead])
    });
    let [before, instead] = stood.expect("they fit");
    assert_eq!(net.run(), ["0sac", "1s"], "they begin bypassed");
    net.dataplane.open(before);
    net.dataplane.open(instead);
    assert_eq!(net.run(), ["0sAcB", "1sB"], "the one before leads on, the one instead keeps the place");
    net.dataplane.bypass(instead, None);
    assert_eq!(net.run(), ["0sacB", "1sB"]);
    net.dataplane.bypass(before, None);

    let a = net.dataplane.graph().find("a").expect("known");
    net.dataplane.bypass(a, None);
    assert_eq!(net.run(), ["0sc", "1s"], "a feature that is bypassed is skipped");
    net.dataplane.open(a);
    assert_eq!(net.run(), ["0sac", "1s"]);

    // Declared to lead to a node: behind it, once that is bypassed. Re-wired to it: where it was declared to.
    let start = net.dataplane.graph().find("start").expect("known");
    let (last, late) = (spec("last", To::Node("back")), spec("late", To::Node("last")));
    let last = net.dataplane.insert_node(last).expect("new");
    let late = net.dataplane.insert_node(late).expect("new");
    net.dataplane.rewire(start, 0, Some(late));
    assert_eq!(net.run(), ["0sLL", "1sLL"]);
    net.dataplane.bypass(last, Some(0));
    assert_eq!(net.run(), ["0sL", "1sL"]);
    net.dataplane.bypass(late, Some(0));
    assert_eq!(net.run(), ["0sac", "1s"]);
}

/// A node with one arc.
fn spec(name: &'static str, to: To) -> NodeSpec {
    NodeSpec::new(name, Vec::leak(vec![ArcSpec { name: "on", to }]), |_| Letter(b'L'))
}

#[test]
fn what_is_added_holds_as_a_whole_or_not_at_all() {
    let mut net = net();
    let before = net.dataplane.graph().nodes().count();
    let refused = |net: &mut Net, add: &dyn Fn(&mut Blueprint) -> Result<(), GraphError>| {
        let error = net.dataplane.extend(|graph| add(graph)).expect_err("it does not fit");
        assert_eq!(net.dataplane.graph().nodes().count(), before, "{error}");
        assert_eq!(net.run(), ["0s", "1s"], "{error}");
        error.to_string()
    };
    let error = refused(&mut net, &|graph| {
        graph.node(spec("new", To::NextFeature))?;
        graph.feature(feature("new", &["ghost"], &[]))
    });
    assert_eq!(error, "feature `new` on arc `middle`: feature `ghost` is not registered");
    let error = refused(&mut net, &|graph| {
        graph.node(spec("new", To::NextFeature))?;
        graph.feature(feature("new", &["a"], &["b"]))
    });
    assert!(error.starts_with("arc `middle`: `") && error.contains("is to come before"), "{error}");
    let error = refused(&mut net, &|graph| {
        graph.node(spec("new", To::Node("back")))?;
        graph.node(spec("start", To::Drop)).map(|_| ())
    });
    assert_eq!(error, "node `start` is registered twice; rename one of them");
    let error = refused(&mut net, &|graph| {
        let (new, newer) = (graph.node(spec("new", To::Drop))?, graph.node(spec("newer", To::Drop))?);
        graph.stand_in(graph.find("back")?, new)?;
        graph.stand_in(graph.find("back")?, newer)
    });
    assert_eq!(error, "node `newer` cannot stand for `back`, for which `new` stands already; leave one of them out");
    let error = refused(&mut net, &|graph| {
        let new = graph.node(spec("new", To::Features("middle")))?;
        graph.stand_in(graph.find("back")?, new)
    });
    assert!(error.starts_with("node `new` cannot stand for `back`"), "{error}");
    // An arc where another one ends, and then something that is refused.
    let error = refused(&mut net, &|graph| {
        graph.feature_arc(FeatureArcSpec { name: "back", end: "back", side: Side::Rx })?;
        graph.feature(feature("ghost", &[], &[]))
    });
    assert!(error.contains("ghost"), "{error}");
    net.dataplane.enable("middle", "a", 1, true).expect("known");
    assert_eq!(net.run(), ["0s", "1sa"], "the arc ends where it ended");
    net.dataplane.enable("middle", "a", 1, false).expect("known");
    // The names are free again, and the arc's end may be named as what comes after.
    let added = net.dataplane.extend(|graph| {
        graph.node(spec("new", To::NextFeature))?;
        graph.feature(feature("new", &["back"], &["c"]))
    });
    added.expect("it fits");
    net.dataplane.enable("middle", "new", 1, true).expect("known");
    net.dataplane.enable("middle", "c", 1, true).expect("known");
    assert_eq!(net.run(), ["0s", "1scL"]);
}

#[test]
fn what_does_not_fit_names_both_ends() {
    let fresh = || {
        let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
        blueprint(&mut dataplane);
        dataplane
    };
    arcs! {
        /// Leads nowhere.
        enum Astray {
            On => node "nowhere",
        }
    }
    let mut dataplane = fresh();
    dataplane.blueprint().node(NodeSpec::new("lost", Astray::ARCS, |_| Back)).expect("new");
    let error = dataplane.start().map(|_| ()).expect_err("a name is wrong").to_string();
    assert_eq!(error, "node `lost`: arc `nowhere` leads to `nowhere`, which is not registered");

    let mut dataplane = fresh();
    let graph = dataplane.blueprint();
    for name in ["p", "q", "r"] {
        graph.node(NodeSpec::new(name, Pass::ARCS, |_| Back)).expect("new");
    }
    graph.feature(feature("p", &["q"], &[])).expect("known");
    graph.feature(feature("q", &["r"], &[])).expect("known");
    let error = graph.feature(feature("r", &["p"], &[])).expect_err("a circle").to_string();
    assert_eq!(["`p`", "`q`", "`r`"].iter().filter(|name| error.contains(*name)).count(), 2, "{error}");
    graph.feature(feature("r", &[], &["ghost"])).expect("may come later");
    let error = dataplane.start().map(|_| ()).expect_err("it never came").to_string();
    assert_eq!(error, "feature `r` on arc `middle`: feature `ghost` is not registered");

    let mut dataplane = fresh();
    dataplane.blueprint().node(NodeSpec::new("nobody", Pass::ARCS, |_| Back)).expect("new");
    let error = dataplane.start().map(|_| ()).expect_err("on no arc").to_string();
    assert!(error.contains("`nobody`") && error.contains("0 arcs"), "{error}");
    let twice = dataplane.blueprint().node(NodeSpec::new("nobody", End::ARCS, |_| Back)).map(|_| ());
    assert_eq!(twice, Err(GraphError::NodeTwice("nobody")));
}

/// A node for each name, and a demultiplexer.
fn claimed() -> Dataplane {
    let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    for name in ["told-apart", "one", "other"] {
        graph.node(NodeSpec::new(name, End::ARCS, |_| Back)).expect("new");
    }
    dataplane
}

#[test]
fn a_number_has_one_owner_and_its_arc_comes_behind_those_of_the_node() {
    let mut dataplane = claimed();
    let graph = dataplane.blueprint();
    let port = quiver_wire::UdpPort(4789);
    assert_eq!(graph.claim("told-apart", port, ArcSpec::to_node("one")), Ok(1));
    assert_eq!(
        graph.claim("told-apart", quiver_wire::UdpPort(8472), ArcSpec::to_node("one")),
        Ok(1),
        "an arc for both"
    );
    let twice = graph.claim("told-apart", port, ArcSpec::to_node("other")).expect_err("it is taken");
    assert_eq!(
        twice.to_string(),
        "UDP port 4789 at node `told-apart` is claimed by `one` and by `other`; leave one of them out"
    );
    let owners: Vec<_> =
        graph.claims().map(|(node, number, claim)| (node, number, graph.claimant(node, claim))).collect();
    assert_eq!(owners, [("told-apart", 4789, "one"), ("told-apart", 8472, "one")]);
    graph.release("told-apart", port);
    assert_eq!(graph.claim("told-apart", port, ArcSpec::to_node("other")), Ok(2));
    let missing = graph.claim("nowhere", port, ArcSpec::to_node("other")).expect_err("there is no such node");
    assert_eq!(missing, GraphError::Unknown { what: "node", name: "nowhere".into() });
    drop(dataplane.start().expect("it fits together"));
    let graph = dataplane.blueprint();
    graph.release("told-apart", port);
    assert_eq!(
        graph.claim("told-apart", port, ArcSpec::to_node("one")),
        Ok(1),
        "an arc that is there can be claimed at any time"
    );
    let late = graph.add_arc("one", ArcSpec::to_node("other")).expect_err("workers have the node");
    assert!(late.to_string().contains("workers run already"), "{late}");
}

#[test]
fn the_packets_of_an_arc_have_one_taker() {
    let mut dataplane = claimed();
    let graph = dataplane.blueprint();
    assert_eq!(graph.claim_arc("told-apart", 0, "one"), Ok(()));
    let twice = graph.claim_arc("told-apart", 0, "other").expect_err("it is taken");
    assert_eq!(
        twice.to_string(),
        "arc interface-output at node `told-apart` is claimed by `one` and by `other`; leave one of them out"
    );
}

/// The features of an arc, in their order.
fn ordered(features: &[FeatureSpec]) -> Result<Vec<&'static str>, GraphError> {
    let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    for feature in features {
        graph.node(NodeSpec::new(feature.node, Pass::ARCS, |_| Letter(b'.'))).expect("new");
        graph.feature(feature.clone())?;
    }
    // The arc may come behind its features.
    graph.feature_arc(FeatureArcSpec { name: "middle", end: "interface-output", side: Side::Tx })?;
    graph.check()?;
    let (_, features) = graph.feature_arcs().find(|(arc, _)| arc.name == "middle").expect("registered");
    Ok(features.into_iter().map(|(feature, _)| feature.node).collect())
}

#[test]
fn features_are_ordered_by_phase_then_by_each_other_then_by_name() {
    let of = |node, phase| FeatureSpec::new("middle", node, phase);
    let free = |node, after| FeatureSpec { phase: None, ..of(node, Phase::Device).after(after) };
    let mut features = vec![
        of("policer", Phase::Policy),
        of("list-b", Phase::Filter),
        of("list-a", Phase::Filter).after(&["list-c"]),
        of("list-c", Phase::Filter),
        of("count", Phase::Device),
        free("early", &["count"]).before(&["list-b"]),
        free("anywhere", &[]),
    ];
    let expected = ["count", "list-c", "list-a", "early", "list-b", "policer", "anywhere"];
    for _ in 0..features.len() {
        assert_eq!(ordered(&features).expect("no contradiction"), expected);
        features.rotate_left(1);
    }
    let contradiction = [of("policer", Phase::Policy).before(&["list-b"]), of("list-b", Phase::Filter)];
    let error = ordered(&contradiction).expect_err("a later phase cannot come before");
    assert!(matches!(error, GraphError::Cycle { arc: "middle", .. }), "{error}");
    assert!(error.to_string().contains("choose another phase"), "{error}");
}
