//! Hop floors: packets that have come too many hops are dropped where they are received (RFC 5082).
//!
//! - [`config`]: the objects of kinds `hop-floors` and `ip6-hop-floors`. [`node`]: the nodes, features of the arcs in front of the
//!   lookups. `command`: the command line.
#![forbid(unsafe_code)]

mod command;
pub mod config;
pub mod node;

pub use config::HopFloor;

use quiver_control::Control;
use quiver_engine::{DataplaneError, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, feature};
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::Floored;
use crate::node::CheckHops;

/// Registers the room. IP is registered before.
///
/// # Errors
/// If a node of these names is there already.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    Ok(())
}

fn register_family<F: Floored>(control: &Control) -> Result<(), DataplaneError> {
    let words = FeatureSettings::new(control);
    let stage = CheckHops::<F>::new(words.of(Direction::Rx));
    let node = NodeSpec::stage(move |_| stage.clone()).describe(describe::<F>);
    feature::register::<HopFloor<F>>(control, words, [node])
}
