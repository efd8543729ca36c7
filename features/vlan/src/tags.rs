//! Tags in the bytes of a frame: reading, taking off, putting on. IEEE 802.1Q, 9.3 to 9.6.

use quiver_engine::{Context, Frame};
use quiver_wire::{EtherType, EthernetHeader, Header, VlanTag};

/// Bytes of a tag.
const TAG: usize = 4;
/// Bytes of both addresses.
const ADDRESSES: usize = 12;

/// A tag as it stands in a frame: what announces it, and its control information.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tag {
    /// 0x8100 or 0x88a8.
    pub ethertype: u16,
    /// Priority, drop eligibility and VLAN.
    pub tci: u16,
}

impl Tag {
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
    /// How many there are: 3 stands for three or more.
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

/// Takes the first `pop` tags off row `i` and puts others on. The addresses move, the rest of the frame stays where it
/// is, so that chains and offloads are not touched. The caller has seen to it that the frame has so many tags. False, and
/// nothing changed, if there is no headroom for the tags.
pub(crate) fn replace(cx: &mut Context, frame: &mut Frame, i: usize, pop: usize, push: &[Tag]) -> bool {
    let Some(addresses) = frame.first::<ADDRESSES>(cx.pool, i).copied() else { return false };
    let by = TAG as isize * (pop as isize - push.len() as isize);
    if !frame.advance(cx.pool, i, by) {
        return false;
    }
    let bytes = frame.bytes_mut(cx.pool, i);
    let Some((front, rest)) = bytes.split_first_chunk_mut::<ADDRESSES>() else { return false };
    *front = addresses;
    for (place, tag) in rest.chunks_exact_mut(TAG).zip(push) {
        let ([a, b], [c, d]) = (tag.ethertype.to_be_bytes(), tag.tci.to_be_bytes());
        place.copy_from_slice(&[a, b, c, d]);
    }
    true
}

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
