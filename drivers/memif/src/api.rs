//! VPP's messages about memif interfaces and their sockets: `memif.api`.

use quiver_compat::types::{IfStatusFlags, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::{Control, behind, one_by_one};
use quiver_interface::Interfaces;
use quiver_interface::api::details::state;
use quiver_wire::{MacAddress, UnicastMac};

use crate::config::{DEFAULT_SOCKET, Memif, MemifMode, MemifQueues, MemifRole, MemifSocket};
use crate::port::Port;
use crate::room::Memifs;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "memif", (3, 1, 0), |file| {
        file.request(|control, request: MemifSocketFilenameAddDel| {
            match request.is_add {
                // Only the newer message lets a number be chosen.
                true if request.socket_id == NONE => return Err(no_number(NONE)),
                true => drop(add_socket(control, request.socket_id, request.socket_filename.0)?),
                false => delete_socket(control, request.socket_id)?,
            }
            Ok(())
        });
        file.request(|control, request: MemifSocketFilenameAddDelV2| {
            let socket_id = match request.is_add {
                true => add_socket(control, request.socket_id, request.socket_filename)?,
                false => {
                    delete_socket(control, request.socket_id)?;
                    request.socket_id
                }
            };
            Ok(MemifSocketFilenameAddDelV2Reply { socket_id })
        });
        file.dump(memif_socket_filename_dump);
        file.request(|control, request: MemifCreate| Ok(MemifCreateReply { sw_if_index: create(control, request)? }));
        file.request(|control, request: MemifCreateV2| {
            Ok(MemifCreateV2Reply { sw_if_index: create(control, request.into())? })
        });
        file.waiting(memif_delete);
        file.dump(memif_dump);
    });
}

/// Adds or deletes a memif socket with the id `socket_id`.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MemifSocketFilenameAddDel {
    is_add: bool,
    socket_id: u32,
    socket_filename: Text<108>,
}

/// Adds or deletes a memif socket; the id 0xffffffff selects a free one.
#[derive(Message, Clone, Debug)]
#[message(request, name = "memif_socket_filename_add_del_v2", reply = MemifSocketFilenameAddDelV2Reply)]
struct MemifSocketFilenameAddDelV2 {
    is_add: bool,
    #[default(4294967295)]
    socket_id: u32,
    socket_filename: String,
}

/// Id of the socket that was added or deleted.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "memif_socket_filename_add_del_v2_reply")]
struct MemifSocketFilenameAddDelV2Reply {
    socket_id: u32,
}

fn no_number(id: u32) -> Refusal {
    Refusal::new(Retval::INVALID_ARGUMENT, format!("socket_id: a socket cannot get or lose the number {id}"))
}

/// The number that a socket has from now on.
fn add_socket(control: &Control, id: u32, filename: String) -> Result<u32, Refusal> {
    let is_there = |id: &u32| control.objects().get::<MemifSocket>(id).is_some();
    let id = match id {
        DEFAULT_SOCKET => return Err(no_number(id)),
        NONE => (1..NONE).find(|id| !is_there(id)).ok_or_else(|| no_number(NONE))?,
        id => id,
    };
    match control.objects().get::<MemifSocket>(&id) {
        Some(socket) if socket.filename == filename => {}
        Some(_) => {
            let what = format!("socket_id: socket {id} has another name; delete it first");
            return Err(Refusal::new(Retval::INVALID_ARGUMENT, what));
        }
        None => control.put(MemifSocket { id, filename })?,
    }
    Ok(id)
}

fn delete_socket(control: &Control, id: u32) -> Result<(), Refusal> {
    if control.objects().get::<MemifSocket>(&id).is_none() {
        return Err(no_number(id));
    }
    Ok(control.delete::<MemifSocket>(&id)?)
}

/// Dumps all memif sockets.
#[derive(Message, Clone, Debug)]
#[message(dump, details = MemifSocketFilenameDetails)]
struct MemifSocketFilenameDump;

