//! The same for IPv6: prefixes of all lengths over a range, and nested.
//!
//! Any address of a range of IPv6 would miss nearly all prefixes, however many there are. So addresses come first, as the packet
//! generator draws them (`drawn:`), and each is cut to a route of its own: whatever is sent to has one, and most of what is sent to
//! has a long one.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use fastrand::Rng;
use quiver_pg::values::drawn;

use crate::bgp::length;

/// How many of a thousand routes of IPv6 have a length, roughly as in the Internet's table of 2025.
pub const LENGTHS: [(u8, u32); 14] = [
    (48, 480),
    (32, 115),
    (44, 95),
    (40, 90),
    (36, 45),
    (29, 35),
    (46, 35),
    (47, 30),
    (42, 20),
    (45, 20),
    (33, 15),
    (38, 10),
    (64, 7),
    (30, 3),
];
/// A length of which a range has too few networks, and the one that its routes have in their stead.
const TOO_SHORT: u8 = 29;
const INSTEAD: u8 = 32;

/// The lengths of the routes of a range.
fn in_a_range() -> Vec<(u8, u32)> {
    let moved: u32 = LENGTHS.iter().filter(|(length, _)| *length == TOO_SHORT).map(|(_, share)| share).sum();
    let kept = LENGTHS.iter().filter(|(length, _)| *length != TOO_SHORT);
    kept.map(|(length, share)| (*length, share + if *length == INSTEAD { moved } else { 0 })).collect()
}

/// Bits of the ranges.
const RANGE: u8 = 13;
/// The host in each network.
const HOST: u64 = 1;
const SEED: u64 = 4271;

/// A prefix by its first address and its bits, and the number of its next hop.
pub type Route = (Ipv6Addr, u8, u8);

/// Returns `count` different routes of side 1 or 2 over `hops` next hops, and the destinations as a value of the packet
/// generator.
pub fn routes(side: u8, count: u32, hops: u8) -> (Vec<Route>, String) {
    let (ends, lengths, mut random) = (range(side), in_a_range(), Rng::with_seed(SEED + u64::from(side)));
    let (mut routes, mut there, mut drawn_so_far) = (Vec::new(), HashSet::new(), 0_u32);
    while routes.len() < count as usize {
        let length = length(&lengths, random.u32(..1000));
        let network = drawn(ends, drawn_so_far.into()) & (u64::MAX << (64 - length));
        drawn_so_far += 1;
        // What is there already is a route of this address, too.
        if there.insert((network, length)) {
            routes.push((address(network, 0), length, random.u8(..hops)));
        }
    }
    let [first, last] = ends.map(|network| address(network, HOST));
    (routes, format!("drawn:{drawn_so_far}:{first}-{last}"))
}

/// The first and the last network of a side: in what registries give to providers, as most of the Internet is.
fn range(side: u8) -> [u64; 2] {
    let first = if side == 1 { 0x2400_u64 << 48 } else { 0x2a00 << 48 };
    [first, first | u64::MAX >> RANGE]
}

fn address(network: u64, host: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(network) << 64 | u128::from(host))
}

#[cfg(test)]
mod tests {
    use quiver_control::object::Scalar as _;
    use quiver_pg::values::Values;

    use super::*;

    #[test]
    fn shares_are_as_told_and_what_is_sent_to_has_a_route() {
        assert_eq!(LENGTHS.iter().map(|(_, share)| share).sum::<u32>(), 1000);
        for side in [1, 2] {
            let ends = range(side);
            let (routes, sent_to) = routes(side, 20_000, 8);
            let there: HashSet<_> = routes.iter().map(|(address, length, _)| (address.to_bits(), *length)).collect();
            assert_eq!(there.len(), 20_000);
            let of = |wanted| routes.iter().filter(|(_, length, _)| *length == wanted).count();
            assert!((9_300..9_900).contains(&of(48)), "{}", of(48));
            assert!(of(32) > 2_800 && of(64) > 90 && of(30) > 30);
            let Ok(Values::Drawn(count, first, last)) = Values::<Ipv6Addr>::parse(&sent_to) else {
                panic!("{sent_to}")
            };
            assert_eq!([first, last], ends.map(|network| address(network, HOST)));
            assert!((20_000..20_300).contains(&count), "{count}");
            for number in 0..u64::from(count) {
                let address = address(drawn(ends, number), HOST).to_bits();
                let has = |length: u8| there.contains(&(address & (u128::MAX << (128 - length)), length));
                assert!(LENGTHS.iter().any(|(length, _)| has(*length)), "{address:x}");
            }
            let nested = routes.iter().filter(|(address, length, _)| {
                let cut = |by: u8| (address.to_bits() & (u128::MAX << (128 - by)), by);
                LENGTHS.iter().any(|(shorter, _)| shorter < length && there.contains(&cut(*shorter)))
            });
            assert!(nested.count() > 50);
        }
    }

    #[test]
    fn a_scale_always_means_the_same_routes() {
        assert_eq!(routes(1, 1000, 8), routes(1, 1000, 8));
        assert_eq!(routes(1, 1000, 8).0[..500], routes(1, 2000, 8).0[..500]);
        assert_ne!(routes(1, 100, 8).0[70], routes(2, 100, 8).0[70]);
    }
}
