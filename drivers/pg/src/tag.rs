//! The last bytes of a packet: the stream, its run, the packet's number, and the time when it was made.

const MAGIC: [u8; 4] = *b"QvPg";
/// First bytes of tags with a stamp.
const STAMPED: [u8; 4] = *b"QvPl";
/// Stamps are the lower 40 bits of a moment in nanoseconds: they come again after 18 minutes.
const STAMP_MASK: u64 = (1 << 40) - 1;

/// The last bytes of a packet. The end, because headers in front come and go on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The stream's place on the scoreboard.
    pub slot: u16,
    /// Which run of it: packets of an earlier one, late, are not counted.
    pub run: u16,
    /// The packet's number in the run.
    pub number: u64,
}

impl Tag {
    /// Bytes of a tag, of either kind.
    pub const LENGTH: usize = 16;

    #[inline]
    pub fn to_bytes(self) -> [u8; Tag::LENGTH] {
        let mut bytes = [0; Tag::LENGTH];
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
        let (slot, run) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([r0, r1]));
        ([m0, m1, m2, m3] == MAGIC).then_some(Tag { slot, run, number: u64::from_be_bytes(number) })
    }
}

/// The last bytes of a packet in several parts, as many as a tag has.
pub(crate) fn last_of_parts<'p>(parts: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut end = Vec::with_capacity(2 * Tag::LENGTH);
    for part in parts {
        end.extend_from_slice(&part[part.len().saturating_sub(Tag::LENGTH)..]);
        end.drain(..end.len().saturating_sub(Tag::LENGTH));
    }
    end
}

/// The last bytes of a packet that tells when it was made. It is as long as any tag, so that it fits into the shortest
/// frames: a slot of 8 bits, the run, the lower 32 bits of the number, and the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampedTag {
    pub slot: u8,
    pub run: u16,
    /// The lower half of the number.
    pub number: u32,
    pub stamp: Stamp,
}

impl StampedTag {
    pub fn to_bytes(self) -> [u8; Tag::LENGTH] {
        let mut bytes = [0; Tag::LENGTH];
        bytes[..4].copy_from_slice(&STAMPED);
        bytes[4] = self.slot;
        bytes[5..7].copy_from_slice(&self.run.to_be_bytes());
        bytes[7..11].copy_from_slice(&self.number.to_be_bytes());
        bytes[11..].copy_from_slice(&self.stamp.0.to_be_bytes()[3..]);
        bytes
    }
    /// Reads a tag with a stamp from the end of these bytes, if there is one.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<StampedTag> {
        let tag: &[u8; Tag::LENGTH] = bytes.last_chunk()?;
        let [m0, m1, m2, m3, slot, r0, r1, n0, n1, n2, n3, stamp @ ..] = *tag;
        if [m0, m1, m2, m3] != STAMPED {
            return None;
        }
        let stamp = Stamp(stamp.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte)));
        let (run, number) = (u16::from_be_bytes([r0, r1]), u32::from_be_bytes([n0, n1, n2, n3]));
        Some(StampedTag { slot, run, number, stamp })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_at_the_end_of_whatever_came_before() {
        let tag = Tag { slot: 3, run: 9, number: 1 << 40 };
        let packet = [&[0xff; 50][..], &tag.to_bytes()].concat();
        assert_eq!((Tag::of(&packet), Tag::of(&packet[..65]), Tag::of(&[])), (Some(tag), None, None));
        for cut in [0, 40, 55, 66] {
            let (first, second) = packet.split_at(cut);
            assert_eq!(Tag::of(&last_of_parts([first, second].into_iter())), Some(tag), "{cut}");
        }
    }

    #[test]
    fn a_stamp_stands_beside_the_number_in_as_many_bytes() {
        let tag = StampedTag { slot: 31, run: 0x1234, number: 0xffff_fffe, stamp: Stamp::new(0x12_3456_789a) };
        let packet = [&[0xff; 9][..], &tag.to_bytes()].concat();
        assert_eq!((StampedTag::of(&packet), Tag::of(&packet)), (Some(tag), None));
        let plain = Tag { slot: 3, run: 9, number: 7 }.to_bytes();
        assert_eq!((StampedTag::of(&plain), StampedTag::of(&plain[1..])), (None, None));
        assert_eq!(Stamp::new(5 << 40 | 100).until(5 << 40 | 350), 250);
        assert_eq!(Stamp::new((1 << 40) - 1).until(1 << 40 | 9), 10, "over the end");
        assert_eq!(Stamp::new(100).until(99), 0, "clocks disagree by a little");
    }
}
