//! The parts of one packet, until it is whole.

use std::collections::BTreeMap;

/// Bytes of the longest packet.
pub const LONGEST: usize = 65_535;

/// Why a part is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It overlaps another one, or contradicts it: nothing of the packet is to be trusted (RFC 5722, 4; RFC 8200, 4.5).
    Overlap,
    /// The packet has more parts than one may have.
    TooMany,
}

/// What is there of a packet.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// By their places in the payload.
    parts: BTreeMap<usize, Vec<u8>>,
    /// Bytes of the whole payload, once the last part has come.
    total: Option<usize>,
    /// Bytes that have come.
    bytes: usize,
    /// Whether the packet is given up: what comes still is dropped.
    given_up: bool,
}

impl Assembly {
    /// Adds a part at a place, behind which `more` come or not. The payload, if it is whole now.
    ///
    /// # Errors
    /// If the part cannot be: then the packet is given up.
    pub fn add(&mut self, offset: usize, more: bool, part: &[u8], most: usize) -> Result<Option<Vec<u8>>, Refused> {
        let refused = match self.fits(offset, more, part) {
            _ if self.given_up => Some(Refused::Overlap),
            // Links copy packets at times (RFC 8200, 4.5).
            Ok(true) => return Ok(None),
            Ok(false) if self.parts.len() >= most => Some(Refused::TooMany),
            Ok(false) => None,
            Err(refused) => Some(refused),
        };
        if let Some(refused) = refused {
            *self = Assembly { given_up: true, ..Assembly::default() };
            return Err(refused);
        }
        self.total = if more { self.total } else { Some(offset + part.len()) };
        self.bytes += part.len();
        self.parts.insert(offset, part.to_vec());
        // No two parts overlap, and none is behind the end.
        let is_whole = self.total == Some(self.bytes);
        Ok(is_whole.then(|| std::mem::take(&mut self.parts).into_values().flatten().collect()))
    }
    /// Whether a part is one that is there already.
    fn fits(&self, offset: usize, more: bool, part: &[u8]) -> Result<bool, Refused> {
        let end = offset + part.len();
        if self.parts.get(&offset).is_some_and(|there| there == part) && more == (self.total != Some(end)) {
            return Ok(true);
        }
        let before = self.parts.range(..offset).next_back().is_some_and(|(at, there)| at + there.len() > offset);
        let behind = self.parts.range(offset..).next().is_some_and(|(at, _)| *at < end);
        let last = self.parts.last_key_value().map_or(0, |(at, there)| at + there.len());
        let contradicts = match self.total {
            Some(total) => end > total || (!more && end != total) || (more && end == total),
            None => !more && last > end,
        };
        if before || behind || contradicts { Err(Refused::Overlap) } else { Ok(false) }
    }
    /// Whether it was given up, so that nobody is to be told of it.
    pub fn is_given_up(&self) -> bool {
        self.given_up
    }
    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: usize = 64;

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
                let added = assembly.add(offset, offset + part.len() < total, part, MOST).expect("it fits");
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
                match assembly.add(offset, more, &part, MOST) {
                    Ok(None) => taken.push((offset, part)),
                    Ok(Some(whole)) => {
                        taken.push((offset, part));
                        for (offset, part) in &taken {
                            prop_assert_eq!(&whole[*offset..offset + part.len()], &part[..]);
                        }
                        return Ok(());
                    }
                    Err(_) => {
                        // Given up for good.
                        prop_assert_eq!(assembly.add(0, true, &[9; 8], MOST), Err(Refused::Overlap));
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
            assert_eq!(assembly.add(8, true, &[1; 16], MOST), Ok(None));
            assembly
        };
        for (offset, more, length) in
            [(0, true, 16), (16, true, 16), (8, true, 8), (8, false, 16), (0, false, 8), (16, false, 4)]
        {
            assert_eq!(begun().add(offset, more, &vec![1; length], MOST), Err(Refused::Overlap), "{offset} {length}");
        }
        let mut ended = begun();
        assert_eq!(ended.add(24, false, &[1; 4], MOST), Ok(None));
        assert_eq!(ended.clone().add(32, true, &[1; 8], MOST), Err(Refused::Overlap));
        assert_eq!(ended.clone().add(24, false, &[1; 4], MOST), Ok(None), "a copy");
        assert_eq!(ended.add(0, true, &[1; 8], MOST), Ok(Some(vec![1; 28])));
    }

    #[test]
    fn a_packet_has_so_many_parts() {
        let mut assembly = Assembly::default();
        for part in 0..3 {
            assert_eq!(assembly.add(part * 16, true, &[1; 8], 3), Ok(None));
        }
        assert_eq!(assembly.add(64, true, &[1; 8], 3), Err(Refused::TooMany));
        assert_eq!((assembly.bytes(), assembly.add(8, true, &[1; 8], 3)), (0, Err(Refused::Overlap)));
    }
}
