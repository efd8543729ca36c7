//! Counters of an interface's frames for one, for a group and for all, apart: `/if/rx-unicast` and so on. They cost a look at
//! each frame, so they are for interfaces of which somebody wants them: there the nodes `cast-counters-rx` and
//! `cast-counters-tx` are features in front of `ethernet-input` and of the interface's own queues.

use std::sync::Arc;

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::{
    Context, Counters, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Phase, Row, arcs,
};
use quiver_interface::{InterfaceName, Interfaces};

use crate::DEVICE_INPUT;

arcs! {
    /// Where frames go.
    pub enum Next {
        Next => next_feature,
    }
}

/// Separate counters of an interface for unicast, multicast and broadcast frames.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "cast-counters")]
pub struct CastCounters {
    /// Name of a hardware interface.
    #[key]
    pub interface: InterfaceName,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Rx,
    Tx,
}

/// Counters of a node: their names at `/if/`, and help.
type Names = [(&'static str, &'static str); 3];

/// The nodes, the arcs that they are on, and their counters: for one station, for a group, for all.
const NODES: [(Side, &str, &str, Names); 2] =
    [(Side::Rx, "cast-counters-rx", DEVICE_INPUT, RECEIVED), (Side::Tx, "cast-counters-tx", "interface-output", SENT)];
const RECEIVED: Names = [
    ("rx-unicast", "{} received for one station, on interfaces with detailed statistics."),
    ("rx-multicast", "{} received for a group of stations, on interfaces with detailed statistics."),
    ("rx-broadcast", "{} received for all stations, on interfaces with detailed statistics."),
];
const SENT: Names = [
    ("tx-unicast", "{} sent to one station, on interfaces with detailed statistics."),
    ("tx-multicast", "{} sent to a group of stations, on interfaces with detailed statistics."),
    ("tx-broadcast", "{} sent to all stations, on interfaces with detailed statistics."),
];

/// A node.
struct Count {
    side: Side,
    /// For one, for a group, for all.
    rows: [Arc<Row>; 3],
}

impl Node for Count {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let interface = match self.side {
                Side::Rx => frame.rx[i],
                Side::Tx => frame.tx[i],
            };
            let cast = match frame.bytes(cx.pool, i).first_chunk::<6>() {
                Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => 2,
                // IEEE 802, 8.2.2: the least bit of the first octet says group.
                Some([first, ..]) if first & 1 == 1 => 1,
                _ => 0,
            };
            self.rows[cast].add(interface, 1, frame.length[i].into());
        }
    }
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    for (side, node, arc, names) in NODES {
        let counters: [Counters; 3] = names.map(|(name, help)| dataplane.add_interface_counters(name, help));
        let made =
            move |seed: quiver_engine::Seed| Count { side, rows: counters.each_ref().map(|of| of.row(seed.worker)) };
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new(node, Next::ARCS, made))?;
        graph.feature(FeatureSpec::new(arc, node, Phase::Device))?;
    }
    drop(dataplane);
    control.objects().add(Kind::new(apply));
    let grammar = "interface collect detailed-stats <interface> (enable|disable)";
    let help = "Enable or disable separate unicast, multicast and broadcast counters of an interface.";
    let command = Command::new(grammar, help, set).arguments_of::<CastCounters>();
    control
        .commands()
        .add(command.argument("enable", "count them separately").argument("disable", "count them together"));
    Ok(())
}

fn apply(control: &Control, change: Change<'_, CastCounters>) -> Result<(), ObjectError> {
    let (name, on) = match change {
        Change::Create(new) => (&new.interface.0, true),
        Change::Update { .. } => return Ok(()),
        Change::Delete(old) => (&old.interface.0, false),
    };
    let id = control.room::<Interfaces>().id_of(name)?.0;
    let mut dataplane = control.room_mut::<Dataplane>();
    if !dataplane.has_port(id) {
        return Err(ObjectError::field("interface", format!("{name} has no queues of its own"))
            .remedy("name the interface that it is a part of"));
    }
    let enabled = NODES.iter().try_for_each(|(_, node, arc, _)| dataplane.enable(arc, node, id, on));
    enabled.map_err(|error| {
        // Half of it is nothing that an object says.
        for (_, node, arc, _) in NODES.iter().filter(|_| on) {
            let _ = dataplane.enable(arc, node, id, false);
        }
        ObjectError::whole(error.to_string())
    })
}

/// Has an interface's frames counted apart, or not.
pub(crate) fn put(control: &Control, interface: InterfaceName, on: bool) -> Result<(), ObjectError> {
    control.assign(&interface.clone(), on.then_some(CastCounters { interface }))
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    put(control, matches.get("interface")?, matches.has("enable"))?;
    Ok(Reply::done())
}
