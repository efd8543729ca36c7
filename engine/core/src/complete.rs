//! Completes offloads in software for a port that cannot pass them on: checksums are filled in, long packets are
//! segmented.
//!
//! The rare way out: it copies the packet, and takes a buffer for each segment.

use crate::buffer::{Flags, Offload, Packet, Pool};
use quiver_wire::offload::GsoType;
use quiver_wire::{Segments, VirtioNetHeader};

/// Why a packet cannot be completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// Headers and offload contradict each other.
    Malformed,
    /// The pool has too few buffers.
    NoBuffer,
}

impl Offload {
    /// Converts virtio's header of a packet that begins at `offset` in its buffer. `Ok(None)` if nothing is left to do;
    /// an error if the checksummed part would lie outside of any packet.
    pub fn from_virtio(header: &VirtioNetHeader, offset: u16) -> Result<Option<Offload>, Incomplete> {
        if !header.needs_checksum() && !header.gso_type.is_segmented() {
            return Ok(None);
        }
        Ok(Some(Offload {
            flags: header.flags,
            segmentation: header.gso_type.0,
            segment_size: header.gso_size.get(),
            checksum_start: header.checksum_start.get().checked_add(offset).ok_or(Incomplete::Malformed)?,
            checksum_offset: header.checksum_offset.get(),
        }))
    }

    /// Virtio's header for the packet, which begins at `offset` in its buffer. None if the checksummed part would begin
    /// before the packet, which then is malformed.
    pub fn to_virtio(&self, offset: u16) -> Option<VirtioNetHeader> {
        Some(VirtioNetHeader {
            flags: self.flags,
            gso_type: GsoType(self.segmentation),
            // A hint that receivers do not trust.
            header_length: 0.into(),
            gso_size: self.segment_size.into(),
            checksum_start: self.checksum_start.checked_sub(offset)?.into(),
            checksum_offset: self.checksum_offset.into(),
        })
    }
}

/// Memory for the work, kept from packet to packet.
#[derive(Default)]
pub(crate) struct Completion {
    whole: Vec<u8>,
    segment: Vec<u8>,
}

impl Completion {
    /// Completes a packet and passes on the resulting packets, in order.
    pub fn complete(
        &mut self,
        pool: &mut Pool,
        mut packet: Packet,
        mut send: impl FnMut(&mut Pool, Packet),
    ) -> Result<(), Incomplete> {
        let offload = pool.offload(&packet).and_then(|offload| offload.to_virtio(packet.raw.offset));
        let Some(offload) = offload else {
            pool.free(packet);
            return Err(Incomplete::Malformed);
        };
        packet.raw.flags = packet.raw.flags.without(Flags::OFFLOAD);
        if !offload.gso_type.is_segmented() && !packet.flags().has(Flags::CHAINED) {
            if offload.complete_checksum(pool.bytes_mut(&mut packet)).is_none() {
                return Err(malformed(pool, packet));
            }
            send(pool, packet);
            return Ok(());
        }
        self.whole.clear();
        pool.segments(&packet).for_each(|part| self.whole.extend_from_slice(part));
        let template = (packet.rx, packet.tx, packet.hop, packet.flags().only(Flags::LOCAL));
        let mut push = |pool: &mut Pool, bytes: &[u8]| {
            let mut made = pool.packet(bytes).ok_or(Incomplete::NoBuffer)?;
            (made.rx, made.tx, made.hop) = (template.0, template.1, template.2);
            made.raw.flags = made.raw.flags.with(template.3);
            send(pool, made);
            Ok(())
        };
        if !offload.gso_type.is_segmented() {
            let completed = offload.complete_checksum(&mut self.whole);
            pool.free(packet);
            return completed.ok_or(Incomplete::Malformed).and_then(|()| push(pool, &self.whole));
        }
        let Some(mut segments) = Segments::new(&self.whole, &offload) else {
            return Err(malformed(pool, packet));
        };
        pool.free(packet);
        while segments.next_into(&mut self.segment) {
            push(pool, &self.segment)?;
        }
        Ok(())
    }
}

fn malformed(pool: &mut Pool, packet: Packet) -> Incomplete {
    pool.free(packet);
    Incomplete::Malformed
}
