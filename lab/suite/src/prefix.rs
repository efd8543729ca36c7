//! How addresses and prefixes of both families lie to each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an address.
pub fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The longest prefix, of so many bits at most, that two addresses of a family are in.
pub fn shared(one: IpAddr, other: IpAddr, most: u8) -> (IpAddr, u8) {
    let number = |address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let length = most.min((number(one) ^ number(other)).leading_zeros() as u8);
    let first = number(one) & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    match one {
        IpAddr::V4(_) => (Ipv4Addr::from_bits((first >> 96) as u32).into(), length),
        IpAddr::V6(_) => (Ipv6Addr::from_bits(first).into(), length),
    }
}

/// The address so many prefixes of a length behind another one.
pub fn following(first: IpAddr, length: u8, number: u32) -> IpAddr {
    let behind = u128::from(number).checked_shl(u32::from(bits(first) - length)).unwrap_or(0);
    match first {
        IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits().saturating_add(behind as u32)).into(),
        IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits().saturating_add(behind)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_prefix_begins_in_front_of_both() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (one, other, most, prefix) in [
            ("10.0.0.3", "10.0.0.9", 32, ("10.0.0.0", 28)),
            ("10.0.0.3", "10.0.0.9", 24, ("10.0.0.0", 24)),
            ("10.0.0.3", "10.0.0.3", 32, ("10.0.0.3", 32)),
            ("1.0.0.0", "200.0.0.0", 32, ("0.0.0.0", 0)),
            ("2001:db8::5", "2001:db8::6", 128, ("2001:db8::4", 126)),
        ] {
            assert_eq!(shared(ip(one), ip(other), most), (ip(prefix.0), prefix.1));
        }
        assert_eq!(following(ip("10.0.0.0"), 24, 3), ip("10.0.3.0"));
    }
}
