//! VPP's messages about TAP interfaces: `tapv2.api`.
//!
//! Sizes of rings are taken and mean nothing: packets pass by reading and writing the device, whose queue is Linux's.
#![expect(missing_docs, reason = "fields have the names and the meaning that VPP's users know")]

use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, flags};
use quiver_control::Control;
use quiver_interface::api::find;
use quiver_interface::{InterfaceName, InterfaceSettings, Interfaces, number_in};
use quiver_wire::{InterfaceAddress, MacAddress, UnicastMac, V4, V6};

use crate::commands::free_name;
use crate::config::Taps;
use crate::object::{Tap, TapMtu, TapQueues};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "tapv2", (4, 0, 0), |file| {
        file.request(|control, request: TapCreateV3| Ok(TapCreateV3Reply { sw_if_index: create(control, request)? }));
        file.request(|control, request: TapCreateV2| {
            Ok(TapCreateV2Reply { sw_if_index: create(control, request.into())? })
        });
        file.waiting(tap_delete_v2);
        file.dump(sw_interface_tap_v2_dump);
    });
}

flags! {
    /// Options of a TAP interface.
    pub struct TapFlags(u32) as "tap_flags" Enum {
        /// Packets may lack checksums and be longer than the MTU, to be segmented later.
        GSO = 1 => "TAP_API_FLAG_GSO",
        /// Packets may lack checksums.
        CSUM_OFFLOAD = 2 => "TAP_API_FLAG_CSUM_OFFLOAD",
        /// The Linux side outlives the daemon.
        PERSIST = 4 => "TAP_API_FLAG_PERSIST",
        /// A persistent Linux side of an earlier daemon is taken over.
        ATTACH = 8 => "TAP_API_FLAG_ATTACH",
        /// The interface carries IP packets without Ethernet headers.
        TUN = 16 => "TAP_API_FLAG_TUN",
        /// Sent packets are coalesced.
        GRO_COALESCE = 32 => "TAP_API_FLAG_GRO_COALESCE",
    }
}

/// Creates a TAP interface and configures its Linux side.
#[derive(Message, Clone, Debug)]
#[message(request, name = "tap_create_v3", reply = TapCreateV3Reply)]
pub struct TapCreateV3 {
    #[default(4294967295)]
    pub id: u32,
    #[default(true)]
    pub use_random_mac: bool,
    pub mac_address: MacAddress,
    #[default(1)]
    pub num_rx_queues: u16,
    #[default(1)]
    pub num_tx_queues: u16,
    #[default(256)]
    pub tx_ring_sz: u16,
    #[default(256)]
    pub rx_ring_sz: u16,
    pub host_mtu_set: bool,
    pub host_mtu_size: u32,
    pub host_mac_addr_set: bool,
    pub host_mac_addr: MacAddress,
    pub host_ip4_prefix_set: bool,
    pub host_ip4_prefix: InterfaceAddress<V4>,
    pub host_ip6_prefix_set: bool,
    pub host_ip6_prefix: InterfaceAddress<V6>,
    pub host_ip4_gw_set: bool,
    pub host_ip4_gw: Ipv4Addr,
    pub host_ip6_gw_set: bool,
    pub host_ip6_gw: Ipv6Addr,
    pub tap_flags: TapFlags,
    pub host_namespace_set: bool,
    pub host_namespace: Text<64>,
    pub host_if_name_set: bool,
    pub host_if_name: Text<64>,
    pub host_bridge_set: bool,
    pub host_bridge: Text<64>,
    pub tag: String,
}

/// Index of the new TAP interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "tap_create_v3_reply")]
pub struct TapCreateV3Reply {
    pub sw_if_index: InterfaceIndex,
}

/// Creates a TAP interface and configures its Linux side.
#[derive(Message, Clone, Debug)]
#[message(request, name = "tap_create_v2", reply = TapCreateV2Reply)]
pub struct TapCreateV2 {
    #[default(4294967295)]
    pub id: u32,
    #[default(true)]
    pub use_random_mac: bool,
    pub mac_address: MacAddress,
    #[default(1)]
    pub num_rx_queues: u8,
    #[default(256)]
    pub tx_ring_sz: u16,
    #[default(256)]
    pub rx_ring_sz: u16,
    pub host_mtu_set: bool,
    pub host_mtu_size: u32,
    pub host_mac_addr_set: bool,
    pub host_mac_addr: MacAddress,
    pub host_ip4_prefix_set: bool,
    pub host_ip4_prefix: InterfaceAddress<V4>,
    pub host_ip6_prefix_set: bool,
    pub host_ip6_prefix: InterfaceAddress<V6>,
    pub host_ip4_gw_set: bool,
    pub host_ip4_gw: Ipv4Addr,
    pub host_ip6_gw_set: bool,
    pub host_ip6_gw: Ipv6Addr,
    pub tap_flags: TapFlags,
    pub host_namespace_set: bool,
    pub host_namespace: Text<64>,
    pub host_if_name_set: bool,
    pub host_if_name: Text<64>,
    pub host_bridge_set: bool,
    pub host_bridge: Text<64>,
    pub tag: String,
}

