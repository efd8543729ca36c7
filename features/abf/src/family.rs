//! The differences between IPv4 and IPv6.

use quiver_acl::Ruled;

quiver_ip::of_families! {
    /// A family whose packets can be forwarded by lists.
    pub trait Forwarded: Ruled {
        /// The kind of its policies.
        const POLICIES: &'static str = "abf-policies", "ip6-abf-policies";
        /// The kind of their attachments.
        const ATTACHMENTS: &'static str = "abf-attachments", "ip6-abf-attachments";
        /// The node, a feature of the arc in front of the lookup.
        const NODE: &'static str = "abf-input-ip4", "abf-input-ip6";
    }
}
