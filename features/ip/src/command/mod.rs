//! The command line: the commands that change addresses, tables and routes, and those that show them.
//!
//! - `routes`, `tables`, `interfaces`, `broadcast`, `flow_hash`, `link_local`, `path_mtu`, `sources`, `special`, `unnumbered`: changes.
//! - [`show`]: addresses, tables and adjacencies; `fib`: routes; `forwarding`: where packets go by a route; `paths`: those of all routes; `groups`: the groups that interfaces
//!   are in.
//! - [`table_word`]: how commands name tables.

mod broadcast;
mod fib;
mod flow_hash;
mod forwarding;
mod groups;
mod interfaces;
mod link_local;
mod path_mtu;
mod paths;
mod routes;
pub mod show;
mod sources;
mod special;
pub mod table_word;
mod tables;
mod unnumbered;

use quiver_control::Control;
use quiver_control::cli::ArgumentKind;
use quiver_wire::{V4, V6};

use crate::config::objects::{LinkLayerBroadcast, NoRoute};
use crate::family::Family;
pub(crate) use routes::add_kind;
pub use routes::paths;

pub(crate) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<NoRoute>());
    control.commands().add_kind(ArgumentKind::of::<LinkLayerBroadcast>());
    table_word::register(control);
    register_family::<V4>(control);
    register_family::<V6>(control);
    interfaces::register(control);
    show::register(control);
    groups::register(control);
    link_local::register(control);
    broadcast::register(control);
    path_mtu::register(control);
    paths::register(control);
    special::register(control);
    sources::register(control);
    flow_hash::register(control);
    unnumbered::register(control);
}

/// The commands of a family. Where both have the same words, the addresses tell which one is meant.
fn register_family<F: Family>(control: &Control) {
    routes::register::<F>(control);
    fib::register::<F>(control);
    tables::register::<F>(control);
    interfaces::register_family::<F>(control);
}
