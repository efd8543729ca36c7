//! Policies of gateways: hosts inside may open flows, others may not.

use std::net::IpAddr;

use libtest_mimic::Failed;
use serde_json::Value;

use super::site::{Gateway, Link, SERVER};

/// Mapping mode of a NAT pool (RFC 4787, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Each session has an outside end of its own.
    Dependent,
    /// An end inside has one outside end.
    Independent,
}

/// A policy of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Tenants of sessions, whose policy comes first.
    Sessions,
    /// Access lists that reflect.
    Lists,
    /// NAT44 by a pool.
    Nat(Mapping),
}

const SESSIONS: &str = "\
session-tenants:
- {id: 1, context: 4, tcp: strict, forward: [sfdp-tcp-check, sfdp-l4-lifecycle, ip4-lookup], reverse: [sfdp-tcp-check, sfdp-l4-lifecycle, ip4-lookup]}
- {id: 2, context: 4, forward: [sfdp-drop], reverse: [sfdp-drop]}
- {id: 3, context: 6, tcp: strict, forward: [sfdp-tcp-check, sfdp-l4-lifecycle, ip6-lookup], reverse: [sfdp-tcp-check, sfdp-l4-lifecycle, ip6-lookup]}
- {id: 4, context: 6, forward: [sfdp-drop], reverse: [sfdp-drop]}
session-interfaces:
- {interface: lan, tenant: 1}
- {interface: wan, tenant: 2}
ip6-session-interfaces:
- {interface: lan, tenant: 3}
- {interface: wan, tenant: 4}
";

/// Replies pass by their sessions, ICMP errors and neighbor discovery by rules.
const LISTS: &str = "\
acls:
- {id: 0, rules: [{action: permit+reflect}]}
- id: 1
  rules:
  - {protocol: 1, source-ports: 3}
  - {protocol: 1, source-ports: 11}
  - {protocol: 58, source-ports: 1-4}
  - {protocol: 58, source-ports: 135-136}
  - {action: deny}
acl-interfaces:
- {interface: lan, input: [0], output: [1]}
";

/// NAT44 with this mapping to a pool of one address.
fn nat(mapping: Mapping, pool: IpAddr, filtering: &str) -> String {
    let mapping = match mapping {
        Mapping::Dependent => String::new(),
        Mapping::Independent => format!(", mapping: endpoint-independent, filtering: {filtering}"),
    };
    format!(
        "nat44:\n- {{name: default, sessions: 8192}}\n\
         nat44-interfaces:\n- {{interface: lan, inside: true}}\n- {{interface: wan, outside: true}}\n\
         nat44-addresses:\n- {{first: {pool}{mapping}}}\n"
    )
}

impl Policy {
    /// Configures a gateway.
    pub fn apply(self, gateway: &Gateway) -> Result<(), Failed> {
        self.apply_filtering(gateway, "endpoint-independent")
    }

    /// The same, with this filtering of endpoint-independent mappings.
    pub fn apply_filtering(self, gateway: &Gateway, filtering: &str) -> Result<(), Failed> {
        match self {
            Policy::Sessions => gateway.apply(SESSIONS),
            Policy::Lists => gateway.apply(LISTS),
            Policy::Nat(mapping) => gateway.apply(&nat(mapping, gateway.pool(), filtering)),
        }
    }

    /// Link to the hosts of the gateway that has it.
    pub fn link(self) -> Link {
        match self {
            Policy::Sessions | Policy::Nat(Mapping::Dependent) => Link::Tap,
            Policy::Lists | Policy::Nat(Mapping::Independent) => Link::Memif,
        }
    }

    /// Addresses of the server in the families that it is for.
    pub fn servers(self) -> &'static [IpAddr] {
        match self {
            Policy::Nat(_) => &SERVER[..1],
            _ => &SERVER,
        }
    }

    /// Address of the gateway's host as a server sees it.
    pub fn seen(self, gateway: &Gateway, server: IpAddr) -> IpAddr {
        match self {
            Policy::Nat(_) => gateway.pool(),
            _ => gateway.first()[usize::from(server.is_ipv6())],
        }
    }

    /// Node that refuses packets of flows that no host inside has opened, and its reason.
    pub fn refusal(self, server: IpAddr) -> (&'static str, &'static str) {
        match (self, server.is_ipv6()) {
            (Policy::Sessions, false) => ("sfdp-lookup-ip4", "sfdp-drop"),
            (Policy::Sessions, true) => ("sfdp-lookup-ip6", "sfdp-drop"),
            (Policy::Lists, false) => ("acl-output-ip4", "denied"),
            (Policy::Lists, true) => ("acl-output-ip6", "denied"),
            (Policy::Nat(_), _) => ("nat44-ed-input", "no-translation"),
        }
    }

    /// Bytes of a server's sessions at this port so far, of the firewall by tenants of all sessions.
    pub fn counted(self, gateway: &Gateway, server: IpAddr, port: u16) -> Result<u64, Failed> {
        let sum = |rows: &[Value], names: &[&str]| -> u64 {
            rows.iter().flat_map(|row| names.iter().filter_map(|name| row[*name].as_u64())).sum()
        };
        if self == Policy::Sessions {
            // Packets count for the tenant of the interface that receives them.
            let tenants = if server.is_ipv6() { [3, 4] } else { [1, 2] };
            let rows = tenants.map(|tenant| gateway.show(&format!("sfdp tenant {tenant} detail")));
            let [inside, outside] = rows;
            return Ok(sum(&[inside?, outside?], &["incoming-bytes"]));
        }
        let rows = gateway.show(&format!("session address {server} port {port} verbose"))?;
        Ok(sum(rows.as_array().ok_or("rows")?, &["bytes-there", "bytes-back"]))
    }
}
