//! Families of IPv4, and the addresses that CSIT has for them.

use std::net::Ipv4Addr;

use quiver_wire::{MacAddress, VlanId};

use super::family::{Ends, Family, NONE};
use crate::values::{Value, Values};

/// Addresses at most: 16 million, so that they stay in the first octet.
const ADDRESSES: u32 = 1 << 24;

/// Before the first station of chains of network functions.
const NODES: MacAddress = MacAddress([0x52, 0x54, 0, 0, 0, 0]);
/// Largest number of networks with one host each: the length of a list of values.
const ROUND: u32 = 1 << 14;
/// Users inside, the server, and what users are outside.
const NAT_LARGE: [Ipv4Addr; 3] =
    [Ipv4Addr::new(192, 168, 0, 0), Ipv4Addr::new(20, 0, 0, 0), Ipv4Addr::new(68, 142, 68, 0)];
const NAT_SMALL: [Ipv4Addr; 3] = [Ipv4Addr::new(20, 0, 0, 0), Ipv4Addr::new(12, 0, 0, 2), Ipv4Addr::new(200, 0, 0, 0)];
/// The first port of each user.
pub(super) const NAT_PORT: u16 = 1024;
/// Ports per address that NAT allocates.
const PORTS_OUTSIDE: u32 = 64_512;

/// Families of IPv4.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "ethip4-ip4dst#",
        what: "one sender, # destinations one after the other",
        most: [ADDRESSES, NONE],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = hosts(to.wide, 0, count);
        },
    },
    Family {
        name: "ethip4-ip4dst-rnd#",
        what: "one sender, any of # destinations",
        most: [ADDRESSES, NONE],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = Values::Random(host(to.wide, 0), host(to.wide, count - 1));
        },
    },
    Family {
        name: "ethip4-ip4dst#-#p",
        what: "the same by # ports; those of the first two, as a generator has two",
        most: [ADDRESSES, 6],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = hosts(to.wide, 0, count);
        },
    },
    Family {
        name: "ethip4-ip4dst-rnd#-#p",
        what: "any of # destinations by # ports; those of the first two",
        most: [ADDRESSES, 6],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = Values::Random(host(to.wide, 0), host(to.wide, count - 1));
        },
    },
    Family {
        name: "ethip4-ip4dst#-udir",
        what: "one sender, # destinations; nothing comes back",
        most: [ADDRESSES, NONE],
        has_reverse: false,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = hosts(to.wide, 0, count);
        },
    },
    Family {
        name: "ethip4-ip4dst#-#cnf",
        what: "one sender, # destinations, by # network functions in containers, each with its station",
        most: [ADDRESSES, 256],
        has_reverse: true,
        fields: |stream, [from, to], [count, functions]| {
            stream.destination_mac = stations(from.functions, functions);
            stream.source = Values::One(host(from.wide, 1));
            stream.destination = hosts(to.wide, 0, count);
        },
    },
    Family {
        name: "ethip4-ip4dst#_l3fwd",
        what: "one sender, # destinations in the networks that DPDK's l3fwd routes",
        most: [253, NONE],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = Values::One(host(to.narrow, 2));
            stream.destination = hosts(from.forwarded, 2, count);
        },
    },
    Family {
        name: "ethip4-ip4src#ip4dst#",
        what: "# senders and # destinations, each in a network of 256",
        most: [ROUND, ROUND],
        has_reverse: true,
        fields: |stream, [from, to], [senders, receivers]| {
            stream.source = networks(from.wide, senders);
            stream.destination = networks(to.wide, receivers);
        },
    },
    Family {
        name: "2n3n-ethip4-ip4src254-#c#n",
        what: "254 senders, by # chains of # network functions each",
        most: [10, 10],
        has_reverse: true,
        fields: |stream, [from, to], [chains, nodes]| {
            // A chain begins with its first function, and in reverse with its last.
            let first = if from.number == 0 { 1 } else { nodes };
            let station = |chain| MacAddress::from_u64(NODES.to_u64() + u64::from(first + chain * nodes));
            stream.destination_mac = list((0..chains).map(station).collect());
            stream.source = hosts(from.narrow, 1, 254);
            stream.destination = Values::One(host(to.narrow, 1));
        },
    },
    Family {
        name: "ethip4-ip4src#",
        what: "# senders in a network of 254, one destination",
        most: [254, NONE],
        has_reverse: true,
        fields: |stream, [from, to], [count, _]| {
            stream.source = hosts(from.narrow, 255 - count, count);
            stream.destination = Values::One(host(to.narrow, 255 - count));
        },
    },
    Family {
        name: "ethip4-macsrc#ip4src#",
        what: "# stations with an address each, one destination",
        most: [ADDRESSES - 2, ADDRESSES - 2],
        has_reverse: true,
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
        has_reverse: true,
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
        has_reverse: true,
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
        has_reverse: true,
        fields: |stream, [from, to], [users, ports]| {
            stream.source = hosts(from.narrow, 2, users);
            stream.destination = hosts(to.narrow, 2, users);
            stream.source_port = range(from.ports, from.ports + ports as u16 - 1);
            stream.destination_port = range(to.ports, to.ports + ports as u16 - 1);
        },
    },
    Family {
        name: "dot1qip4-vlan#ip4src254ip4dst254-#",
        what: "VLAN #, the same at both sides, by # ports; any of 254 senders and of 254 destinations",
        most: [4094, 6],
        has_reverse: true,
        fields: |stream, [from, to], [vlan, _]| {
            stream.vlan = VlanId::new(vlan as u16).ok().map(Values::One);
            stream.source = Values::Random(host(from.wide, 1), host(from.wide, 254));
            stream.destination = Values::Random(host(to.wide, 1), host(to.wide, 254));
        },
    },
    Family {
        name: "dot1qip4-vlan1ip4src254ip4dst254-bvi",
        what: "a VLAN of each side, any of 254 senders and of 254 destinations, routed between bridges",
        most: [NONE, NONE],
        has_reverse: true,
        fields: |stream, [from, to], _| {
            stream.vlan = VlanId::new(from.vlan).ok().map(Values::One);
            stream.source = Values::Random(host(from.narrow, 1), host(from.narrow, 254));
            stream.destination = Values::Random(host(to.narrow, 1), host(to.narrow, 254));
        },
    },
    Family {
        name: "dot1qip4asym-ip4src254",
        what: "254 senders, one destination; what comes back is in VLAN 10",
        most: [NONE, NONE],
        has_reverse: true,
        fields: |stream, [from, to], _| {
            let is_tagged = from.number != 0;
            stream.vlan = VlanId::new(10).ok().filter(|_| is_tagged).map(Values::One);
            stream.source = hosts(from.narrow, 1, 254);
            stream.destination = Values::One(host(to.narrow, 1));
        },
    },
    Family {
        name: "ethip4udp-#u#p",
        what: "# users behind NAT with # ports each; what comes back is for the addresses that they have outside",
        most: [1 << 20, 63],
        has_reverse: true,
        fields: |stream, [from, _], [users, ports]| {
            // A large NAT gives a user 63 ports; small ones have other networks.
            let [inside, server, outside] = if ports == 63 { NAT_LARGE } else { NAT_SMALL };
            let sessions = users * ports;
            if from.number == 0 {
                stream.source = hosts(inside, 0, users);
                stream.source_port = each(NAT_PORT, ports, users);
                stream.destination = Values::One(server);
                stream.destination_port = Values::One(NAT_PORT);
            } else {
                let per_address = sessions.min(PORTS_OUTSIDE);
                stream.source = Values::One(server);
                stream.source_port = Values::One(NAT_PORT);
                stream.destination = hosts(outside, 0, sessions.div_ceil(PORTS_OUTSIDE));
                stream.destination_port = each(NAT_PORT, per_address, sessions.div_ceil(PORTS_OUTSIDE));
            }
        },
    },
    Family {
        name: "ethip4udp-#u#p-udir",
        what: "# users behind NAT with # ports each, and a server for each; nothing comes back",
        most: [1 << 20, 63],
        has_reverse: false,
        fields: |stream, _, [users, ports]| {
            let [inside, server, _] = NAT_LARGE;
            stream.source = hosts(inside, 0, users);
            stream.source_port = each(NAT_PORT, ports, users);
            stream.destination = hosts(server, 0, users);
            stream.destination_port = Values::One(8080);
        },
    },
    Family {
        name: "ethip4udp-lb",
        what: "six clients of a service that is spread over six servers, which answer",
        most: [NONE, NONE],
        has_reverse: true,
        fields: |stream, [from, _], _| {
            let [clients, servers] = [Ipv4Addr::new(192, 168, 50, 74), Ipv4Addr::new(192, 168, 60, 74)];
            if from.number == 0 {
                stream.source = hosts(clients, 0, 6);
                stream.destination = Values::One(Ipv4Addr::new(90, 1, 2, 1));
                (stream.source_port, stream.destination_port) = (Values::One(63), Values::One(20_000));
            } else {
                (stream.source, stream.destination) = (hosts(servers, 0, 6), hosts(clients, 0, 6));
                (stream.source_port, stream.destination_port) = (Values::One(3307), Values::One(63));
            }
        },
    },
];

