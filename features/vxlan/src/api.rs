//! VPP's messages about tunnels: `vxlan.api`.

use quiver_compat::types::{Address, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_tunnel::messages::{TunnelDetails, TunnelRequest, change, told};
use quiver_tunnel::{Kind, set_bypass};

use crate::Vxlan;
use crate::config::VxlanTunnel as Object;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "vxlan", (2, 1, 0), |file| {
        file.waiting(async |control, said: VxlanAddDelTunnel| {
            Ok(VxlanAddDelTunnelReply { sw_if_index: change::<Object>(control, said.into()).await? })
        });
        file.waiting(async |control, said: VxlanAddDelTunnelV2| {
            Ok(VxlanAddDelTunnelV2Reply { sw_if_index: change::<Object>(control, said.into()).await? })
        });
        file.waiting(async |control, said: VxlanAddDelTunnelV3| {
            Ok(VxlanAddDelTunnelV3Reply { sw_if_index: change::<Object>(control, said.into()).await? })
        });
        file.dump(|control, request: VxlanTunnelDump| {
            let all = told::<Object>(control, request.sw_if_index);
            all.map(|told| told.map(|told| VxlanTunnelDetails::from(VxlanTunnelV2Details::from(told))))
        });
        file.dump(|control, request: VxlanTunnelV2Dump| {
            told::<Object>(control, request.sw_if_index).map(|told| told.map(VxlanTunnelV2Details::from))
        });
        file.request(|control, request: SwInterfaceSetVxlanBypass| {
            let interface = name(control, request.sw_if_index)?;
            Ok(set_bypass(control, interface, Vxlan::WORD, request.is_ipv6, request.enable)?)
        });
        file.request(|_, _: VxlanOffloadRx| -> Result<(), Refusal> {
            Err(Refusal::unimplemented("hw_if_index: no interface takes datagrams of tunnels apart itself"))
        });
    });
}

/// Adds or deletes a VXLAN tunnel; both UDP ports are 4789.
#[derive(Message, Clone, Debug)]
#[message(request, reply = VxlanAddDelTunnelReply)]
struct VxlanAddDelTunnel {
    #[default(true)]
    is_add: bool,
    instance: u32,
    src_address: Address,
    dst_address: Address,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Index of the tunnel interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct VxlanAddDelTunnelReply {
    sw_if_index: InterfaceIndex,
}
impl Default for VxlanAddDelTunnelReply {
    fn default() -> Self {
        VxlanAddDelTunnelReply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Adds or deletes a VXLAN tunnel with the given UDP ports.
#[derive(Message, Clone, Debug)]
#[message(request, reply = VxlanAddDelTunnelV2Reply, name = "vxlan_add_del_tunnel_v2")]
struct VxlanAddDelTunnelV2 {
    #[default(true)]
    is_add: bool,
    #[default(4294967295)]
    instance: u32,
    src_address: Address,
    dst_address: Address,
    /// The port by which datagrams come to us; 0 is that of VXLAN.
    src_port: u16,
    /// The port that they go to; 0 is that of VXLAN.
    dst_port: u16,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Index of the tunnel interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "vxlan_add_del_tunnel_v2_reply")]
struct VxlanAddDelTunnelV2Reply {
    sw_if_index: InterfaceIndex,
}
impl Default for VxlanAddDelTunnelV2Reply {
    fn default() -> Self {
        VxlanAddDelTunnelV2Reply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Adds or deletes a VXLAN tunnel; with `is_l3` its packets carry IP without an Ethernet header.
#[derive(Message, Clone, Debug)]
#[message(request, reply = VxlanAddDelTunnelV3Reply, name = "vxlan_add_del_tunnel_v3")]
struct VxlanAddDelTunnelV3 {
    #[default(true)]
    is_add: bool,
    #[default(4294967295)]
    instance: u32,
    src_address: Address,
    dst_address: Address,
    src_port: u16,
    dst_port: u16,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
    #[default(false)]
    is_l3: bool,
}

/// Index of the tunnel interface; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "vxlan_add_del_tunnel_v3_reply")]
struct VxlanAddDelTunnelV3Reply {
    sw_if_index: InterfaceIndex,
}
impl Default for VxlanAddDelTunnelV3Reply {
    fn default() -> Self {
        VxlanAddDelTunnelV3Reply { sw_if_index: InterfaceIndex(NONE) }
    }
}

/// Dumps one VXLAN tunnel, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = VxlanTunnelDetails)]
struct VxlanTunnelDump {
    sw_if_index: InterfaceIndex,
}

/// Describes one VXLAN tunnel: its endpoints, VNI, table and next node.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct VxlanTunnelDetails {
    sw_if_index: InterfaceIndex,
    instance: u32,
    src_address: Address,
    dst_address: Address,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Dumps one VXLAN tunnel, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = VxlanTunnelV2Details, name = "vxlan_tunnel_v2_dump")]
struct VxlanTunnelV2Dump {
    sw_if_index: InterfaceIndex,
}

/// Describes one VXLAN tunnel: its endpoints, UDP ports, VNI, table and next node.
#[derive(Message, Clone, Debug)]
#[message(details, name = "vxlan_tunnel_v2_details")]
struct VxlanTunnelV2Details {
    sw_if_index: InterfaceIndex,
    instance: u32,
    src_address: Address,
    dst_address: Address,
    src_port: u16,
    dst_port: u16,
    mcast_sw_if_index: InterfaceIndex,
    encap_vrf_id: u32,
    decap_next_index: u32,
    vni: u32,
}

/// Enables or disables VXLAN bypass on an interface: its tunnel packets are decapsulated without a FIB lookup.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceSetVxlanBypass {
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
    #[default(true)]
    enable: bool,
}

/// Offloads the decapsulation of a tunnel to an interface; no driver supports it yet.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct VxlanOffloadRx {
    hw_if_index: InterfaceIndex,
    sw_if_index: InterfaceIndex,
    #[default(true)]
    enable: bool,
}

