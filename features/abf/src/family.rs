//! What differs between IPv4 and IPv6.

use quiver_acl::Ruled;
use quiver_wire::{V4, V6};

/// A family whose packets can be forwarded by lists.
pub trait Forwarded: Ruled {
    /// The kind of its policies.
    const POLICIES: &'static str;
    /// The kind of their attachments.
    const ATTACHMENTS: &'static str;
    /// The node, a feature of the arc in front of the lookup.
    const NODE: &'static str;
}

impl Forwarded for V4 {
    const POLICIES: &'static str = "abf-policies";
    const ATTACHMENTS: &'static str = "abf-attachments";
    const NODE: &'static str = "abf-input-ip4";
}

impl Forwarded for V6 {
    const POLICIES: &'static str = "ip6-abf-policies";
    const ATTACHMENTS: &'static str = "ip6-abf-attachments";
    const NODE: &'static str = "abf-input-ip6";
}
