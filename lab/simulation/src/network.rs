//! What the daemon is configured to do, as an outsider reads it from the saved configuration: by which ports a packet
//! may leave. This is the model that the daemon is measured against, so it shares no code with it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::port;
use crate::traffic::{Kind, PORTS};

/// Next hops behind next hops that are followed: more than the daemon has addresses to lead through.
const DEPTH: usize = 8;

/// One version of the configuration.
#[derive(Clone, Default, PartialEq)]
pub struct Network {
    ports: [Port; PORTS],
    routes: Vec<Route>,
}

/// A prefix, and where it leads.
#[derive(Clone, PartialEq)]
struct Route {
    at: u32,
    mask: u32,
    ways: Vec<Way>,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Out by a port.
    Port(usize),
    /// To wherever another address is.
    Through(Ipv4Addr),
}

#[derive(Clone, Default, PartialEq)]
struct Port {
    up: bool,
    domain: Option<u64>,
    connect: Option<usize>,
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
        let leads = |address: &Value, ways: Vec<Way>| {
            let (at, mask) = prefix(address)?;
            Some(Route { at: at & mask, mask, ways })
        };
        let by = |settings: &Value| number(&settings["interface"]).map(Way::Port);
        for address in section("interface-addresses") {
            network.routes.extend(leads(&address["address"], by(&address).into_iter().collect()));
        }
        for neighbor in section("neighbors") {
            // A neighbour has a route of its own.
            let host = Value::from(format!("{}/32", neighbor["address"].as_str().unwrap_or_default()));
            network.routes.extend(leads(&host, by(&neighbor).into_iter().collect()));
        }
        for route in section("routes") {
            let paths = route["paths"].as_array().cloned().unwrap_or_default();
            let through = |path: &Value| Some(Way::Through(path["via"].as_str()?.parse().ok()?));
            let ways = paths.iter().filter_map(|path| by(path).or_else(|| through(path))).collect();
            network.routes.extend(leads(&route["prefix"], ways));
        }
        network
    }

    /// The ports to which the longest matching prefix leads; or any matching one, while routes come and go.
    fn routed(&self, to: Ipv4Addr, any: bool) -> BTreeSet<usize> {
        let (mut ports, mut addresses) = (BTreeSet::new(), BTreeSet::from([to]));
        for _ in 0..DEPTH {
            for address in std::mem::take(&mut addresses) {
                for way in self.ways(address, any) {
                    match way {
                        Way::Port(port) => drop(ports.insert(*port)),
                        Way::Through(next) => drop(addresses.insert(*next)),
                    }
                }
            }
        }
        ports
    }
    fn ways(&self, to: Ipv4Addr, any: bool) -> impl Iterator<Item = &Way> {
        let matching = self.routes.iter().filter(move |route| u32::from(to) & route.mask == route.at);
        let longest = matching.clone().map(|route| route.mask).max();
        matching.filter(move |route| any || Some(route.mask) == longest).flat_map(|route| &route.ways)
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
            f.write_str("; ")?;
        }
        for Route { at, mask, ways } in &self.routes {
            write!(f, "{}/{} to", Ipv4Addr::from(*at), mask.count_ones())?;
            for way in ways {
                match way {
                    Way::Port(port) => write!(f, " p{port}")?,
                    Way::Through(next) => write!(f, " {next}")?,
                }
            }
            f.write_str(", ")?;
        }
        Ok(())
    }
}

fn number(name: &Value) -> Option<usize> {
    port::number(name.as_str()?).filter(|port| *port < PORTS)
}

fn prefix(text: &Value) -> Option<(u32, u32)> {
    let (address, length) = text.as_str()?.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
    Some((address.parse::<Ipv4Addr>().ok()?.into(), mask))
}

/// Whether a packet that came in by one port may leave by another, if these versions held while it was under way. Of
/// a change from one to another, or back to the same, it may have seen parts.
pub fn may_leave(versions: &[&Network], was_changing: bool, kind: Kind, from: usize, out: usize) -> bool {
    let domains =
        |port: usize| versions.iter().filter_map(|network| network.ports[port].domain).collect::<BTreeSet<_>>();
    let bridged = from != out && !domains(from).is_disjoint(&domains(out));
    let routed = match kind {
        Kind::Routed(to) => versions.iter().any(|network| network.routed(to, was_changing).contains(&out)),
        _ => false,
    };
    bridged || routed || versions.iter().any(|network| network.connects(from, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert!(may(Kind::Routed([10, 3, 0, 9].into()), 3, 3) && !may(Kind::Routed([10, 3, 0, 9].into()), 3, 2));
        assert!(may(Kind::Routed([10, 9, 0, 9].into()), 3, 2) && !may(Kind::Broken, 3, 2));
        assert!(!may(Kind::Routed([11, 0, 0, 1].into()), 3, 2));
        assert!(may(Kind::Routed([20, 0, 0, 1].into()), 1, 3) && !may(Kind::Routed([20, 0, 0, 1].into()), 1, 2));
        assert!((0..PORTS).all(|out| !may(Kind::Routed([30, 0, 0, 1].into()), 3, out)), "a loop leads nowhere");
        let later = Network::default();
        assert!(may_leave(&[&network, &later], true, Kind::Switched, 0, 1));
        assert!(!may_leave(&[&later], false, Kind::Switched, 0, 1));
        // While the route to 10.3.0.0/24 is replaced, the one to 10.0.0.0/8 holds.
        let replaced = |was_changing| may_leave(&[&network], was_changing, Kind::Routed([10, 3, 0, 9].into()), 3, 2);
        assert!(replaced(true) && !replaced(false));
    }
}
