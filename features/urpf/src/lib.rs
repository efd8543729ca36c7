//! Unicast reverse path forwarding (RFC 3704): packets whose senders' addresses lead nowhere, or elsewhere, are dropped.
//!
//! - [`node`]: the nodes, features of the arcs in front of the lookups and of those behind the rewrites; [`ways`]: where the ways to a
//!   sender lead.
//! - [`config`]: the objects of kinds `reverse-path-checks` and `ip6-reverse-path-checks`; `command`: the command line;
//!   `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;
pub mod ways;

pub use config::{Direction, Mode, ReversePathCheck};

use quiver_control::{Control, Kind};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::deciding::Decider;
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::node::describe;
use quiver_ip::{Ip, crossing};
use quiver_wire::{V4, V6};

use crate::config::{Checked, Checks};
use crate::node::{Next, ReversePath};
use crate::ways::Ways;

/// What VPP's clients know the count of dropped packets by.
const DROPPED: &str = "uRPF Drop";

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

/// Registers what a family has.
fn register_family<F: Checked>(control: &Control) -> Result<(), DataplaneError> {
    let room = Checks::<F>::new(control.room::<Dataplane>().domain());
    let ways = |direction| {
        let (ip, other) = (control.room::<Ip<F>>(), control.room::<Ip<F::Other>>());
        let (groups, adjacencies) = (ip.fib.groups.snapshot(), ip.fib.adjacencies.snapshot());
        let others = (other.fib.groups.snapshot(), other.fib.adjacencies.snapshot());
        let crossings = (crossing::ways::<F>(control), crossing::ways::<F::Other>(control));
        Ways { ingress: ip.ingress(), groups, adjacencies, words: room.words(direction), others, crossings }
    };
    let (received, sent) = (ways(Direction::Rx), ways(Direction::Tx));
    add::<F, false, false>(control, &received)?;
    add::<F, false, true>(control, &received)?;
    add::<F, true, false>(control, &sent)?;
    add::<F, true, true>(control, &sent)?;
    for (direction, decider) in
        [(Direction::Rx, check_of_received::<F> as Decider), (Direction::Tx, check_of_sent::<F>)]
    {
        Mode::ALL.iter().for_each(|mode| decides(control, config::node::<F>(direction, *mode), decider));
    }
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>));
    Ok(())
}

/// Adds a node.
fn add<F: Checked, const SENT: bool, const STRICT: bool>(
    control: &Control,
    ways: &Ways<F>,
) -> Result<(), DataplaneError> {
    let (stage, direction) =
        (ReversePath::<F, SENT, STRICT>(ways.clone()), if SENT { Direction::Tx } else { Direction::Rx });
    let spec = NodeSpec::stage(move |_| stage.clone()).describe(node::describer(direction, describe::<F>));
    let (arc, name) = (config::arc::<F>(direction), spec.name());
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    graph.node(spec)?;
    graph.feature(FeatureSpec::new(arc, name, Phase::AntiSpoof))?;
    let arc = Next::ARCS[Next::NoWayBack as usize].name;
    dataplane.also_called((name, arc), &format!("{name}/{DROPPED}"))
}

fn check_of_received<F: Checked>(control: &Control, record: &Record) -> Option<String> {
    Some(check_of::<F>(control, Direction::Rx, record.rx))
}

fn check_of_sent<F: Checked>(control: &Control, record: &Record) -> Option<String> {
    Some(check_of::<F>(control, Direction::Tx, record.tx))
}

/// The object that has an interface checked.
fn check_of<F: Checked>(control: &Control, direction: Direction, interface: u32) -> String {
    format!("{} {} {direction}", F::KIND, control.room::<Interfaces>().name(InterfaceId(interface)))
}
