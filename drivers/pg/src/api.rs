//! VPP's messages about the packet generator: `pg.api`.

use std::path::Path;

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Wire, flags};
use quiver_control::Control;
use quiver_interface::InterfaceName;

use crate::interface::{PacketGenerator, PgMode};
use crate::room::PacketGenerators;
use crate::start::switch;
use crate::{chosen, commands};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "pg", (2, 1, 0), |file| {
        file.request(|control, request: PgCreateInterface| {
            let offloads = (PgInterfaceFlags::gso(request.gso_enabled), request.gso_size);
            let sw_if_index = create(control, request.interface_id, offloads, PgInterfaceMode::Ethernet)?;
            Ok(PgCreateInterfaceReply { sw_if_index })
        });
        file.request(|control, request: PgCreateInterfaceV2| {
            let offloads = (PgInterfaceFlags::gso(request.gso_enabled), request.gso_size);
            let sw_if_index = create(control, request.interface_id, offloads, request.mode)?;
            Ok(PgCreateInterfaceV2Reply { sw_if_index })
        });
        file.request(|control, request: PgCreateInterfaceV3| {
            let sw_if_index =
                create(control, request.interface_id, (request.pg_flags, request.gso_size), request.mode)?;
            Ok(PgCreateInterfaceV3Reply { sw_if_index })
        });
        file.waiting(pg_delete_interface);
        file.request(pg_interface_enable_disable_coalesce);
        file.request(pg_capture);
        file.request(pg_enable_disable);
    });
}

/// Layer at which an interface's packets begin.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum PgInterfaceMode {
    #[value("PG_API_MODE_ETHERNET")]
    Ethernet = 0,
    #[value("PG_API_MODE_IP4")]
    Ip4 = 1,
    #[value("PG_API_MODE_IP6")]
    Ip6 = 2,
}

flags! {
    /// Offloads of an interface.
    struct PgInterfaceFlags(u32) as "pg_interface_flags" Enum {
        /// No offload.
        NONE = 0 => "PG_API_FLAG_NONE",
        /// Received packets may lack checksums.
        CSUM_OFFLOAD = 1 => "PG_API_FLAG_CSUM_OFFLOAD",
        /// Received packets may be segmented later.
        GSO = 2 => "PG_API_FLAG_GSO",
        /// Sent packets are coalesced.
        GRO_COALESCE = 4 => "PG_API_FLAG_GRO_COALESCE",
    }
}

impl PgInterfaceFlags {
    fn gso(is_wanted: bool) -> PgInterfaceFlags {
        if is_wanted { PgInterfaceFlags::GSO } else { PgInterfaceFlags::NONE }
    }
}

/// Creates the packet generator interface `pg` followed by `interface_id`.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PgCreateInterfaceReply)]
struct PgCreateInterface {
    interface_id: InterfaceIndex,
    gso_enabled: bool,
    gso_size: u32,
}

/// Index of the new interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct PgCreateInterfaceReply {
    sw_if_index: InterfaceIndex,
}

/// Creates the packet generator interface `pg` followed by `interface_id`; `mode` selects Ethernet, IPv4 or IPv6
/// packets.
#[derive(Message, Clone, Debug)]
#[message(request, name = "pg_create_interface_v2", reply = PgCreateInterfaceV2Reply)]
struct PgCreateInterfaceV2 {
    interface_id: InterfaceIndex,
    gso_enabled: bool,
    gso_size: u32,
    mode: PgInterfaceMode,
}

/// Index of the new interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "pg_create_interface_v2_reply")]
struct PgCreateInterfaceV2Reply {
    sw_if_index: InterfaceIndex,
}

/// Creates the packet generator interface `pg` followed by `interface_id`, with offload flags and `mode`.
#[derive(Message, Clone, Debug)]
#[message(request, name = "pg_create_interface_v3", reply = PgCreateInterfaceV3Reply)]
struct PgCreateInterfaceV3 {
    interface_id: InterfaceIndex,
    pg_flags: PgInterfaceFlags,
    gso_size: u32,
    mode: PgInterfaceMode,
}

/// Index of the new interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "pg_create_interface_v3_reply")]
struct PgCreateInterfaceV3Reply {
    sw_if_index: InterfaceIndex,
}

