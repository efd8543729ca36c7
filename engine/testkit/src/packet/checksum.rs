//! Content of a packet's checksum field, to be written or as read.
use quiver_wire::Sum;
use std::fmt;

/// The content of a checksum field, as the text says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// The correct checksum; without text.
    #[default]
    Right,
    /// The pseudo header's sum only, for a driver to complete: `partial-checksum`.
    Partial,
    /// Zero, which says in UDP that the sender computed none, over IPv6 in tunnels only (RFC 6935): `no-checksum`.
    Absent,
    /// A wrong one: `bad-checksum`, with the value of one that was found.
    Wrong(Option<u16>),
    /// This value, where right and wrong cannot be told (a fragment, a quotation): `checksum 0xbeef`.
    Given(u16),
}

/// Sums of the bytes below a checksum: `pseudo` is zero where the protocol has no pseudo header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    /// Of the pseudo header alone.
    pub pseudo: Sum,
    /// The correct checksum.
    pub right: u16,
    /// Whether all the bytes that the checksum covers are there.
    pub whole: bool,
}

impl Checksum {
    /// Value for the field.
    pub(super) fn value(self, sums: Sums) -> u16 {
        match self {
            Checksum::Right => sums.right,
            Checksum::Partial => sums.pseudo.folded(),
            Checksum::Absent => 0,
            // One bit off, and not zero, which could mean that there is none.
            Checksum::Wrong(None) if sums.right == 1 => 3,
            Checksum::Wrong(None) => sums.right ^ 1,
            Checksum::Wrong(Some(value)) | Checksum::Given(value) => value,
        }
    }

    /// Interprets a field that holds `stored`.
    pub(super) fn read(stored: u16, sums: Sums, may_be_absent: bool) -> Checksum {
        match stored {
            right if right == sums.right => Checksum::Right,
            0 if may_be_absent => Checksum::Absent,
            value if !sums.whole => Checksum::Given(value),
            partial if partial == sums.pseudo.folded() && sums.pseudo != Sum::default() => Checksum::Partial,
            // Both are zero in one's complement (RFC 1624, 3), so a receiver takes either.
            zero @ (0 | 0xffff) if matches!(sums.right, 0 | 0xffff) => Checksum::Given(zero),
            wrong => Checksum::Wrong(Some(wrong)),
        }
    }
}

/// The words behind the other fields, each with a space before it.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checksum::Right => Ok(()),
            Checksum::Partial => f.write_str(" partial-checksum"),
            Checksum::Absent => f.write_str(" no-checksum"),
            Checksum::Wrong(None) => f.write_str(" bad-checksum"),
            Checksum::Wrong(Some(value)) => write!(f, " bad-checksum 0x{value:04x}"),
            Checksum::Given(value) => write!(f, " checksum 0x{value:04x}"),
        }
    }
}