impl From<TunnelDetails> for VxlanTunnelV2Details {
    fn from(told: TunnelDetails) -> VxlanTunnelV2Details {
        VxlanTunnelV2Details {
            sw_if_index: told.sw_if_index,
            instance: told.instance,
            src_address: told.fields.source.into(),
            dst_address: told.fields.destination.into(),
            src_port: told.fields.port,
            dst_port: told.fields.destination_port,
            mcast_sw_if_index: told.group_interface,
            encap_vrf_id: told.fields.table_id().0,
            decap_next_index: told.fields.after.number(),
            vni: told.fields.vni,
        }
    }
}

impl From<VxlanTunnelV2Details> for VxlanTunnelDetails {
    fn from(told: VxlanTunnelV2Details) -> VxlanTunnelDetails {
        VxlanTunnelDetails {
            sw_if_index: told.sw_if_index,
            instance: told.instance,
            src_address: told.src_address,
            dst_address: told.dst_address,
            mcast_sw_if_index: told.mcast_sw_if_index,
            encap_vrf_id: told.encap_vrf_id,
            decap_next_index: told.decap_next_index,
            vni: told.vni,
        }
    }
}

impl From<VxlanAddDelTunnel> for TunnelRequest {
    fn from(said: VxlanAddDelTunnel) -> TunnelRequest {
        TunnelRequest {
            is_add: said.is_add,
            instance: said.instance,
            ends: [said.src_address.get(), said.dst_address.get()],
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

impl From<VxlanAddDelTunnelV2> for TunnelRequest {
    fn from(said: VxlanAddDelTunnelV2) -> TunnelRequest {
        TunnelRequest {
            is_add: said.is_add,
            instance: said.instance,
            ends: [said.src_address.get(), said.dst_address.get()],
            ports: [said.src_port, said.dst_port],
            group_interface: said.mcast_sw_if_index,
            table: said.encap_vrf_id,
            arc: said.decap_next_index,
            vni: said.vni,
            layer3: false,
            mac: None,
        }
    }
}

impl From<VxlanAddDelTunnelV3> for TunnelRequest {
    fn from(said: VxlanAddDelTunnelV3) -> TunnelRequest {
        TunnelRequest {
            is_add: said.is_add,
            instance: said.instance,
            ends: [said.src_address.get(), said.dst_address.get()],
            ports: [said.src_port, said.dst_port],
            group_interface: said.mcast_sw_if_index,
            table: said.encap_vrf_id,
            arc: said.decap_next_index,
            vni: said.vni,
            layer3: said.is_l3,
            mac: None,
        }
    }
}

#[cfg(test)]
mod tests;
