//! The parts of one packet, until it is whole.

/// Bytes at most that the length in a packet's header says.
pub const LONGEST: usize = 65_535;

/// Why a part is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It overlaps another one, or contradicts it: nothing of the packet is to be trusted (RFC 5722, 4; RFC 8200, 4.5).
    Overlap,
    /// The packet has more parts than one may have.
    TooMany,
}

/// A packet in reassembly.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// Bytes of the fragments, in order of arrival.
    bytes: Vec<u8>,
    /// Positions of the fragments, by their offset in the payload.
    pieces: Vec<Piece>,
    /// Bytes of the whole payload, once the last fragment has arrived.
    total: Option<usize>,
    /// Reason why reassembly was given up, if it was. Later fragments are dropped for the same reason.
    given_up: Option<Refused>,
}

/// Where a part lies.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// In the payload.
    offset: usize,
    /// Among the bytes that came.
    at: usize,
    length: usize,
}

impl Piece {
    fn end(&self) -> usize {
        self.offset + self.length
    }
}

impl Assembly {
    /// Adds a part at a place, behind which `more` come or not. Where among the others it is, if the payload is whole with it: then
    /// it is not kept; see [`Assembly::stretches`].
    ///
    /// # Errors
    /// If the part cannot be: then the packet is given up.
    pub fn add(&mut self, offset: usize, more: bool, part: &[u8], most: usize) -> Result<Option<usize>, Refused> {
        // Behind all parts that begin before it.
        let place = self.pieces.partition_point(|piece| piece.offset < offset);
        let refused = match self.fits(place, offset, more, part) {
            _ if self.given_up.is_some() => self.given_up,
            // Links copy packets at times (RFC 8200, 4.5).
            Ok(true) => return Ok(None),
            Ok(false) if self.pieces.len() >= most => Some(Refused::TooMany),
            Ok(false) => None,
            Err(refused) => Some(refused),
        };
        if let Some(refused) = refused {
            *self = Assembly { given_up: Some(refused), ..Assembly::default() };
            return Err(refused);
        }
        self.total = if more { self.total } else { Some(offset + part.len()) };
        // No two parts overlap, and none is behind the end.
        if self.total == Some(self.bytes.len() + part.len()) {
            return Ok(Some(place));
        }
        self.pieces.insert(place, Piece { offset, at: self.bytes.len(), length: part.len() });
        self.bytes.extend_from_slice(part);
        Ok(None)
    }
    /// The stretches of a payload in their order, which is whole with a part at a place among the others.
    pub fn stretches<'a>(&'a self, place: usize, part: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let (before, behind) = self.pieces.split_at(place.min(self.pieces.len()));
        let of = |piece: &'a Piece| self.stretch(piece);
        before.iter().map(of).chain([part]).chain(behind.iter().map(of))
    }
    /// Bytes of the whole payload, once the last part has come.
    pub fn total(&self) -> Option<usize> {
        self.total
    }
    /// Whether a part is one that is there already; `place` is behind all pieces that begin before it.
    fn fits(&self, place: usize, offset: usize, more: bool, part: &[u8]) -> Result<bool, Refused> {
        let (end, (before, behind)) = (offset + part.len(), self.pieces.split_at(place));
        let next = behind.first();
        let is_there = next.is_some_and(|piece| piece.offset == offset && self.stretch(piece) == part);
        if is_there && more == (self.total != Some(end)) {
            return Ok(true);
        }
        let overlaps =
            before.last().is_some_and(|piece| piece.end() > offset) || next.is_some_and(|piece| piece.offset < end);
        let last = self.pieces.last().map_or(0, Piece::end);
        let contradicts = match self.total {
            Some(total) => end > total || (!more && end != total) || (more && end == total),
            None => !more && last > end,
        };
        if overlaps || contradicts { Err(Refused::Overlap) } else { Ok(false) }
    }
    fn stretch(&self, piece: &Piece) -> &[u8] {
        self.bytes.get(piece.at..piece.at + piece.length).unwrap_or_default()
    }
    /// The part that begins at a place.
    pub fn part_at(&self, offset: usize) -> Option<&[u8]> {
        let found = self.pieces.binary_search_by_key(&offset, |piece| piece.offset).ok()?;
        self.pieces.get(found).map(|piece| self.stretch(piece))
    }
    /// Whether it was given up, so that nobody is to be told of it.
    pub fn is_given_up(&self) -> bool {
        self.given_up.is_some()
    }
    /// Parts that are kept.
    pub fn parts(&self) -> usize {
        self.pieces.len()
    }
    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: usize = 64;

    /// Adds a part; the whole payload, if there is one.
    fn add(
        assembly: &mut Assembly,
        (offset, more): (usize, bool),
        part: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let place = assembly.add(offset, more, part, most)?;
        Ok(place.map(|place| assembly.stretches(place, part).collect::<Vec<_>>().concat()))
    }

    proptest! {
        #[test]
        fn parts_in_any_order_with_copies_make_the_whole(
            lengths in proptest::collection::vec(1usize..40, 1..20),
            order in proptest::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            let total: usize = lengths.iter().map(|units| units * 8).sum();
            let payload: Vec<u8> = (0..total).map(|i| (i * 31) as u8).collect();
            let (mut parts, mut at) = (vec![], 0);
            for units in lengths {
                parts.push((at, &payload[at..at + units * 8]));
                at += units * 8;
            }
            let mut assembly = Assembly::default();
            let all = order.iter().map(|index| *index.get(&parts)).chain(parts.iter().copied());
            let mut whole = None;
            for (offset, part) in all {
                let added = add(&mut assembly, (offset, offset + part.len() < total), part, MOST).expect("it fits");
                if added.is_some() {
                    whole = added;
                    break;
                }
            }
            prop_assert_eq!(whole, Some(payload));
        }

        #[test]
        fn whatever_comes_is_either_whole_as_it_was_said_or_refused(
            said in proptest::collection::vec((0usize..12, 1usize..6, any::<bool>(), any::<bool>()), 1..30),
        ) {
            // Parts of a packet, of which some are not as the others say.
            let mut assembly = Assembly::default();
            let mut taken: Vec<(usize, Vec<u8>)> = vec![];
            for (place, units, more, other) in said {
                let (offset, length) = (place * 8, units * 8);
                let part: Vec<u8> = (offset..offset + length).map(|i| (i as u8) ^ u8::from(other)).collect();
                match add(&mut assembly, (offset, more), &part, MOST) {
                    Ok(None) => taken.push((offset, part)),
                    Ok(Some(whole)) => {
                        taken.push((offset, part));
                        for (offset, part) in &taken {
                            prop_assert_eq!(&whole[*offset..offset + part.len()], &part[..]);
                        }
                        return Ok(());
                    }
                    Err(refused) => {
                        // Given up for good.
                        prop_assert_eq!(add(&mut assembly, (0, true), &[9; 8], MOST), Err(refused));
                        return Ok(());
                    }
                }
            }
        }
    }

    #[test]
    fn parts_that_contradict_each_other_end_it() {
        let begun = || {
            let mut assembly = Assembly::default();
            assert_eq!(add(&mut assembly, (8, true), &[1; 16], MOST), Ok(None));
            assembly
        };
        for (offset, more, length) in
            [(0, true, 16), (16, true, 16), (8, true, 8), (8, false, 16), (0, false, 8), (16, false, 4)]
        {
            let refused = add(&mut begun(), (offset, more), &vec![1; length], MOST);
            assert_eq!(refused, Err(Refused::Overlap), "{offset} {length}");
        }
        let mut ended = begun();
        assert_eq!(add(&mut ended, (24, false), &[1; 4], MOST), Ok(None));
        assert_eq!(add(&mut ended.clone(), (32, true), &[1; 8], MOST), Err(Refused::Overlap));
        assert_eq!(add(&mut ended, (24, false), &[1; 4], MOST), Ok(None), "a copy");
        assert_eq!((ended.part_at(8), ended.part_at(16)), (Some(&[1; 16][..]), None));
        assert_eq!(add(&mut ended, (0, true), &[1; 8], MOST), Ok(Some(vec![1; 28])));
    }

    #[test]
    fn a_packet_has_so_many_parts() {
        let mut assembly = Assembly::default();
        for part in 0..3 {
            assert_eq!(add(&mut assembly, (part * 16, true), &[1; 8], 3), Ok(None));
        }
        assert_eq!(add(&mut assembly, (64, true), &[1; 8], 3), Err(Refused::TooMany));
        assert_eq!((assembly.bytes(), add(&mut assembly, (8, true), &[1; 8], 3)), (0, Err(Refused::TooMany)));
    }
}