pub(super) fn host(network: Ipv4Addr, number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(network).wrapping_add(number))
}

/// Returns `count` addresses of a network from number `first` on.
pub(super) fn hosts(network: Ipv4Addr, first: u32, count: u32) -> Values<Ipv4Addr> {
    range(host(network, first), host(network, first + count - 1))
}

fn last_station(ends: Ends, count: u32) -> MacAddress {
    MacAddress::from_u64(ends.stations.to_u64() + u64::from(count) - 1)
}

pub(super) fn range<T: Value>(first: T, last: T) -> Values<T> {
    if first == last { Values::One(first) } else { Values::Range(first, last) }
}

/// Returns `count` stations from `first` on.
fn stations(first: MacAddress, count: u32) -> Values<MacAddress> {
    range(first, MacAddress::from_u64(first.to_u64() + u64::from(count) - 1))
}

/// The first address of so many networks of 256.
fn networks(first: Ipv4Addr, count: u32) -> Values<Ipv4Addr> {
    list((0..count).map(|number| host(first, number << 8)).collect())
}

pub(super) fn list<T: Value>(values: Vec<T>) -> Values<T> {
    if let [only] = values[..] { Values::One(only) } else { Values::List(values) }
}

/// Returns `ports` ports for each of `users` users. Users and ports both advance with every packet; where that would
/// leave out some combinations, ports are random.
pub(super) fn each(first: u16, ports: u32, users: u32) -> Values<u16> {
    let last = first + (ports - 1) as u16;
    let (mut one, mut other) = (ports, users);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    if one == 1 { range(first, last) } else { Values::Random(first, last) }
}
