//! Registration of the room, and of kinds of next hops: from configuration up to the command line and VPP's API.

use quiver_control::Control;
use quiver_wire::{V4, V6};

use crate::config::error::IpError;
use crate::config::next_hops;
use crate::fib::kind::NextHopKind;
use crate::{api, command, config};

/// Registers nodes, objects, commands and messages, and follows the interfaces.
pub fn register(control: &Control) -> Result<(), IpError> {
    config::register(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

/// Registers a kind of next hop: paths of both families can lead there, in commands by the kind's name.
///
/// # Errors
/// If there is one of that name or path type already, or the data plane runs.
pub fn register_kind(control: &Control, spec: &'static NextHopKind) -> Result<(), IpError> {
    next_hops::register::<V4>(control, spec, spec.nodes[0])?;
    next_hops::register::<V6>(control, spec, spec.nodes[1])?;
    command::add_kind(control, spec);
    Ok(())
}
