//! Unicast reverse path forwarding (RFC 3704): drops packets whose source address has no route, or a route by another
//! interface.
//!
//! - [`node`]: the nodes, features of the arcs in front of the lookups and of those behind the rewrites; [`ways`]: where the ways to a
//!   sender lead.
//! - [`config`]: the objects of kinds `reverse-path-checks` and `ip6-reverse-path-checks`; `command`: the command line;
//!   `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;
pub mod ways;

pub use config::{Mode, ReversePathCheck};
pub use quiver_interface::Direction;

use quiver_control::Control;
use quiver_engine::{DataplaneError, NodeSpec};
use quiver_interface::{FeatureSettings, feature};
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::Checked;
use crate::node::ReversePath;
use crate::ways::CheckTables;

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

/// Registers the nodes and objects of a family.
fn register_family<F: Checked>(control: &Control) -> Result<(), DataplaneError> {
    let words = FeatureSettings::new(control);
    let [received, sent] = Direction::ALL.map(|direction| CheckTables::<F>::new(control, words.of(direction)));
    let nodes = [
        spec::<F, false, false>(&received),
        spec::<F, false, true>(&received),
        spec::<F, true, false>(&sent),
        spec::<F, true, true>(&sent),
    ];
    feature::register::<ReversePathCheck<F>>(control, words, nodes)
}

fn spec<F: Checked, const SENT: bool, const STRICT: bool>(ways: &CheckTables<F>) -> NodeSpec {
    let stage = ReversePath::<F, SENT, STRICT>(ways.clone());
    NodeSpec::stage(move |_| stage.clone()).describe(node::describer(SENT, describe::<F>))
}
