//! Routes by number: dense ones, and such as the Internet's table has them. No list of millions is kept: each follows from
//! its number.

use std::net::Ipv4Addr;

use quiver_suite::bgp6;

/// How many of a thousand routes have a length, roughly as in the Internet's table of 2025, with the host routes of a
/// provider's own.
const BGP: [(u8, u32); 12] = [
    (24, 600),
    (22, 110),
    (23, 95),
    (21, 45),
    (20, 45),
    (32, 32),
    (19, 25),
    (18, 14),
    (16, 14),
    (17, 8),
    (15, 6),
    (14, 6),
];

/// The first 12 bits of what the five registries give to providers.
const REGISTRIES: [u128; 5] = [0x240, 0x260, 0x280, 0x2a0, 0x2c0];
/// Providers whose /32 has longer routes inside.
const PROVIDERS: u64 = 50_000;

/// Numbers that look random (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub fn mix(n: u64) -> u64 {
    let z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Route `n` of a dense row: prefix and length.
pub fn dense(n: u32) -> (u32, u8) {
    (0x3000_0000 + n, 32)
}

/// A length that comes as often as its share says.
fn length_of(shares: &[(u8, u32)], random: u64) -> u8 {
    let mut pick = (random % 1000) as u32;
    let found = shares.iter().find(|(_, share)| {
        let is_it = pick < *share;
        pick = pick.saturating_sub(*share);
        is_it
    });
    found.map_or(shares[0].0, |(length, _)| *length)
}

/// Route `n` of a dense row of IPv6: prefix and length.
pub fn dense6(n: u32) -> (u128, u8) {
    (0x2001_0db8_u128 << 96 | u128::from(n), 128)
}

/// Route `n` of hosts that lie anywhere in providers' networks.
pub fn hosts6(n: u32) -> (u128, u8) {
    let (provider, host) = (mix(u64::from(n) | 1 << 41) % PROVIDERS, mix(u64::from(n) | 1 << 42));
    (network6(provider) | u128::from(host) << 32 | u128::from(n), 128)
}

/// Route `n` of those as in BGP for IPv6: short ones all over the registries' space, long ones in providers' networks. Some
/// come twice.
pub fn bgp6(n: u32) -> (u128, u8) {
    let random = mix(n.into());
    let length = length_of(&bgp6::LENGTHS, random);
    let network = if length <= 32 { network6(random) } else { network6(mix(random) % PROVIDERS) };
    let address = network | u128::from(mix(random ^ 1)) << 32;
    (address & (u128::MAX << (128 - length)), length)
}

/// The /32 of a provider.
fn network6(provider: u64) -> u128 {
    let random = mix(provider | 1 << 43);
    let registry = REGISTRIES[(random % REGISTRIES.len() as u64) as usize];
    (registry << 20 | u128::from(random >> 44)) << 96
}

/// A random address inside one of the first `routes` of a shape of IPv6.
pub fn inside6(shape: fn(u32) -> (u128, u8), n: u32, routes: u32) -> u128 {
    let random = mix(u64::from(n) | 1 << 40);
    let (prefix, length) = shape((random % u64::from(routes)) as u32);
    let inside = u128::from(mix(random)) << 64 | u128::from(random);
    prefix | inside & u128::MAX.checked_shr(length.into()).unwrap_or(0)
}

/// Route `n` of those as in BGP: prefix and length, anywhere in unicast space but 10/8 and 127/8. Some come twice.
pub fn bgp(n: u32) -> (u32, u8) {
    let random = mix(n.into());
    let length = length_of(&BGP, random);
    let first = match (random >> 32) % 221 + 1 {
        10 => 222,
        127 => 223,
        first => first as u32,
    };
    let address = first << 24 | (random >> 40) as u32;
    (address & (u32::MAX << (32 - length)), length)
}

/// A random address inside one of the first `routes` of them.
pub fn inside_bgp(n: u32, routes: u32) -> Ipv4Addr {
    let random = mix(u64::from(n) | 1 << 40);
    let (prefix, length) = bgp((random % u64::from(routes)) as u32);
    let inside = (random >> 32) as u32;
    Ipv4Addr::from(prefix | inside & u32::MAX.checked_shr(length.into()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_ipv6_have_the_shares_of_lengths_that_are_said() {
        let mut counts = [0_u32; 129];
        (0..100_000).for_each(|n| counts[usize::from(bgp6(n).1)] += 1);
        for (length, share) in bgp6::LENGTHS {
            let found = counts[usize::from(length)] / 100;
            assert!(found.abs_diff(share) <= share / 4 + 1, "/{length}: {found} of a thousand, not {share}");
        }
        for (n, shape) in (0..1000).flat_map(|n| [(n, bgp6 as fn(u32) -> _), (n, hosts6), (n, dense6)]) {
            let ((prefix, length), address) = (shape(n), inside6(shape, n, 1000));
            let host = u128::MAX.checked_shr(length.into()).unwrap_or(0);
            assert!(prefix >> 125 == 1 && prefix & host == 0, "{prefix:x}/{length}");
            let routes = (0..1000).map(shape);
            let inside = |(prefix, length): (u128, u8)| (prefix ^ address).leading_zeros() >= length.into();
            assert!(routes.into_iter().any(inside), "{address:x}");
        }
    }

    #[test]
    fn routes_have_the_shares_of_lengths_that_are_said() {
        let mut counts = [0_u32; 33];
        (0..100_000).for_each(|n| counts[usize::from(bgp(n).1)] += 1);
        for (length, share) in BGP {
            let found = counts[usize::from(length)] / 100;
            assert!(found.abs_diff(share) <= share / 4 + 1, "/{length}: {found} of a thousand, not {share}");
        }
        for n in 0..100_000 {
            let ((prefix, length), first) = (bgp(n), bgp(n).0 >> 24);
            assert!((1..224).contains(&first) && first != 10 && first != 127, "{first}");
            assert_eq!(prefix & u32::MAX.checked_shr(length.into()).unwrap_or(0), 0, "no host bits");
        }
    }
}
