//! What the kernel writes into a block of the ring (linux/if_packet.h, TPACKET_V3): a description of the block, then
//! packets, each behind a header of its own.
//!
//! Nothing here is trusted: whatever the bytes are, reading them ends, and stays inside the block.

use quiver_wire::{Header, VirtioNetHeader};
use zerocopy::{
    FromBytes, Immutable, KnownLayout, Unaligned, native_endian::U16, native_endian::U32, native_endian::U64,
};

/// In [`PacketHeader::status`]: the kernel took a VLAN tag off.
const VLAN: u32 = 1 << 4;
/// In [`PacketHeader::status`]: the tag's own ethertype is told, too.
const VLAN_ETHERTYPE: u32 = 1 << 6;
/// What a tag without told ethertype had (IEEE 802.1Q).
const DOT1Q: u16 = 0x8100;

/// `tpacket_block_desc` with its `tpacket_hdr_v1`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub struct BlockHeader {
    version: U32,
    offset_to_priv: U32,
    /// Whose the block is; read only through [`crate::ring::Ring`].
    status: U32,
    packets: U32,
    first: U32,
    length: U32,
    sequence: U64,
    times: [U32; 4],
}
/// Where [`BlockHeader::status`] lies.
pub const STATUS: usize = std::mem::offset_of!(BlockHeader, status);

/// `tpacket3_hdr`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct PacketHeader {
    next: U32,
    seconds: U32,
    nanoseconds: U32,
    captured: U32,
    length: U32,
    status: U32,
    mac: U16,
    net: U16,
    hash: U32,
    vlan_tci: U32,
    vlan_ethertype: U16,
    padding: [u8; 10],
}
const _: () = assert!(size_of::<PacketHeader>() == size_of::<libc::tpacket3_hdr>());
const _: () = assert!(size_of::<BlockHeader>() == size_of::<libc::tpacket_block_desc>());

/// Where reading a block has got to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Packets not read yet.
    left: u32,
    /// Where the next one's header begins.
    at: usize,
}

/// A packet in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'b> {
    /// A whole one.
    Whole {
        /// Its bytes, without the tag that the kernel took off.
        bytes: &'b [u8],
        /// What is left to do for it.
        offload: VirtioNetHeader,
        /// The tag, to be put back behind the addresses: ethertype and tag control information.
        tag: Option<[u8; 4]>,
    },
    /// One of which the kernel could store a part only.
    Truncated,
}

impl Cursor {
    /// In front of a block's first packet. A block that contradicts itself has none.
    pub fn start(block: &[u8]) -> Cursor {
        match BlockHeader::read_from_prefix(block) {
            Ok((header, _)) => Cursor { left: header.packets.get(), at: header.first.get() as usize },
            Err(_) => Cursor { left: 0, at: 0 },
        }
    }

    /// The next packet; none at the block's end, or where it contradicts itself.
    pub fn next<'b>(&mut self, block: &'b [u8]) -> Option<Received<'b>> {
        self.left = self.left.checked_sub(1)?;
        let here = block.get(self.at..)?;
        // One copy, so that what was checked is what is used.
        let Ok((header, _)) = PacketHeader::read_from_prefix(here) else {
            self.left = 0;
            return Some(Received::Truncated);
        };
        match header.next.get() as usize {
            // Only ever forward, so that a ring of packets is none.
            0 => self.left = 0,
            next => self.at += next,
        }
        Some(received(here, &header).unwrap_or(Received::Truncated))
    }
}

