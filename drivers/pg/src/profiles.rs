//! Streams by the names of the traffic profiles that FD.io CSIT's suites use: `ethip4-ip4dst10000`, `ethip4-macsrc5kdst5k`.
//!
//! A name is a family's with numbers in it: how many addresses, stations, VLANs, ports there are. Every profile has two
//! directions: the packets of the second, `reverse`, are answers to those of the first. Only addresses, VLANs and ports come
//! from it, as documented there; packets are UDP where CSIT's are bare IPv4, and rates and sizes are the stream's own.

use std::net::Ipv4Addr;

use quiver_wire::{MacAddress, VlanId};

use crate::stream::PgStream;
use crate::values::{Value, Values};

/// The numbers of a name: one, or two.
type Numbers = [u32; 2];

/// A family of profiles.
pub struct Family {
    /// The names: `#` stands for a number such as `100`, `100k`.
    pub name: &'static str,
    /// What its packets are.
    pub what: &'static str,
    /// The greatest numbers.
    pub most: Numbers,
    /// Sets the fields of packets from the first station to the second.
    fields: fn(&mut PgStream, [Ends; 2], Numbers),
}

/// The addresses of one of the two sides.
#[derive(Clone, Copy)]
struct Ends {
    /// Of sides with many addresses.
    wide: Ipv4Addr,
    /// Of sides with up to 254.
    narrow: Ipv4Addr,
    /// Of sides with stations and ports of their own.
    stations: MacAddress,
    ports: u16,
    /// Of sides with one VLAN.
    vlan: u16,
}

const ENDS: [Ends; 2] = [
    Ends {
        wide: Ipv4Addr::new(10, 0, 0, 0),
        narrow: Ipv4Addr::new(10, 10, 10, 0),
        stations: MacAddress([0xca, 0xfe, 0, 0, 0, 0]),
        ports: 1001,
        vlan: 100,
    },
    Ends {
        wide: Ipv4Addr::new(20, 0, 0, 0),
        narrow: Ipv4Addr::new(20, 20, 20, 0),
        stations: MacAddress([0xfa, 0xce, 0, 0, 0, 0]),
        ports: 2001,
        vlan: 200,
    },
];

/// Addresses at most: 16 million, so that they stay in the first octet.
const ADDRESSES: u32 = 1 << 24;
const NONE: u32 = 0;

/// All families.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "ethip4-ip4dst#",
        what: "one sender, # destinations one after the other",
        most: [ADDRESSES, NONE],
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = hosts(to.wide, 0, count);
        },
    },
    Family {
        name: "ethip4-ip4dst-rnd#",
        what: "one sender, any of # destinations",
        most: [ADDRESSES, NONE],
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = Values::Random(host(to.wide, 0), host(to.wide, count - 1));
        },
    },
    Family {
        name: "ethip4-ip4src#",
        what: "# senders in a network of 254, one destination",
        most: [254, NONE],
        fields: |stream, [from, to], [count, _]| {
            stream.source = hosts(from.narrow, 255 - count, count);
            stream.destination = Values::One(host(to.narrow, 255 - count));
        },
    },
    Family {
        name: "ethip4-macsrc#ip4src#",
        what: "# stations with an address each, one destination",
        most: [ADDRESSES - 2, ADDRESSES - 2],
        fields: |stream, [from, to], [stations, count]| {
            stream.source_mac = range(from.stations, last_station(from, stations));
            stream.source = hosts(from.wide, 2, count);
            stream.destination = Values::One(host(to.wide, 1));
        },
    },
    Family {
        name: "ethip4-macsrc#dst#",
        what: "# stations that each send to one of # others",
        most: [ADDRESSES, ADDRESSES],
        fields: |stream, [from, to], [senders, receivers]| {
            stream.source_mac = range(from.stations, last_station(from, senders));
            stream.destination_mac = range(to.stations, last_station(to, receivers));
            stream.source = hosts(from.wide, 0, senders);
            stream.destination = hosts(to.wide, 0, receivers);
        },
    },
    Family {
        name: "dot1qip4-vlan#ip4src254ip4dst254",
        what: "# VLANs, 254 senders and 254 destinations",
        most: [4094, NONE],
        fields: |stream, [from, to], [vlans, _]| {
            // A single VLAN has networks of its own.
            let (source, destination) = if vlans == 1 { (from.narrow, to.narrow) } else { (from.wide, to.wide) };
            let vlan = |number| VlanId::new(number).ok();
            let (first, last) = if vlans == 1 { (from.vlan, from.vlan) } else { (1, vlans as u16) };
            stream.vlan = vlan(first).zip(vlan(last)).map(|(first, last)| range(first, last));
            stream.source = hosts(source, 1, 254);
            stream.destination = hosts(destination, 1, 254);
        },
    },
    Family {
        name: "ethip4udp-#u#p-conc",
        what: "# users that talk by # ports each",
        most: [254 - 1, 1000],
        fields: |stream, [from, to], [users, ports]| {
            stream.source = hosts(from.narrow, 2, users);
            stream.destination = hosts(to.narrow, 2, users);
            stream.source_port = range(from.ports, from.ports + ports as u16 - 1);
            stream.destination_port = range(to.ports, to.ports + ports as u16 - 1);
        },
    },
];

