//! An address under detection, and its state.

use std::net::Ipv6Addr;

use quiver_interface::InterfaceId;

/// State of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Others are being asked.
    Tentative,
    /// No other host uses the address.
    Preferred,
    /// Another host uses the address.
    Duplicate,
}

/// An address on a link.
pub type Address = (InterfaceId, Ipv6Addr);
