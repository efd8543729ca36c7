//! The words of a packet's text, and what can be wrong with them.
use super::Checksum;
use quiver_wire::IpProtocol;
use std::fmt;
use std::iter::{Copied, Peekable};
use std::slice;
use std::str::FromStr;

/// The words that layers begin with.
pub const LAYERS: [&str; 19] = [
    "eth", "dot1q", "dot1ad", "arp", "ip4", "icmp", "ip6", "hbh", "routing", "dstopt", "frag", "icmp6", "nd", "ra",
    "udp", "tcp", "payload", "hex", "padding",
];

/// Why a text is no packet; layers are counted from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketTextError {
    /// Nothing stands where a layer should.
    #[error("layer {layer} is empty: write one of {}, with ` / ` between layers", LAYERS.join(", "))]
    Empty {
        /// Which layer.
        layer: usize,
    },
    /// No layer begins with this word.
    #[error("layer {layer}: `{name}` is no layer: write one of {}", LAYERS.join(", "))]
    UnknownLayer {
        /// Which layer.
        layer: usize,
        /// Its first word.
        name: String,
    },
    /// The layer has no field of this name.
    #[error("layer {layer} ({name}): `{field}` is no field of it: write one of {fields}")]
    UnknownField {
        /// Which layer.
        layer: usize,
        /// Its first word.
        name: String,
        /// The word that is wrong.
        field: String,
        /// The fields of the layer.
        fields: String,
    },
    /// A value is missing or not what the field takes.
    #[error("layer {layer} ({name}): {} for {field}: write {remedy}", found.as_ref().map_or("nothing stands".into(), |found| format!("`{found}` will not do")))]
    Value {
        /// Which layer.
        layer: usize,
        /// Its first word.
        name: String,
        /// The field.
        field: &'static str,
        /// The word found, if any.
        found: Option<String>,
        /// Valid values.
        remedy: String,
    },
    /// A layer without fields goes on.
    #[error("layer {layer} ({name}): `{word}` stands behind its end: begin the next layer with ` / `")]
    TooMuch {
        /// Which layer.
        layer: usize,
        /// Its first word.
        name: String,
        /// The first word too many.
        word: String,
    },
    /// Something stands behind the padding.
    #[error("layer {layer}: padding stands before it: make padding the last layer")]
    BehindPadding {
        /// Which layer.
        layer: usize,
    },
}

/// The words of one layer.
pub(super) struct Words<'a> {
    layer: usize,
    name: &'a str,
    words: Peekable<Copied<slice::Iter<'a, &'a str>>>,
}

