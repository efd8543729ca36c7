//! VPP's messages about nodes for packets that leave the way of sessions.

use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_engine::Dataplane;

use super::tenant;
use crate::slow_path::{OddPackets, set};

/// Packets that belong to no session.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_sp_node")]
#[repr(u8)]
pub(super) enum SpNode {
    /// IPv4 fragments whose ports are unknown.
    #[default]
    #[value("SFDP_API_SP_NODE_IP4_REASS")]
    Ip4Reassembly = 0,
    /// IPv6 fragments whose ports are unknown.
    #[value("SFDP_API_SP_NODE_IP6_REASS")]
    Ip6Reassembly = 1,
    /// IPv4 packets of protocols without ports.
    #[value("SFDP_API_SP_NODE_IP4_UNKNOWN_PROTO")]
    Ip4UnknownProtocol = 2,
    /// IPv6 packets of protocols without ports.
    #[value("SFDP_API_SP_NODE_IP6_UNKNOWN_PROTO")]
    Ip6UnknownProtocol = 3,
    /// ICMP errors that quote no packet of a session.
    #[value("SFDP_API_SP_NODE_IP4_ICMP4_ERROR")]
    Ip4IcmpError = 4,
    /// The same of ICMPv6.
    #[value("SFDP_API_SP_NODE_IP6_ICMP6_ERROR")]
    Ip6IcmpError = 5,
}

impl From<SpNode> for OddPackets {
    fn from(node: SpNode) -> OddPackets {
        match node {
            SpNode::Ip4Reassembly => OddPackets::Ip4Fragment,
            SpNode::Ip6Reassembly => OddPackets::Ip6Fragment,
            SpNode::Ip4UnknownProtocol => OddPackets::Ip4UnknownProtocol,
            SpNode::Ip6UnknownProtocol => OddPackets::Ip6UnknownProtocol,
            SpNode::Ip4IcmpError => OddPackets::Ip4IcmpError,
            SpNode::Ip6IcmpError => OddPackets::Ip6IcmpError,
        }
    }
}

/// Sets the node to which packets of a tenant go that belong to no session: `drop`, or the lookup of their family.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SfdpSetSpNode {
    pub tenant_id: u32,
    pub sp_node: SpNode,
    pub node_index: u32,
}

/// Sets the node to which ICMP errors about packets of a tenant's sessions go: `drop`, or the lookup of their family.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SfdpSetIcmpErrorNode {
    pub tenant_id: u32,
    pub is_ip6: bool,
    pub node_index: u32,
}

pub(super) fn set_sp_node(control: &Control, request: SfdpSetSpNode) -> Result<(), Refusal> {
    put(control, request.tenant_id, request.sp_node.into(), request.node_index)
}

pub(super) fn set_icmp_error_node(control: &Control, request: SfdpSetIcmpErrorNode) -> Result<(), Refusal> {
    let packets = if request.is_ip6 { OddPackets::Ip6SessionError } else { OddPackets::Ip4SessionError };
    put(control, request.tenant_id, packets, request.node_index)
}

fn put(control: &Control, id: u32, packets: OddPackets, index: u32) -> Result<(), Refusal> {
    let mut tenant = tenant(control, id)?;
    let node = {
        let dataplane = control.room::<Dataplane>();
        let graph = dataplane.graph();
        let unknown = || Refusal::new(Retval::NO_SUCH_NODE, format!("node_index: there is no node {index}"));
        let node = graph.nodes().find(|node| node.index() as u32 == index).ok_or_else(unknown)?;
        graph.name(node)
    };
    set(&mut tenant.slow_path, packets, node);
    Ok(control.put(tenant)?)
}
