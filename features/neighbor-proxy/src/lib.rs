//! Proxies: questions of a link about hosts that are elsewhere are answered as if they were here, so that their packets come to
//! us (RFC 1027; RFC 4861, 7.2.8; RFC 4389).
//!
//! - [`interface`]: the interfaces on which others are answered for, of both families.
//! - [`ranges`]: of IPv4, for whom. [`mirror`]: of IPv6, for everybody: nodes that hear questions which are not for us.
//! - [`hosts`]: of IPv6, single hosts that are on a link to whose subnet they do not belong.
//! - `on_link`: who answers for itself. `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod hosts;
pub mod interface;
pub mod mirror;
mod on_link;
pub mod ranges;

pub use hosts::ProxiedHost;
pub use interface::NeighborProxy;
pub use ranges::ArpProxyRange;

use quiver_control::Control;
use quiver_engine::DataplaneError;
use quiver_wire::{V4, V6};

/// Registers the room. Those of IP, neighbours and multicast listeners are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    mirror::register(control)?;
    interface::register::<V4>(control);
    interface::register::<V6>(control);
    ranges::register(control);
    hosts::register(control);
    command::register(control);
    api::register(control);
    Ok(())
}
