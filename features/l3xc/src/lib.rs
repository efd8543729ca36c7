//! Layer 3 cross-connect: packets that an interface receives take given paths, regardless of their destinations.
//!
//! - [`node`]: the nodes `l3xc-input-ip4` and `l3xc-input-ip6`, features of the arcs in front of the lookups.
//! - [`config`]: the objects of kinds `l3-cross-connects` and `ip6-l3-cross-connects`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;

pub use config::L3CrossConnect;

use quiver_control::Control;
use quiver_engine::{DataplaneError, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, Undecided, feature, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::Connected;
use crate::node::L3Xc;

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Connected>(control: &Control) -> Result<(), DataplaneError> {
    let words = FeatureSettings::new(control);
    let rows = control.room::<Ip<F>>().fib.groups.snapshot();
    let stage = L3Xc::<F>::new(words.of(Direction::Rx), rows);
    let node = NodeSpec::stage(move |_| stage.clone()).describe(describe::<F>);
    feature::register::<L3CrossConnect<F>>(control, words, [node])?;
    undecided(control, F::NODE, Undecided::Packet, &["link-layer-broadcast"]);
    Ok(())
}
