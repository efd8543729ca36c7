//! The queues of a TAP device: a packet with virtio's header in front for each read and write.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_engine::buffer::HEADROOM;
use quiver_engine::channel::Doorbell;
use quiver_engine::{Batch, Flags, Frame, Offload, RxContext, RxQueue, Scatter, TxContext, TxQueue};
use quiver_wire::{Header, VirtioNetHeader};
use rustix::io::{Errno, readv, writev};
use zerocopy::IntoBytes;

const HEADER: usize = size_of::<VirtioNetHeader>();
/// Bytes of the longest packet that Linux hands over: 64 KB from the IP header on, an Ethernet header and a tag.
const PACKET_MAX: usize = 65_536 + 18;
/// Bytes received in a turn at most, so that they are still in the cache when they are sent.
const TURN_BYTES: usize = 512 << 10;
/// Bytes of headers at most that Linux is to keep together in front of a long packet's data.
const HEADERS_MAX: u16 = 60;

/// Whether a device went away: its queues find out, and wake control.
#[derive(Clone)]
pub struct Loss {
    lost: Arc<AtomicBool>,
    bell: Doorbell,
}

impl Loss {
    /// Of a device that is there; `bell` wakes control.
    pub fn new(bell: Doorbell) -> Loss {
        Loss { lost: Arc::default(), bell }
    }
    /// Whether the device went away.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
    fn tell(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.bell.ring();
    }
}

/// The receiving half of a queue.
pub struct Rx {
    fd: Arc<OwnedFd>,
    scatter: Scatter,
    loss: Loss,
}

/// The sending half; workers may share a queue, since each packet is one write.
pub struct Tx {
    fd: Arc<OwnedFd>,
    carries_offload: bool,
}

impl Rx {
    pub fn new(fd: Arc<OwnedFd>, loss: Loss) -> Rx {
        Rx { fd, scatter: Scatter::default(), loss }
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
        while !self.loss.is_lost() && frame.len() - before < most && bytes < TURN_BYTES {
            match self.read(cx, frame) {
                // A packet that was dropped has its cost, too.
                Ok(length) => bytes += length.max(1024),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    // EBADFD: the device was deleted, or its namespace was.
                    tracing::debug!("interface {}: its TAP device is gone ({error})", cx.interface);
                    self.loss.tell();
                }
            }
        }
        frame.len() - before
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
    fn wake_at(&self) -> Option<u64> {
        self.loss.is_lost().then_some(u64::MAX)
    }
}

impl Tx {
    pub fn new(fd: Arc<OwnedFd>, carries_offload: bool) -> Tx {
        Tx { fd, carries_offload }
    }

    /// Virtio's header for packet `i`. None if the packet is malformed.
    fn header(cx: &TxContext, batch: &Batch, i: usize) -> Option<VirtioNetHeader> {
        let Some(offload) = batch.offload(cx.pool, i) else { return Some(VirtioNetHeader::NONE) };
        let mut header = offload.to_virtio(batch.offset(i))?;
        if header.gso_type.is_segmented() {
            let headers = header.checksum_start.get().saturating_add(HEADERS_MAX);
            header.header_length = u16::try_from(batch.length(i)).map_or(headers, |length| headers.min(length)).into();
        }
        Some(header)
    }
}

impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        for i in 0..batch.len() {
            let Some(header) = Tx::header(cx, batch, i) else {
                cx.refuse(batch.length(i));
                continue;
            };
            let header = IoSlice::new(header.as_bytes());
            let written = if batch.flags(i).has(Flags::CHAINED) {
                let parts = batch.segments(cx.pool, i).map(IoSlice::new);
                let slices: Vec<_> = std::iter::once(header).chain(parts).collect();
                writev(&self.fd, &slices)
            } else {
                writev(&self.fd, &[header, IoSlice::new(batch.bytes(cx.pool, i))])
            };
            match written {
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) => return i,
                // EIO: Linux's end is down; EINVAL: no packet; EBADFD: the device is gone.
                Err(_) => cx.refuse(batch.length(i)),
            }
        }
        batch.len()
    }
    fn carries_offload(&self) -> bool {
        self.carries_offload
    }
}
