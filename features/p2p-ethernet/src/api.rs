//! VPP's messages about point-to-point Ethernet: `p2p_ethernet.api`.

use quiver_compat::types::{IfType, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::Interfaces;
use quiver_interface::api::{details, name};
use quiver_vlan::sub_interface::SubInterfaceName;
use quiver_wire::{MacAddress, UnicastMac};

use crate::config::{KIND, P2pEthernet, named};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "p2p_ethernet", (1, 0, 0), |file| {
        file.request(p2p_ethernet_add);
        file.waiting(p2p_ethernet_del);
    });
    details::add(control, |_, interface, details| {
        if interface.kind == KIND {
            details.r#type = IfType::PointToPoint;
            details.sub_id = SubInterfaceName::parse(&interface.name).map_or(0, |name| name.number);
        }
    });
}

/// Adds a sub-interface for one station, by its MAC address.
#[derive(Message, Clone, Debug)]
#[message(request, name = "p2p_ethernet_add", reply = P2pEthernetAddReply)]
struct P2pEthernetAdd {
    parent_if_index: InterfaceIndex,
    subif_id: u32,
    remote_mac: MacAddress,
}

/// Index of the sub-interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "p2p_ethernet_add_reply")]
struct P2pEthernetAddReply {
    sw_if_index: InterfaceIndex,
}

impl Default for P2pEthernetAddReply {
    fn default() -> P2pEthernetAddReply {
        P2pEthernetAddReply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Deletes the sub-interface of a station and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request, name = "p2p_ethernet_del")]
struct P2pEthernetDel {
    parent_if_index: InterfaceIndex,
    remote_mac: MacAddress,
}

fn p2p_ethernet_add(control: &Control, request: P2pEthernetAdd) -> Result<P2pEthernetAddReply, Refusal> {
    let P2pEthernetAdd { parent_if_index, subif_id: number, remote_mac } = request;
    let parent = name(control, parent_if_index)?;
    let wrong = |error| Refusal::new(Retval::INVALID_VALUE, format!("remote_mac: {error}"));
    let station = UnicastMac::new(remote_mac).map_err(wrong)?;
    if let Some(other) = named(control, &parent, remote_mac) {
        let what = format!("remote_mac: {other} is the part of {remote_mac} already");
        return Err(Refusal::new(Retval::SUBIF_ALREADY_EXISTS, what));
    }
    let part = SubInterfaceName { parent, number }.to_string();
    if control.room::<Interfaces>().find(&part).is_some() {
        return Err(Refusal::new(Retval::SUBIF_ALREADY_EXISTS, format!("subif_id: there is {part} already")));
    }
    let Some(key) = SubInterfaceName::parse(&part) else {
        return Err(Refusal::new(Retval::INVALID_VALUE, format!("subif_id: {part} is no name of a part")));
    };
    control.put(P2pEthernet { name: key, station })?;
    Ok(P2pEthernetAddReply { sw_if_index: control.room::<Interfaces>().id_of(&part)?.into() })
}

async fn p2p_ethernet_del(control: Control, request: P2pEthernetDel) -> Result<(), Refusal> {
    let P2pEthernetDel { parent_if_index, remote_mac } = request;
    let parent = name(&control, parent_if_index)?;
    let Some(part) = named(&control, &parent, remote_mac) else {
        let what = format!("remote_mac: {remote_mac} has no part of {parent}");
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, what));
    };
    Ok(control.delete_in_turns::<P2pEthernet>(&part).await?)
}

#[cfg(test)]
mod tests;
