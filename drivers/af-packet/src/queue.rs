//! Receiving: short packets are copied out of the ring, long ones are read from the socket.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Frame, Offload, Pool, RxContext, RxQueue, arcs};
use quiver_linux::PacketReader;
use quiver_wire::VirtioNetHeader;

use crate::frame::{self, Received, Tag};
use crate::ring::Ring;
use crate::socket;

arcs! {
    /// Arcs of `af-packet-input`.
    pub enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
        Truncated => drop "truncated",
        RingFull => drop "ring-full",
    }
}

/// Bytes received in a turn at most, so that they are still in the cache when they are sent.
const TURN_BYTES: usize = 128 << 10;

/// A receive queue: a socket with its ring.
pub struct Rx {
    socket: OwnedFd,
    ring: Ring,
    reader: PacketReader,
}

impl Rx {
    pub fn new(socket: OwnedFd, ring: Ring) -> Rx {
        Rx { socket, ring, reader: PacketReader::new(Next::NoBuffer, Next::Truncated) }
    }
}

impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, most, mut bytes) = (frame.len(), cx.most.min(frame.room()), 0);
        let mut has_lost = false;
        while frame.len() - before < most && bytes < TURN_BYTES {
            let Some(received) = self.ring.frame() else { break };
            has_lost |= frame::tells_loss(received);
            let length = match frame::read(received) {
                Received::Whole { bytes, offload, tag } => copy(bytes, &offload, tag, cx, frame),
                Received::Apart(tag) => read(&mut self.reader, &self.socket, tag, cx, frame),
                Received::Truncated => {
                    cx.lose(Next::Truncated, 1);
                    0
                }
            };
            self.ring.release();
            bytes += length.max(64);
        }
        // All that wait in the ring may tell of one loss, and asking is a system call. The kernel forgets what it has told;
        // failing to ask costs the figure, not the packets.
        if has_lost {
            cx.lose(Next::RingFull, socket::lost(&self.socket).unwrap_or_default().into());
        }
        frame.len() - before
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
    fn failed(&mut self) {
        // That the interface went down or away is told by its watch; here it must only stop to wake the worker.
        socket::take_error(&self.socket);
    }
}

/// Copies a packet into the frame, which has room; returns its bytes.
fn copy(bytes: &[u8], offload: &VirtioNetHeader, tag: Tag, cx: &mut RxContext, frame: &mut Frame) -> usize {
    let Ok(offload) = Offload::from_virtio(offload, HEADROOM as u16) else {
        cx.lose(Next::Truncated, 1);
        return 0;
    };
    if !frame.push_bytes(cx.pool, bytes, cx.interface) {
        cx.lose(Next::NoBuffer, 1);
        return 0;
    }
    let i = frame.len() - 1;
    if let Some(offload) = offload {
        frame.set_offload(cx.pool, i, offload);
    }
    put_back(tag, cx.pool, frame, i);
    bytes.len()
}

/// Reads a packet into the frame, which has room; returns its bytes.
fn read(reader: &mut PacketReader, socket: &OwnedFd, tag: Tag, cx: &mut RxContext, frame: &mut Frame) -> usize {
    // An error that the socket has to report, such as that its interface went down, comes first, once.
    let read = reader.read(socket, cx).or_else(|_| reader.read(socket, cx));
    let Ok((length, packet)) = read else {
        cx.lose(Next::Truncated, 1);
        return 0;
    };
    if let Some(packet) = packet
        && frame.push(packet).is_ok()
    {
        put_back(tag, cx.pool, frame, frame.len() - 1);
    }
    length
}

/// Puts a VLAN tag back that the kernel took off, behind the addresses. The rest of the packet stays where it is, and with
/// it what its offload refers to.
fn put_back(tag: Tag, pool: &mut Pool, frame: &mut Frame, i: usize) {
    if let Some(tag) = tag
        && frame.advance(pool, i, -4)
        && let Some(start) = frame.bytes_mut(pool, i).first_chunk_mut::<16>()
    {
        start.copy_within(4.., 0);
        start[12..].copy_from_slice(&tag);
    }
}
