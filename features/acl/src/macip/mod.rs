//! MAC-IP lists: which stations may send from which addresses. An interface has at most one, for received packets.
//!
//! - [`rule`]: rules, and what they compare of a packet; [`config`]: the objects of kind `macip-acls` and
//!   `macip-acl-interfaces`; [`lists`]: the lists as workers have them; [`node`]: the nodes.
//! - `text`, `command`: the command line; `api`: VPP's messages.

mod api;
mod command;
pub mod config;
pub mod lists;
pub mod node;
pub mod rule;
pub mod text;

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, feature};

use config::{MacipInterface, MacipNumber};
use lists::MacipAcls;
use node::{CheckStation, Place};

/// Bytes that a list takes, about, and each of its rules.
const LIST: u64 = 512;
const RULE: u64 = 128;

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    let room = MacipAcls::new(control.room::<Dataplane>().domain());
    let attached = FeatureSettings::<MacipInterface>::new(control);
    let nodes = Place::ALL.map(|place| {
        let check = CheckStation { place, attached: attached.of(Direction::Rx), lists: room.lists() };
        NodeSpec::new(place.node(), node::Next::ARCS, move |_| check.clone())
    });
    control.insert_room(room);
    let kind = Kind::new(config::apply).check(config::check);
    control.objects().add(kind.memory(|acl| LIST + RULE * acl.rules.len() as u64));
    feature::register(control, attached, nodes)?;
    control.commands().add_kind(ArgumentKind::of::<MacipNumber>());
    command::register(control);
    api::register(control);
    Ok(())
}
