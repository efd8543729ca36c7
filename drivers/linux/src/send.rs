//! Sending through a descriptor of Linux's: a TAP device takes a packet with virtio's header in front for each write.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::{Batch, Flags, Pool, TxContext, TxQueue};
use quiver_wire::VirtioNetHeader;
use rustix::io::{Errno, writev};
use smallvec::SmallVec;
use zerocopy::IntoBytes;

/// Bytes of headers at most that Linux is to keep together in front of a long packet's data.
const HEADERS_MAX: u16 = 60;

/// Parts of a packet that are listed without allocating: those of 64 KB in buffers, and the header in front.
const PARTS: usize = 40;

/// A transmit queue. Workers may share a descriptor, since each packet is one write.
pub struct WriteQueue {
    fd: Arc<OwnedFd>,
    carries_offload: bool,
}

impl WriteQueue {
    /// Sends by this descriptor, with or without offloads.
    pub fn new(fd: Arc<OwnedFd>, carries_offload: bool) -> WriteQueue {
        WriteQueue { fd, carries_offload }
    }
}

/// Virtio's header for packet `i` of a batch. None if its offload is malformed.
pub fn virtio_header(pool: &Pool, batch: &Batch, i: usize) -> Option<VirtioNetHeader> {
    let Some(offload) = batch.offload(pool, i) else { return Some(VirtioNetHeader::NONE) };
    let mut header = offload.to_virtio(batch.offset(i))?;
    if header.gso_type.is_segmented() {
        let headers = header.checksum_start.get().saturating_add(HEADERS_MAX);
        header.header_length = u16::try_from(batch.length(i)).map_or(headers, |length| headers.min(length)).into();
    }
    Some(header)
}

impl TxQueue for WriteQueue {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        for i in 0..batch.len() {
            let Some(header) = virtio_header(cx.pool, batch, i) else {
                cx.refuse(batch.length(i));
                continue;
            };
            let header = IoSlice::new(header.as_bytes());
            let written = if batch.flags(i).has(Flags::CHAINED) {
                let parts = batch.segments(cx.pool, i).map(IoSlice::new);
                let slices: SmallVec<[_; PARTS]> = std::iter::once(header).chain(parts).collect();
                writev(self.fd.as_fd(), &slices)
            } else {
                writev(self.fd.as_fd(), &[header, IoSlice::new(batch.bytes(cx.pool, i))])
            };
            match written {
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) => return i,
                Err(Errno::MSGSIZE) => cx.refuse_too_long(batch.length(i)),
                // The other end is down (EIO, ENETDOWN) or gone (EBADFD, ENXIO), or the packet is none that it takes (EINVAL).
                Err(_) => cx.refuse(batch.length(i)),
            }
        }
        batch.len()
    }
    fn carries_offload(&self) -> bool {
        self.carries_offload
    }
}
