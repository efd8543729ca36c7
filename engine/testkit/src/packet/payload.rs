//! `payload 26`, `hex 0a0b0c` and `padding 18`: bytes without a meaning of their own.
use super::PacketTextError;
use super::text::{Words, hex};
use std::fmt;

/// Longest run of bytes that a number in the text may ask for.
const LONGEST: u32 = 65_535;

/// Bytes that the last header carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(pub Vec<u8>);

impl Payload {
    /// So many bytes that count from zero up, so that a test sees where each came from: `payload 26`.
    pub fn counting(length: usize) -> Payload {
        Payload((0..length).map(|at| at as u8).collect())
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Payload, PacketTextError> {
        let payload = Self::counting(words.number("length", LONGEST)?);
        words.end()?;
        Ok(payload)
    }

    pub(super) fn read_hex(words: &mut Words<'_>) -> Result<Payload, PacketTextError> {
        let bytes = words.bytes("bytes")?;
        words.end()?;
        Ok(Payload(bytes))
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.len();
        // A few bytes that happen to count are more likely something else.
        if (length == 0 || length >= 4) && *self == Self::counting(length) {
            write!(f, "payload {length}")
        } else {
            write!(f, "hex {}", hex(&self.0))
        }
    }
}

/// Padding that the link adds behind the packet and no header counts: Ethernet frames are at least 60 bytes long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding(pub Vec<u8>);

impl Padding {
    /// So many zeros.
    pub fn zeros(length: usize) -> Padding {
        Padding(vec![0; length])
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Padding, PacketTextError> {
        let padding = if words.accept("hex") {
            Padding(words.bytes("bytes")?)
        } else {
            Self::zeros(words.number("length", LONGEST)?)
        };
        words.end()?;
        Ok(padding)
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.iter().all(|byte| *byte == 0) {
            write!(f, "padding {}", self.0.len())
        } else {
            write!(f, "padding hex {}", hex(&self.0))
        }
    }
}
