//! A feature of a room of its own: limits, by a table, of what interfaces receive and send.

use quiver_control::Object;
use quiver_engine::tx::OUTPUT;
use quiver_engine::{Context, FeatureArcSpec, Frame, Node, Phase, Settings, Side, arcs};
use quiver_testkit::executor::Executor;

use super::*;
use crate::api::{details_at, dump};
use crate::dummies;

/// A limit.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "limits")]
struct Limit {
    /// The interface.
    #[key]
    interface: InterfaceName,
    /// The most that it receives; 0 is refused.
    rx: Option<u16>,
    /// The most that it sends; 0 is refused.
    tx: Option<u16>,
    /// Whether the other node is meant.
    #[default(false)]
    strict: bool,
}

/// Words that workers are not given any more.
#[derive(Default)]
struct Released(Vec<u16>);

impl Limit {
    fn of(&self, direction: Direction) -> Option<u16> {
        if direction == Direction::Rx { self.rx } else { self.tx }
    }
}

impl InterfaceFeature for Limit {
    type Setting = u16;
    const NODES: &'static [FeatureNode] = &[
        FeatureNode::new(Direction::Rx, FeatureSpec::new("test-input", "limit-rx", Phase::Filter))
            .also_called(&[("too-much", "Limit Drop")])
            .known_as("vpp-limit"),
        FeatureNode::new(Direction::Rx, FeatureSpec::new("test-input", "limit-rx-strict", Phase::Filter)),
        FeatureNode::new(Direction::Tx, FeatureSpec::new(OUTPUT, "limit-tx", Phase::Filter)),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        let is_meant = node.direction == Direction::Tx || self.strict == node.spec.node.ends_with("-strict");
        is_meant && self.of(node.direction).is_some()
    }
    fn word(&self, _: &Control, direction: Direction) -> Result<u16, ObjectError> {
        let word = self.of(direction).filter(|limit| *limit > 0);
        word.ok_or_else(|| ObjectError::field(direction.to_string(), "nothing would pass"))
    }
    fn check(&self) -> Result<(), ObjectError> {
        match self.rx.or(self.tx) {
            Some(_) => Ok(()),
            None => Err(ObjectError::whole("nothing is limited")),
        }
    }
    fn release(control: &Control, word: u16) {
        control.room_mut::<Released>().0.push(word);
    }
}

arcs! {
    enum Next {
        Pass => next_feature,
        TooMuch => drop "too-much",
    }
}
arcs! {
    enum End {
        Gone => drop "gone",
    }
}

struct Idle;
impl Node for Idle {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

fn house() -> Control {
    let control = Executor::new(1).control();
    let settings = Settings { buffers: 64, ..Settings::default() };
    control.insert_room(Dataplane::new(settings).expect("a data plane"));
    crate::register(&control).expect("new");
    dummies::register(&control);
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new("test-end", End::ARCS, |_| Idle)).expect("new");
        graph.feature_arc(FeatureArcSpec { name: "test-input", end: "test-end", side: Side::Rx }).expect("new");
    }
    control.insert_room(Released::default());
    let nodes = Limit::NODES.iter().map(|node| NodeSpec::new(node.spec.node, Next::ARCS, |_| Idle));
    register::<Limit>(&control, FeatureSettings::new(&control), nodes).expect("new");
    for name in ["dummy0", "dummy1"] {
        control.put(dummies::Dummy::new(name.into())).expect("a new name");
    }
    control
}

fn limit(interface: &str, rx: Option<u16>, tx: Option<u16>, strict: bool) -> Limit {
    Limit { interface: InterfaceName(interface.into()), rx, tx, strict }
}

/// The nodes that are enabled, with interfaces.
fn enabled(control: &Control) -> Vec<(&'static str, u32)> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let features = graph.feature_arcs().flat_map(|(_, features)| features);
    let each = features.flat_map(|(spec, place)| {
        let on = std::iter::successors(graph.enabled_behind(place, None), move |last| {
            graph.enabled_behind(place, Some(*last))
        });
        on.map(|interface| (spec.node, interface))
    });
    let mut each: Vec<_> = each.filter(|(node, _)| node.starts_with("limit-")).collect();
    each.sort_unstable();
    each
}

fn words(control: &Control, interface: u32) -> [u16; 2] {
    Direction::ALL.map(|direction| *control.room::<FeatureSettings<Limit>>().at(direction, InterfaceId(interface)))
}

#[test]
fn objects_enable_their_nodes_and_set_their_words() {
    let control = house();
    control.put(limit("dummy1", Some(7), None, false)).expect("received packets");
    assert_eq!((enabled(&control), words(&control, 2)), (vec![("limit-rx", 2)], [7, 0]));
    control.put(limit("dummy1", Some(8), Some(9), true)).expect("the other node, and sent packets");
    assert_eq!((enabled(&control), words(&control, 2)), (vec![("limit-rx-strict", 2), ("limit-tx", 2)], [8, 9]));
    control.put(limit("dummy0", None, Some(1), false)).expect("another interface");
    control.put(limit("dummy1", None, Some(9), true)).expect("sent packets alone");
    assert_eq!((enabled(&control), words(&control, 2)), (vec![("limit-tx", 1), ("limit-tx", 2)], [0, 9]));
    control.assign::<Limit>(&InterfaceName("dummy1".into()), None).expect("it is there");
    control.assign::<Limit>(&InterfaceName("dummy1".into()), None).expect("it may be gone");
    assert_eq!((enabled(&control), words(&control, 2)), (vec![("limit-tx", 1)], [0, 0]));
    assert_eq!(control.room::<Released>().0, [0, 7, 0, 0, 9, 8, 9]);
}

#[test]
fn what_is_refused_changes_nothing() {
    let control = house();
    control.put(limit("dummy0", Some(7), None, false)).expect("right");
    let before = (enabled(&control), words(&control, 1));
    assert!(control.put(limit("dummy0", None, None, false)).is_err(), "it limits nothing");
    assert!(control.put(limit("dummy0", Some(8), Some(0), false)).is_err(), "a word cannot be made");
    assert_eq!((enabled(&control), words(&control, 1)), before);
    assert!(control.put(limit("dummy9", Some(7), None, false)).is_err(), "there is no such interface");
}

#[test]
fn counters_deciders_and_dumps_come_from_the_declaration() {
    let control = house();
    let names: Vec<String> = control.room::<Dataplane>().other_names().iter().map(|other| other.name.clone()).collect();
    assert_eq!(names, ["vpp-limit/Limit Drop"]);
    let node = control.room::<Dataplane>().graph().find("limit-tx").expect("registered");
    assert!(crate::has_decider(&control, node));
    control.put(limit("dummy1", Some(7), Some(9), false)).expect("both");
    control.put(limit("dummy0", None, Some(1), false)).expect("one");
    let all = |index| {
        let details = |_: &Control, id: InterfaceId, limit: &Limit| (id.0, limit.tx);
        let all = dump(&control, quiver_compat::types::InterfaceIndex(index), move |control, id, name| {
            details_at(control, (id, &name), details)
        });
        all.flatten().collect::<Vec<_>>()
    };
    assert_eq!(all(quiver_compat::types::NONE), [(1, Some(1)), (2, Some(9))]);
    assert_eq!((all(2), all(0), all(70_000)), (vec![(2, Some(9))], vec![], vec![]));
}

#[test]
#[should_panic(expected = "`stray` is not among the nodes of limits")]
fn a_node_that_is_not_declared_is_named() {
    let control = house();
    place::<Limit>(&control, "stray").expect("it panics");
}
