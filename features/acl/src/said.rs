//! Fields that the messages about lists of both kinds share.

use quiver_compat::types::Prefix;
use quiver_compat::{Refusal, Retval, Wire};
use quiver_wire::{V4, V6};

use crate::prefix::AnyPrefix;

/// Action of a rule.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AclAction {
    /// Matching packets are denied.
    #[default]
    #[value("ACL_ACTION_API_DENY")]
    Deny = 0,
    /// Matching packets are permitted.
    #[value("ACL_ACTION_API_PERMIT")]
    Permit = 1,
    /// Matching packets and their replies are permitted.
    #[value("ACL_ACTION_API_PERMIT_REFLECT")]
    PermitReflect = 2,
}

/// The refusal of a list that is not there.
pub(crate) fn unknown(id: u32) -> Refusal {
    Refusal::new(Retval::NO_SUCH_ENTRY, format!("acl_index: there is no list {id}"))
}

/// The prefix of a message.
pub(crate) fn any_prefix(prefix: Prefix) -> Result<AnyPrefix, Refusal> {
    match prefix.address.is_ip6() {
        false => prefix.in_family::<V4>().map(AnyPrefix::Ip4),
        true => prefix.in_family::<V6>().map(AnyPrefix::Ip6),
    }
}

/// The same as messages have it. A rule without prefixes matches both families, which VPP's messages cannot say: clients see all of
/// IPv4, or of IPv6.
pub(crate) fn wire_prefix(prefix: Option<AnyPrefix>, is_ip6: bool) -> Prefix {
    match (prefix, is_ip6) {
        (Some(AnyPrefix::Ip4(prefix)), _) => Prefix::from(prefix),
        (Some(AnyPrefix::Ip6(prefix)), _) => Prefix::from(prefix),
        (None, false) => Prefix::from(quiver_wire::Prefix::<V4>::ALL),
        (None, true) => Prefix::from(quiver_wire::Prefix::<V6>::ALL),
    }
}
