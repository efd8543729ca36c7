//! Policers: meter packets against rates (RFC 2697, RFC 2698, RFC 4115) and decide about those beyond. Other rooms use
//! them: this one has no nodes.
//!
//! - [`bucket`]: one token bucket, which all workers take from. [`meter`]: two of them, and what they say of a packet.
//! - [`mark`]: a packet's DSCP.
//! - [`config`]: the objects of kind `policers`; [`policers`]: those that there are, by their numbers. `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

pub mod api;
pub mod bucket;
mod command;
pub mod config;
pub mod mark;
pub mod meter;
pub mod policers;

pub use config::{Policer, PolicerName};
pub use meter::{Color, Meters, Police};
pub use policers::Policers;

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};

/// Registers the room.
pub fn register(control: &Control) {
    policers::register(control);
    control.objects().add(Kind::new(policers::apply).check(config::check));
    control.commands().add_kind(ArgumentKind::of::<PolicerName>());
    command::register(control);
    api::register(control);
}
