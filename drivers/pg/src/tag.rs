//! What the last bytes of a packet say: the stream, its run, the packet's number, and when it was made.

const MAGIC: [u8; 4] = *b"QvPg";
/// Of tags with a stamp.
const STAMPED: [u8; 4] = *b"QvPl";
/// Stamps are the lower 40 bits of a moment in nanoseconds: they come again after 18 minutes.
const STAMP_MASK: u64 = (1 << 40) - 1;

/// The last bytes of a packet. The end, because headers in front come and go on the way.
///
/// With a stamp they are as long as without one, so that it fits into the shortest frames, too: a slot of 8 bits, the run, the
/// lower 32 bits of the number, and the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The stream's place on the scoreboard.
    pub slot: u16,
    /// Which run of it: packets of an earlier one, late, are not counted.
    pub run: u16,
    /// The packet's number in the run; read with a stamp, its lower 32 bits.
    pub number: u64,
    /// The moment in which the packet was made, for latencies.
    pub stamp: Option<Stamp>,
}

/// A moment, as a packet carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// The stamp of a moment in nanoseconds.
    pub fn new(moment: u64) -> Stamp {
        Stamp(moment & STAMP_MASK)
    }
    /// Nanoseconds from this stamp to a moment; zero if it comes before, where clocks of two processors disagree.
    pub fn until(self, moment: u64) -> u64 {
        let passed = moment.wrapping_sub(self.0) & STAMP_MASK;
        if passed > STAMP_MASK / 2 { 0 } else { passed }
    }
}

impl Tag {
    /// Bytes of a tag.
    pub const LENGTH: usize = 16;

    pub fn to_bytes(self) -> [u8; Tag::LENGTH] {
        let mut bytes = [0; Tag::LENGTH];
        if let Some(Stamp(stamp)) = self.stamp {
            bytes[..4].copy_from_slice(&STAMPED);
            bytes[4] = self.slot as u8;
            bytes[5..7].copy_from_slice(&self.run.to_be_bytes());
            bytes[7..11].copy_from_slice(&(self.number as u32).to_be_bytes());
            bytes[11..].copy_from_slice(&stamp.to_be_bytes()[3..]);
            return bytes;
        }
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.slot.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.run.to_be_bytes());
        bytes[8..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }
    /// The tag at the end of these bytes, if there is one.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<Tag> {
        let tag: &[u8; Tag::LENGTH] = bytes.last_chunk()?;
        let [m0, m1, m2, m3, s0, s1, r0, r1, number @ ..] = *tag;
        match [m0, m1, m2, m3] {
            MAGIC => {}
            STAMPED => return Some(Tag::stamped(tag)),
            _ => return None,
        }
        let (slot, run) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([r0, r1]));
        Some(Tag { slot, run, number: u64::from_be_bytes(number), stamp: None })
    }
    /// A tag with a stamp.
    #[cold]
    fn stamped(tag: &[u8; Tag::LENGTH]) -> Tag {
        let [_, _, _, _, slot, r0, r1, n0, n1, n2, n3, stamp @ ..] = *tag;
        let stamp = stamp.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte));
        let (run, number) = (u16::from_be_bytes([r0, r1]), u32::from_be_bytes([n0, n1, n2, n3]));
        Tag { slot: slot.into(), run, number: number.into(), stamp: Some(Stamp(stamp)) }
    }
    /// The same of a packet in several parts.
    pub fn of_parts<'p>(parts: impl Iterator<Item = &'p [u8]>) -> Option<Tag> {
        let mut end = Vec::with_capacity(2 * Tag::LENGTH);
        for part in parts {
            end.extend_from_slice(&part[part.len().saturating_sub(Tag::LENGTH)..]);
            end.drain(..end.len().saturating_sub(Tag::LENGTH));
        }
        Tag::of(&end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_at_the_end_of_whatever_came_before() {
        let tag = Tag { slot: 3, run: 9, number: 1 << 40, stamp: None };
        let packet = [&[0xff; 50][..], &tag.to_bytes()].concat();
        assert_eq!((Tag::of(&packet), Tag::of(&packet[..65]), Tag::of(&[])), (Some(tag), None, None));
        for cut in [0, 40, 55, 66] {
            let (first, second) = packet.split_at(cut);
            assert_eq!(Tag::of_parts([first, second].into_iter()), Some(tag), "{cut}");
        }
    }

    #[test]
    fn a_stamp_stands_beside_the_number_in_as_many_bytes() {
        let stamp = Some(Stamp::new(0x12_3456_789a));
        let stamped = Tag { slot: 31, run: 0x1234, number: 7 << 32 | 0xffff_fffe, stamp };
        let read = Tag::of(&stamped.to_bytes());
        assert_eq!(read, Some(Tag { number: 0xffff_fffe, ..stamped }), "the lower half of the number");
        assert_eq!(Tag::of(&[0x51; Tag::LENGTH]), None);
        assert_eq!(Stamp::new(5 << 40 | 100).until(5 << 40 | 350), 250);
        assert_eq!(Stamp::new((1 << 40) - 1).until(1 << 40 | 9), 10, "over the end");
        assert_eq!(Stamp::new(100).until(99), 0, "clocks disagree by a little");
    }
}
