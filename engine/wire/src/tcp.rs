//! TCP (RFC 9293).
use std::fmt;
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16, big_endian::U32};

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The bits with their names, lowest first.
    pub const NAMES: [&'static str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
    /// The sender has no more data.
    pub const FIN: TcpFlags = TcpFlags(1);
    /// Opens the connection.
    pub const SYN: TcpFlags = TcpFlags(2);
    /// Breaks it off.
    pub const RST: TcpFlags = TcpFlags(4);
    /// The data so far is to reach the application at once.
    pub const PSH: TcpFlags = TcpFlags(8);
    /// The acknowledgment number counts.
    pub const ACK: TcpFlags = TcpFlags(16);
    /// The sender reduced its window (RFC 3168, 6.1.2).
    pub const CWR: TcpFlags = TcpFlags(128);

    /// Whether all bits of `other` are set.
    #[inline(always)]
    pub fn contains(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The names of the bits that are set, such as `syn,ack`; `none` if no bit is.
impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let mut separator = "";
        for (bit, name) in Self::NAMES.iter().enumerate() {
            if self.0 & (1 << bit) != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

/// Why a text is no set of TCP flags.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no TCP flag: write some of {} with commas between, or none", TcpFlags::NAMES.join(", "))]
pub struct TcpFlagsError {
    name: String,
}

impl FromStr for TcpFlags {
    type Err = TcpFlagsError;

    /// Reads what [`TcpFlags`] prints as.
    fn from_str(text: &str) -> Result<TcpFlags, TcpFlagsError> {
        if text == "none" {
            return Ok(TcpFlags(0));
        }
        text.split(',').try_fold(TcpFlags(0), |flags, name| {
            let bit = Self::NAMES.iter().position(|known| *known == name);
            bit.map(|bit| TcpFlags(flags.0 | 1 << bit)).ok_or_else(|| TcpFlagsError { name: name.into() })
        })
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The fixed part of the header: 20 bytes; options may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TcpHeader {
    /// The sender's port.
    pub source_port: U16,
    /// The receiver's port.
    pub destination_port: U16,
    /// Sequence number of the first byte of payload.
    pub sequence: U32,
    /// The next byte the sender expects.
    pub acknowledgment: U32,
    /// Header length in words of four bytes in the high four bits; the low four are reserved.
    pub data_offset: u8,
    /// The control bits.
    pub flags: TcpFlags,
    /// Receive window.
    pub window: U16,
    /// Over pseudo header, header and payload.
    pub checksum: U16,
    /// Where urgent data ends, if the bit says so.
    pub urgent: U16,
}

impl TcpHeader {
    /// Where the checksum lies in the header.
    pub const CHECKSUM_OFFSET: usize = 16;

    /// Bytes of header and options as the header claims: 0 to 60, of which less than 20 is malformed.
    #[inline(always)]
    pub fn header_length(&self) -> usize {
        usize::from(self.data_offset >> 4) * 4
    }

    /// Options and payload, out of the bytes that followed this header; `None` if the length contradicts them.
    pub fn split<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        rest.split_at_checked(self.header_length().checked_sub(size_of::<Self>())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    #[test]
    fn flags_print_as_they_are_read() {
        for bits in 0..=255 {
            assert_eq!(TcpFlags(bits).to_string().parse(), Ok(TcpFlags(bits)));
        }
        for text in ["", "syn,", "SYN", "syn ack"] {
            assert!(text.parse::<TcpFlags>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_fields_lie_where_rfc_9293_puts_them() {
        let bytes = b"\x00\x50\xc0\x00\x00\x00\x00\x01\x00\x00\x00\x02\x60\x12\xff\xff\xbe\xef\x00\x03optsdata";
        let (header, rest) = TcpHeader::parse(bytes).unwrap();
        assert_eq!((header.source_port.get(), header.destination_port.get()), (80, 49152));
        assert_eq!((header.sequence.get(), header.acknowledgment.get()), (1, 2));
        assert_eq!((header.window.get(), header.checksum.get(), header.urgent.get()), (65535, 0xbeef, 3));
        assert_eq!(header.flags.to_string(), "syn,ack");
        assert_eq!(header.split(rest), Some((&b"opts"[..], &b"data"[..])));
        assert_eq!(header.split(&rest[..3]), None);
        assert_eq!(TcpHeader::parse(&bytes[..19]), None);
    }
}
