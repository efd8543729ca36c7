//! `ip6-unicast-nd-proxy`, `ip6-multicast-nd-proxy`: on interfaces with a proxy, solicitations for other hosts go to
//! `ip6-local` as if they were for us, and control answers them. All other packets pass.
//!
//! So a host may have an address of ours on its end of an interface that is unnumbered, and speak by it to our links.

use std::net::Ipv6Addr;

use quiver_control::{Control, ObjectError};
use quiver_engine::{Context, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Phase, arcs};
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::node::describe;
use quiver_ip::{Family, Ip6};
use quiver_neighbor::{Question, seek};
use quiver_wire::{Icmp6Type, IpProtocol, V6};

use crate::on_link::is_here;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        /// A solicitation.
        Asked => features "ip6-local",
    }
}

/// The kind of the interfaces that answer for all.
pub const PROXIES: &str = "nd-proxies";

/// The feature arcs, with their nodes.
const NODES: [(&str, &str); 2] = [("ip6-unicast", "ip6-unicast-nd-proxy"), ("ip6-multicast", "ip6-multicast-nd-proxy")];

/// The nodes.
#[derive(Clone, Copy, Debug)]
pub struct Solicitations;

impl Node for Solicitations {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            if is_solicitation(frame.bytes(cx.pool, i)) {
                frame.next[i] = Next::Asked.into();
            }
        }
    }
}

/// Whether a packet looks like a solicitation of a neighbour; `nd-input` looks closer.
fn is_solicitation(packet: &[u8]) -> bool {
    let message = V6::payload(packet).filter(|payload| payload.protocol == IpProtocol::ICMP6);
    let kind = message.and_then(|payload| packet.get(payload.offset));
    kind.is_some_and(|kind| Icmp6Type(*kind) == Icmp6Type::NEIGHBOR_SOLICITATION)
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    for (arc, node) in NODES {
        graph.node(NodeSpec::new(node, Next::ARCS, |_| Solicitations).describe(describe::<V6>))?;
        // Before forwarding: no route leads to the groups by which neighbors are asked for.
        graph.feature(FeatureSpec::new(arc, node, Phase::Policy))?;
    }
    drop(dataplane);
    for (_, node) in NODES {
        decides(control, node, |control, record| {
            let interface = control.room::<Interfaces>().name(InterfaceId(record.rx));
            Some(format!("{PROXIES} {interface}"))
        });
    }
    Ok(())
}

pub(crate) fn set(control: &Control, id: InterfaceId, on: bool) -> Result<(), ObjectError> {
    let mut dataplane = control.room_mut::<Dataplane>();
    NODES.iter().try_for_each(|(arc, node)| {
        dataplane.enable(arc, node, id.0, on).map_err(|error| ObjectError::whole(error.to_string()))
    })
}

/// Whether a request is answered. A resolution is answered at once. A reachability probe is answered only after the
/// target was heard on its own link, where it is asked for meanwhile.
pub(crate) fn is_answered(control: &Control, id: InterfaceId, question: &Question<V6>) -> bool {
    let target = question.target;
    if V6::is_link_local(target) {
        return false;
    }
    if !question.of_itself {
        return true;
    }
    let Some(link) = link_of(control, id, target) else { return false };
    let is_known = is_here::<V6>(control, (link, target));
    if !is_known {
        seek::<V6>(control, (link, target));
    }
    is_known
}

/// The other interface whose subnet holds an address.
fn link_of(control: &Control, id: InterfaceId, address: Ipv6Addr) -> Option<InterfaceId> {
    let ip = control.room::<Ip6>();
    ip.subnet_of(ip.table_of(id), address).filter(|link| *link != id)
}