fn received<'b>(here: &'b [u8], header: &PacketHeader) -> Option<Received<'b>> {
    let (mac, captured) = (usize::from(header.mac.get()), header.captured.get() as usize);
    if header.captured.get() < header.length.get() || captured < 14 {
        return None;
    }
    let bytes = here.get(mac..)?.get(..captured)?;
    // With PACKET_VNET_HDR the header ends where the packet begins.
    let virtio = here.get(mac.checked_sub(VirtioNetHeader::LENGTH)?..)?;
    let (offload, _) = VirtioNetHeader::read_from_prefix(virtio).ok()?;
    let status = header.status.get();
    let tag = (status & VLAN != 0).then(|| {
        let ethertype = if status & VLAN_ETHERTYPE != 0 { header.vlan_ethertype.get() } else { DOT1Q };
        let ([a, b], [c, d]) = (ethertype.to_be_bytes(), (header.vlan_tci.get() as u16).to_be_bytes());
        [a, b, c, d]
    });
    Some(Received::Whole { bytes, offload, tag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIRST: usize = 48;
    const MAC: usize = 82;

    /// A packet as the kernel lays it down; `next` is filled in by `block`.
    fn packet(bytes: &[u8], length: u32, status: u32) -> Vec<u8> {
        let mut all = vec![0; MAC];
        all[12..16].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        all[16..20].copy_from_slice(&length.to_ne_bytes());
        all[20..24].copy_from_slice(&status.to_ne_bytes());
        all[24..26].copy_from_slice(&(MAC as u16).to_ne_bytes());
        all[32..36].copy_from_slice(&0x2064u32.to_ne_bytes());
        all[36..38].copy_from_slice(&0x88a8u16.to_ne_bytes());
        // Virtio's header in front of the packet: a checksum to be completed.
        all[MAC - 10] = 1;
        all[MAC - 4..MAC].copy_from_slice(&[34, 0, 16, 0]);
        all.extend_from_slice(bytes);
        all.resize(all.len().next_multiple_of(16), 0);
        all
    }
    fn block(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut all = vec![0; FIRST];
        all[12..16].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        all[16..20].copy_from_slice(&(FIRST as u32).to_ne_bytes());
        for (i, packet) in packets.iter().enumerate() {
            let at = all.len();
            all.extend_from_slice(packet);
            let next = if i + 1 < packets.len() { packet.len() as u32 } else { 0 };
            all[at..at + 4].copy_from_slice(&next.to_ne_bytes());
        }
        all
    }
    fn read(block: &[u8]) -> Vec<Received<'_>> {
        let mut cursor = Cursor::start(block);
        std::iter::from_fn(|| cursor.next(block)).collect()
    }

    #[test]
    fn packets_tags_and_offloads_are_read() {
        let (a, b) = ([7; 60], [8; 1514]);
        let block = block(&[packet(&a, 60, 1), packet(&b, 1514, 1 | VLAN), packet(&a, 60, 1 | VLAN | VLAN_ETHERTYPE)]);
        let offload = VirtioNetHeader {
            flags: 1,
            checksum_start: 34.into(),
            checksum_offset: 16.into(),
            ..VirtioNetHeader::NONE
        };
        let expected = [
            Received::Whole { bytes: &a, offload, tag: None },
            Received::Whole { bytes: &b, offload, tag: Some([0x81, 0, 0x20, 0x64]) },
            Received::Whole { bytes: &a, offload, tag: Some([0x88, 0xa8, 0x20, 0x64]) },
        ];
        assert_eq!(read(&block), expected);
    }

    #[test]
    fn parts_of_packets_are_told_as_such_and_the_rest_goes_on() {
        let a = [7; 60];
        let all = block(&[packet(&a, 61, 1), packet(&a[..13], 13, 1), packet(&a, 60, 1)]);
        let read = read(&all);
        assert_eq!(read[..2], [Received::Truncated; 2]);
        assert!(matches!(read[2], Received::Whole { .. }));
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn hostile_numbers_end() {
        let a = [7; 60];
        let good = block(&[packet(&a, 60, 1), packet(&a, 60, 1)]);
        // (place, value): packets, first, next, captured, mac.
        for (place, value) in
            [(12, u32::MAX), (16, u32::MAX), (FIRST, u32::MAX), (FIRST + 12, u32::MAX), (FIRST + 24, 9)]
        {
            let mut bad = good.clone();
            bad[place..place + 4].copy_from_slice(&value.to_ne_bytes());
            let read = read(&bad);
            assert!(read.len() <= 3, "{place}: {read:?}");
        }
        assert!(read(&good[..20]).is_empty() && read(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400), small in any::<bool>()) {
            let mut bytes = bytes;
            if small && bytes.len() > 20 {
                bytes[13..16].fill(0);
                bytes[17..20].fill(0);
            }
            let all = read(&bytes);
            prop_assert!(all.len() <= bytes.len() + 1);
        }
    }
}
