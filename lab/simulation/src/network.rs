//! The daemon's behaviour by its saved configuration, as an outsider reads it: the ports by which a packet may leave.
//! The daemon is checked against this model, so the model shares no code with it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use crate::port;
use crate::traffic::{Kind, LAYERS, Outer, PORTS, TUNNELS};

/// Next hops behind next hops that are followed, and tables behind tables: more than the daemon has addresses to lead through.
const DEPTH: usize = 20;

/// One version of the configuration.
#[derive(Clone, Default, PartialEq)]
pub struct Network {
    ports: [Port; PORTS],
    routes: Vec<Route>,
    tunnels: Vec<Tunnel>,
}

/// A tunnel of VXLAN.
#[derive(Clone, PartialEq, Debug)]
struct Tunnel {
    number: usize,
    /// The outer header of datagrams that it sends.
    outer: Outer,
    /// The table by which they go.
    table: u64,
    domain: Option<u64>,
}

/// A prefix of a table, and where it leads.
#[derive(Clone, PartialEq)]
struct Route {
    table: u64,
    prefix: Prefix,
    ways: Vec<Way>,
}

/// The first bits of addresses of a family.
#[derive(Clone, Copy, PartialEq)]
struct Prefix {
    address: IpAddr,
    length: u32,
}

impl Prefix {
    fn read(text: &Value) -> Option<Prefix> {
        let (address, length) = text.as_str()?.split_once('/')?;
        Some(Prefix { address: address.parse().ok()?, length: length.parse().ok()? })
    }
    fn contains(&self, other: IpAddr) -> bool {
        let mask = if self.length == 0 { 0 } else { u128::MAX << (128 - self.length.min(128)) };
        self.address.is_ipv4() == other.is_ipv4() && bits(self.address) & mask == bits(other) & mask
    }
}

/// An address, its first bit first.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The sections of each family: tables of interfaces, addresses, neighbours, routes.
const SECTIONS: [[&str; 4]; 2] = [
    ["interface-tables", "interface-addresses", "neighbors", "routes"],
    ["interface-ip6-tables", "interface-ip6-addresses", "ip6-neighbors", "ip6-routes"],
];

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Out by a port.
    Port(usize),
    /// Into a tunnel.
    Tunnel(usize),
    /// By the route to another address, in a table.
    Through(u64, IpAddr),
    /// By a lookup in another table.
    LookUp(u64),
    /// Drop; the sender may be told.
    Nowhere,
}

/// Kinds of routes that a packet may meet; see [`Network::kinds`].
pub const KINDS: [&str; 6] =
    ["one way", "several ways", "a next hop", "a next hop behind one", "a lookup", "nowhere beside"];

#[derive(Clone, Default, PartialEq)]
struct Port {
    up: bool,
    domain: Option<u64>,
    connect: Option<usize>,
    /// The tables of IPv4 and IPv6.
    tables: [u64; 2],
}

impl Network {
    /// Reads what `save` says.
    pub fn read(saved: &Value) -> Network {
        let mut network = Network::default();
        let section = |name: &str| saved[name].as_array().cloned().unwrap_or_default();
        for settings in section("interfaces") {
            if let Some(port) = number(&settings["name"]) {
                network.ports[port].up = settings["state"] == "up";
            }
        }
        network.tunnels = section("vxlan-tunnels").iter().filter_map(Tunnel::read).collect();
        for layer2 in section("layer2-interfaces") {
            let tunnel = tunnel(&layer2["interface"]);
            for tunnel in network.tunnels.iter_mut().filter(|known| Some(known.number) == tunnel) {
                tunnel.domain = layer2["domain"].as_u64();
            }
            if let Some(port) = number(&layer2["interface"]) {
                network.ports[port].domain = layer2["domain"].as_u64();
                network.ports[port].connect = number(&layer2["connect"]);
            }
        }
        for (family, [tables, addresses, neighbors, routes]) in SECTIONS.into_iter().enumerate() {
            for settings in section(tables) {
                if let Some(port) = number(&settings["interface"]) {
                    network.ports[port].tables[family] = settings["table"].as_u64().unwrap_or(0);
                }
            }
            // What an interface is connected to is in its table; tunnels' are in table 0.
            let mut connected = |prefix: Option<Prefix>, by: Option<Way>| {
                let table = match by {
                    Some(Way::Port(port)) => network.ports[port].tables[family],
                    _ => 0,
                };
                let ways = by.into_iter().collect();
                network.routes.extend(prefix.map(|prefix| Route { table, prefix, ways }));
            };
            for address in section(addresses) {
                connected(Prefix::read(&address["address"]), by(&address));
            }
            for neighbor in section(neighbors) {
                // A neighbour has a route of its own.
                let address = neighbor["address"].as_str().and_then(|address| address.parse().ok());
                let host =
                    address.map(|address: IpAddr| Prefix { address, length: if address.is_ipv4() { 32 } else { 128 } });
                connected(host, by(&neighbor));
            }
            for route in section(routes) {
                let paths = route["paths"].as_array().cloned().unwrap_or_default();
                let ways = paths.iter().map(|path| way(path, by(path))).collect();
                let table = route["table"].as_u64().unwrap_or(0);
                let prefix = Prefix::read(&route["prefix"]);
                network.routes.extend(prefix.map(|prefix| Route { table, prefix, ways }));
            }
        }
        network
    }

