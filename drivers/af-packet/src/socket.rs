//! AF_PACKET sockets and their options (packet(7)).
#![allow(unsafe_code)]

use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use quiver_linux::{Capability, LinuxError};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

use crate::ring::{BLOCK, FRAME, FRAMES, Ring};

/// Bytes of memory for packets that are longer than a frame of the ring: some hundred of 64 KB.
const LONG_PACKETS: usize = 32 << 20;
/// Fanout options: packets are shared by flow, and outgoing packets are left out. In a group the sockets' own option
/// for outgoing packets has no effect.
const FANOUT: u32 = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;

/// Sockets for receiving from the interface of this number, each with its ring; they share the packets by flow. They
/// receive from now on.
pub fn receivers(name: &str, index: u32, count: usize) -> Result<Vec<(OwnedFd, Ring)>, LinuxError> {
    let (mut sockets, mut group) = (vec![], 0);
    for i in 0..count {
        let (socket, ring) = receiver(name, index)?;
        if count > 1 {
            let refused = |error| LinuxError::refused(format!("share the packets of {name}"), error);
            // The first one gets a number for the group that no other has.
            let flags = if i == 0 { FANOUT | libc::PACKET_FANOUT_FLAG_UNIQUEID } else { FANOUT };
            option(&socket, libc::PACKET_FANOUT, &(flags << 16 | group)).map_err(refused)?;
            read_option(&socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &mut group).map_err(refused)?;
            group &= 0xffff;
        }
        sockets.push((socket, ring));
    }
    Ok(sockets)
}

fn receiver(name: &str, index: u32) -> Result<(OwnedFd, Ring), LinuxError> {
    let socket = open(name)?;
    let refused = |what: &'static str| move |error| LinuxError::refused(format!("{what} {name}"), error);
    vnet_header(&socket).map_err(refused("receive with offloads from"))?;
    option(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))
        .map_err(refused("use TPACKET_V2 on"))?;
    // A packet that is longer than a frame waits in the socket's queue, too, from which it is read whole.
    option(&socket, libc::PACKET_COPY_THRESH, &1).map_err(refused("receive long packets from"))?;
    if set_socket_recv_buffer_size_force(&socket, LONG_PACKETS).is_err() {
        tracing::warn!(
            "{name}: many long packets at once will be lost, for they get no more memory than net.core.rmem_max allows: \
             run quiverd with CAP_NET_ADMIN, or set net.core.rmem_max to {LONG_PACKETS}"
        );
        let set = set_socket_recv_buffer_size(&socket, LONG_PACKETS);
        set.map_err(|error| refused("receive long packets from")(error.into()))?;
    }
    option(&socket, libc::PACKET_IGNORE_OUTGOING, &1).map_err(refused("leave out what we send by"))?;
    let ring = libc::tpacket_req {
        tp_block_size: BLOCK as u32,
        tp_block_nr: (FRAMES * FRAME / BLOCK) as u32,
        tp_frame_size: FRAME as u32,
        tp_frame_nr: FRAMES as u32,
    };
    option(&socket, libc::PACKET_RX_RING, &ring).map_err(refused("make a receive ring for"))?;
    let ring = Ring::map(&socket).map_err(refused("map the receive ring of"))?;
    bind(&socket, index, libc::ETH_P_ALL as u16).map_err(refused("receive from"))?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    option(&socket, libc::PACKET_ADD_MEMBERSHIP, &promiscuous).map_err(refused("receive all packets from"))?;
    Ok((socket, ring))
}

/// A socket for sending by the interface of this number.
pub fn sender(name: &str, index: u32) -> Result<OwnedFd, LinuxError> {
    let socket = open(name)?;
    let refused = |error| LinuxError::refused(format!("send by {name}"), error);
    vnet_header(&socket).map_err(refused)?;
    // Bound to no protocol: it receives nothing.
    bind(&socket, index, 0).map_err(refused)?;
    Ok(socket)
}

/// Packets that the ring had no room for since the last call.
pub fn lost(socket: &OwnedFd) -> Result<u32, Error> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    read_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
    Ok(statistics.tp_drops)
}

/// Takes the error that the socket reports, so that it is reported no longer.
pub fn take_error(socket: &OwnedFd) -> Option<Error> {
    let mut error: libc::c_int = 0;
    match read_option(socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut error) {
        Ok(()) if error == 0 => None,
        Ok(()) => Some(Error::from_raw_os_error(error)),
        Err(error) => Some(error),
    }
}

/// A socket that receives nothing yet.
fn open(name: &str) -> Result<OwnedFd, LinuxError> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        let action = format!("open a packet socket for {name}");
        return Err(LinuxError::of_right(action, Error::last_os_error(), Capability::NetRaw));
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn vnet_header(socket: &OwnedFd) -> Result<(), Error> {
    option(socket, libc::PACKET_VNET_HDR, &1)
}

fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> Result<(), Error> {
    // SAFETY: `sockaddr_ll` is plain data, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as libc::c_int;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is of the length told, and outlives the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
}

/// Sets an option of AF_PACKET; `T` is what packet(7) says.
fn option<T: Copy>(socket: &OwnedFd, name: libc::c_int, value: &T) -> Result<(), Error> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes at most, which are those of a plain value.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, (&raw const *value).cast(), length) })
}

/// Reads an option of plain data.
fn read_option<T: Copy>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &mut T) -> Result<(), Error> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes `length` bytes at most, into plain data of integers.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut *value).cast(), &raw mut length) })
}

fn check(result: libc::c_int) -> Result<(), Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
