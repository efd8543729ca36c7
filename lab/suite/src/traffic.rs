//! Addresses, VLANs and routes on which generator and device agree.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_wire::MacAddress;

use crate::field::{Encap, Feature, Function, Scale, Shape};
use crate::prefix::{bits, following, shared};
use crate::{Case, bgp, bgp6};

/// Bits of the prefixes at the device's two ports.
const LINK_LENGTH: u8 = 24;
const LINK_LENGTH6: u8 = 64;
/// Next hops at a side at most.
const HOPS: u32 = 8;
/// Where routes begin that no packet takes, which are added under load.
const UNUSED: Ipv4Addr = Ipv4Addr::new(30, 0, 0, 0);
const UNUSED6: Ipv6Addr = Ipv6Addr::new(0x3000, 0, 0, 0, 0, 0, 0, 0);

/// The packets of a case, and what a device must know to pass them on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// CSIT's name of the packets that come from the first side, as the packet generator knows it; from the second come
    /// the answers, its `reverse`. The generator sets stations and tags itself where the profile has none.
    pub profile: String,
    /// The networks at the device's first and second port.
    pub sides: [Side; 2],
}

/// The network at a port of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Whence the generator sends, where the profile does not say it.
    pub station: MacAddress,
    /// The device's own address, to which packets are sent that it is to route.
    pub gateway: MacAddress,
    /// The tags of all frames at this side, the outer one first: none, one, or two, of which the outer is 802.1ad's. A
    /// device takes those of one side off and puts those of the other one on.
    pub tags: Vec<u16>,
    /// The device's own address, in a prefix of [`Side::link_length`] bits. The next hops have the following ones.
    pub address: IpAddr,
    /// Routes to this side. Packets are sent to these destinations only.
    pub routes: Vec<Routes>,
    /// Next hops that each of its routes has beside its own, with their stations.
    pub other_hops: BTreeMap<IpAddr, MacAddress>,
    /// The next hop, with its station, to which policies send what is for these routes: no route leads by it.
    pub policy_hop: Option<(IpAddr, MacAddress)>,
    /// Destinations as a value of the packet generator, where the profile does not define them.
    pub destinations: Option<String>,
}

/// Neighbouring prefixes with the same next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes {
    /// The first address of the first one.
    pub first: IpAddr,
    /// Bits of each.
    pub length: u8,
    /// Number of routes.
    pub count: u32,
    /// Where they lead.
    pub next_hop: IpAddr,
    /// The next hop's station. None answers for it: a device is told.
    pub station: MacAddress,
}

impl Routes {
    /// The first address of the prefix of a number.
    pub fn prefix(&self, number: u32) -> IpAddr {
        following(self.first, self.length, number)
    }
}

impl Traffic {
    /// The traffic of a case. Half of a scale's entries, rounded up, are for each direction.
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
            (Function::Ip6, Some(_)) if case.shape == Shape::Bgp => "ethip6-ip6dst1".into(),
            (Function::Ip6, None) => "ethip6-ip6src253".into(),
            (Function::Ip6, Some(half)) => format!("ethip6-ip6dst{half}"),
        };
        Traffic { profile, sides: [1, 2].map(|number| side(case, number, half)) }
    }

    /// The traffic as one of several devices in a row sees it, by its position from 0. Between two devices frames have
    /// the second side's tags, and their MAC addresses are the devices' own.
    #[must_use]
    pub fn at(mut self, place: usize, devices: usize) -> Traffic {
        let [first, second] = &mut self.sides;
        let gateways = [first.gateway, second.gateway];
        if place > 0 {
            first.tags = second.tags.clone();
            first.send_all_to(gateways[1]);
        }
        if place + 1 < devices {
            second.send_all_to(gateways[0]);
        }
        self
    }

    /// Routes that no packet takes, behind the first `there` of them: what a device is given under load.
    pub fn unused(&self, there: u32, count: u32) -> Routes {
        let (function, first) = match self.sides[1].address {
            IpAddr::V4(_) => (Function::Ip4, UNUSED.into()),
            IpAddr::V6(_) => (Function::Ip6, UNUSED6.into()),
        };
        let whole = bits(first);
        routes(function, 2, 0, (following(first, whole, there), whole), count)
    }
}

