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
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Direction, Words, feature};
use quiver_wire::{V4, V6};

use node::{Bridged, Check, Look, Routed};

/// Registers the room. Bridges and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (room, attached) = (Acls::new(control.room::<Dataplane>().domain()), Words::<AclInterface>::new(control));
    let nodes = [
        check::<Routed<V4>, false>(&room, &attached),
        check::<Routed<V6>, false>(&room, &attached),
        check::<Bridged, false>(&room, &attached),
        check::<Routed<V4>, true>(&room, &attached),
        check::<Routed<V6>, true>(&room, &attached),
        check::<Bridged, true>(&room, &attached),
    ];
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply).check(config::check));
    feature::register(control, attached, nodes)?;
    control.commands().add_kind(ArgumentKind::of::<AclNumber>());
    command::register(control);
    api::register(control);
    Ok(())
}

/// A node that asks the lists of interfaces.
fn check<L: Look, const SENT: bool>(room: &Acls, attached: &Words<AclInterface>) -> NodeSpec {
    let direction = if SENT { Direction::Tx } else { Direction::Rx };
    let check = Check::<L, SENT>::new(attached.of(direction), room.lists());
    NodeSpec::stage(move |_| check.clone())
}