    /// The table of a port that routes packets to an address.
    fn table(&self, from: usize, to: IpAddr) -> u64 {
        self.ports[from].tables[usize::from(to.is_ipv6())]
    }
    /// The ports to which the longest matching prefix of a table leads; or any matching one, while routes come and go.
    fn routed(&self, table: u64, to: IpAddr, any: bool) -> BTreeSet<usize> {
        let ways = self.met(table, to, any).into_iter().flat_map(|(_, route)| &route.ways);
        ways.filter_map(|way| if let Way::Port(port) = way { Some(*port) } else { None }).collect()
    }
    /// Whether a table leads by a way, into these tunnels one after the other.
    fn leads(&self, table: u64, to: IpAddr, any: bool, way: Exit<'_>) -> bool {
        let Some(first) = way.tunnels.first() else { return self.routed(table, to, any).contains(&way.out) };
        let ways: Vec<_> = self.met(table, to, any).into_iter().flat_map(|(_, route)| &route.ways).collect();
        let leads_there = |tunnel: &&Tunnel| ways.contains(&&Way::Tunnel(tunnel.number)) && tunnel.outer == *first;
        self.tunnels.iter().filter(leads_there).any(|tunnel| self.carries(tunnel, any, way))
    }
    /// Whether a tunnel's datagrams go by a way behind it, which begins with it.
    fn carries(&self, tunnel: &Tunnel, any: bool, way: Exit<'_>) -> bool {
        let Some((first, tunnels)) = way.tunnels.split_first() else { return false };
        // No tunnel leads into itself.
        let is_deep = tunnels.len() >= LAYERS;
        let to = tunnel.outer.destination.into();
        *first == tunnel.outer && !is_deep && self.leads(tunnel.table, to, any, Exit { tunnels, ..way })
    }
    /// The bridge domains of tunnels.
    fn domains(&self, is_meant: impl Fn(&Tunnel) -> bool) -> BTreeSet<u64> {
        self.tunnels.iter().filter(|tunnel| is_meant(tunnel)).filter_map(|tunnel| tunnel.domain).collect()
    }
    /// The routes and tunnels of all versions together.
    fn of_all(versions: &[&Network]) -> Network {
        let mut all = Network::default();
        for network in versions {
            all.routes.extend(network.routes.iter().cloned());
            all.tunnels.extend(network.tunnels.iter().cloned());
        }
        all
    }
    /// Kinds of the routes on the way of a packet from port `from` to `out`; empty if the routes do not lead there.
    pub fn kinds(&self, from: usize, to: IpAddr, out: usize) -> BTreeSet<&'static str> {
        let table = self.table(from, to);
        if !self.routed(table, to, false).contains(&out) {
            return BTreeSet::new();
        }
        let of = |(depth, route): (usize, &Route)| {
            let has = |wanted: fn(&Way) -> bool| route.ways.iter().any(wanted);
            let is_through = has(|way| matches!(way, Way::Through(..)));
            let is = [
                route.ways.len() == 1,
                route.ways.len() > 1,
                is_through,
                is_through && depth > 0,
                has(|way| matches!(way, Way::LookUp(_))),
                route.ways.len() > 1 && has(|way| *way == Way::Nowhere),
            ];
            KINDS.into_iter().zip(is).filter(|(_, is)| *is).map(|(kind, _)| kind)
        };
        self.met(table, to, false).into_iter().flat_map(of).collect()
    }
    /// The routes that a packet may meet, each with how many next hops and lookups it is behind.
    fn met(&self, table: u64, to: IpAddr, any: bool) -> Vec<(usize, &Route)> {
        let (mut met, mut ahead) = (vec![], BTreeSet::from([(table, to)]));
        for depth in 0..DEPTH {
            for (table, address) in std::mem::take(&mut ahead) {
                for route in self.matching(table, address, any) {
                    met.push((depth, route));
                    for way in &route.ways {
                        match way {
                            Way::Through(table, next) => drop(ahead.insert((*table, *next))),
                            Way::LookUp(table) => drop(ahead.insert((*table, to))),
                            Way::Port(_) | Way::Tunnel(_) | Way::Nowhere => {}
                        }
                    }
                }
            }
        }
        met
    }
    fn matching(&self, table: u64, to: IpAddr, any: bool) -> impl Iterator<Item = &Route> {
        let matching = self.routes.iter();
        let matching = matching.filter(move |route| (any || route.table == table) && route.prefix.contains(to));
        let longest = matching.clone().map(|route| route.prefix.length).max();
        matching.filter(move |route| any || Some(route.prefix.length) == longest)
    }
    /// Whether all that one port receives leaves by the other.
    pub fn connects(&self, from: usize, out: usize) -> bool {
        self.ports[from].connect == Some(out)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, port) in self.ports.iter().enumerate() {
            write!(f, "p{number} {}", if port.up { "up" } else { "down" })?;
            port.domain.map_or(Ok(()), |domain| write!(f, " in domain {domain}"))?;
            port.connect.map_or(Ok(()), |other| write!(f, " connected to p{other}"))?;
            if port.tables != [0, 0] {
                write!(f, " of tables {:?}", port.tables)?;
            }
            f.write_str("; ")?;
        }
        for Route { table, prefix, ways } in &self.routes {
            write!(f, "{}/{} of table {table} to", prefix.address, prefix.length)?;
            for way in ways {
                match way {
                    Way::Port(port) => write!(f, " p{port}")?,
                    Way::Tunnel(tunnel) => write!(f, " tunnel {tunnel}")?,
                    Way::Through(table, next) => write!(f, " {next} by table {table}")?,
                    Way::LookUp(table) => write!(f, " table {table}")?,
                    Way::Nowhere => write!(f, " nowhere")?,
                }
            }
            f.write_str(", ")?;
        }
        for tunnel in &self.tunnels {
            write!(f, "{tunnel:?}, ")?;
        }
        Ok(())
    }
}

