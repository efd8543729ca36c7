//! TCP MSS clamping: lowers the maximum segment size in SYN segments to a size that the path between the ends carries.
//!
//! - [`segment`]: the option in a TCP header. [`node`]: the nodes, features of the arcs in front of the lookups and of those
//!   behind the rewrites.
//! - [`config`]: the objects of kinds `mss-clamps` and `ip6-mss-clamps`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;
pub mod segment;

pub use config::{Mss, MssClamp, Side};

use quiver_control::Control;
use quiver_engine::{DataplaneError, NodeSpec};
use quiver_interface::{Direction, FeatureSettings, feature};
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::Clamped;
use crate::node::Clamp;

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Clamped>(control: &Control) -> Result<(), DataplaneError> {
    let words = FeatureSettings::new(control);
    let input = Clamp::<F, false>::new(words.of(Direction::Rx));
    let output = Clamp::<F, true>::new(words.of(Direction::Tx));
    let nodes =
        [NodeSpec::stage(move |_| input.clone()).describe(describe::<F>), NodeSpec::stage(move |_| output.clone())];
    feature::register::<MssClamp<F>>(control, words, nodes)
}
