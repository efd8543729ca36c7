//! The rights of a process that need not be root, capabilities(7): which one a step needs, and how quiverd gets it.

use rustix::thread::{CapabilitySet, capabilities};

/// A right that something needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// To make and configure interfaces.
    NetAdmin,
    /// To open packet sockets.
    NetRaw,
    /// To enter another network namespace.
    SysAdmin,
}

impl Capability {
    /// Its name, as capabilities(7) has it.
    pub fn name(self) -> &'static str {
        match self {
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::NetRaw => "CAP_NET_RAW",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
        }
    }

    fn bit(self) -> CapabilitySet {
        match self {
            Capability::NetAdmin => CapabilitySet::NET_ADMIN,
            Capability::NetRaw => CapabilitySet::NET_RAW,
            Capability::SysAdmin => CapabilitySet::SYS_ADMIN,
        }
    }

    /// Whether this thread has it.
    fn is_held(self) -> bool {
        capabilities(None).is_ok_and(|sets| sets.effective.contains(self.bit()))
    }

    /// Remedy after Linux has refused an operation for want of it.
    pub(crate) fn remedy(self) -> String {
        let name = self.name();
        if self.is_held() {
            return format!(
                "quiverd has {name}, but not there: the namespace belongs to another user namespace, or a security module \
                 refuses it (`dmesg`, `journalctl -k`)"
            );
        }
        // `setcap` replaces what a file had: it has to name the others, too.
        let (others, instead) = match self {
            Capability::SysAdmin => (
                ",cap_sys_admin",
                "; or leave the namespace out, and use quiverd's own; or pass a TAP of that namespace to quiverd as a descriptor \
                 (field `descriptor`)",
            ),
            _ => ("", ""),
        };
        format!(
            "quiverd lacks {name}: run it as root, or give it by `AmbientCapabilities={name}` in its systemd unit, or by \
             `setcap cap_net_admin,cap_net_raw{others}+ep` on its program{instead}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_asked_for() {
        for capability in [Capability::NetAdmin, Capability::NetRaw, Capability::SysAdmin] {
            let remedy = capability.remedy();
            assert_eq!(remedy.starts_with("quiverd has"), capability.is_held(), "{remedy}");
            assert!(remedy.contains(capability.name()), "{remedy}");
        }
    }
}