/// Describes one memif socket: its id and its file name.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct MemifSocketFilenameDetails {
    socket_id: u32,
    socket_filename: Text<108>,
}

fn memif_socket_filename_dump(
    control: &Control,
    _: MemifSocketFilenameDump,
) -> impl Iterator<Item = MemifSocketFilenameDetails> + use<> {
    let control = control.clone();
    one_by_one(move |last| {
        let room = control.room::<Memifs>();
        let (id, socket) = behind(&room.sockets, last)?;
        let socket_filename = socket.address.to_string().into();
        Some((*id, MemifSocketFilenameDetails { socket_id: *id, socket_filename }))
    })
}

/// Which end of a connection an interface is.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(name = "memif_role")]
enum Role {
    #[value("MEMIF_ROLE_API_MASTER")]
    Master = 0,
    #[value("MEMIF_ROLE_API_SLAVE")]
    Slave = 1,
}

/// Content of an interface's packets.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(name = "memif_mode")]
enum Mode {
    #[value("MEMIF_MODE_API_ETHERNET")]
    Ethernet = 0,
    #[value("MEMIF_MODE_API_IP")]
    Ip = 1,
    #[value("MEMIF_MODE_API_PUNT_INJECT")]
    PuntInject = 2,
}

/// Creates a memif interface. A field of 0 or an empty one selects the default; without `hw_addr` a MAC address is
/// generated.
#[derive(Message, Clone, Debug)]
#[message(request, reply = MemifCreateReply)]
struct MemifCreate {
    role: Role,
    mode: Mode,
    rx_queues: u8,
    tx_queues: u8,
    id: u32,
    socket_id: u32,
    ring_size: u32,
    buffer_size: u16,
    no_zero_copy: bool,
    hw_addr: MacAddress,
    #[secret]
    secret: Text<24>,
}

/// Index of the new memif interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct MemifCreateReply {
    sw_if_index: InterfaceIndex,
}

/// Creates a memif interface, as `memif_create` does; `use_dma` has no effect.
#[derive(Message, Clone, Debug)]
#[message(request, name = "memif_create_v2", reply = MemifCreateV2Reply)]
struct MemifCreateV2 {
    role: Role,
    mode: Mode,
    rx_queues: u8,
    tx_queues: u8,
    id: u32,
    socket_id: u32,
    ring_size: u32,
    buffer_size: u16,
    no_zero_copy: bool,
    use_dma: bool,
    hw_addr: MacAddress,
    #[secret]
    secret: Text<24>,
}

impl From<MemifCreateV2> for MemifCreate {
    fn from(newer: MemifCreateV2) -> MemifCreate {
        let MemifCreateV2 { role, mode, rx_queues, tx_queues, id, socket_id, .. } = newer;
        let MemifCreateV2 { ring_size, buffer_size, no_zero_copy, hw_addr, secret, .. } = newer;
        MemifCreate {
            role,
            mode,
            rx_queues,
            tx_queues,
            id,
            socket_id,
            ring_size,
            buffer_size,
            no_zero_copy,
            hw_addr,
            secret,
        }
    }
}

/// Index of the new memif interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply, name = "memif_create_v2_reply")]
struct MemifCreateV2Reply {
    sw_if_index: InterfaceIndex,
}

