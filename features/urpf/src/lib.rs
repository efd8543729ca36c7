//! Unicast reverse path forwarding (RFC 3704): packets whose senders' addresses lead nowhere, or elsewhere, are dropped.
//!
//! - [`node`]: the nodes, features of the arcs in front of the lookups and of those behind the rewrites.
//! - [`config`]: the objects of kinds `reverse-path-checks` and `ip6-reverse-path-checks`; `command`: the command line;
//!   `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;

pub use config::{Direction, Mode, ReversePathCheck};

use quiver_control::{Control, Kind};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec};
use quiver_interface::deciding::Decider;
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::{Checked, Checks};
use crate::node::{Next, ReversePath};

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

fn register_family<F: Checked>(control: &Control) -> Result<(), DataplaneError> {
    let room = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let room = Checks::<F>::new(dataplane.domain());
        let ip = control.room::<Ip<F>>();
        for direction in Direction::ALL {
            for mode in Mode::ALL {
                let node = ReversePath::<F> {
                    direction,
                    mode,
                    ingress: ip.ingress(),
                    groups: ip.fib.groups.snapshot(),
                    adjacencies: ip.fib.adjacencies.snapshot(),
                    tables: room.tables(direction),
                };
                let (arc, name) = (config::arc::<F>(direction), config::node::<F>(direction, mode));
                let graph = dataplane.blueprint();
                let spec = NodeSpec::new(name, Next::ARCS, move |_| node.clone());
                graph.node(spec.describe(node::describer(direction, describe::<F>)))?;
                graph.feature(FeatureSpec { arc, node: name, before: &[], after: &[] })?;
                let arc = Next::ARCS[Next::NoWayBack as usize].name;
                dataplane.also_called((name, arc), &format!("{name}/{DROPPED}"))?;
            }
        }
        room
    };
    for (direction, decider) in
        [(Direction::Rx, check_of_received::<F> as Decider), (Direction::Tx, check_of_sent::<F>)]
    {
        Mode::ALL.iter().for_each(|mode| decides(control, config::node::<F>(direction, *mode), decider));
    }
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>));
    Ok(())
}

fn check_of_received<F: Checked>(control: &Control, record: &Record) -> Option<String> {
    Some(check_of::<F>(control, Direction::Rx, record.rx))
}

fn check_of_sent<F: Checked>(control: &Control, record: &Record) -> Option<String> {
    Some(check_of::<F>(control, Direction::Tx, record.tx))
}

/// The object that has an interface checked.
fn check_of<F: Checked>(control: &Control, direction: Direction, interface: u16) -> String {
    format!("{} {} {direction}", F::KIND, control.room::<Interfaces>().name(InterfaceId(interface)))
}
