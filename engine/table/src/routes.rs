//! The control side of a longest prefix match: the routes in prefix order, and what covers what.
//!
//! It answers what a forwarding table cannot: which route covers a prefix once another goes, and which parts
//! of a prefix its more specific routes leave to it. For addresses of 32 bits, or 128.
use crate::address::Address;
use crate::prefixes::{PrefixMap, SHORT};

/// Routes by prefix, and of equal prefixes the shorter first. Prefixes are given with zero host bits.
#[derive(Debug)]
pub struct Routes<A> {
    leaves: PrefixMap<A, u32>,
}

impl<A: Address> Default for Routes<A> {
    fn default() -> Routes<A> {
        Routes { leaves: PrefixMap::new() }
    }
}

impl<A: Address> Routes<A> {
    /// No routes.
    pub fn new() -> Routes<A> {
        Routes::default()
    }

    /// Adds a route or changes its leaf; returns the leaf it had.
    pub fn insert(&mut self, prefix: A, length: u8, leaf: u32) -> Option<u32> {
        self.leaves.insert(prefix, length, leaf)
    }

    /// Removes a route; returns its leaf.
    pub fn remove(&mut self, prefix: A, length: u8) -> Option<u32> {
        self.leaves.remove(prefix, length)
    }

    /// The leaf of exactly this route.
    pub fn get(&self, prefix: A, length: u8) -> Option<u32> {
        self.leaves.get(prefix, length).copied()
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Bytes in use, about.
    pub fn memory_bytes(&self) -> usize {
        self.leaves.memory_bytes()
    }

    /// All routes in order: prefix, length, leaf.
    pub fn iter(&self) -> impl Iterator<Item = (A, u8, u32)> + '_ {
        self.leaves.iter().map(|(prefix, length, &leaf)| (prefix, length, leaf))
    }

    /// The longest route that contains `address` and is no longer than `length_max`.
    pub fn longest_match(&self, address: A, length_max: u8) -> Option<(A, u8, u32)> {
        let mut length = length_max;
        loop {
            // The last route in order up to the wanted one. If it does not contain the address, then what
            // does also contains this route, or it would lie between the two; so it is no longer than what
            // the two have in common, and the search goes on from there.
            let Some((prefix, found, &leaf)) = self.leaves.last_up_to(address.range(length).0, length) else {
                // Where there are many, the short ones are a question of their own.
                if length < SHORT || !self.leaves.is_split() {
                    return None;
                }
                length = SHORT - 1;
                continue;
            };
            let common = address.common_bits(prefix);
            if common >= found {
                return Some((prefix, found, leaf));
            }
            length = common;
        }
    }

    /// Whether a longer route lies inside the prefix.
    pub fn has_longer(&self, prefix: A, length: u8) -> bool {
        self.leaves.longer(prefix, length).next().is_some()
    }

    /// The parts of a prefix that no longer route claims, as first and last address, in order.
    pub fn gaps(&self, prefix: A, length: u8) -> impl Iterator<Item = (A, A)> + '_ {
        let (first, last) = prefix.range(length);
        let mut longer = self.leaves.longer(prefix, length);
        // Where the next gap may start; none once a longer route reaches the end.
        let mut cursor = Some(first);
        std::iter::from_fn(move || {
            for (inner, inner_length) in longer.by_ref() {
                let start = cursor?;
                let inner_last = inner.range(inner_length).1;
                if inner_last < start {
                    continue; // It lies inside the one before.
                }
                cursor = if inner_last < last { inner_last.next() } else { None };
                if start < inner {
                    return inner.previous().map(|end| (start, end));
                }
            }
            cursor.take().map(|start| (start, last))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes<A: Address>(list: &[(A, u8)]) -> Routes<A> {
        let mut routes = Routes::new();
        for (leaf, &(prefix, length)) in (1..).zip(list) {
            assert_eq!(routes.insert(prefix, length, leaf), None);
        }
        routes
    }

    #[test]
    fn the_longest_match_climbs_over_siblings() {
        let routes = routes(&[(0x0a00_0000_u32, 8), (0x0a01_0000, 16), (0x0a01_0200, 24), (0x0a01_02ff, 32)]);
        assert_eq!(routes.longest_match(0x0a01_02ff, 32), Some((0x0a01_02ff, 32, 4)));
        assert_eq!(routes.longest_match(0x0a01_02ff, 31), Some((0x0a01_0200, 24, 3)));
        assert_eq!(routes.longest_match(0x0a01_0300, 32), Some((0x0a01_0000, 16, 2)));
        assert_eq!(routes.longest_match(0x0aff_ffff, 32), Some((0x0a00_0000, 8, 1)));
        assert_eq!(routes.longest_match(0x0b00_0000, 32), None);
        assert_eq!(routes.longest_match(0x09ff_ffff, 32), None);
    }

    #[test]
    fn the_default_route_covers_everything() {
        let routes = routes(&[(0_u128, 0), (1 << 127, 1), (u128::MAX, 128)]);
        assert_eq!(routes.longest_match(5, 128), Some((0, 0, 1)));
        assert_eq!(routes.longest_match(u128::MAX - 1, 128), Some((1 << 127, 1, 2)));
        assert_eq!(routes.longest_match(u128::MAX, 127), Some((1 << 127, 1, 2)));
    }

    #[test]
    fn gaps_are_what_longer_routes_leave() {
        let routes = routes(&[(0_u32, 0), (0, 30), (2, 31), (8, 29), (u32::MAX, 32)]);
        assert_eq!(routes.gaps(0, 0).collect::<Vec<_>>(), [(4, 7), (16, u32::MAX - 1)]);
        assert_eq!(routes.gaps(0, 30).collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(routes.gaps(8, 29).collect::<Vec<_>>(), [(8, 15)]);
        assert_eq!(routes.gaps(2, 31).collect::<Vec<_>>(), [(2, 3)]);
        assert_eq!(routes.gaps(u32::MAX, 32).collect::<Vec<_>>(), [(u32::MAX, u32::MAX)]);
        assert!(routes.has_longer(0, 30) && !routes.has_longer(2, 31) && !routes.has_longer(u32::MAX, 32));
    }
}