fn host(network: Ipv4Addr, number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(network).wrapping_add(number))
}

/// So many addresses of a network from a number on.
fn hosts(network: Ipv4Addr, first: u32, count: u32) -> Values<Ipv4Addr> {
    range(host(network, first), host(network, first + count - 1))
}

fn last_station(ends: Ends, count: u32) -> MacAddress {
    MacAddress::from_u64(ends.stations.to_u64() + u64::from(count) - 1)
}

fn range<T: Value>(first: T, last: T) -> Values<T> {
    if first == last { Values::One(first) } else { Values::Range(first, last) }
}

/// Sets the fields that a profile names, for packets from its first side or, in reverse, from its second. The error says
/// which profiles there are.
pub fn apply(stream: &mut PgStream, name: &str, is_reverse: bool) -> Result<(), String> {
    let Some((family, numbers)) = FAMILIES.iter().find_map(|family| Some((family, numbers(family.name, name)?))) else {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name.replace('#', "N")).collect();
        return Err(format!("there is no profile '{name}'; there are {}", names.join(", ")));
    };
    if let Some((number, most)) = numbers.iter().zip(family.most).find(|(number, most)| *number > most) {
        return Err(format!(
            "profile {name}: {number} is too much; {} has up to {most}",
            family.name.replace('#', "N")
        ));
    }
    let [first, second] = ENDS;
    // A family with one number has no use for the second.
    let numbers = [numbers[0], numbers.get(1).copied().unwrap_or(NONE)];
    (family.fields)(stream, if is_reverse { [second, first] } else { [first, second] }, numbers);
    Ok(())
}

