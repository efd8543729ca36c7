//! Families of IPv6. Their packets have nothing that IPv6 knows behind its header, as CSIT's have.

use std::net::Ipv6Addr;

use quiver_wire::VlanId;

use super::families::range;
use super::family::{Ends, Family, NONE, Numbers};
use crate::stream::PgStream;
use crate::values::Values;

/// The network of a side with many addresses, and of one with up to 254.
const WIDE: [Ipv6Addr; 2] = [network(0x2100, 0), network(0x2200, 0)];
const NARROW: [Ipv6Addr; 2] = [network(0x2001, 1), network(0x2001, 2)];
/// Number of addresses, equal to IPv4's in these families.
const ADDRESSES: u32 = 1 << 24;

/// All of them.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "ethip6-ip6dst#",
        what: "IPv6: one sender, # destinations one after the other",
        most: [ADDRESSES, NONE],
        has_reverse: true,
        fields: |stream, ends, [count, _]| destinations(stream, ends, range, count),
    },
    Family {
        name: "ethip6-ip6dst-rnd#",
        what: "IPv6: one sender, any of # destinations",
        most: [ADDRESSES, NONE],
        has_reverse: true,
        fields: |stream, ends, [count, _]| destinations(stream, ends, Values::Random, count),
    },
    Family {
        name: "ethip6-ip6dst#-#p",
        what: "IPv6: one sender, # destinations by # ports; those of the first two, as a generator has two",
        most: [ADDRESSES, 6],
        has_reverse: true,
        fields: |stream, ends, [count, _]| destinations(stream, ends, range, count),
    },
    Family {
        name: "ethip6-ip6dst-rnd#-#p",
        what: "IPv6: any of # destinations by # ports; those of the first two",
        most: [ADDRESSES, 6],
        has_reverse: true,
        fields: |stream, ends, [count, _]| destinations(stream, ends, Values::Random, count),
    },
    Family {
        name: "ethip6-ip6src#",
        what: "IPv6: # senders in a network of 254, one destination",
        most: [254, NONE],
        has_reverse: true,
        fields: senders,
    },
    Family {
        name: "dot1qip6asym-ip6src#",
        what: "IPv6: # senders, one destination; what comes back is in VLAN 10",
        most: [254, NONE],
        has_reverse: true,
        fields: |stream, [from, to], numbers| {
            stream.vlan = VlanId::new(10).ok().filter(|_| from.number != 0).map(Values::One);
            senders(stream, [from, to], numbers);
        },
    },
];

/// Sends from one address to `count` destinations in the other side's network, in the order of `values`.
fn destinations(
    stream: &mut PgStream,
    [from, to]: [Ends; 2],
    values: fn(Ipv6Addr, Ipv6Addr) -> Values<Ipv6Addr>,
    count: u32,
) {
    let there = WIDE[to.number];
    stream.ip6_source = Some(Values::One(host(WIDE[from.number], 1)));
    stream.ip6_destination = Some(values(host(there, 0), host(there, count - 1)));
}

/// The last so many hosts of a network, and a host of the other one.
fn senders(stream: &mut PgStream, [from, to]: [Ends; 2], [count, _]: Numbers) {
    let (here, first) = (NARROW[from.number], 255 - count);
    stream.ip6_source = Some(range(host(here, first), host(here, 254)));
    stream.ip6_destination = Some(Values::One(host(NARROW[to.number], first)));
}

const fn network(first: u16, second: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)
}

fn host(network: Ipv6Addr, number: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(network.to_bits() | u128::from(number))
}

#[cfg(test)]
mod tests {
    use super::super::apply;
    use super::*;

    /// The first and the last packet of a profile's round, by its name: source, destination, and whether it is tagged.
    fn ends(name: &str, is_reverse: bool) -> [(String, String); 2] {
        let mut stream = PgStream::unnamed();
        apply(&mut stream, name, is_reverse).expect(name);
        let (Some(source), Some(destination)) = (stream.ip6_source, stream.ip6_destination) else {
            panic!("{name} is not IPv6");
        };
        let count = [&source, &destination].map(|values| values.largest() - values.smallest() + 1);
        let at = |values: &Values<Ipv6Addr>, packet| {
            let bits = u128::from(values.first()[0]) << 64 | u128::from(values.sequence(0).at(packet));
            Ipv6Addr::from_bits(bits).to_string()
        };
        [0, count[0].max(count[1]) - 1].map(|packet| (at(&source, packet), at(&destination, packet)))
    }
    fn pair(source: &str, destination: &str) -> (String, String) {
        (source.into(), destination.into())
    }

    #[test]
    fn first_and_last_packets_are_those_of_csit() {
        let [forth, back] = [false, true].map(|is_reverse| ends("ethip6-ip6src253", is_reverse));
        assert_eq!(forth, [pair("2001:1::2", "2001:2::2"), pair("2001:1::fe", "2001:2::2")]);
        assert_eq!(back, [pair("2001:2::2", "2001:1::2"), pair("2001:2::fe", "2001:1::2")]);
        assert_eq!(ends("dot1qip6asym-ip6src253", true), back);
        let forth = ends("ethip6-ip6dst10000-2p", false);
        assert_eq!(forth, [pair("2100::1", "2200::"), pair("2100::1", "2200::270f")]);
        assert_eq!(ends("ethip6-ip6dst1000000-2p", true)[1], pair("2200::1", "2100::f:423f"));
        assert_eq!(ends("ethip6-ip6dst10000-6p", false), forth);
        let mut stream = PgStream::unnamed();
        apply(&mut stream, "ethip6-ip6dst-rnd100000-2p", false).expect("a profile");
        assert_eq!(
            stream.ip6_destination.map(|values| values.to_string()).as_deref(),
            Some("random:2200::-2200::1:869f")
        );
    }

    #[test]
    fn only_what_comes_back_is_tagged() {
        for (is_reverse, vlan) in [(false, None), (true, Some("10".to_owned()))] {
            let mut stream = PgStream::unnamed();
            apply(&mut stream, "dot1qip6asym-ip6src253", is_reverse).expect("a profile");
            assert_eq!(stream.vlan.map(|vlan| vlan.to_string()), vlan);
        }
    }
}
