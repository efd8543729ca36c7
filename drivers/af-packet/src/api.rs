//! VPP's messages about interfaces of Linux: `af_packet.api`.
//!
//! Sizes of frames and blocks are taken and mean nothing: rings have the size that the README names.
#![expect(missing_docs, reason = "fields have the names and the meaning that VPP's users know")]

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Text, Wire, flags};
use quiver_control::Control;
use quiver_interface::Interfaces;
use quiver_linux::random_mac;
use quiver_wire::{MacAddress, UnicastMac};

use crate::config::{HostInterface, HostInterfaces, HostQueues};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "af_packet", (2, 0, 0), |file| {
        file.request(|control, request: AfPacketCreate| {
            let AfPacketCreate { hw_addr, use_random_hw_addr, host_if_name } = request;
            let (retval, sw_if_index) = create(control, &host_if_name, hw_addr, use_random_hw_addr, 1)?;
            Ok((retval, AfPacketCreateReply { sw_if_index }))
        });
        file.request(|control, request: AfPacketCreateV2| {
            let AfPacketCreateV2 { hw_addr, use_random_hw_addr, host_if_name, num_rx_queues, .. } = request;
            let (retval, sw_if_index) = create(control, &host_if_name, hw_addr, use_random_hw_addr, num_rx_queues)?;
            Ok((retval, AfPacketCreateV2Reply { sw_if_index }))
        });
        file.request(|control, request: AfPacketCreateV3| {
            let AfPacketCreateV3 { mode, hw_addr, use_random_hw_addr, host_if_name, num_rx_queues, .. } = request;
            if mode != AfPacketMode::Ethernet {
                return Err(Refusal::unimplemented("mode: packets come with their Ethernet headers only"));
            }
            let (retval, sw_if_index) = create(control, &host_if_name, hw_addr, use_random_hw_addr, num_rx_queues)?;
            Ok((retval, AfPacketCreateV3Reply { sw_if_index }))
        });
        file.waiting(af_packet_delete);
        file.dump(af_packet_dump);
    });
}

/// Creates a host interface on the Linux interface `host_if_name`.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AfPacketCreateReply)]
pub struct AfPacketCreate {
    pub hw_addr: MacAddress,
    pub use_random_hw_addr: bool,
    pub host_if_name: Text<64>,
}

/// Index of the new host interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub struct AfPacketCreateReply {
    pub sw_if_index: InterfaceIndex,
}

/// Creates a host interface on the Linux interface `host_if_name`, with `num_rx_queues` receive queues.
#[derive(Message, Clone, Debug)]
#[message(request, name = "af_packet_create_v2", reply = AfPacketCreateV2Reply)]
pub struct AfPacketCreateV2 {
    pub hw_addr: MacAddress,
    pub use_random_hw_addr: bool,
    pub host_if_name: Text<64>,
    pub rx_frame_size: u32,
    pub tx_frame_size: u32,
    pub rx_frames_per_block: u32,
    pub tx_frames_per_block: u32,
    pub flags: u32,
    #[default(1)]
    pub num_rx_queues: u16,
}

/// Index of the new host interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "af_packet_create_v2_reply")]
pub struct AfPacketCreateV2Reply {
    pub sw_if_index: InterfaceIndex,
}

/// Layer at which packets begin.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AfPacketMode {
    #[value("AF_PACKET_API_MODE_ETHERNET")]
    Ethernet = 1,
    #[value("AF_PACKET_API_MODE_IP")]
    Ip = 2,
}

flags! {
    /// Options of the Linux socket. None of them has an effect in Quiver.
    pub struct AfPacketFlags(u32) as "af_packet_flags" Enum {
        /// Packets that are sent pass by Linux's queueing.
        QDISC_BYPASS = 1 => "AF_PACKET_API_FLAG_QDISC_BYPASS",
        /// Linux cuts long packets and fills in checksums.
        CKSUM_GSO = 2 => "AF_PACKET_API_FLAG_CKSUM_GSO",
    }
}

/// Creates a host interface on the Linux interface `host_if_name`, with the given number of queues.
#[derive(Message, Clone, Debug)]
#[message(request, name = "af_packet_create_v3", reply = AfPacketCreateV3Reply)]
pub struct AfPacketCreateV3 {
    pub mode: AfPacketMode,
    pub hw_addr: MacAddress,
    pub use_random_hw_addr: bool,
    pub host_if_name: Text<64>,
    pub rx_frame_size: u32,
    pub tx_frame_size: u32,
    pub rx_frames_per_block: u32,
    pub tx_frames_per_block: u32,
    pub flags: AfPacketFlags,
    #[default(1)]
    pub num_rx_queues: u16,
    #[default(1)]
    pub num_tx_queues: u16,
}

/// Index of the new host interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "af_packet_create_v3_reply")]
pub struct AfPacketCreateV3Reply {
    pub sw_if_index: InterfaceIndex,
}

/// Creates a host interface. If the Linux interface is in use already, returns `IF_ALREADY_EXISTS` and the existing
/// index.
fn create(
    control: &Control,
    linux: &Text<64>,
    mac: MacAddress,
    is_random: bool,
    queues: u16,
) -> Result<(Retval, InterfaceIndex), Refusal> {
    let host = HostInterface::of(linux.as_str());
    let used = HostInterface::find(control, linux.as_str());
    if let Some(there) = control.room::<Interfaces>().find(used.as_ref().map_or(&host.name, |used| &used.name)) {
        return Ok((Retval::IF_ALREADY_EXISTS, there.id.into()));
    }
    let wrong = |field: &str, what: String| Refusal::new(Retval::INVALID_VALUE, format!("{field}: {what}"));
    let mac = match is_random {
        true => Some(random_mac().map_err(|error| Refusal::new(Retval::SYSCALL_ERROR_1, error.to_string()))?),
        false => Some(mac).filter(|mac| *mac != MacAddress::ZERO),
    };
    let mac = mac.map(UnicastMac::new).transpose().map_err(|error| wrong("hw_addr", error.to_string()))?;
    let queues = queues.max(1);
    let rx_queues = HostQueues::new(queues).ok_or_else(|| wrong("num_rx_queues", format!("{queues} are too many")))?;
    let name = host.name.clone();
    control.put(HostInterface { mac, rx_queues, ..host })?;
    Ok((Retval::DONE, control.room::<Interfaces>().id_of(&name)?.into()))
}

/// Deletes a host interface and all configuration that refers to it; the Linux interface stays.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub struct AfPacketDelete {
    pub host_if_name: Text<64>,
}

async fn af_packet_delete(control: Control, request: AfPacketDelete) -> Result<(), Refusal> {
    let linux = request.host_if_name.as_str();
    let unused = || Refusal::new(Retval::SYSCALL_ERROR_1, format!("host_if_name: {linux} is not used"));
    let host = HostInterface::find(&control, linux).ok_or_else(unused)?;
    Ok(control.delete_in_turns::<HostInterface>(&host.name).await?)
}

/// Dumps all host interfaces.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AfPacketDetails)]
pub struct AfPacketDump;

/// Describes one host interface: its index and its Linux name.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub struct AfPacketDetails {
    pub sw_if_index: InterfaceIndex,
    pub host_if_name: Text<64>,
}

fn af_packet_dump(control: &Control, _: AfPacketDump) -> impl Iterator<Item = Option<AfPacketDetails>> + use<> {
    let control = control.clone();
    control.clone().walk::<HostInterface>().map(move |host| {
        let id = control.room::<HostInterfaces>().links.get(&host.name)?.id;
        Some(AfPacketDetails { sw_if_index: id.into(), host_if_name: host.linux().into() })
    })
}
