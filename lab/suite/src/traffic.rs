//! What generator and device must agree on: addresses, VLANs, routes.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use quiver_wire::MacAddress;

use crate::field::{Encap, Function, Scale, Shape};
use crate::{Case, bgp};

/// Bits of the prefixes at the device's two ports.
pub const LINK_LENGTH: u8 = 24;
/// Next hops at a side at most.
const HOPS: u32 = 8;
/// Where routes begin that no packet takes, which are added under load.
const UNUSED: Ipv4Addr = Ipv4Addr::new(30, 0, 0, 0);

/// The packets of a case, and what a device must know to pass them on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// CSIT's name of the packets that come from the first side, as the packet generator knows it; from the second come
    /// the answers, its `reverse`. The generator sets stations and tags itself where the profile has none.
    pub profile: String,
    /// What lies at the device's first port, and at its second.
    pub sides: [Side; 2],
}

/// What lies at a port of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Whence the generator sends, where the profile does not say it.
    pub station: MacAddress,
    /// The device's own address, to which packets are sent that it is to route.
    pub gateway: MacAddress,
    /// The tags of all frames at this side, the outer one first: none, one, or two, of which the outer is 802.1ad's. A
    /// device takes those of one side off and puts those of the other one on.
    pub tags: Vec<u16>,
    /// The device's own address, in a prefix of [`LINK_LENGTH`] bits. The next hops have the following ones.
    pub address: Ipv4Addr,
    /// What is to be routed to this side; all that packets are sent to, and nothing else.
    pub routes: Vec<Routes>,
    /// The first and the last of the addresses that packets are sent to by lot, where the profile does not say it.
    pub destinations: Option<[Ipv4Addr; 2]>,
}

/// Neighbouring prefixes with the same next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes {
    /// The first address of the first one.
    pub first: Ipv4Addr,
    /// Bits of each.
    pub length: u8,
    /// How many.
    pub count: u32,
    /// Where they lead.
    pub next_hop: Ipv4Addr,
    /// The next hop's station. None answers for it: a device is told.
    pub station: MacAddress,
}

impl Traffic {
    /// Of a case. Half of a scale's entries, rounded up, are for each direction.
    pub fn of(case: &Case) -> Traffic {
        let half = match case.scale {
            Scale::Base => None,
            Scale::Entries(entries) => Some(entries.div_ceil(2)),
        };
        let profile = match (case.function, half) {
            // Its destinations are not those that are meant.
            (Function::Ip4, Some(_)) if case.shape == Shape::Bgp => "ethip4-ip4dst1".into(),
            (Function::CrossConnect | Function::Bridge, None) => "ethip4-ip4src254".into(),
            (Function::CrossConnect | Function::Bridge, Some(half)) => format!("ethip4-macsrc{half}dst{half}"),
            (Function::Ip4, None) => "ethip4-ip4src253".into(),
            (Function::Ip4, Some(half)) => format!("ethip4-ip4dst{half}"),
        };
        Traffic { profile, sides: [1, 2].map(|number| side(case, number, half)) }
    }

    /// What one of several devices in a row must know of it, by its place in the row, from 0. Between two of them frames have the
    /// second side's tags, and their stations are the devices' own.
    #[must_use]
    pub fn at(mut self, place: usize, devices: usize) -> Traffic {
        let [first, second] = &mut self.sides;
        let gateways = [first.gateway, second.gateway];
        if place > 0 {
            first.tags = second.tags.clone();
            first.routes.iter_mut().for_each(|routes| routes.station = gateways[1]);
        }
        if place + 1 < devices {
            second.routes.iter_mut().for_each(|routes| routes.station = gateways[0]);
        }
        self
    }

    /// Routes that no packet takes, behind the first `there` of them: what a device is given under load.
    pub fn unused(there: u32, count: u32) -> Routes {
        let first = Ipv4Addr::from_bits(UNUSED.to_bits().saturating_add(there));
        routes(2, 0, first, 32, count)
    }
}

impl Side {
    /// The next hops of its routes, each with its station.
    pub fn hops(&self) -> BTreeMap<Ipv4Addr, MacAddress> {
        self.routes.iter().map(|routes| (routes.next_hop, routes.station)).collect()
    }
}

/// The side of a number, 1 or 2, with so many destinations; none if there is one network.
fn side(case: &Case, number: u8, destinations: Option<u32>) -> Side {
    let vlan = u16::from(number) * 100;
    let network = number * 10;
    let routes = match (case.function, destinations) {
        (Function::CrossConnect | Function::Bridge, _) => vec![],
        // CSIT's networks.
        (Function::Ip4, None) => vec![routes(number, 0, Ipv4Addr::new(network, network, network, 0), 24, 1)],
        (Function::Ip4, Some(count)) if case.shape == Shape::Bgp => {
            let route = |(first, length, hop)| routes(number, hop, first, length, 1);
            bgp::routes(number, count, HOPS as u8).into_iter().map(route).collect()
        }
        (Function::Ip4, Some(count)) => spread(number, Ipv4Addr::new(network, 0, 0, 0), count),
    };
    Side {
        station: MacAddress([2, 0, 0, 0, 0, number]),
        gateway: MacAddress([2, 0, 0, 0, number, 0]),
        tags: match case.encap {
            Encap::Eth => vec![],
            Encap::Dot1q => vec![vlan],
            Encap::Dot1ad => vec![vlan, vlan + 1],
        },
        address: link(number, 1),
        routes,
        destinations: (case.shape == Shape::Bgp).then(|| bgp::range(number)),
    }
}