/// A path of a route, which may lead out by a port.
fn way(path: &Value, by: Option<Way>) -> Way {
    let table = path["table"].as_u64().unwrap_or(0);
    let next = || path["via"].as_str()?.parse().ok();
    match path["action"].as_str() {
        Some("lookup") => Way::LookUp(table),
        Some(_) => Way::Nowhere,
        None => by.or_else(|| Some(Way::Through(table, next()?))).unwrap_or(Way::Nowhere),
    }
}

fn number(name: &Value) -> Option<usize> {
    port::number(name.as_str()?).filter(|port| *port < PORTS)
}

/// The way by which a packet left.
#[derive(Clone, Copy, Debug)]
pub struct Exit<'e> {
    /// The tunnel's datagram that it was taken out of.
    pub taken_out_of: Option<Outer>,
    /// The tunnels' datagrams that it is in, the innermost first.
    pub tunnels: &'e [Outer],
    /// The port.
    pub out: usize,
}

impl Exit<'_> {
    /// Whether it came out of a tunnel, or went into one.
    pub fn is_through_tunnels(&self) -> bool {
        self.taken_out_of.is_some() || !self.tunnels.is_empty()
    }
}

/// The port or tunnel that an `interface` setting names.
fn by(settings: &Value) -> Option<Way> {
    let name = &settings["interface"];
    number(name).map(Way::Port).or_else(|| tunnel(name).map(Way::Tunnel))
}

/// The number of a tunnel.
fn tunnel(name: &Value) -> Option<usize> {
    name.as_str()?.strip_prefix("vxlan_tunnel")?.parse().ok().filter(|number| *number < TUNNELS)
}

impl Tunnel {
    fn read(settings: &Value) -> Option<Tunnel> {
        let address = |name: &str| settings[name].as_str()?.parse().ok();
        let vni = settings["vni"].as_u64()? as u32;
        let outer = Outer { source: address("source")?, destination: address("destination")?, vni };
        let table = settings["table"].as_u64().unwrap_or(0);
        Some(Tunnel { number: tunnel(&settings["name"])?, outer, table, domain: None })
    }
}

