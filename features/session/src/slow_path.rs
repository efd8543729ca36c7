//! The slow path: nodes to which packets of a tenant go that belong to no session, or that are ICMP errors about one.
//!
//! Without such a node, packets without a session are dropped, each for its own reason, and ICMP errors about packets of a session go where
//! its chain ends. A node is that of a service that needs no session: the lookup of the packets' family.

use quiver_control::{Control, ObjectError, Record};
use quiver_ip::Family;
use quiver_wire::{V4, V6};

use crate::key::{Format, NoFlow};
use crate::service::{DROP, Services};

quiver_control::choice! {
    /// Packets that leave the way of sessions.
    pub enum OddPackets {
        /// IPv4 fragments whose ports are unknown.
        Ip4Fragment = "ip4-fragment",
        /// IPv6 fragments whose ports are unknown.
        Ip6Fragment = "ip6-fragment",
        /// IPv4 packets of protocols without ports.
        Ip4UnknownProtocol = "ip4-unknown-protocol",
        /// IPv6 packets of protocols without ports.
        Ip6UnknownProtocol = "ip6-unknown-protocol",
        /// ICMP errors that quote no packet of a session.
        Ip4IcmpError = "ip4-icmp-error",
        /// The same of ICMPv6.
        Ip6IcmpError = "ip6-icmp-error",
        /// IPv4 packets that would begin a session in a full table.
        Ip4TableFull = "ip4-table-full",
        /// IPv6 packets that would begin a session in a full table.
        Ip6TableFull = "ip6-table-full",
        /// ICMP errors about packets of a session.
        Ip4SessionError = "ip4-session-error",
        /// The same of ICMPv6.
        Ip6SessionError = "ip6-session-error",
    } as "odd-packets", "ip4- or ip6- with fragment, unknown-protocol, icmp-error, table-full or session-error";
}

/// Kinds of them.
const KINDS: usize = 10;

impl OddPackets {
    fn of(format: Format, [ip4, ip6]: [OddPackets; 2]) -> Option<OddPackets> {
        match format {
            Format::IP4 => Some(ip4),
            Format::IP6 => Some(ip6),
            _ => None,
        }
    }
    /// Packets that have no flow, of keys of this format.
    pub(crate) fn without_flow(format: Format, why: NoFlow) -> Option<OddPackets> {
        let both = match why {
            NoFlow::Fragment => [OddPackets::Ip4Fragment, OddPackets::Ip6Fragment],
            NoFlow::Protocol => [OddPackets::Ip4UnknownProtocol, OddPackets::Ip6UnknownProtocol],
            NoFlow::IcmpError => [OddPackets::Ip4IcmpError, OddPackets::Ip6IcmpError],
            NoFlow::Malformed => return None,
        };
        OddPackets::of(format, both)
    }
    /// Packets that find the table full.
    pub(crate) fn table_full(format: Format) -> Option<OddPackets> {
        OddPackets::of(format, [OddPackets::Ip4TableFull, OddPackets::Ip6TableFull])
    }
    /// ICMP errors about packets of a session.
    pub(crate) fn session_error(format: Format) -> Option<OddPackets> {
        OddPackets::of(format, [OddPackets::Ip4SessionError, OddPackets::Ip6SessionError])
    }
    fn is_ip6(self) -> bool {
        self as usize % 2 == 1
    }
}

/// Node to which some packets of a tenant go.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct SlowPath {
    /// Packets that go there.
    pub packets: OddPackets,
    /// Name of the node: `drop`, or the lookup of the packets' family.
    pub node: String,
}

/// The name of the node that drops packets.
const DROP_NODE: &str = "drop";
/// Its name in VPP.
const VPP_DROP_NODE: &str = "error-drop";

/// Numbers of services to which packets of a tenant go, by kind; None where the room decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowPaths([Option<u8>; KINDS]);

impl SlowPaths {
    /// The service to which packets of a kind go.
    pub(crate) fn service(&self, packets: OddPackets) -> Option<u8> {
        self.0[packets as usize]
    }
    /// The nodes that a tenant names.
    ///
    /// # Errors
    /// If one cannot have such packets, or if some packets have two.
    pub(crate) fn of(control: &Control, named: &[SlowPath]) -> Result<SlowPaths, ObjectError> {
        let mut paths = SlowPaths::default();
        for (place, SlowPath { packets, node }) in named.iter().enumerate() {
            if named[..place].iter().any(|before| before.packets == *packets) {
                let error = ObjectError::field("slow-path", format!("`{packets}` has two nodes"));
                return Err(error.remedy("name one"));
            }
            let lookup = if packets.is_ip6() { V6::NAMES.lookup } else { V4::NAMES.lookup };
            let known = control.room::<Services>().number(lookup).filter(|_| node == lookup);
            paths.0[*packets as usize] = match known {
                Some(service) => Some(service),
                None if node == DROP_NODE => Some(DROP),
                None => {
                    let what = format!("`{packets}`: node `{node}` cannot have packets that belong to no session");
                    return Err(
                        ObjectError::field("slow-path", what).remedy(format!("name `{DROP_NODE}` or `{lookup}`"))
                    );
                }
            };
        }
        Ok(paths)
    }
}

/// Has packets of a kind go to a node, in a tenant's list. What is dropped anyway needs no entry.
pub(crate) fn set(named: &mut Vec<SlowPath>, packets: OddPackets, node: &str) {
    named.retain(|path| path.packets != packets);
    let node = if node == VPP_DROP_NODE { DROP_NODE } else { node };
    let is_error = matches!(packets, OddPackets::Ip4SessionError | OddPackets::Ip6SessionError);
    if is_error || node != DROP_NODE {
        named.push(SlowPath { packets, node: node.to_owned() });
    }
}
