//! Receiving: packets are copied out of the blocks that the kernel hands over.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Frame, Offload, Pool, RxContext, RxQueue};

use crate::block::{Cursor, Received};
use crate::ring::Ring;
use crate::socket;

/// Bytes received in a turn at most, so that they are still in the cache when they are sent.
const TURN_BYTES: usize = 128 << 10;

/// A receive queue: a socket with its ring.
pub struct Rx {
    socket: Arc<OwnedFd>,
    ring: Ring,
    /// Where reading the current block has got to.
    cursor: Option<Cursor>,
}

impl Rx {
    pub fn new(socket: Arc<OwnedFd>, ring: Ring) -> Rx {
        Rx { socket, ring, cursor: None }
    }
}

impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, most, mut bytes) = (frame.len(), cx.most.min(frame.room()), 0);
        while frame.len() - before < most && bytes < TURN_BYTES {
            let Some(block) = self.ring.block() else { break };
            let cursor = self.cursor.get_or_insert_with(|| Cursor::start(block));
            match cursor.next(block) {
                None => {
                    self.cursor = None;
                    self.ring.release();
                }
                Some(received) => bytes += take(received, cx, frame).max(64),
            }
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

/// Puts a packet into the frame; returns its bytes.
fn take(received: Received, cx: &mut RxContext, frame: &mut Frame) -> usize {
    let Received::Whole { bytes, offload, tag } = received else {
        cx.truncated += 1;
        return 0;
    };
    let Ok(offload) = Offload::from_virtio(&offload, HEADROOM as u16) else {
        cx.truncated += 1;
        return 0;
    };
    if !frame.push_bytes(cx.pool, bytes, cx.interface) {
        // The caller saw that the frame has room.
        cx.no_buffer += 1;
        return 0;
    }
    let i = frame.len() - 1;
    if let Some(offload) = offload {
        frame.set_offload(cx.pool, i, offload);
    }
    if let Some(tag) = tag {
        put_back(tag, cx.pool, frame, i);
    }
    bytes.len()
}

/// Puts a VLAN tag back that the kernel took off, behind the addresses. The rest of the packet stays where it is, and with
/// it what its offload refers to.
fn put_back(tag: [u8; 4], pool: &mut Pool, frame: &mut Frame, i: usize) {
    if frame.advance(pool, i, -4)
        && let Some(start) = frame.bytes_mut(pool, i).first_chunk_mut::<16>()
    {
        start.copy_within(4.., 0);
        start[12..].copy_from_slice(&tag);
    }
}
