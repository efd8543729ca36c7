//! Receiving through a descriptor of Linux's: TAP devices and AF_PACKET sockets give a packet with virtio's header in front
//! for each read.

use std::os::fd::AsFd;

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Offload, Packet, RxContext, Scatter};
use quiver_wire::{Header, VirtioNetHeader};
use rustix::io::{Errno, readv};

const HEADER: usize = size_of::<VirtioNetHeader>();
/// Bytes of the longest packet that is taken: 64 KB from the IP header on, an Ethernet header and a tag.
pub const PACKET_MAX: usize = 65_536 + 18;

/// Reads packets straight into buffers, which stand ready from one read to the next.
pub struct PacketReader {
    scatter: Scatter,
    no_buffer: u16,
    truncated: u16,
}

impl PacketReader {
    /// A reader that counts by these arcs of the queue's node what it loses: packets that find no buffer, and those of
    /// which Linux hands over a part only or contradicts itself.
    pub fn new(no_buffer: impl Into<u16>, truncated: impl Into<u16>) -> PacketReader {
        PacketReader { scatter: Scatter::default(), no_buffer: no_buffer.into(), truncated: truncated.into() }
    }
    /// Reads one packet with its offload; says how many bytes it has, or why there is none. A packet that was lost is
    /// counted in `cx`.
    pub fn read(&mut self, fd: impl AsFd, cx: &mut RxContext) -> Result<(usize, Option<Packet>), Errno> {
        let filled = self.scatter.fill(cx.pool, PACKET_MAX);
        let mut header = [0; HEADER];
        // With no buffer at all the read still takes the packet from Linux, which is how it is dropped.
        let read = self.scatter.read(cx.pool, &mut header, |slices| readv(fd, slices));
        let length = read?.saturating_sub(HEADER);
        if length == self.scatter.room() && !filled {
            cx.lose(self.no_buffer, 1);
            return Ok((length, None));
        }
        let offload = VirtioNetHeader::parse(&header).map(|(h, _)| Offload::from_virtio(h, HEADROOM as u16));
        match (offload, self.scatter.take(cx.pool, length)) {
            (Some(Ok(offload)), Some(mut packet)) if length <= PACKET_MAX => {
                packet.rx = cx.interface;
                if let Some(offload) = offload {
                    packet.set_offload(cx.pool, offload);
                }
                Ok((length, Some(packet)))
            }
            _ => {
                cx.lose(self.truncated, 1);
                Ok((length, None))
            }
        }
    }
}
