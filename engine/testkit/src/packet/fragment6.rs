//! `frag offset 1480 [more] id 7 [next udp]`: the extension header of a fragment.
use super::PacketTextError;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::text::Words;
use quiver_wire::ip6::FragmentHeader;
use quiver_wire::{Header, IpProtocol};
use std::fmt;
use zerocopy::IntoBytes;

/// The extension header of a fragment of an IPv6 packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment6 {
    /// Where the fragment belongs, in bytes: a multiple of eight.
    pub offset: u16,
    /// More fragments.
    pub more: bool,
    /// Identification.
    pub id: u32,
    /// Next header; `None` if it follows from the next layer.
    pub next: Option<IpProtocol>,
}

impl Fragment6 {
    /// The header of a fragment, which announces the next layer.
    pub fn new(offset: u16, more: bool, id: u32) -> Fragment6 {
        Fragment6 { offset, more, id, next: None }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Fragment6, PacketTextError> {
        let mut layer = Fragment6::new(0, false, 0);
        while let Some(field) = words.field() {
            match field {
                "offset" => layer.offset = words.fragment_offset()?,
                "more" => layer.more = true,
                "id" => layer.id = words.number("id", u32::MAX)?,
                "next" => layer.next = Some(words.next_header()?),
                other => return Err(words.unknown(other, "offset, more, id, next")),
            }
        }
        Ok(layer)
    }

    fn wire(&self, next_header: IpProtocol) -> FragmentHeader {
        let offset_more = (self.offset & 0xfff8 | u16::from(self.more)).into();
        FragmentHeader { next_header, reserved: 0, offset_more, identification: self.id.into() }
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        self.wire(inside.protocol(self.next)).as_bytes().into()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = FragmentHeader::parse(place.bytes)?;
        let fragment = header.fragment();
        let (offset, next) = (fragment.offset as u16, header.next_header);
        let layer =
            Fragment6 { next: Some(next), ..Fragment6::new(offset, fragment.more, header.identification.get()) };
        // The text has no words for the bits that are unused.
        if layer.wire(next) != *header {
            return None;
        }
        let next = if offset == 0 { Next::from_protocol(next) } else { Next::Payload };
        let whole = place.whole && offset == 0 && !fragment.more;
        Some(Step::new(layer, Place { whole, ..place.then(next, rest) }))
    }
}

impl fmt::Display for Fragment6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.more { " more" } else { "" };
        write!(f, "frag offset {}{more} id {}", self.offset, self.id)?;
        super::text::write_next_header(f, self.next)
    }
}