impl From<TapCreateV2> for TapCreateV3 {
    fn from(older: TapCreateV2) -> TapCreateV3 {
        TapCreateV3 {
            id: older.id,
            use_random_mac: older.use_random_mac,
            mac_address: older.mac_address,
            num_rx_queues: older.num_rx_queues.into(),
            num_tx_queues: 1,
            tx_ring_sz: older.tx_ring_sz,
            rx_ring_sz: older.rx_ring_sz,
            host_mtu_set: older.host_mtu_set,
            host_mtu_size: older.host_mtu_size,
            host_mac_addr_set: older.host_mac_addr_set,
            host_mac_addr: older.host_mac_addr,
            host_ip4_prefix_set: older.host_ip4_prefix_set,
            host_ip4_prefix: older.host_ip4_prefix,
            host_ip6_prefix_set: older.host_ip6_prefix_set,
            host_ip6_prefix: older.host_ip6_prefix,
            host_ip4_gw_set: older.host_ip4_gw_set,
            host_ip4_gw: older.host_ip4_gw,
            host_ip6_gw_set: older.host_ip6_gw_set,
            host_ip6_gw: older.host_ip6_gw,
            tap_flags: older.tap_flags,
            host_namespace_set: older.host_namespace_set,
            host_namespace: older.host_namespace,
            host_if_name_set: older.host_if_name_set,
            host_if_name: older.host_if_name,
            host_bridge_set: older.host_bridge_set,
            host_bridge: older.host_bridge,
            tag: older.tag,
        }
    }
}

/// Index of the new TAP interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "tap_create_v2_reply")]
pub struct TapCreateV2Reply {
    pub sw_if_index: InterfaceIndex,
}

fn create(control: &Control, request: TapCreateV3) -> Result<InterfaceIndex, Refusal> {
    let name = match request.id {
        NONE => free_name(control),
        id => format!("tap{id}"),
    };
    if control.room::<Interfaces>().find(&name).is_some() {
        return Err(Refusal::new(Retval::INVALID_INTERFACE, format!("id: there is {name} already")));
    }
    let tag = request.tag.clone();
    control.put(tap(name.clone(), request)?)?;
    if !tag.is_empty() {
        let tagged =
            control.edit(InterfaceSettings::new(InterfaceName(name.clone())), |settings| settings.tag = Some(tag));
        if let Err(error) = tagged {
            control.delete_with_users::<Tap>(&name)?;
            return Err(error.into());
        }
    }
    Ok(control.room::<Interfaces>().id_of(&name)?.into())
}