/// The numbers, none of them zero, that stand in a name for the `#` of a family's.
fn numbers(family: &str, name: &str) -> Option<Vec<u32>> {
    let mut parts = family.split('#');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut numbers = vec![];
    for part in parts {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        let number: u32 = number.parse().ok()?;
        let (factor, behind) = behind.strip_prefix('k').map_or((1, behind), |behind| (1000, behind));
        numbers.push(number.checked_mul(factor).filter(|number| *number > 0)?);
        rest = behind.strip_prefix(part)?;
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a profile sets, forth and back: MAC addresses, VLAN, addresses, ports.
    fn fields(name: &str) -> [[String; 7]; 2] {
        [false, true].map(|is_reverse| {
            let mut stream = PgStream::unnamed();
            apply(&mut stream, name, is_reverse).expect(name);
            crate::stream::check(&stream).expect(name);
            [
                stream.source_mac.to_string(),
                stream.destination_mac.to_string(),
                stream.vlan.map(|vlan| vlan.to_string()).unwrap_or_default(),
                stream.source.to_string(),
                stream.destination.to_string(),
                stream.source_port.to_string(),
                stream.destination_port.to_string(),
            ]
        })
    }
    /// The addresses of IPv4 that a profile sets, forth and back.
    fn addresses(name: &str) -> [[String; 2]; 2] {
        fields(name).map(|[_, _, _, source, destination, ..]| [source, destination])
    }

    #[test]
    fn names_of_csit_are_understood() {
        assert_eq!(addresses("ethip4-ip4dst1"), [["10.0.0.1", "20.0.0.0"], ["20.0.0.1", "10.0.0.0"]]);
        assert_eq!(
            addresses("ethip4-ip4dst1000000"),
            [["10.0.0.1", "20.0.0.0-20.15.66.63"], ["20.0.0.1", "10.0.0.0-10.15.66.63"]]
        );
        assert_eq!(addresses("ethip4-ip4dst-rnd10000")[0], ["10.0.0.1", "random:20.0.0.0-20.0.39.15"]);
        assert_eq!(
            addresses("ethip4-ip4src254"),
            [["10.10.10.1-10.10.10.254", "20.20.20.1"], ["20.20.20.1-20.20.20.254", "10.10.10.1"]]
        );
        assert_eq!(addresses("ethip4-ip4src253")[0], ["10.10.10.2-10.10.10.254", "20.20.20.2"]);
        let [forth, back] = fields("ethip4-macsrc100kip4src100k");
        assert_eq!(
            (forth[0].as_str(), forth[3].as_str()),
            ("ca:fe:00:00:00:00-ca:fe:00:01:86:9f", "10.0.0.2-10.1.134.161")
        );
        assert_eq!((back[0].as_str(), back[4].as_str()), ("fa:ce:00:00:00:00-fa:ce:00:01:86:9f", "10.0.0.1"));
        let [forth, back] = fields("ethip4-macsrc500kdst500k");
        assert_eq!(forth[..2], ["ca:fe:00:00:00:00-ca:fe:00:07:a1:1f", "fa:ce:00:00:00:00-fa:ce:00:07:a1:1f"]);
        assert_eq!([&forth[0], &forth[1], &forth[3], &forth[4]], [&back[1], &back[0], &back[4], &back[3]]);
        let [forth, back] = fields("dot1qip4-vlan1ip4src254ip4dst254");
        assert_eq!(forth[2..5], ["100", "10.10.10.1-10.10.10.254", "20.20.20.1-20.20.20.254"]);
        assert_eq!(back[2], "200");
        let [forth, _] = fields("dot1qip4-vlan1kip4src254ip4dst254");
        assert_eq!(forth[2..5], ["1-1000", "10.0.0.1-10.0.0.254", "20.0.0.1-20.0.0.254"]);
        let [forth, back] = fields("ethip4udp-10u1000p-conc");
        assert_eq!(forth[3..], ["10.10.10.2-10.10.10.11", "20.20.20.2-20.20.20.11", "1001-2000", "2001-3000"]);
        assert_eq!(back[5..], ["2001-3000", "1001-2000"]);
    }

    #[test]
    fn every_family_holds_at_its_least_and_greatest_numbers() {
        for family in FAMILIES {
            let name = |numbers: [u32; 2]| {
                numbers.iter().fold(family.name.to_owned(), |name, number| name.replacen('#', &number.to_string(), 1))
            };
            for numbers in [[1, 1], family.most] {
                fields(&name(numbers));
            }
            let mut stream = PgStream::unnamed();
            let before = stream.clone();
            let error = apply(&mut stream, &name([family.most[0] + 1, 1]), false).expect_err("more than there are");
            assert!(error.contains("is too much"), "{error}");
            assert_eq!(stream, before);
        }
    }

    #[test]
    fn other_names_are_refused() {
        let mut stream = PgStream::unnamed();
        for name in [
            "",
            "ethip4",
            "ethip4-ip4dst",
            "ethip4-ip4dst0",
            "ethip4-ip4dst5x",
            "ethip4-ip4dst99999999999",
            "ethip4-macsrc5k",
        ] {
            let error = apply(&mut stream, name, false).expect_err(name);
            assert!(error.contains("ethip4-macsrcNdstN"), "{error}");
        }
    }
}