impl Side {
    /// All next hops, each with its station.
    pub fn hops(&self) -> BTreeMap<IpAddr, MacAddress> {
        let of_routes = self.routes.iter().map(|routes| (routes.next_hop, routes.station));
        of_routes.chain(self.other_hops.clone()).chain(self.policy_hop).collect()
    }

    /// The longest prefix that all of its routes are in.
    pub fn network(&self) -> Option<(IpAddr, u8)> {
        let first = self.routes.iter().map(|routes| routes.first).min()?;
        let last = self.routes.iter().map(|routes| routes.prefix(routes.count - 1)).max()?;
        let length = self.routes.iter().map(|routes| routes.length).min()?;
        Some(shared(first, last, length))
    }

    /// Makes all packets for it go to one station.
    fn send_all_to(&mut self, station: MacAddress) {
        let of_routes = self.routes.iter_mut().map(|routes| &mut routes.station);
        let others = self.other_hops.values_mut().chain(self.policy_hop.as_mut().map(|(_, station)| station));
        of_routes.chain(others).for_each(|own| *own = station);
    }

    /// Bits of the prefix on the link between the device and this side.
    pub fn link_length(&self) -> u8 {
        if self.address.is_ipv4() { LINK_LENGTH } else { LINK_LENGTH6 }
    }
}

/// The side of a number, 1 or 2, with so many destinations; none if there is one network.
fn side(case: &Case, number: u8, destinations: Option<u32>) -> Side {
    let vlan = u16::from(number) * 100;
    let network = number * 10;
    let (function, is_bgp) = (case.function, case.shape == Shape::Bgp);
    let one = |first: IpAddr, length, hop| routes(function, number, hop, (first, length), 1);
    let wide = Ipv6Addr::new(0x2000 | u16::from(number) << 8, 0, 0, 0, 0, 0, 0, 0);
    let hops = if case.feature == Feature::MultiPath { 1 } else { HOPS };
    // CSIT's networks.
    let (routes, destinations) = match (function, destinations) {
        (Function::CrossConnect | Function::Bridge, _) => (vec![], None),
        (Function::Ip4, None) => (vec![one(Ipv4Addr::new(network, network, network, 0).into(), 24, 0)], None),
        (Function::Ip4, Some(count)) if is_bgp => {
            let [first, last] = bgp::range(number);
            let all = bgp::routes(number, count, HOPS as u8).into_iter();
            let all = all.map(|(first, length, hop)| one(first.into(), length, hop)).collect();
            (all, Some(format!("random:{first}-{last}")))
        }
        (Function::Ip4, Some(count)) if case.shape == Shape::Net => {
            (vec![one(Ipv4Addr::new(network, 0, 0, 0).into(), length_of(32, count), 0)], None)
        }
        (Function::Ip4, Some(count)) => {
            (spread(function, number, Ipv4Addr::new(network, 0, 0, 0).into(), count, hops), None)
        }
        (Function::Ip6, None) => {
            (vec![one(Ipv6Addr::new(0x2001, number.into(), 0, 0, 0, 0, 0, 0).into(), LINK_LENGTH6, 0)], None)
        }
        (Function::Ip6, Some(count)) if is_bgp => {
            let (all, sent_to) = bgp6::routes(number, count, HOPS as u8);
            (all.into_iter().map(|(first, length, hop)| one(first.into(), length, hop)).collect(), Some(sent_to))
        }
        (Function::Ip6, Some(count)) if case.shape == Shape::Net => {
            (vec![one(wide.into(), length_of(128, count), 0)], None)
        }
        (Function::Ip6, Some(count)) => (spread(function, number, wide.into(), count, hops), None),
    };
    let others = if case.feature == Feature::MultiPath { 1..HOPS as u8 } else { 0..0 };
    Side {
        station: MacAddress([2, 0, 0, 0, 0, number]),
        gateway: MacAddress([2, 0, 0, 0, number, 0]),
        tags: match case.encap {
            Encap::Eth => vec![],
            Encap::Dot1q => vec![vlan],
            Encap::Dot1ad => vec![vlan, vlan + 1],
        },
        address: link(function, number, 1),
        routes,
        other_hops: others.map(|at| hop(function, number, at)).collect(),
        policy_hop: (case.feature == Feature::PolicyRouting).then(|| hop(function, number, HOPS as u8)),
        destinations,
    }
}

