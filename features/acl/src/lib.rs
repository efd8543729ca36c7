//! Access control lists: ordered rules, of which the first match permits or denies a packet. Interfaces check received
//! and sent packets by them, and other rooms use them.
//!
//! - [`rule`]: a rule, and what it looks at of a packet; [`lanes`]: the same of eight packets at once. [`prefix`], [`range`], [`part`]:
//!   words of rules.
//! - [`rules`]: the rules of a list, compiled aside from control. [`space`]: lists with many rules, on [`tuples`], where the first of many patterns is found.
//! - [`config`]: the objects of kinds `acls` and `acl-interfaces`, which say where lists hold, and settings; `configured`: their changes;
//!   [`lists`]: the lists as workers have them, with the counters of rules.
//! - [`interface`]: the features of interfaces; [`node`]: the nodes that ask the lists; [`look`]: how they see packets.
//! - [`flow`]: keys of the sessions that rules begin; [`sessions`]: how nodes find and begin them; [`reflect`]: which interfaces have any;
//!   `ends`: how they end when lists change.
//! - [`ethertype`]: objects of kind `acl-ethertypes`; [`ethertype_node`]: the nodes that ask them.
//! - [`service`]: lists of session tenants.
//! - [`macip`]: lists of stations and their addresses.
//! - `text`, `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
mod configured;
mod ends;
pub mod ethertype;
pub mod ethertype_node;
pub mod flow;
pub mod interface;
pub mod lanes;
pub mod lists;
pub mod look;
pub mod macip;
pub mod node;
pub mod part;
pub mod prefix;
pub mod range;
pub mod reflect;
pub mod rule;
pub mod rules;
mod said;
pub mod service;
pub mod sessions;
pub mod space;
pub mod text;
pub mod tuples;

pub use config::{Acl, AclInterface, AclNumber};
pub use lanes::{FieldLanes, List, Ruled};
pub use lists::{Acls, Lists};
pub use rule::{Action, Fields, Rule};
pub use rules::Rules;

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, MetadataKey, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, InterfaceFeature, Undecided, feature, undecided};
use quiver_ip::upper::{self, Upper};
use quiver_session::SessionError;
use quiver_wire::{V4, V6};

use ethertype::{AclEthertypes, EtherTypeNumber};
use ethertype_node::CheckEthertype;
use look::{Bridged, Look, Routed};
use node::Check;
use reflect::Reflecting;
use sessions::Sessions;

/// Bytes that a list takes, about, and each of its rules with its counters and what nodes check packets against.
const LIST: u64 = 2048;
const RULE: u64 = 640;

/// Bytes of the memory budget that a list takes: those of a list with many rules have rows of tuples, for whole packets and later
/// fragments of both families.
fn memory(acl: &Acl) -> u64 {
    LIST + RULE * acl.rules.len() as u64 + acl.rules.rows_bytes() as u64
}

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum AclError {
    /// The data plane refuses a node.
    #[error(transparent)]
    Dataplane(#[from] DataplaneError),
    /// The room of sessions has no place for those of lists.
    #[error(transparent)]
    Reflect(#[from] reflect::ReflectError),
    /// The room of sessions refuses the service.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Registers the room. Bridges, IP and sessions are registered before.
///
/// # Errors
/// If a name is taken.
pub fn register(control: &Control) -> Result<(), AclError> {
    let (reads, begun) = (quiver_session::reads(control), quiver_session::translation::begun(control));
    let sessions = Sessions::new(reads, begun, Reflecting::register(control)?);
    let (room, attached) = (Acls::new(&control.room::<Dataplane>()), FeatureSettings::<AclInterface>::new(control));
    let upper = upper::key(control);
    let nodes = [
        check::<Routed<V4>, false>(&room, &attached, (upper, &sessions)),
        check::<Routed<V6>, false>(&room, &attached, (upper, &sessions)),
        check::<Bridged, false>(&room, &attached, (upper, &sessions)),
        check::<Routed<V4>, true>(&room, &attached, (upper, &sessions)),
        check::<Routed<V6>, true>(&room, &attached, (upper, &sessions)),
        check::<Bridged, true>(&room, &attached, (upper, &sessions)),
    ];
    control.insert_room(room);
    let kind = Kind::new(configured::apply).check(config::check).memory(memory);
    control.objects().add(kind.prepare(|control, acl: &Acl| acl.rules.compile(control)));
    feature::register(control, attached, nodes)?;
    for feature in <AclInterface as InterfaceFeature>::NODES {
        undecided(control, feature.spec.node, Undecided::Load, &["session-table-full"]);
    }
    control.objects().add(Kind::new(configured::apply_settings).check(config::check_settings));
    let passing = FeatureSettings::<AclEthertypes>::new(control);
    let (received, sent) = (passing.of(Direction::Rx), passing.of(Direction::Tx));
    let received = NodeSpec::stage(move |_| CheckEthertype::<false>::new(received.clone()));
    let sent = NodeSpec::stage(move |_| CheckEthertype::<true>::new(sent.clone()));
    feature::register(control, passing, [received, sent])?;
    control.commands().add_kind(ArgumentKind::of::<AclNumber>());
    control.commands().add_kind(ArgumentKind::of::<EtherTypeNumber>());
    command::register(control);
    api::register(control);
    macip::register(control)?;
    service::register(control, upper)?;
    Ok(())
}

/// A node that asks the lists of interfaces.
fn check<L: Look, const SENT: bool>(
    room: &Acls,
    attached: &FeatureSettings<AclInterface>,
    (upper, sessions): (MetadataKey<Upper>, &Sessions),
) -> NodeSpec {
    let direction = if SENT { Direction::Tx } else { Direction::Rx };
    let check = Check::<L, SENT>::new(attached.of(direction), room.lists(), upper, sessions.clone());
    NodeSpec::with_slow_path(move |seed| check.of(seed))
}
