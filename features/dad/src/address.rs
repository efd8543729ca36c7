//! An address that is looked at, and what is known of it.

use std::net::Ipv6Addr;

use quiver_interface::InterfaceId;

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Others are being asked.
    Tentative,
    /// Nobody else has it.
    Preferred,
    /// Somebody else has it.
    Duplicate,
}

/// An address on a link.
pub type Address = (InterfaceId, Ipv6Addr);