/// Length of the prefix of so many addresses, a power of two, of this many bits.
fn length_of(bits: u8, addresses: u32) -> u8 {
    bits - addresses.trailing_zeros() as u8
}

/// Splits `count` host prefixes over up to `hops` groups, each with a next hop of its own.
fn spread(function: Function, side: u8, first: IpAddr, count: u32, hops: u32) -> Vec<Routes> {
    let hops = hops.min(count);
    let begin = |hop: u32| (u64::from(count) * u64::from(hop) / u64::from(hops.max(1))) as u32;
    let of = |hop| {
        let whole = bits(first);
        let first = following(first, whole, begin(hop));
        routes(function, side, hop as u8, (first, whole), begin(hop + 1) - begin(hop))
    };
    (0..hops).map(of).collect()
}

fn routes(function: Function, side: u8, number: u8, (first, length): (IpAddr, u8), count: u32) -> Routes {
    let (next_hop, station) = hop(function, side, number);
    Routes { first, length, count, next_hop, station }
}

/// The next hop of a number, from 0, with its station.
fn hop(function: Function, side: u8, number: u8) -> (IpAddr, MacAddress) {
    (link(function, side, number + 2), MacAddress([2, 0, 0, 0, side, number + 1]))
}

/// A host of the network between the device and a side: of those that RFC 2544 and RFC 5180 set aside for benchmarks.
fn link(function: Function, side: u8, host: u8) -> IpAddr {
    match function {
        Function::Ip6 => Ipv6Addr::new(0x2001, 2, 0, side.into(), 0, 0, 0, host.into()).into(),
        _ => Ipv4Addr::new(198, 18, side, host).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(suite: &str) -> Traffic {
        let text = format!("suites:\n  - {{{suite}, driver: memif, frame: 78, search: mrr}}");
        Traffic::of(&crate::read([("test.yaml", text.as_str())]).expect("a suite")[0])
    }

    #[test]
    fn routes_are_the_destinations_of_the_profile() {
        let base = traffic("function: ip4");
        assert_eq!(base.profile, "ethip4-ip4src253");
        let [first, second] = &base.sides;
        assert_eq!((first.routes[0].first, first.routes[0].length), ([10, 10, 10, 0].into(), 24));
        assert_eq!(
            (second.routes[0].first, second.routes[0].next_hop),
            ([20, 20, 20, 0].into(), [198, 18, 2, 2].into())
        );
        assert_eq!(second.link_length(), 24);

        let scale = traffic("function: ip4, scale: 20k");
        assert_eq!(scale.profile, "ethip4-ip4dst10000");
        for (side, network) in scale.sides.iter().zip([10, 20]) {
            let mut next = IpAddr::from([network, 0, 0, 0]);
            for routes in &side.routes {
                assert_eq!((routes.first, routes.length, routes.count), (next, 32, 1250));
                next = routes.prefix(routes.count);
            }
            assert_eq!(next, IpAddr::from([network, 0, 0x27, 0x10]));
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
    fn one_route_leads_to_a_network() {
        for (suite, there) in [
            ("function: ip4, scale: 2048, shape: net", "20.0.0.0/22"),
            ("function: ip4, scale: 524288, shape: net", "20.0.0.0/14"),
            ("function: ip6, scale: 2, shape: net", "2200::/128"),
            ("function: ip6, scale: 131072, shape: net", "2200::/112"),
        ] {
            let [_, second] = traffic(suite).sides;
            let [Routes { first, length, count: 1, .. }] = second.routes[..] else { panic!("{suite}: {second:?}") };
            assert_eq!(format!("{first}/{length}"), there, "{suite}");
        }
    }

    #[test]
    fn shaped_routes_have_hops_and_addresses_of_their_side() {
        let shaped = traffic("function: ip4, scale: 2k, shape: bgp");
        for (number, side) in [1, 2].into_iter().zip(&shaped.sides) {
            assert_eq!((side.routes.len(), side.hops().len()), (1000, 8));
            let [first, last] = bgp::range(number);
            assert_eq!(side.destinations, Some(format!("random:{first}-{last}")));
            assert!(side.routes.iter().all(|routes| routes.count == 1));
        }
    }

    #[test]
    fn routes_of_ip6_are_those_of_csit() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let base = traffic("function: ip6");
        assert_eq!(base.profile, "ethip6-ip6src253");
        let [first, second] = &base.sides;
        assert_eq!((first.routes[0].first, first.routes[0].length, first.link_length()), (ip("2001:1::"), 64, 64));
        assert_eq!((second.routes[0].first, second.routes[0].next_hop), (ip("2001:2::"), ip("2001:2:0:2::2")));
        assert_eq!((first.address, second.address), (ip("2001:2:0:1::1"), ip("2001:2:0:2::1")));
        let scale = traffic("function: ip6, scale: 8");
        assert_eq!(scale.profile, "ethip6-ip6dst4");
        let there: Vec<_> = scale.sides[1].routes.iter().map(|routes| (routes.first, routes.length)).collect();
        assert_eq!(there, ["2200::", "2200::1", "2200::2", "2200::3"].map(|text| (ip(text), 128)));
        let many = traffic("function: ip6, scale: 2m");
        assert_eq!(many.sides[0].routes.last().map(|routes| routes.prefix(routes.count)), Some(ip("2100::f:4240")));
        let shaped = traffic("function: ip6, scale: 2k, shape: bgp");
        assert_eq!((shaped.profile.as_str(), shaped.sides[1].routes.len()), ("ethip6-ip6dst1", 1000));
        assert!(
            shaped.sides[1]
                .destinations
                .as_deref()
                .is_some_and(|sent_to| sent_to.ends_with(":2a00::1-2a07:ffff:ffff:ffff::1"))
        );
        assert_eq!(shaped.unused(3, 9).first, ip("3000::3"));
        let routes = Routes { first: ip("2400::"), length: 48, ..shaped.unused(0, 3) };
        assert_eq!(routes.prefix(2), ip("2400:0:2::"));
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
    fn features_have_next_hops_of_their_own() {
        for family in ["ip4", "ip6"] {
            let of = |scale: &str, feature: &str| {
                traffic(&format!("function: {family}, scale: {scale}, feature: {feature}")).sides[1].clone()
            };
            // By each of eight next hops, of which one is that of the route itself.
            for (scale, count) in [("base", 1), ("20k", 10_000)] {
                let side = of(scale, "ecmp");
                assert_eq!((side.routes.len(), side.routes[0].count, side.hops().len()), (1, count, 8));
                assert!(!side.other_hops.contains_key(&side.routes[0].next_hop));
            }
            let side = of("20", "abf");
            let (hop, station) = side.policy_hop.expect("a next hop");
            assert!(side.routes.iter().all(|routes| routes.next_hop != hop && routes.station != station));
            assert_eq!(side.hops().get(&hop), Some(&station));
            let plain = of("20", "vrf");
            assert_eq!((plain.other_hops.len(), plain.policy_hop, plain.routes), (0, None, side.routes));
        }
        let [first, second] = [0, 1].map(|place| traffic("function: ip4, feature: ecmp").at(place, 2));
        assert!(first.sides[1].hops().values().all(|station| *station == second.sides[0].gateway));
        let policies = traffic("function: ip4, feature: abf").at(0, 2);
        assert!(policies.sides[1].hops().values().all(|station| *station == second.sides[0].gateway));
    }

    #[test]
    fn a_network_has_all_routes() {
        let of = |suite: &str| traffic(suite).sides[1].network().map(|(first, length)| format!("{first}/{length}"));
        for (suite, network) in [
            ("function: ip4", "20.20.20.0/24"),
            ("function: ip4, scale: 2", "20.0.0.0/32"),
            ("function: ip4, scale: 20k", "20.0.0.0/18"),
            ("function: ip4, scale: 20k, shape: bgp", "128.0.0.0/2"),
            ("function: ip6", "2001:2::/64"),
            ("function: ip6, scale: 2m", "2200::/108"),
        ] {
            assert_eq!(of(suite).as_deref(), Some(network), "{suite}");
        }
        assert_eq!(of("function: l2bd"), None);
    }

    #[test]
    fn routes_that_are_added_are_no_packets() {
        for family in ["ip4", "ip6"] {
            let traffic = traffic(&format!("function: {family}, scale: 2m"));
            let [first, more] = [traffic.unused(0, 1000), traffic.unused(1000, 1000)];
            assert_eq!(first.prefix(1000), more.first);
            let last = traffic.sides[1].routes.last().unwrap();
            assert!(last.prefix(last.count) < first.first);
        }
    }
}
