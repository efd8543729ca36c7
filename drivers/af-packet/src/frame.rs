//! A frame of the kernel's ring (linux/if_packet.h, TPACKET_V2): a header, then the packet.
//!
//! Nothing here is trusted: whatever the bytes are, reading them stays inside the frame.

use quiver_wire::{Header, VirtioNetHeader};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned, native_endian::U16, native_endian::U32};

/// In [`FrameHeader::status`]: the packet is longer than the frame, and waits as a whole in the socket's queue.
const COPY: u32 = 1 << 1;
/// Packets found the ring full since the socket was asked last how many did.
const LOSING: u32 = 1 << 2;
/// The kernel took a VLAN tag off.
const VLAN: u32 = 1 << 4;
/// The tag's own ethertype is told, too.
const VLAN_ETHERTYPE: u32 = 1 << 6;
/// Ethertype of a tag whose ethertype the kernel does not report (IEEE 802.1Q).
const DOT1Q: u16 = 0x8100;

/// `tpacket2_hdr`.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct FrameHeader {
    /// Owner of the frame, read only through [`crate::ring::Ring`], and the kernel's status flags.
    status: U32,
    length: U32,
    captured: U32,
    mac: U16,
    net: U16,
    seconds: U32,
    nanoseconds: U32,
    vlan_tci: U16,
    vlan_ethertype: U16,
    padding: [u8; 4],
}
const _: () = assert!(size_of::<FrameHeader>() == size_of::<libc::tpacket2_hdr>());
/// Where the status lies in a frame.
pub const STATUS: usize = std::mem::offset_of!(FrameHeader, status);

/// A VLAN tag that the kernel took off, to be put back behind the addresses: ethertype and tag control information.
pub type Tag = Option<[u8; 4]>;

/// Content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'f> {
    /// A whole packet.
    Whole {
        /// Its bytes, without the tag.
        bytes: &'f [u8],
        /// Checksum and segmentation left to do.
        offload: VirtioNetHeader,
        /// Its tag.
        tag: Tag,
    },
    /// A packet that is longer than a frame: it is to be read from the socket.
    Apart(Tag),
    /// A packet of which there is a part only, or a contradiction.
    Truncated,
}

/// Whether packets have been lost because the ring was full.
pub fn tells_loss(frame: &[u8]) -> bool {
    FrameHeader::read_from_prefix(frame).is_ok_and(|(header, _)| header.status.get() & LOSING != 0)
}

/// Reads a frame.
pub fn read(frame: &[u8]) -> Received<'_> {
    // One copy, so that what was checked is what is used.
    let Ok((header, _)) = FrameHeader::read_from_prefix(frame) else { return Received::Truncated };
    let status = header.status.get();
    let tag = (status & VLAN != 0).then(|| {
        let ethertype = if status & VLAN_ETHERTYPE != 0 { header.vlan_ethertype.get() } else { DOT1Q };
        let ([a, b], [c, d]) = (ethertype.to_be_bytes(), header.vlan_tci.get().to_be_bytes());
        [a, b, c, d]
    });
    if status & COPY != 0 {
        return Received::Apart(tag);
    }
    let whole = || {
        let (mac, captured) = (usize::from(header.mac.get()), header.captured.get() as usize);
        if header.captured.get() < header.length.get() || captured < 14 {
            return None;
        }
        let bytes = frame.get(mac..)?.get(..captured)?;
        // With PACKET_VNET_HDR the header ends where the packet begins.
        let virtio = frame.get(mac.checked_sub(VirtioNetHeader::LENGTH)?..)?;
        let (offload, _) = VirtioNetHeader::read_from_prefix(virtio).ok()?;
        Some(Received::Whole { bytes, offload, tag })
    };
    whole().unwrap_or(Received::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::FRAME;

    const MAC: usize = 82;

    /// A packet as the kernel lays it down.
    fn frame(bytes: &[u8], length: u32, status: u32) -> Vec<u8> {
        let mut all = vec![0; MAC];
        all[0..4].copy_from_slice(&status.to_ne_bytes());
        all[4..8].copy_from_slice(&length.to_ne_bytes());
        all[8..12].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        all[12..14].copy_from_slice(&(MAC as u16).to_ne_bytes());
        all[24..26].copy_from_slice(&0x2064u16.to_ne_bytes());
        all[26..28].copy_from_slice(&0x88a8u16.to_ne_bytes());
        // Virtio's header in front of the packet: a checksum to be completed.
        all[MAC - 10] = 1;
        all[MAC - 4..MAC].copy_from_slice(&[34, 0, 16, 0]);
        all.extend_from_slice(bytes);
        all.resize(FRAME, 0);
        all
    }

    #[test]
    fn packets_tags_and_offloads_are_read() {
        let offload = VirtioNetHeader {
            flags: 1,
            checksum_start: 34.into(),
            checksum_offset: 16.into(),
            ..VirtioNetHeader::NONE
        };
        let bytes = &[8; 1514][..];
        for (status, tag) in [
            (1, None),
            (1 | VLAN, Some([0x81, 0, 0x20, 0x64])),
            (1 | VLAN | VLAN_ETHERTYPE, Some([0x88, 0xa8, 0x20, 0x64])),
        ] {
            assert_eq!(read(&frame(bytes, 1514, status)), Received::Whole { bytes, offload, tag });
            assert_eq!(read(&frame(bytes, 64_000, status | COPY)), Received::Apart(tag));
        }
    }

    #[test]
    fn losses_are_told() {
        let told = [1, 1 | LOSING, 1 | COPY | LOSING].map(|status| tells_loss(&frame(&[8; 60], 60, status)));
        assert_eq!((told, tells_loss(&[])), ([false, true, true], false));
    }

    #[test]
    fn parts_of_packets_and_contradictions_are_told_as_such() {
        assert_eq!(read(&frame(&[7; 60], 61, 1)), Received::Truncated);
        assert_eq!(read(&frame(&[7; 13], 13, 1)), Received::Truncated);
        let good = frame(&[7; 60], 60, 1);
        // (place, value): captured, mac before virtio's header, mac behind the frame.
        for (place, value) in [(8, u32::MAX), (12, 9), (12, 2047)] {
            let mut bad = good.clone();
            bad[place..place + 4].copy_from_slice(&value.to_ne_bytes());
            assert_eq!(read(&bad), Received::Truncated, "{place}");
        }
        assert_eq!((read(&good[..31]), read(&[])), (Received::Truncated, Received::Truncated));
    }
}