/// Creates an interface, or finds the one that is there.
fn create(
    control: &Control,
    number: InterfaceIndex,
    (flags, gso_size): (PgInterfaceFlags, u32),
    mode: PgInterfaceMode,
) -> Result<InterfaceIndex, Refusal> {
    if flags.has(PgInterfaceFlags::GRO_COALESCE) {
        return Err(Refusal::unimplemented("pg_flags: coalescing is not supported"));
    }
    let segment = u16::try_from(gso_size).ok().filter(|size| *size > 0);
    let refused =
        || Refusal::new(Retval::INVALID_VALUE, format!("gso_size: {gso_size} is out of range; give 1 to 65535"));
    let gso_size = match flags.has(PgInterfaceFlags::GSO) {
        true => Some(segment.ok_or_else(refused)?),
        false => None,
    };
    let checksum_offload = flags.has(PgInterfaceFlags::CSUM_OFFLOAD);
    let mode = match mode {
        PgInterfaceMode::Ethernet => PgMode::Ethernet,
        PgInterfaceMode::Ip4 => PgMode::Ip4,
        PgInterfaceMode::Ip6 => PgMode::Ip6,
    };
    let name = format!("pg{}", number.0);
    if control.objects().get::<PacketGenerator>(&name).is_none() {
        let generator = PacketGenerator::new(name.clone());
        control.put(PacketGenerator { mode, checksum_offload, gso_size, ..generator })?;
    }
    let room = control.room::<PacketGenerators>();
    let port =
        room.ports.get(&name).ok_or_else(|| Refusal::new(Retval::UNSPECIFIED, format!("{name} is not there")))?;
    Ok(InterfaceIndex(port.id.0))
}

/// Deletes a packet generator interface and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PgDeleteInterface {
    sw_if_index: InterfaceIndex,
}

async fn pg_delete_interface(control: Control, request: PgDeleteInterface) -> Result<(), Refusal> {
    let name = name_of(&control, request.sw_if_index)?;
    Ok(control.delete_in_turns::<PacketGenerator>(&name).await?)
}

/// The generator's interface of this number.
fn name_of(control: &Control, index: InterfaceIndex) -> Result<String, Refusal> {
    let room = control.room::<PacketGenerators>();
    let found = room.ports.iter().find(|(_, port)| port.id.0 == index.0);
    found.map(|(name, _)| name.clone()).ok_or_else(|| Refusal::no_interface(index.0))
}

/// Disables coalescing of transmitted packets; enabling it is not supported.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PgInterfaceEnableDisableCoalesce {
    sw_if_index: InterfaceIndex,
    coalesce_enabled: bool,
}

fn pg_interface_enable_disable_coalesce(
    control: &Control,
    request: PgInterfaceEnableDisableCoalesce,
) -> Result<(), Refusal> {
    name_of(control, request.sw_if_index)?;
    match request.coalesce_enabled {
        true => Err(Refusal::unimplemented("coalesce_enabled: coalescing is not supported")),
        false => Ok(()),
    }
}

/// Starts or stops the capture of packets that a packet generator interface transmits. `count` limits them; 0 is
/// unlimited.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PgCapture {
    interface_id: InterfaceIndex,
    is_enabled: bool,
    count: u32,
    pcap_file_name: String,
}

fn pg_capture(control: &Control, request: PgCapture) -> Result<(), Refusal> {
    let interface = InterfaceName(format!("pg{}", request.interface_id.0));
    if !request.is_enabled {
        commands::end(control, &interface)?;
        return Ok(());
    }
    let (path, count) = (Path::new(&request.pcap_file_name), Some(request.count).filter(|count| *count > 0));
    let refused = |error: quiver_control::ObjectError| Refusal::new(Retval::CANNOT_CREATE_PCAP_FILE, error.to_string());
    commands::begin(control, &interface, Some(path), count).map_err(refused)
}

/// Starts or stops one packet generator stream, or all if `stream_name` is empty.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PgEnableDisable {
    is_enabled: bool,
    stream_name: String,
}

fn pg_enable_disable(control: &Control, request: PgEnableDisable) -> Result<(), Refusal> {
    let name = Some(request.stream_name.as_str()).filter(|name| !name.is_empty());
    let streams = chosen::streams(control, name);
    if let Some(name) = name.filter(|_| streams.is_empty()) {
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("stream_name: there is no stream {name}")));
    }
    Ok(streams.iter().try_for_each(|stream| switch(control, stream, request.is_enabled))?)
}

#[cfg(test)]
mod tests;