impl<'a> Words<'a> {
    /// The words of the layer of this number; its first is its name.
    pub(super) fn new(layer: usize, words: &'a [&'a str]) -> Result<Words<'a>, PacketTextError> {
        let mut words = words.iter().copied().peekable();
        let name = words.next().ok_or(PacketTextError::Empty { layer })?;
        Ok(Words { layer, name, words })
    }

    /// The layer's first word.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// The next word, if there is one: the name of a field.
    pub(super) fn field(&mut self) -> Option<&'a str> {
        self.words.next()
    }

    /// The next word as `read` understands it.
    pub(super) fn read<T>(
        &mut self,
        field: &'static str,
        remedy: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, PacketTextError> {
        let found = self.words.next();
        found.and_then(read).ok_or_else(|| PacketTextError::Value {
            layer: self.layer,
            name: self.name.into(),
            field,
            found: found.map(Into::into),
            remedy: remedy.into(),
        })
    }

    /// A value that knows how to read itself.
    pub(super) fn value<T: FromStr>(&mut self, field: &'static str, remedy: &str) -> Result<T, PacketTextError> {
        self.read(field, remedy, |word| word.parse().ok())
    }

    /// A decimal or, behind `0x`, hexadecimal number up to `max`.
    pub(super) fn number<T: TryFrom<u32>>(&mut self, field: &'static str, max: u32) -> Result<T, PacketTextError> {
        let upto = |word: &str| number(word).filter(|number| *number <= max)?.try_into().ok();
        self.read(field, &format!("a number from 0 to {max}"), upto)
    }

    /// Bytes as pairs of hexadecimal digits without a gap; none if the layer ends here.
    pub(super) fn bytes(&mut self, field: &'static str) -> Result<Vec<u8>, PacketTextError> {
        match self.words.peek() {
            Some(_) => self.read(field, "pairs of hexadecimal digits such as 0a0b", bytes),
            None => Ok(Vec::new()),
        }
    }

    /// As [`Words::bytes`], of which there must be as many as `fits` says.
    pub(super) fn bytes_that(
        &mut self,
        field: &'static str,
        remedy: &str,
        fits: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, PacketTextError> {
        self.read(field, remedy, |word| bytes(word).filter(|bytes| fits(bytes)))
    }

    /// Where a fragment belongs: a multiple of eight.
    pub(super) fn fragment_offset(&mut self) -> Result<u16, PacketTextError> {
        let whole = |word: &str| number(word).filter(|offset| offset % 8 == 0)?.try_into().ok();
        self.read("offset", "a multiple of 8 from 0 to 65528", whole)
    }

    /// Next header of an IPv6 header.
    pub(super) fn next_header(&mut self) -> Result<IpProtocol, PacketTextError> {
        self.value("next", "a name such as udp or a number from 0 to 255")
    }

    /// The options of IPv4 and TCP: bytes, filled up with zeros to whole words.
    pub(super) fn options(&mut self) -> Result<Vec<u8>, PacketTextError> {
        let remedy = "up to 40 pairs of hexadecimal digits such as 94040000";
        let mut options = self.bytes_that("options", remedy, |bytes| bytes.len() <= 40)?;
        options.resize(options.len().next_multiple_of(4), 0);
        Ok(options)
    }

    /// This very word.
    pub(super) fn exactly(&mut self, word: &'static str) -> Result<(), PacketTextError> {
        self.read(word, &format!("`{word}`"), |found| (found == word).then_some(()))
    }

    /// Whether this very word came next; if not, it is left.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        self.words.next_if_eq(&word).is_some()
    }

    /// The checksum that the field of this name gives; any other name is no field of the layer.
    pub(super) fn checksum(&mut self, field: &str, fields: &str) -> Result<Checksum, PacketTextError> {
        match field {
            "checksum" => Ok(Checksum::Given(self.number("checksum", 0xffff)?)),
            "bad-checksum" if self.words.peek().is_some_and(|word| number(word).is_some()) => {
                Ok(Checksum::Wrong(Some(self.number("bad-checksum", 0xffff)?)))
            }
            "bad-checksum" => Ok(Checksum::Wrong(None)),
            "partial-checksum" => Ok(Checksum::Partial),
            "no-checksum" => Ok(Checksum::Absent),
            _ => Err(self.unknown(field, &format!("{fields}, checksum, bad-checksum, partial-checksum, no-checksum"))),
        }
    }

    /// The layer has no such field.
    pub(super) fn unknown(&self, field: &str, fields: &str) -> PacketTextError {
        let (layer, name) = (self.layer, self.name.into());
        PacketTextError::UnknownField { layer, name, field: field.into(), fields: fields.into() }
    }

    /// The layer must end here.
    pub(super) fn end(&mut self) -> Result<(), PacketTextError> {
        match self.words.next() {
            Some(word) => {
                Err(PacketTextError::TooMuch { layer: self.layer, name: self.name.into(), word: word.into() })
            }
            None => Ok(()),
        }
    }
}

/// Writes the field as [`Words::next_header`] reads it, with its keyword; nothing if it follows from the next layer.
pub(super) fn write_next_header(f: &mut fmt::Formatter<'_>, next: Option<IpProtocol>) -> fmt::Result {
    next.map_or(Ok(()), |next| write!(f, " next {next}"))
}

/// The bytes of pairs of hexadecimal digits.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    word.as_bytes().chunks(2).map(pair).collect()
}

/// A decimal or, behind `0x`, hexadecimal number.
fn number(word: &str) -> Option<u32> {
    let (digits, radix) = word.strip_prefix("0x").map_or((word, 10), |digits| (digits, 16));
    // `from_str_radix` alone would take a sign.
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
}

/// Bytes as pairs of hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
