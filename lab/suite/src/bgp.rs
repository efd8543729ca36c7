//! Routes as in the Internet's table: prefixes of all lengths, spread by lot over a range of addresses, and nested.
//!
//! All are drawn from a fixed seed, so that a scale always means the same routes. A few wide ones come first and cover the whole
//! range: any address of it has a route, and a closed loop loses nothing.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use fastrand::Rng;

/// Smallest number of routes with a realistic distribution of lengths.
pub const ROUTES_MIN: u32 = 1000;
/// More would find no room for their share of short prefixes.
pub const ROUTES_MAX: u32 = 2_000_000;

/// How many of a thousand routes have a length, roughly as in the Internet's table of 2025; those of one address are of the
/// network's own.
const LENGTHS: [(u8, u32); 12] = [
    (24, 600),
    (22, 112),
    (23, 97),
    (21, 50),
    (20, 44),
    (32, 32),
    (19, 26),
    (16, 14),
    (18, 14),
    (17, 8),
    (15, 2),
    (14, 1),
];
/// Bits of the ranges, and of the routes that cover one.
const RANGE: u8 = 2;
const COVERING: u8 = 8;
const SEED: u64 = 4271;

/// The range of the side of a number, 1 or 2, in which all addresses are of single hosts: a quarter of all there are.
pub fn range(side: u8) -> [Ipv4Addr; 2] {
    // 32.0.0.0 and 128.0.0.0: what else a case uses, and 127.0.0.0/8, lies elsewhere.
    let first = if side == 1 { 0x2000_0000 } else { 0x8000_0000 };
    [first, first + (u32::MAX >> RANGE)].map(Ipv4Addr::from_bits)
}

/// A prefix by its first address and its bits, and the number of its next hop.
pub type Route = (Ipv4Addr, u8, u8);

/// Returns `count` different routes of a side over `hops` next hops.
pub fn routes(side: u8, count: u32, hops: u8) -> Vec<Route> {
    let mut random = Rng::with_seed(SEED + u64::from(side));
    let first = range(side)[0].to_bits();
    let covering = (0..1 << (COVERING - RANGE)).map(|number| (first + (number << (32 - COVERING)), COVERING));
    let mut routes: Vec<(u32, u8)> = covering.take(count as usize).collect();
    let mut there: HashSet<(u32, u8)> = routes.iter().copied().collect();
    while routes.len() < count as usize {
        let length = length(&LENGTHS, random.u32(..1000));
        let bits = first + (random.u32(..=u32::MAX >> RANGE) & (u32::MAX << (32 - length)));
        // What is there already is drawn again.
        if there.insert((bits, length)) {
            routes.push((bits, length));
        }
    }
    routes.into_iter().map(|(bits, length)| (Ipv4Addr::from_bits(bits), length, random.u8(..hops))).collect()
}

/// The length that a number up to 1,000 is of, by shares of a thousand.
pub(crate) fn length(shares: &[(u8, u32)], mut number: u32) -> u8 {
    for (length, share) in shares {
        if number < *share {
            return *length;
        }
        number -= share;
    }
    shares.last().map_or(0, |(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_as_told_and_every_address_has_a_route() {
        assert_eq!(LENGTHS.iter().map(|(_, share)| share).sum::<u32>(), 1000);
        for side in [1, 2] {
            let [first, last] = range(side);
            let routes = routes(side, 20_000, 8);
            assert_eq!(routes.iter().map(|(bits, length, _)| (bits, length)).collect::<HashSet<_>>().len(), 20_000);
            let of = |wanted| routes.iter().filter(|(_, length, _)| *length == wanted).count();
            assert!((11_500..12_500).contains(&of(24)), "{}", of(24));
            assert!(of(16) > 200 && of(32) > 500 && of(14) > 5);
            assert!(routes.iter().all(|(address, length, hop)| {
                let bits = address.to_bits();
                (first..=last).contains(address)
                    && bits & (u32::MAX.checked_shr(u32::from(*length)).unwrap_or(0)) == 0
                    && *hop < 8
            }));
            let covers = routes.iter().filter(|(_, length, _)| *length == 8).map(|(address, ..)| address.octets()[0]);
            assert_eq!(covers.collect::<Vec<_>>(), (first.octets()[0]..=last.octets()[0]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scale_always_means_the_same_routes() {
        assert_eq!(routes(1, 1000, 8)[999], (Ipv4Addr::new(50, 65, 39, 0), 24, 0));
        assert_ne!(routes(1, 100, 8)[70], routes(2, 100, 8)[70]);
    }
}
