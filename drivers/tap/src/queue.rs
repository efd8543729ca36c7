//! Receiving from a TAP device: a packet with virtio's header in front for each read.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Frame, Offload, RxContext, RxQueue, Scatter};
use quiver_wire::{Header, VirtioNetHeader};
use rustix::io::{Errno, readv};

const HEADER: usize = size_of::<VirtioNetHeader>();
/// Bytes of the longest packet that Linux hands over: 64 KB from the IP header on, an Ethernet header and a tag.
const PACKET_MAX: usize = 65_536 + 18;
/// Bytes received in a turn at most, so that they are still in the cache when they are sent.
const TURN_BYTES: usize = 128 << 10;

/// A receive queue.
pub struct Rx {
    fd: Arc<OwnedFd>,
    scatter: Scatter,
    /// Whether the device was deleted.
    gone: bool,
}

impl Rx {
    pub fn new(fd: Arc<OwnedFd>) -> Rx {
        Rx { fd, scatter: Scatter::default(), gone: false }
    }

    /// Reads one packet into the frame; says how many bytes, or why the turn is over.
    fn read(&mut self, cx: &mut RxContext, frame: &mut Frame) -> Result<usize, Errno> {
        let filled = self.scatter.fill(cx.pool, PACKET_MAX);
        let mut header = [0; HEADER];
        let mut slices = self.scatter.slices(cx.pool);
        let room: usize = slices.iter().map(|slice| slice.len()).sum();
        // With no buffer at all the read still takes the packet from Linux, which is how it is dropped.
        slices.insert(0, IoSliceMut::new(&mut header));
        let length = readv(&self.fd, &mut slices)?.saturating_sub(HEADER);
        drop(slices);
        if length == room && !filled {
            cx.no_buffer += 1;
            return Ok(0);
        }
        let offload = VirtioNetHeader::parse(&header).map(|(h, _)| Offload::from_virtio(h, HEADROOM as u16));
        match (offload, self.scatter.take(cx.pool, length)) {
            (Some(Ok(offload)), Some(mut packet)) => {
                packet.rx = cx.interface;
                if let Some(offload) = offload {
                    packet.set_offload(cx.pool, offload);
                }
                // The caller saw that there is room.
                let _ = frame.push(packet);
            }
            _ => cx.truncated += 1,
        }
        Ok(length)
    }
}

impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, most, mut bytes) = (frame.len(), cx.most.min(frame.room()), 0);
        while !self.gone && frame.len() - before < most && bytes < TURN_BYTES {
            match self.read(cx, frame) {
                // A packet that was dropped has its cost, too.
                Ok(length) => bytes += length.max(1024),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    // EBADFD: the device was deleted, or its namespace was.
                    tracing::debug!("interface {}: its TAP device is gone ({error})", cx.interface);
                    self.gone = true;
                }
            }
        }
        frame.len() - before
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
    fn wake_at(&self) -> Option<u64> {
        self.gone.then_some(u64::MAX)
    }
}
