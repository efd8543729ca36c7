//! Access control lists: ordered rules, the first of which that meets a packet says whether it is permitted. Interfaces check by
//! them what they receive and send, and other rooms ask them.
//!
//! - [`rule`]: a rule, and what it looks at of a packet. [`prefix`], [`range`]: words of rules.
//! - [`config`]: the objects of kind `acls`; [`interface`]: those of kind `acl-interfaces`, which say where lists hold; [`node`]:
//!   the nodes that ask them. `text`, `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod interface;
pub mod node;
pub mod prefix;
pub mod range;
pub mod rule;
pub mod text;

pub use config::{Acl, AclNumber, Acls, Lists};
pub use interface::AclInterface;
pub use rule::{Action, Fields, Rule, decide};

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, Node, NodeSpec};
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_wire::{V4, V6};

use interface::{AttachedLists, Direction};
use node::{Bridged, Check, Look, Routed};

/// Registers the room. Bridges and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (room, attached) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (room, attached) = (Acls::new(dataplane.domain()), AttachedLists::new(dataplane.domain()));
        for direction in Direction::ALL {
            let (of, lists) = (attached.of(direction), room.lists());
            add(&mut dataplane, (direction, 0), Check::<Routed<V4>>::new(direction, of.clone(), lists.clone()))?;
            add(&mut dataplane, (direction, 1), Check::<Routed<V6>>::new(direction, of.clone(), lists.clone()))?;
            add(&mut dataplane, (direction, 2), Check::<Bridged>::new(direction, of, lists))?;
        }
        (room, attached)
    };
    for (_, node) in node::NODES[Direction::Input as usize] {
        decides(control, node, |control, record| Some(lists_of(control, record.rx)));
    }
    for (_, node) in node::NODES[Direction::Output as usize] {
        decides(control, node, |control, record| Some(lists_of(control, record.tx)));
    }
    control.insert_room(room);
    control.insert_room(attached);
    control.objects().add(Kind::new(config::apply).check(config::check));
    control.objects().add(Kind::new(interface::apply).check(interface::check));
    control.commands().add_kind(ArgumentKind::of::<AclNumber>());
    command::register(control);
    api::register(control);
    Ok(())
}

/// The object that has the lists of an interface.
fn lists_of(control: &Control, interface: u16) -> String {
    format!("acl-interfaces {}", control.room::<Interfaces>().name(InterfaceId(interface)))
}

/// Adds the node of a direction and a place among [`node::NODES`].
fn add<L: Look>(
    dataplane: &mut Dataplane,
    (direction, place): (Direction, usize),
    check: Check<L>,
) -> Result<(), DataplaneError>
where
    Check<L>: Node,
{
    let ((arc, node), known) = (node::NODES[direction as usize][place], node::KNOWN[direction as usize][place]);
    let graph = dataplane.blueprint();
    graph.node(NodeSpec::new(node, node::Next::ARCS, move |_| check.clone()))?;
    graph.feature(FeatureSpec { arc, node, before: &[], after: &[] })?;
    let denied = node::Next::ARCS[node::Next::Denied as usize].name;
    dataplane.also_called((node, denied), &format!("{known}/ACL deny packets"))
}
