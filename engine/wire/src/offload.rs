//! The header that carries offloads beside a packet: virtio's `virtio_net_hdr` (virtio 1.2, 5.1.6), as TAP devices,
//! AF_PACKET sockets and vhost-user speak it.
use crate::checksum;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16};

/// In [`VirtioNetHeader::flags`]: the checksum field holds the pseudo header's sum only and is to be completed.
pub const NEEDS_CHECKSUM: u8 = 1;
/// In [`VirtioNetHeader::flags`]: the checksum has been verified.
pub const DATA_VALID: u8 = 2;

/// Segmentation of a packet that is longer than the link's MTU (5.1.6, `gso_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct GsoType(pub u8);

impl GsoType {
    /// No segmentation: the packet is complete.
    pub const NONE: GsoType = GsoType(0);
    /// TCP segments over IPv4.
    pub const TCP4: GsoType = GsoType(1);
    /// One UDP datagram to be fragmented by IP.
    pub const UDP_FRAGMENTS: GsoType = GsoType(3);
    /// TCP segments over IPv6.
    pub const TCP6: GsoType = GsoType(4);
    /// UDP datagrams of equal size.
    pub const UDP: GsoType = GsoType(5);
    /// A bit beside the type: the segments carry explicit congestion notification.
    pub const ECN: u8 = 0x80;

    /// The type without the congestion bit.
    #[inline(always)]
    pub const fn kind(self) -> GsoType {
        GsoType(self.0 & !Self::ECN)
    }

    /// Whether there is anything to cut.
    #[inline(always)]
    pub fn is_segmented(self) -> bool {
        self.kind() != Self::NONE
    }
}

/// The header of ten bytes; numbers are little-endian (virtio 1.0 on; for TAP, where the machine is).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct VirtioNetHeader {
    /// [`NEEDS_CHECKSUM`], [`DATA_VALID`].
    pub flags: u8,
    /// Segmentation of the packet.
    pub gso_type: GsoType,
    /// Bytes of headers that every segment repeats; a hint only.
    pub header_length: U16,
    /// Bytes of payload in each segment.
    pub gso_size: U16,
    /// Where summing starts, from the packet's first byte.
    pub checksum_start: U16,
    /// Where the checksum lies, from there.
    pub checksum_offset: U16,
}

/// The header of twelve bytes, as `VIRTIO_NET_F_MRG_RXBUF` and virtio 1.0 have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct VirtioNetHeaderMergeable {
    /// The first ten bytes.
    pub header: VirtioNetHeader,
    /// Number of buffers that the packet takes.
    pub buffers: U16,
}

impl VirtioNetHeader {
    /// No offload: a whole packet with its checksums in place.
    pub const NONE: VirtioNetHeader = VirtioNetHeader {
        flags: 0,
        gso_type: GsoType::NONE,
        header_length: U16::ZERO,
        gso_size: U16::ZERO,
        checksum_start: U16::ZERO,
        checksum_offset: U16::ZERO,
    };

    /// Whether the packet's checksum is to be completed.
    #[inline(always)]
    pub fn needs_checksum(&self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }

    /// Completes the checksum of a whole `packet` if that is asked for, so that it can leave without the offload.
    ///
    /// `None` if the places lie outside of the packet, which then is malformed and unchanged.
    pub fn complete_checksum(&self, packet: &mut [u8]) -> Option<()> {
        if !self.needs_checksum() {
            return Some(());
        }
        let summed = packet.get_mut(usize::from(self.checksum_start.get())..)?;
        let offset = usize::from(self.checksum_offset.get());
        // The field already holds the pseudo header's sum and so takes part. All ones for zero is right for TCP,
        // too: both are zero in one's complement.
        let checksum = checksum::of(summed).checksum_not_zero();
        *summed.get_mut(offset..)?.first_chunk_mut()? = checksum.to_be_bytes();
        Some(())
    }
}

impl VirtioNetHeaderMergeable {
    /// No offload, one buffer.
    pub const NONE: VirtioNetHeaderMergeable =
        VirtioNetHeaderMergeable { header: VirtioNetHeader::NONE, buffers: U16::new(1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, IpProtocol};

    #[test]
    fn the_fields_lie_where_virtio_puts_them() {
        let bytes = [1, 0x81, 66, 0, 0xa8, 5, 34, 0, 16, 0, 1, 0];
        let (mergeable, rest) = VirtioNetHeaderMergeable::parse(&bytes).unwrap();
        let header = mergeable.header;
        assert!(header.needs_checksum() && header.gso_type.is_segmented());
        assert_eq!(
            (header.gso_type.kind(), header.header_length.get(), header.gso_size.get()),
            (GsoType::TCP4, 66, 1448)
        );
        assert_eq!((header.checksum_start.get(), header.checksum_offset.get()), (34, 16));
        assert_eq!((mergeable.buffers.get(), rest.len()), (1, 0));
        assert_eq!((VirtioNetHeader::LENGTH, VirtioNetHeaderMergeable::LENGTH), (10, 12));
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        let pseudo = checksum::pseudo_header4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP, 11);
        let mut packet = *b"..\x03\xe8\x07\xd0\x00\x0b\x00\x00abc";
        packet[8..10].copy_from_slice(&pseudo.folded().to_be_bytes());
        let offload = VirtioNetHeader {
            flags: NEEDS_CHECKSUM,
            checksum_start: U16::new(2),
            checksum_offset: U16::new(6),
            ..VirtioNetHeader::NONE
        };
        offload.complete_checksum(&mut packet).unwrap();
        assert!(pseudo.add_bytes(&packet[2..]).is_right());
    }

    #[test]
    fn places_outside_of_the_packet_are_refused() {
        let at = |start: u16, offset: u16| VirtioNetHeader {
            flags: NEEDS_CHECKSUM,
            checksum_start: start.into(),
            checksum_offset: offset.into(),
            ..VirtioNetHeader::NONE
        };
        let mut packet = [7; 10];
        for (start, offset) in [(11, 0), (10, 0), (8, 1), (65535, 65535), (0, 9)] {
            assert_eq!(at(start, offset).complete_checksum(&mut packet), None, "{start} {offset}");
            assert_eq!(packet, [7; 10]);
        }
        assert_eq!(at(8, 0).complete_checksum(&mut packet), Some(()));
        assert_ne!(packet, [7; 10]);
    }
}
