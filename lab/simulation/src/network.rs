//! What the daemon is configured to do, as an outsider reads it from the saved configuration: by which ports a packet
//! may leave. This is the model that the daemon is measured against, so it shares no code with it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use crate::port;
use crate::traffic::{Kind, PORTS};

/// Next hops behind next hops that are followed, and tables behind tables: more than the daemon has addresses to lead through.
const DEPTH: usize = 20;

/// One version of the configuration.
#[derive(Clone, Default, PartialEq)]
pub struct Network {
    ports: [Port; PORTS],
    routes: Vec<Route>,
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
    /// To wherever another address is, by a table.
    Through(u64, IpAddr),
    /// To wherever another table leads.
    LookUp(u64),
    /// Nowhere: its sender may be told.
    Nowhere,
}

/// What routes may be that packets meet on their way; see [`Network::kinds`].
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
        for layer2 in section("layer2-interfaces") {
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
            let by = |settings: &Value| number(&settings["interface"]);
            // What an interface is connected to is in its table.
            let mut connected = |prefix: Option<Prefix>, port: Option<usize>| {
                let table = port.map_or(0, |port| network.ports[port].tables[family]);
                let ways = port.map(Way::Port).into_iter().collect();
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

    /// The ports to which the longest matching prefix of a port's table leads; or any matching one, while routes come and go.
    fn routed(&self, from: usize, to: IpAddr, any: bool) -> BTreeSet<usize> {
        let ways = self.met(from, to, any).into_iter().flat_map(|(_, route)| &route.ways);
        ways.filter_map(|way| if let Way::Port(port) = way { Some(*port) } else { None }).collect()
    }
    /// What the routes are that a packet may meet which leaves by a port; nothing if they do not lead there.
    pub fn kinds(&self, from: usize, to: IpAddr, out: usize) -> BTreeSet<&'static str> {
        if !self.routed(from, to, false).contains(&out) {
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
        self.met(from, to, false).into_iter().flat_map(of).collect()
    }
    /// The routes that a packet may meet, each with how many next hops and lookups it is behind.
    fn met(&self, from: usize, to: IpAddr, any: bool) -> Vec<(usize, &Route)> {
        let table = self.ports[from].tables[usize::from(to.is_ipv6())];
        let (mut met, mut ahead) = (vec![], BTreeSet::from([(table, to)]));
        for depth in 0..DEPTH {
            for (table, address) in std::mem::take(&mut ahead) {
                for route in self.matching(table, address, any) {
                    met.push((depth, route));
                    for way in &route.ways {
                        match way {
                            Way::Through(table, next) => drop(ahead.insert((*table, *next))),
                            Way::LookUp(table) => drop(ahead.insert((*table, to))),
                            Way::Port(_) | Way::Nowhere => {}
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
                    Way::Through(table, next) => write!(f, " {next} by table {table}")?,
                    Way::LookUp(table) => write!(f, " table {table}")?,
                    Way::Nowhere => write!(f, " nowhere")?,
                }
            }
            f.write_str(", ")?;
        }
        Ok(())
    }
}

/// A path of a route, which may lead out by a port.
fn way(path: &Value, by: Option<usize>) -> Way {
    let table = path["table"].as_u64().unwrap_or(0);
    let next = || path["via"].as_str()?.parse().ok();
    match path["action"].as_str() {
        Some("lookup") => Way::LookUp(table),
        Some(_) => Way::Nowhere,
        None => by.map(Way::Port).or_else(|| Some(Way::Through(table, next()?))).unwrap_or(Way::Nowhere),
    }
}

fn number(name: &Value) -> Option<usize> {
    port::number(name.as_str()?).filter(|port| *port < PORTS)
}

/// Whether a packet that came in by one port may leave by another, if these versions held while it was under way. Of
/// a change from one to another, or back to the same, it may have seen parts.
pub fn may_leave(versions: &[&Network], was_changing: bool, kind: Kind, from: usize, out: usize) -> bool {
    let domains =
        |port: usize| versions.iter().filter_map(|network| network.ports[port].domain).collect::<BTreeSet<_>>();
    let bridged = from != out && !domains(from).is_disjoint(&domains(out));
    let routed = match kind {
        Kind::Routed(to) => versions.iter().any(|network| network.routed(from, to, was_changing).contains(&out)),
        _ => false,
    };
    bridged || routed || versions.iter().any(|network| network.connects(from, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn routed(to: [u8; 4]) -> Kind {
        Kind::Routed(to.into())
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
        let ports = |from, to: &str| network.routed(from, to.parse().expect("an address"), false);
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
        let ports = |from, to: &str| network.routed(from, to.parse().expect("an address"), false);
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
        let may = |kind, from, out| may_leave(&[&network], false, kind, from, out);
        assert!(may(Kind::Switched, 0, 1) && !may(Kind::Switched, 0, 2) && !may(Kind::Switched, 0, 0));
        assert!(may(Kind::Switched, 2, 3) && !may(Kind::Switched, 3, 2));
        assert!(may(routed([10, 3, 0, 9]), 3, 3) && !may(routed([10, 3, 0, 9]), 3, 2));
        assert!(may(routed([10, 9, 0, 9]), 3, 2) && !may(Kind::Broken, 3, 2));
        assert!(!may(routed([11, 0, 0, 1]), 3, 2));
        assert!(may(routed([20, 0, 0, 1]), 1, 3) && !may(routed([20, 0, 0, 1]), 1, 2));
        assert!((0..PORTS).all(|out| !may(routed([30, 0, 0, 1]), 3, out)), "a loop leads nowhere");
        let later = Network::default();
        assert!(may_leave(&[&network, &later], true, Kind::Switched, 0, 1));
        assert!(!may_leave(&[&later], false, Kind::Switched, 0, 1));
        // While the route to 10.3.0.0/24 is replaced, the one to 10.0.0.0/8 holds.
        let replaced = |was_changing| may_leave(&[&network], was_changing, routed([10, 3, 0, 9]), 3, 2);
        assert!(replaced(true) && !replaced(false));
    }
}
