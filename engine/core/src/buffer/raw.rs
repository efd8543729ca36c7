//! Packet descriptors: buffer, offset, flags and length.

/// Flags of a packet; a column of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(transparent)]
pub struct Flags(pub u16);

impl Flags {
    /// None of them.
    pub const NONE: Flags = Flags(0);
    /// The packet goes on in further buffers.
    pub const CHAINED: Flags = Flags(1);
    /// The buffer holds an [`Offload`](super::Offload): a checksum to be filled in, segments to be cut.
    pub const OFFLOAD: Flags = Flags(2);
    /// Nodes record what they do with the packet.
    pub const TRACED: Flags = Flags(4);
    /// We made the packet; it was not received.
    pub const LOCAL: Flags = Flags(8);
    /// The packet came in a multicast or broadcast frame, so no error is reported for it, and it is forwarded only by
    /// nodes that ask for it (RFC 1812, 4.3.2.7 and 5.3.4).
    pub const LINK_GROUP: Flags = Flags(16);
    /// Rooms keep something with the packet ([`Metadata`](super::Metadata)).
    pub const METADATA: Flags = Flags(32);

    /// Whether any of the flags of `other` is set.
    #[inline(always)]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// The flags of both.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The flags that both have.
    #[inline(always)]
    #[must_use]
    pub const fn only(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
    /// These flags without those of `other`.
    #[inline(always)]
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// A packet's place in memory. A plain value: its holder must own the packet.
#[derive(Clone, Copy)]
pub(crate) struct Raw {
    pub buffer: u32,
    pub offset: u16,
    pub flags: Flags,
    pub length: u32,
}

/// A stretch of the buffers' shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
    pub length: u32,
}