/// Whether a packet that came in by one port may leave so, if these versions held while it was under way. Of
/// a change from one to another, or back to the same, it may have seen parts.
pub fn may_leave(versions: &[&Network], was_changing: bool, kind: Kind, from: usize, exit: Exit<'_>) -> bool {
    let Exit { taken_out_of, tunnels, out } = exit;
    let domains =
        |port: usize| versions.iter().filter_map(|network| network.ports[port].domain).collect::<BTreeSet<_>>();
    let all = Network::of_all(versions);
    let entered = match taken_out_of {
        Some(datagram) => all.domains(|tunnel| tunnel.outer == datagram.reversed()),
        None => domains(from),
    };
    let left = match tunnels.is_empty() {
        true => domains(out),
        false => all.domains(|tunnel| all.carries(tunnel, was_changing, exit)),
    };
    let is_plain = !exit.is_through_tunnels();
    // Nothing comes back out of the port that it came in by.
    let is_back = is_plain && from == out;
    let bridged = !is_back && !entered.is_disjoint(&left);
    let routed = match kind {
        Kind::Routed(to) if taken_out_of.is_none() => versions.iter().any(|network| {
            let of = if tunnels.is_empty() { *network } else { &all };
            of.leads(network.table(from, to), to, was_changing, exit)
        }),
        _ => false,
    };
    bridged || routed || is_plain && versions.iter().any(|network| network.connects(from, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn routed(to: [u8; 4]) -> Kind {
        Kind::Routed(to.into())
    }
    fn routed_from(network: &Network, from: usize, to: &str) -> BTreeSet<usize> {
        let to = to.parse().expect("an address");
        network.routed(network.table(from, to), to, false)
    }
    fn plain(out: usize) -> Exit<'static> {
        Exit { taken_out_of: None, tunnels: &[], out }
    }

    #[test]
    fn tunnels_lead_where_their_datagrams_are_routed() {
        let network = Network::read(&json!({
            "layer2-interfaces": [{"interface": "p0", "domain": 7}, {"interface": "vxlan_tunnel1", "domain": 7},
                {"interface": "vxlan_tunnel2", "domain": 8}],
            "vxlan-tunnels": [
                {"name": "vxlan_tunnel0", "source": "10.1.0.1", "destination": "10.1.0.2", "vni": 0},
                {"name": "vxlan_tunnel1", "source": "10.1.0.1", "destination": "20.1.0.9", "vni": 1},
                {"name": "vxlan_tunnel2", "source": "10.1.0.1", "destination": "10.2.0.2", "vni": 1}],
            "interface-addresses": [{"interface": "p1", "address": "10.1.0.1/24"},
                {"interface": "p2", "address": "10.2.0.1/24"},
                {"interface": "vxlan_tunnel0", "address": "10.90.0.1/24"}],
            "routes": [{"prefix": "20.1.0.0/16", "paths": [{"via": "10.90.0.2", "interface": "vxlan_tunnel0"}]}],
        }));
        let outer =
            |to: &str, vni| Outer { source: [10, 1, 0, 1].into(), destination: to.parse().expect("an address"), vni };
        let (first, second, third) = (outer("10.1.0.2", 0), outer("20.1.0.9", 1), outer("10.2.0.2", 1));
        let may = |kind, from, taken_out_of, tunnels: &[Outer], out| {
            may_leave(&[&network], false, kind, from, Exit { taken_out_of, tunnels, out })
        };
        assert!(may(Kind::Switched, 0, None, &[second, first], 1), "one tunnel leads by the other");
        assert!(!may(Kind::Switched, 0, None, &[second], 1) && !may(Kind::Switched, 0, None, &[third], 2));
        assert!(!may(Kind::Switched, 0, None, &[second, first], 2));
        assert!(may(routed([20, 1, 0, 7]), 3, None, &[first], 1) && !may(routed([20, 1, 0, 7]), 3, None, &[], 1));
        assert!(!may(routed([30, 1, 0, 7]), 3, None, &[first], 1));
        let (of_second, of_third) = (Some(second.reversed()), Some(third.reversed()));
        assert!(may(routed([10, 1, 0, 1]), 3, of_second, &[], 0) && !may(routed([10, 1, 0, 1]), 3, of_third, &[], 0));
        assert!(!may(routed([10, 1, 0, 1]), 3, Some(second), &[], 0), "the other direction is none of the daemon's");
    }

    #[test]
    fn tables_and_families_are_apart() {
        let network = Network::read(&json!({
            "interface-tables": [{"interface": "p1", "table": 7}],
            "routes": [{"prefix": "20.0.0.0/8", "paths": [{"via": "10.2.0.2", "interface": "p2"}]},
                {"table": 7, "prefix": "20.0.0.0/8", "paths": [{"via": "10.3.0.2", "interface": "p3"}]}],
            "interface-ip6-addresses": [{"interface": "p0", "address": "2001:db8::1/64"}],
            "ip6-routes": [{"prefix": "::/0", "paths": [{"via": "2001:db8::2", "interface": "p0"}]}],
        }));
        let ports = |from, to: &str| routed_from(&network, from, to);
        assert_eq!((ports(0, "20.0.0.1"), ports(1, "20.0.0.1")), ([2].into(), [3].into()));
        assert_eq!((ports(1, "2001:db8::7"), ports(1, "1414::")), ([0].into(), [0].into()));
        assert_eq!(ports(1, "30.0.0.1"), [].into());
    }

    #[test]
    fn routes_lead_through_each_other_and_other_tables() {
        let network = Network::read(&json!({
            "interface-tables": [{"interface": "p1", "table": 7}],
            "interface-addresses": [{"interface": "p1", "address": "10.1.0.1/24"},
                {"interface": "p2", "address": "10.2.0.1/24"}],
            "routes": [{"prefix": "20.0.0.0/16", "paths": [{"via": "20.1.0.9"}, {"action": "drop"}]},
                {"prefix": "20.1.0.0/16", "paths": [{"via": "10.2.0.2"}]},
                {"prefix": "20.2.0.0/16", "paths": [{"via": "10.1.0.2", "table": 7}]},
                {"prefix": "20.3.0.0/16", "paths": [{"via": "10.1.0.2"}]},
                {"prefix": "20.4.0.0/16", "paths": [{"action": "lookup", "table": 7}]},
                {"table": 7, "prefix": "20.4.0.0/16", "paths": [{"via": "10.3.0.2", "interface": "p3"}]},
                {"table": 7, "prefix": "20.5.0.0/16", "paths": [{"via": "10.2.0.2"}]}],
        }));
        let ports = |from, to: &str| routed_from(&network, from, to);
        assert_eq!(
            (ports(0, "20.0.0.1"), ports(0, "20.2.0.1"), ports(0, "20.3.0.1")),
            ([2].into(), [1].into(), [].into())
        );
        assert_eq!((ports(0, "20.4.0.1"), ports(1, "20.5.0.1")), ([3].into(), [2].into()), "next hops by table 0");
        let kinds = |to: &str, out| network.kinds(0, to.parse().expect("an address"), out);
        let expected = ["one way", "several ways", "a next hop", "a next hop behind one", "nowhere beside"];
        assert_eq!((kinds("20.0.0.1", 2), kinds("20.4.0.1", 3)), (expected.into(), ["one way", "a lookup"].into()));
        assert_eq!(kinds("20.4.0.1", 2), [].into());
    }

    #[test]
    fn packets_leave_where_the_configuration_says() {
        let network = Network::read(&json!({
            "interfaces": [{"name": "p0", "state": "up"}],
            "layer2-interfaces": [{"interface": "p0", "domain": 7}, {"interface": "p1", "domain": 7},
                {"interface": "p2", "connect": "p3"}],
            "interface-addresses": [{"interface": "p3", "address": "10.3.0.1/24"}],
            "routes": [{"prefix": "10.0.0.0/8", "paths": [{"via": "10.2.0.2", "interface": "p2"}]},
                {"prefix": "20.0.0.0/8", "paths": [{"via": "10.3.0.7"}]},
                {"prefix": "30.0.0.0/8", "paths": [{"via": "30.0.0.1"}]}],
        }));
        let may = |kind, from, out| may_leave(&[&network], false, kind, from, plain(out));
        assert!(may(Kind::Switched, 0, 1) && !may(Kind::Switched, 0, 2) && !may(Kind::Switched, 0, 0));
        assert!(may(Kind::Switched, 2, 3) && !may(Kind::Switched, 3, 2));
        assert!(may(routed([10, 3, 0, 9]), 3, 3) && !may(routed([10, 3, 0, 9]), 3, 2));
        assert!(may(routed([10, 9, 0, 9]), 3, 2) && !may(Kind::Broken, 3, 2));
        assert!(!may(routed([11, 0, 0, 1]), 3, 2));
        assert!(may(routed([20, 0, 0, 1]), 1, 3) && !may(routed([20, 0, 0, 1]), 1, 2));
        assert!((0..PORTS).all(|out| !may(routed([30, 0, 0, 1]), 3, out)), "a loop leads nowhere");
        let later = Network::default();
        assert!(may_leave(&[&network, &later], true, Kind::Switched, 0, plain(1)));
        assert!(!may_leave(&[&later], false, Kind::Switched, 0, plain(1)));
        // While the route to 10.3.0.0/24 is replaced, the one to 10.0.0.0/8 holds.
        let replaced = |was_changing| may_leave(&[&network], was_changing, routed([10, 3, 0, 9]), 3, plain(2));
        assert!(replaced(true) && !replaced(false));
    }
}
