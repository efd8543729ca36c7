//! Tags in the bytes of a frame: reading, taking off, putting on. IEEE 802.1Q, 9.3 to 9.6.

use quiver_engine::{Isa, LANES, Lanes, Mask, PacketLanes};
use quiver_wire::{EtherType, EthernetHeader, Header, VlanTag};

/// Bytes of a tag.
pub(crate) const TAG: usize = 4;
/// Bytes of both addresses.
const ADDRESSES: usize = 12;

/// A tag of a frame: its ethertype (TPID), and its control information.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tag {
    /// 0x8100 or 0x88a8.
    pub ethertype: u16,
    /// Priority, drop eligibility and VLAN.
    pub tci: u16,
}

impl Tag {
    /// The four bytes that it is in a frame.
    #[inline(always)]
    pub(crate) fn word(self) -> u32 {
        u32::from(self.ethertype) << 16 | u32::from(self.tci)
    }
    /// The VLAN.
    pub fn vlan(self) -> u16 {
        self.tci & 0x0fff
    }
}

/// The first tags of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tags {
    /// The first two.
    pub first: [Tag; 2],
    /// Number of tags: 3 stands for three or more.
    pub count: usize,
}

impl Tags {
    /// Reads the tags of a frame; None if it ends within header or tags.
    pub fn read(frame: &[u8]) -> Option<Tags> {
        let (header, mut rest) = EthernetHeader::parse(frame)?;
        let (mut tags, mut ethertype) = (Tags::default(), header.ethertype);
        while is_tag(ethertype) && tags.count < 3 {
            let (tag, behind) = VlanTag::parse(rest)?;
            if let Some(place) = tags.first.get_mut(tags.count) {
                *place = Tag { ethertype: ethertype.get(), tci: tag.tci.0.get() };
            }
            tags.count += 1;
            (ethertype, rest) = (tag.ethertype, behind);
        }
        Some(tags)
    }
}

fn is_tag(ethertype: EtherType) -> bool {
    ethertype.is_vlan()
}

/// Offsets of the words of the first tags in a frame: ethertype, and control information.
pub(crate) const OUTER: usize = 12;
pub(crate) const INNER: usize = OUTER + TAG;
const THIRD: usize = INNER + TAG;

const DOT1Q: u32 = EtherType::DOT1Q.get() as u32;
const DOT1AD: u32 = EtherType::DOT1AD.get() as u32;

/// Whether a word begins with the ethertype of a tag.
pub(crate) fn is_announced(word: u32) -> bool {
    matches!(word >> 16, DOT1Q | DOT1AD)
}
/// The lanes of which that is so.
#[inline(always)]
pub(crate) fn announced<I: Isa>(word: Lanes<I>) -> Mask<I> {
    let ethertype = word >> 16;
    ethertype.eq(DOT1Q) | ethertype.eq(DOT1AD)
}

impl Tags {
    /// Number of tags per frame, 3 for three or more, and a mask of the frames that end within header or tags.
    #[inline(always)]
    pub(crate) fn count_of<I: Isa>(p: &PacketLanes<I>) -> (Lanes<I>, Mask<I>) {
        let one = announced(p.header.word(OUTER));
        let two = one & announced(p.header.word(INNER));
        let three = two & announced(p.header.word(THIRD));
        let count = p.rx.with(&[0; LANES]).replace(one, 1).replace(two, 2).replace(three, 3);
        (count, p.length.lt((count << 2) + (ADDRESSES + 2) as u32))
    }
}

/// Moves the beginning of a frame within its window: its addresses move from `from` to `to`, and `tags` follow them.
#[inline(always)]
pub(crate) fn retag(window: &mut [u8; 64], from: usize, to: usize, tags: &[u32]) {
    // PERF: a masked place needs no check, and twelve bytes are two moves.
    let (from, to) = (from & PLACES, to & PLACES);
    let mut addresses = [0; ADDRESSES];
    addresses.copy_from_slice(&window[from..from + ADDRESSES]);
    window[to..to + ADDRESSES].copy_from_slice(&addresses);
    for (place, tag) in window[to + ADDRESSES..].chunks_exact_mut(TAG).zip(tags) {
        place.copy_from_slice(&tag.to_be_bytes());
    }
}
/// Where frames may begin in a window: up to three tags away.
const PLACES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_far_as_they_matter() {
        let mut frame = [0u8; 30];
        frame[12..30].copy_from_slice(b"\x88\xa8\x20\x64\x81\x00\x00\x0a\x81\x00\x00\x01\x81\x00\x00\x02\x08\x00");
        let tags = Tags::read(&frame).unwrap();
        let [outer, inner] = tags.first;
        assert_eq!((outer.ethertype, outer.vlan(), outer.tci >> 13, inner.vlan(), tags.count), (0x88a8, 100, 1, 10, 3));
        assert_eq!(Tags::read(&frame[..17]), None);
        frame[12] = 0;
        assert_eq!(Tags::read(&frame), Some(Tags::default()));
    }
}
