//! Families of frames in tunnels of VXLAN.

use std::net::Ipv4Addr;

use quiver_wire::{MacAddress, VlanId};

use super::families::list;
use super::family::{Ends, Family, NONE};
use crate::stream::PgStream;
use crate::values::{Values, Vni};

/// Tunnels at most: each has an octet of its source address to itself.
const TUNNELS: u32 = 256;
/// Stations inside a tunnel.
const STATIONS: u16 = 256;
/// Source ports, drawn by lot.
const PORTS: Values<u16> = Values::Random(1024, 65_535);

/// Addresses of one side.
struct Side {
    /// The first of the tunnels' sources there; the next is 256 addresses on.
    source: Ipv4Addr,
    /// Where all tunnels from there end.
    destination: Ipv4Addr,
    /// The first of the stations inside, and its address.
    station: MacAddress,
    host: Ipv4Addr,
}

const SIDES: [Side; 2] = [
    Side {
        source: Ipv4Addr::new(172, 17, 0, 2),
        destination: Ipv4Addr::new(172, 16, 0, 1),
        station: MacAddress([0, 0xaa, 0xaa, 0, 0, 0]),
        host: Ipv4Addr::new(10, 0, 0, 2),
    },
    Side {
        source: Ipv4Addr::new(172, 27, 0, 2),
        destination: Ipv4Addr::new(172, 26, 0, 1),
        station: MacAddress([0, 0xbb, 0xbb, 0, 0, 0]),
        host: Ipv4Addr::new(10, 0, 0, 1),
    },
];

/// All of them.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "ethip4vxlan-ip4src#udpsrcrnd",
        what: "# VXLAN tunnels with a network each, by any port; 256 stations inside",
        most: [TUNNELS, NONE],
        has_reverse: true,
        fields: |stream, ends, [tunnels, _]| {
            tunnelled(stream, ends, tunnels);
            let [from, to] = ends.map(|end| &SIDES[end.number]);
            (stream.source, stream.destination) = (Values::One(from.host), Values::One(to.host));
        },
    },
    Family {
        name: "dot1qip4vxlan-ip4src#udpsrcrnd",
        what: "the same in a VLAN of each side, and each station inside with an address of its own",
        most: [TUNNELS, NONE],
        has_reverse: true,
        fields: |stream, [from, to], [tunnels, _]| {
            tunnelled(stream, [from, to], tunnels);
            stream.vlan = VlanId::new(from.vlan).ok().map(Values::One);
            let hosts = |end: Ends| by_network(SIDES[end.number].host, STATIONS.into());
            (stream.source, stream.destination) = (hosts(from), hosts(to));
        },
    },
];

/// Sends through `tunnels` tunnels from one side to the other.
fn tunnelled(stream: &mut PgStream, [from, to]: [Ends; 2], tunnels: u32) {
    let stations = |end: Ends| {
        let first = SIDES[end.number].station;
        Values::Range(first, MacAddress::from_u64(first.to_u64() + u64::from(STATIONS) - 1))
    };
    let from_side = &SIDES[from.number];
    stream.vxlan = Some(list((0..tunnels).filter_map(Vni::new).collect()));
    stream.tunnel_source = by_network(from_side.source, tunnels);
    stream.tunnel_destination = Values::One(from_side.destination);
    stream.tunnel_port = PORTS;
    (stream.inner_source_mac, stream.inner_destination_mac) = (stations(from), stations(to));
}

/// The same host of so many networks of 256.
fn by_network(first: Ipv4Addr, count: u32) -> Values<Ipv4Addr> {
    list((0..count).map(|number| Ipv4Addr::from(u32::from(first).wrapping_add(number << 8))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::apply;
    use super::*;
    use crate::values::Value;

    fn at<T: Value>(values: &Values<T>, packet: u64) -> u64 {
        values.sequence(0).at(packet)
    }
    fn address(values: &Values<Ipv4Addr>, packet: u64) -> String {
        Ipv4Addr::from(at(values, packet) as u32).to_string()
    }
    fn station(values: &Values<MacAddress>, packet: u64) -> String {
        MacAddress::from_u64(at(values, packet)).to_string()
    }

    #[test]
    fn first_and_last_packets_are_those_of_csit() {
        let mut one = PgStream::unnamed();
        apply(&mut one, "ethip4vxlan-ip4src1udpsrcrnd", false).expect("a profile");
        let networks = one.vxlan.clone().expect("it has one");
        assert_eq!((networks.to_string(), one.tunnel_port.to_string()), ("0".into(), "random:1024-65535".into()));
        assert_eq!(
            [&one.tunnel_source, &one.tunnel_destination, &one.source, &one.destination].map(Values::to_string),
            ["172.17.0.2", "172.16.0.1", "10.0.0.2", "10.0.0.1"]
        );
        assert_eq!([0, 255].map(|at| station(&one.inner_source_mac, at)), ["00:aa:aa:00:00:00", "00:aa:aa:00:00:ff"]);
        assert_eq!(station(&one.inner_destination_mac, 255), "00:bb:bb:00:00:ff");
        assert_eq!(one.vlan, None);
        let mut ten = PgStream::unnamed();
        apply(&mut ten, "dot1qip4vxlan-ip4src10udpsrcrnd", true).expect("a profile");
        let networks = ten.vxlan.clone().expect("it has some");
        // Tunnel and network go together.
        for (packet, source) in [(0, "172.27.0.2"), (9, "172.27.9.2"), (10, "172.27.0.2")] {
            assert_eq!((address(&ten.tunnel_source, packet), at(&networks, packet)), (source.into(), packet % 10));
        }
        assert_eq!(ten.tunnel_destination.to_string(), "172.26.0.1");
        assert_eq!([0, 255].map(|at| address(&ten.source, at)), ["10.0.0.1", "10.0.255.1"]);
        assert_eq!(address(&ten.destination, 255), "10.0.255.2");
        assert_eq!(station(&ten.inner_source_mac, 0), "00:bb:bb:00:00:00");
        assert_eq!(ten.vlan.map(|vlan| vlan.to_string()).as_deref(), Some("200"));
    }
}