/// The object that a message asks for.
fn tap(name: String, request: TapCreateV3) -> Result<Tap, Refusal> {
    let wrong = |field: &str, what: String| Refusal::new(Retval::INVALID_VALUE, format!("{field}: {what}"));
    let mac = |field, is_set: bool, address| {
        let mac = is_set.then(|| UnicastMac::new(address)).transpose();
        mac.map_err(|error| wrong(field, error.to_string()))
    };
    let text = |is_set: bool, text: Text<64>| is_set.then_some(text.0);
    for (flag, what) in [
        (TapFlags::PERSIST, "the Linux side goes with the daemon"),
        (TapFlags::ATTACH, "the Linux side goes with the daemon"),
        (TapFlags::TUN, "there are Ethernet devices only"),
        (TapFlags::GRO_COALESCE, "packets that are sent are not joined"),
    ] {
        if request.tap_flags.has(flag) {
            return Err(Refusal::unimplemented(format!("tap_flags: {what}")));
        }
    }
    let queues = request.num_rx_queues.max(1);
    let mtu = u16::try_from(request.host_mtu_size).ok().and_then(TapMtu::new);
    let no_mtu = || wrong("host_mtu_size", format!("{} is out of range; give 68 to 65521", request.host_mtu_size));
    Ok(Tap {
        mac: mac("mac_address", !request.use_random_mac, request.mac_address)?,
        rx_queues: TapQueues::new(queues).ok_or_else(|| wrong("num_rx_queues", format!("{queues} are too many")))?,
        // Linux gives both or none.
        gso: request.tap_flags.has(TapFlags::GSO) || request.tap_flags.has(TapFlags::CSUM_OFFLOAD),
        host_namespace: text(request.host_namespace_set, request.host_namespace),
        host_interface: text(request.host_if_name_set, request.host_if_name),
        host_mac: mac("host_mac_addr", request.host_mac_addr_set, request.host_mac_addr)?,
        host_mtu: request.host_mtu_set.then(|| mtu.ok_or_else(no_mtu)).transpose()?,
        host_bridge: text(request.host_bridge_set, request.host_bridge),
        host_ip4_address: request.host_ip4_prefix_set.then_some(request.host_ip4_prefix),
        host_ip4_gateway: request.host_ip4_gw_set.then_some(request.host_ip4_gw),
        host_ip6_address: request.host_ip6_prefix_set.then_some(request.host_ip6_prefix),
        host_ip6_gateway: request.host_ip6_gw_set.then_some(request.host_ip6_gw),
        ..Tap::new(name)
    })
}

/// Deletes a TAP interface, its Linux side and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request, name = "tap_delete_v2")]
pub struct TapDeleteV2 {
    pub sw_if_index: InterfaceIndex,
}

async fn tap_delete_v2(control: Control, request: TapDeleteV2) -> Result<(), Refusal> {
    let name = find(&control, request.sw_if_index)?.name;
    let tap = control.objects().get::<Tap>(&name).ok_or_else(|| Refusal::no_interface(request.sw_if_index.0))?;
    Ok(control.delete_in_turns::<Tap>(&tap.name).await?)
}

/// Dumps one TAP interface, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, name = "sw_interface_tap_v2_dump", details = SwInterfaceTapV2Details)]
pub struct SwInterfaceTapV2Dump {
    #[default(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// Describes one TAP interface and its Linux side. Ring sizes are 0, since it has no rings.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details, name = "sw_interface_tap_v2_details")]
pub struct SwInterfaceTapV2Details {
    pub sw_if_index: u32,
    pub id: u32,
    pub tx_ring_sz: u16,
    pub rx_ring_sz: u16,
    pub host_mtu_size: u32,
    pub host_mac_addr: MacAddress,
    pub host_ip4_prefix: InterfaceAddress<V4>,
    pub host_ip6_prefix: InterfaceAddress<V6>,
    pub tap_flags: TapFlags,
    pub dev_name: Text<64>,
    pub host_if_name: Text<64>,
    pub host_namespace: Text<64>,
    pub host_bridge: Text<64>,
}

fn sw_interface_tap_v2_dump(
    control: &Control,
    request: SwInterfaceTapV2Dump,
) -> impl Iterator<Item = Option<SwInterfaceTapV2Details>> + use<> {
    let (control, wanted) = (control.clone(), request.sw_if_index.0);
    control
        .clone()
        .walk::<Tap>()
        .map(move |tap| details(&control, &tap).filter(|details| [NONE, details.sw_if_index].contains(&wanted)))
}

fn details(control: &Control, tap: &Rc<Tap>) -> Option<SwInterfaceTapV2Details> {
    let text = |text: &Option<String>| Text(text.clone().unwrap_or_default());
    let room = control.room::<Taps>();
    let linked = room.links.get(&tap.name)?;
    Some(SwInterfaceTapV2Details {
        sw_if_index: linked.id.0,
        id: number_in(&tap.name, "tap").unwrap_or(NONE),
        tx_ring_sz: 0,
        rx_ring_sz: 0,
        host_mtu_size: linked.link.mtu,
        host_mac_addr: linked.link.mac,
        host_ip4_prefix: tap.host_ip4_address.unwrap_or(InterfaceAddress::UNSPECIFIED),
        host_ip6_prefix: tap.host_ip6_address.unwrap_or(InterfaceAddress::UNSPECIFIED),
        tap_flags: if tap.gso { TapFlags::GSO } else { TapFlags::default() },
        dev_name: tap.name.as_str().into(),
        host_if_name: linked.watch.name().into(),
        host_namespace: text(&tap.host_namespace),
        host_bridge: text(&tap.host_bridge),
    })
}
