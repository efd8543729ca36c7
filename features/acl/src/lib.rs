//! Access control lists: ordered rules, the first of which that meets a packet says whether it is permitted. Interfaces check by
//! them what they receive and send, and other rooms ask them.
//!
//! - [`rule`]: a rule, and what it looks at of a packet; [`lanes`]: the same of eight packets at once. [`prefix`], [`range`]: words of
//!   rules.
//! - [`config`]: the objects of kind `acls`; [`interface`]: those of kind `acl-interfaces`, which say where lists hold; [`node`]:
//!   the nodes that ask them. `text`, `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod interface;
pub mod lanes;
pub mod node;
pub mod prefix;
pub mod range;
pub mod rule;
pub mod text;

pub use config::{Acl, AclNumber, Acls, Lists};
pub use interface::AclInterface;
pub use lanes::{FieldLanes, List, Ruled};
pub use rule::{Action, Fields, Rule, decide};

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::deciding::Decider;
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::upper::Upper;
use quiver_wire::{V4, V6};

use interface::{AttachedLists, Direction};
use node::{Bridged, Check, Look, Routed};

/// Registers the room. Bridges and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (room, attached) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (room, attached) = (Acls::new(dataplane.domain()), AttachedLists::new(dataplane.domain()));
        let (input, output) = (attached.of(Direction::Input), attached.of(Direction::Output));
        add(&mut dataplane, Check::<Routed<V4>, false>::new(input.clone(), room.lists()))?;
        add(&mut dataplane, Check::<Routed<V6>, false>::new(input.clone(), room.lists()))?;
        add(&mut dataplane, Check::<Bridged, false>::new(input, room.lists()))?;
        add(&mut dataplane, Check::<Routed<V4>, true>::new(output.clone(), room.lists()))?;
        add(&mut dataplane, Check::<Routed<V6>, true>::new(output.clone(), room.lists()))?;
        add(&mut dataplane, Check::<Bridged, true>::new(output, room.lists()))?;
        (room, attached)
    };
    for direction in Direction::ALL {
        let deciders =
            [decider::<Routed<V4>>(direction), decider::<Routed<V6>>(direction), decider::<Bridged>(direction)];
        for ((_, node), decider) in interface::NODES[direction as usize].into_iter().zip(deciders) {
            decides(control, node, decider);
        }
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

/// Who says what decided at the node of a direction that looks so.
fn decider<L: Look>(direction: Direction) -> Decider {
    match direction {
        Direction::Input => |control, record| Some(rule_of::<L>(control, record, Direction::Input, record.rx)),
        Direction::Output => |control, record| Some(rule_of::<L>(control, record, Direction::Output, record.tx)),
    }
}

/// The rule that a packet meets first, of the lists of an interface; or that interface, if it meets none.
fn rule_of<L: Look>(control: &Control, record: &Record, direction: Direction, interface: u32) -> String {
    let (lists, attached) = (control.room::<Acls>(), control.room::<AttachedLists>());
    let noted = record.note.map(Upper::of_note);
    let fields = L::fields(&record.bytes, direction).ok().flatten().map(|fields| fields.or(noted));
    let first = attached.at(direction, InterfaceId(interface)).iter().find_map(|list| {
        let rules = &lists.current().get(*list as usize)?.as_ref()?.rules;
        let rule = rules.iter().position(|rule| fields.as_ref().is_some_and(|fields| rule.meets(fields)))?;
        Some(format!("acls {list}, rules[{rule}]"))
    });
    let none =
        || format!("acl-interfaces {}, none of its rules", control.room::<Interfaces>().name(InterfaceId(interface)));
    first.unwrap_or_else(none)
}

/// Adds a node.
fn add<L: Look, const SENT: bool>(dataplane: &mut Dataplane, check: Check<L, SENT>) -> Result<(), DataplaneError> {
    let direction = usize::from(SENT);
    let ((arc, node), known) = (interface::NODES[direction][L::PLACE], node::KNOWN[direction][L::PLACE]);
    let graph = dataplane.blueprint();
    graph.node(NodeSpec::stage(move |_| check.clone()))?;
    graph.feature(FeatureSpec::new(arc, node, Phase::Filter))?;
    let denied = node::Next::ARCS[node::Next::Denied as usize].name;
    dataplane.also_called((node, denied), &format!("{known}/ACL deny packets"))
}
