//! Access control lists: ordered rules, of which the first match permits or denies a packet. Interfaces check received
//! and sent packets by them, and other rooms use them.
//!
//! - [`rule`]: a rule, and what it looks at of a packet; [`lanes`]: the same of eight packets at once. [`prefix`], [`range`], [`part`]:
//!   words of rules.
//! - [`space`]: lists with many rules, on [`tuples`], where the first of many patterns is found.
//! - [`config`]: the objects of kind `acls`; [`lists`]: the lists as workers have them, with the counters of rules.
//! - [`interface`]: objects of kind `acl-interfaces`, which say where lists hold; [`node`]: the nodes that ask them.
//! - [`ethertype`]: objects of kind `acl-ethertypes`; [`ethertype_node`]: the nodes that ask them.
//! - [`macip`]: lists of stations and their addresses.
//! - `text`, `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod ethertype;
pub mod ethertype_node;
pub mod interface;
pub mod lanes;
pub mod lists;
pub mod macip;
pub mod node;
pub mod part;
pub mod prefix;
pub mod range;
pub mod rule;
mod said;
pub mod space;
pub mod text;
pub mod tuples;

pub use config::{Acl, AclNumber};
pub use interface::AclInterface;
pub use lanes::{FieldLanes, List, Ruled};
pub use lists::{Acls, Lists};
pub use rule::{Action, Fields, Rule};

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, MetadataKey, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, feature};
use quiver_ip::upper::{self, Upper};
use quiver_wire::{V4, V6};

use ethertype::{AclEthertypes, EtherTypeNumber};
use ethertype_node::CheckEthertype;
use node::{Bridged, Check, Look, Routed};

/// Bytes that a list takes, about, and each of its rules with its counters and what nodes check packets against.
const LIST: u64 = 2048;
const RULE: u64 = 640;

/// Bytes of the memory budget that a list takes: those of a list with many rules have rows of tuples, for whole packets and later
/// fragments of both families.
fn memory(acl: &Acl) -> u64 {
    let rules = acl.rules.len();
    let rows = if rules > space::LINEAR_MAX { 4 * tuples::rows_bytes(rules, space::masks(&acl.rules)) } else { 0 };
    LIST + RULE * rules as u64 + rows as u64
}

/// Registers the room. Bridges and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (room, attached) = (Acls::new(&control.room::<Dataplane>()), FeatureSettings::<AclInterface>::new(control));
    let upper = upper::key(control);
    let nodes = [
        check::<Routed<V4>, false>(&room, &attached, upper),
        check::<Routed<V6>, false>(&room, &attached, upper),
        check::<Bridged, false>(&room, &attached, upper),
        check::<Routed<V4>, true>(&room, &attached, upper),
        check::<Routed<V6>, true>(&room, &attached, upper),
        check::<Bridged, true>(&room, &attached, upper),
    ];
    control.insert_room(room);
    let kind = Kind::new(config::apply).check(config::check);
    control.objects().add(kind.memory(memory));
    feature::register(control, attached, nodes)?;
    control.objects().add(Kind::new(config::apply_settings).check(config::check_settings));
    let passing = FeatureSettings::<AclEthertypes>::new(control);
    let (received, sent) = (passing.of(Direction::Rx), passing.of(Direction::Tx));
    let received = NodeSpec::stage(move |_| CheckEthertype::<false>::new(received.clone()));
    let sent = NodeSpec::stage(move |_| CheckEthertype::<true>::new(sent.clone()));
    feature::register(control, passing, [received, sent])?;
    control.commands().add_kind(ArgumentKind::of::<AclNumber>());
    control.commands().add_kind(ArgumentKind::of::<EtherTypeNumber>());
    command::register(control);
    api::register(control);
    macip::register(control)
}

/// A node that asks the lists of interfaces.
fn check<L: Look, const SENT: bool>(
    room: &Acls,
    attached: &FeatureSettings<AclInterface>,
    upper: MetadataKey<Upper>,
) -> NodeSpec {
    let direction = if SENT { Direction::Tx } else { Direction::Rx };
    let check = Check::<L, SENT>::new(attached.of(direction), room.lists(), upper);
    NodeSpec::stage(move |seed| check.of(seed.worker))
}