fn create(control: &Control, request: MemifCreate) -> Result<InterfaceIndex, Refusal> {
    let socket = request.socket_id;
    let memif = Memif::of(socket, request.id);
    let name = memif.name.clone();
    if socket != DEFAULT_SOCKET && control.objects().get::<MemifSocket>(&socket).is_none() {
        return Err(Refusal::new(Retval::INVALID_ARGUMENT, format!("socket_id: there is no socket {socket}")));
    }
    if control.room::<Interfaces>().find(&name).is_some() {
        return Err(Refusal::new(Retval::SUBIF_ALREADY_EXISTS, format!("id: there is {name} already")));
    }
    let mac = (request.hw_addr != MacAddress::ZERO).then(|| UnicastMac::new(request.hw_addr)).transpose();
    let mac = mac.map_err(|error| Refusal::new(Retval::INVALID_VALUE, format!("hw_addr: {error}")))?;
    let queues = |queues: u8| MemifQueues::new(queues.into());
    control.put(Memif {
        role: match request.role {
            Role::Master => MemifRole::Master,
            Role::Slave => MemifRole::Slave,
        },
        mode: match request.mode {
            Mode::Ethernet => MemifMode::Ethernet,
            Mode::Ip => MemifMode::Ip,
            Mode::PuntInject => MemifMode::Punt,
        },
        ring_size: Some(request.ring_size).filter(|size| *size != 0).unwrap_or(memif.ring_size),
        rx_queues: queues(request.rx_queues).unwrap_or(memif.rx_queues),
        tx_queues: queues(request.tx_queues),
        buffer_size: Some(request.buffer_size.into()).filter(|size| *size != 0).unwrap_or(memif.buffer_size),
        zero_copy: !request.no_zero_copy,
        secret: Some(request.secret.0).filter(|secret| !secret.is_empty()),
        mac,
        ..memif
    })?;
    Ok(control.room::<Interfaces>().id_of(&name)?.into())
}

/// Deletes a memif interface and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MemifDelete {
    sw_if_index: InterfaceIndex,
}

async fn memif_delete(control: Control, request: MemifDelete) -> Result<(), Refusal> {
    let name = {
        let room = control.room::<Memifs>();
        let found = room.ports.iter().find(|(_, port)| request.sw_if_index == port.id.into());
        found.map(|(name, _)| name.clone()).ok_or_else(|| Refusal::no_interface(request.sw_if_index.0))?
    };
    Ok(control.delete_in_turns::<Memif>(&name).await?)
}

/// Dumps all memif interfaces.
#[derive(Message, Clone, Debug)]
#[message(dump, details = MemifDetails)]
struct MemifDump;

/// Describes one memif interface. Once it is connected, ring and buffer sizes are those that its slave chose.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct MemifDetails {
    sw_if_index: InterfaceIndex,
    hw_addr: MacAddress,
    id: u32,
    role: Role,
    mode: Mode,
    zero_copy: bool,
    socket_id: u32,
    ring_size: u32,
    buffer_size: u16,
    flags: IfStatusFlags,
    if_name: Text<64>,
}

fn memif_dump(control: &Control, _: MemifDump) -> impl Iterator<Item = MemifDetails> + use<> {
    let control = control.clone();
    one_by_one(move |last| {
        let room = control.room::<Memifs>();
        behind(&room.ports, last).map(|(name, port)| (name.clone(), details(&control, port)))
    })
}

fn details(control: &Control, port: &Port) -> MemifDetails {
    let Port { id, config, number, .. } = port;
    let mac = control.room::<Interfaces>().get(*id).map(|interface| interface.mac);
    let connected = port.link.as_ref().and_then(|link| link.link.receive.first()).map(|queue| queue.ring.size());
    MemifDetails {
        sw_if_index: (*id).into(),
        hw_addr: mac.unwrap_or(MacAddress::ZERO),
        id: *number,
        role: match config.role {
            MemifRole::Master => Role::Master,
            MemifRole::Slave => Role::Slave,
        },
        mode: match config.mode {
            MemifMode::Ethernet => Mode::Ethernet,
            MemifMode::Ip => Mode::Ip,
            MemifMode::Punt => Mode::PuntInject,
        },
        zero_copy: config.zero_copy,
        socket_id: config.socket(),
        ring_size: connected.map_or(config.ring_size, u32::from),
        buffer_size: u16::try_from(config.buffer_size).unwrap_or(u16::MAX),
        flags: state(control, *id),
        if_name: config.name.as_str().into(),
    }
}

#[cfg(test)]
mod tests;
