//! VPP's messages about tunnels: `geneve.api`.

use quiver_compat::Message;
use quiver_compat::types::{Address, InterfaceIndex, NONE};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_tunnel::messages::{TunnelDetails, TunnelRequest, change, told};
use quiver_tunnel::{Kind, set_bypass};
use quiver_wire::{MacAddress, UnicastMac};

use crate::Geneve;
use crate::config::GeneveTunnel as Object;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "geneve", (2, 1, 0), |file| {
        file.waiting(async |control, said: GeneveAddDelTunnel| {
            Ok(GeneveAddDelTunnelReply { sw_if_index: change::<Object>(control, said.into()).await? })
        });
        file.waiting(async |control, said: GeneveAddDelTunnel2| {
            Ok(GeneveAddDelTunnel2Reply { sw_if_index: change::<Object>(control, said.into()).await? })
        });
        file.dump(|control, request: GeneveTunnelDump| {
            told::<Object>(control, request.sw_if_index).map(|told| told.map(GeneveTunnelDetails::from))
        });
        file.request(|control, request: SwInterfaceSetGeneveBypass| {
            let interface = name(control, request.sw_if_index)?;
            Ok(set_bypass(control, interface, Geneve::WORD, request.is_ipv6, request.enable)?)
        });
    });
}

/// Adds or deletes a GENEVE tunnel.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GeneveAddDelTunnelReply)]
struct GeneveAddDelTunnel {
    is_add: bool,
    local_address: Address,
    remote_address: Address,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Index of the tunnel interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct GeneveAddDelTunnelReply {
    sw_if_index: InterfaceIndex,
}
impl Default for GeneveAddDelTunnelReply {
    fn default() -> Self {
        GeneveAddDelTunnelReply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Adds or deletes a GENEVE tunnel. With `l3_mode` the interface has a MAC address of its own; packets have Ethernet
/// headers in both modes, as in VPP.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GeneveAddDelTunnel2Reply, name = "geneve_add_del_tunnel2")]
struct GeneveAddDelTunnel2 {
    is_add: bool,
    local_address: Address,
    remote_address: Address,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
    l3_mode: bool,
}

/// Index of the tunnel interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "geneve_add_del_tunnel2_reply")]
struct GeneveAddDelTunnel2Reply {
    sw_if_index: InterfaceIndex,
}
impl Default for GeneveAddDelTunnel2Reply {
    fn default() -> Self {
        GeneveAddDelTunnel2Reply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Dumps one GENEVE tunnel, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = GeneveTunnelDetails)]
struct GeneveTunnelDump {
    sw_if_index: InterfaceIndex,
}

/// Describes one GENEVE tunnel: its endpoints, VNI, table and next node.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct GeneveTunnelDetails {
    sw_if_index: InterfaceIndex,
    src_address: Address,
    dst_address: Address,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Enables or disables GENEVE bypass on an interface: its tunnel packets are decapsulated without a FIB lookup.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceSetGeneveBypass {
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
    enable: bool,
}

impl From<GeneveAddDelTunnel> for TunnelRequest {
    fn from(said: GeneveAddDelTunnel) -> TunnelRequest {
        TunnelRequest {
            is_add: said.is_add,
            instance: NONE,
            ends: [said.local_address.get(), said.remote_address.get()],
            ports: [0; 2],
            group_interface: said.mcast_sw_if_index,
            table: said.encap_vrf_id,
            arc: said.decap_next_index,
            vni: said.vni,
            layer3: false,
            mac: None,
        }
    }
}

impl From<GeneveAddDelTunnel2> for TunnelRequest {
    fn from(said: GeneveAddDelTunnel2) -> TunnelRequest {
        let mac = said.l3_mode.then_some(MAC).and_then(|mac| UnicastMac::new(mac).ok());
        let said = GeneveAddDelTunnel {
            is_add: said.is_add,
            local_address: said.local_address,
            remote_address: said.remote_address,
            mcast_sw_if_index: said.mcast_sw_if_index,
            encap_vrf_id: said.encap_vrf_id,
            decap_next_index: said.decap_next_index,
            vni: said.vni,
        };
        TunnelRequest { mac, ..said.into() }
    }
}

/// MAC address that VPP reports for a tunnel in layer-3 mode.
const MAC: MacAddress = MacAddress([0xd0, 0x0b, 0xee, 0xd0, 0, 0]);

impl From<TunnelDetails> for GeneveTunnelDetails {
    fn from(told: TunnelDetails) -> GeneveTunnelDetails {
        GeneveTunnelDetails {
            sw_if_index: told.sw_if_index,
            src_address: told.fields.source.into(),
            dst_address: told.fields.destination.into(),
            mcast_sw_if_index: told.group_interface,
            encap_vrf_id: told.fields.table_id().0,
            decap_next_index: told.fields.after.number(),
            vni: told.fields.vni,
        }
    }
}

#[cfg(test)]
mod tests;
