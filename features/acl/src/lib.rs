//! Access control lists: ordered rules, the first of which that meets a packet says whether it is permitted. Other rooms ask
//! them: this one has no nodes.
//!
//! - [`rule`]: a rule, and what it looks at of a packet. [`prefix`], [`range`]: words of rules.
//! - [`config`]: the objects of kind `acls`; `text`, `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod prefix;
pub mod range;
pub mod rule;
pub mod text;

pub use config::{Acl, AclNumber, Acls, Lists};
pub use rule::{Action, Fields, Rule, decide};

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::Dataplane;

/// Registers the room.
pub fn register(control: &Control) {
    let room = Acls::new(control.room::<Dataplane>().domain());
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply).check(config::check));
    control.commands().add_kind(ArgumentKind::of::<AclNumber>());
    command::register(control);
    api::register(control);
}