/// So many prefixes of one address each, in as many parts as there are next hops.
fn spread(side: u8, first: Ipv4Addr, count: u32) -> Vec<Routes> {
    let hops = HOPS.min(count);
    let begin = |hop: u32| (u64::from(count) * u64::from(hop) / u64::from(hops.max(1))) as u32;
    let of = |hop| {
        let first = Ipv4Addr::from_bits(first.to_bits().saturating_add(begin(hop)));
        routes(side, hop as u8, first, 32, begin(hop + 1) - begin(hop))
    };
    (0..hops).map(of).collect()
}

fn routes(side: u8, hop: u8, first: Ipv4Addr, length: u8, count: u32) -> Routes {
    let station = MacAddress([2, 0, 0, 0, side, hop + 1]);
    Routes { first, length, count, next_hop: link(side, hop + 2), station }
}

/// A host of the network between the device and a side: of those that RFC 2544 sets aside for benchmarks.
fn link(side: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, side, host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(suite: &str) -> Traffic {
        let text = format!("suites:\n  - {{{suite}, driver: memif, frame: 64, search: mrr}}");
        Traffic::of(&crate::read([("test.yaml", text.as_str())]).expect("a suite")[0])
    }

    #[test]
    fn routes_are_the_destinations_of_the_profile() {
        let base = traffic("function: ip4");
        assert_eq!(base.profile, "ethip4-ip4src253");
        let [first, second] = &base.sides;
        assert_eq!((first.routes[0].first, first.routes[0].length), (Ipv4Addr::new(10, 10, 10, 0), 24));
        assert_eq!(
            (second.routes[0].first, second.routes[0].next_hop),
            ([20, 20, 20, 0].into(), [198, 18, 2, 2].into())
        );

        let scale = traffic("function: ip4, scale: 20k");
        assert_eq!(scale.profile, "ethip4-ip4dst10000");
        for (side, network) in scale.sides.iter().zip([10, 20]) {
            let mut next = Ipv4Addr::new(network, 0, 0, 0).to_bits();
            for routes in &side.routes {
                assert_eq!((routes.first.to_bits(), routes.length, routes.count), (next, 32, 1250));
                next += routes.count;
            }
            assert_eq!(next, Ipv4Addr::new(network, 0, 0x27, 0x10).to_bits());
            assert_eq!(side.hops().len(), 8);
        }
        for odd in ["1", "3", "19"] {
            let few = traffic(&format!("function: ip4, scale: {odd}"));
            let half = odd.parse::<u32>().unwrap().div_ceil(2);
            assert_eq!(few.sides[0].routes.iter().map(|routes| routes.count).sum::<u32>(), half);
            assert!(few.sides[0].routes.iter().all(|routes| routes.count > 0));
        }
    }

    #[test]
    fn shaped_routes_have_hops_and_addresses_of_their_side() {
        let shaped = traffic("function: ip4, scale: 2k, shape: bgp");
        for (number, side) in [1, 2].into_iter().zip(&shaped.sides) {
            assert_eq!((side.routes.len(), side.hops().len(), side.destinations), (1000, 8, Some(bgp::range(number))));
            assert!(side.routes.iter().all(|routes| routes.count == 1));
        }
    }

    #[test]
    fn sides_differ_in_stations_addresses_and_tags() {
        for (suite, tags) in [
            ("function: l2bd, scale: 10k", [vec![], vec![]]),
            ("function: l2xc, encap: dot1q", [vec![100], vec![200]]),
            ("function: l2xc, encap: dot1ad", [vec![100, 101], vec![200, 201]]),
        ] {
            let [first, second] = traffic(suite).sides;
            assert_ne!((first.station, first.gateway, first.address), (second.station, second.gateway, second.address));
            assert_eq!([first.tags, second.tags], tags, "{suite}");
        }
        assert_eq!(traffic("function: l2bd, scale: 10k").profile, "ethip4-macsrc5000dst5000");
    }

    #[test]
    fn devices_in_a_row_send_to_each_other() {
        let case = "function: ip4, encap: dot1q";
        let [first, second] = [0, 1].map(|place| traffic(case).at(place, 2));
        assert_eq!(traffic(case).at(0, 1), traffic(case));
        // What the one sends by its second port is for the other's first one, and is tagged as that one expects.
        assert_eq!(first.sides[1].routes[0].station, second.sides[0].gateway);
        assert_eq!(second.sides[0].routes[0].station, first.sides[1].gateway);
        assert_eq!((&first.sides[0].tags, &second.sides[1].tags), (&vec![100], &vec![200]));
        assert_eq!(first.sides[1].tags, second.sides[0].tags);
        // Towards the generator all is as ever.
        assert_eq!((&first.sides[0], &second.sides[1]), (&traffic(case).sides[0], &traffic(case).sides[1]));
    }

    #[test]
    fn routes_that_are_added_are_no_packets() {
        let traffic = traffic("function: ip4, scale: 2m");
        let [first, more] = [Traffic::unused(0, 1000), Traffic::unused(1000, 1000)];
        assert_eq!(more.first.to_bits() - first.first.to_bits(), 1000);
        let last = traffic.sides[1].routes.last().unwrap();
        assert!(last.first.to_bits() + last.count < first.first.to_bits());
    }
}
