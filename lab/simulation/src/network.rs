//! What the daemon is configured to do, as an outsider reads it from the saved configuration: by which ports a packet
//! may leave. This is the model that the daemon is measured against, so it shares no code with it.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::port;
use crate::traffic::{Kind, PORTS};

/// One version of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    ports: [Port; PORTS],
    /// Prefixes with the ports that they lead to.
    routes: Vec<(u32, u32, BTreeSet<usize>)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
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
        for address in section("interface-addresses") {
            let ports = number(&address["interface"]).into_iter().collect();
            network.routes.extend(prefix(&address["address"]).map(|(at, mask)| (at & mask, mask, ports)));
        }
        for neighbor in section("neighbors") {
            // A neighbour has a route of its own.
            let ports = number(&neighbor["interface"]).into_iter().collect();
            let address = neighbor["address"].as_str().and_then(|address| address.parse::<Ipv4Addr>().ok());
            network.routes.extend(address.map(|address| (address.into(), u32::MAX, ports)));
        }
        for route in section("routes") {
            let paths = route["paths"].as_array().cloned().unwrap_or_default();
            let ports = paths.iter().filter_map(|path| number(&path["interface"])).collect();
            network.routes.extend(prefix(&route["prefix"]).map(|(at, mask)| (at, mask, ports)));
        }
        network
    }

    /// The ports to which the longest matching prefix leads; or any matching one, while routes come and go.
    fn routed(&self, to: Ipv4Addr, any: bool) -> BTreeSet<usize> {
        let matching = self.routes.iter().filter(|(at, mask, _)| u32::from(to) & mask == *at);
        let longest = matching.clone().map(|(_, mask, _)| *mask).max();
        matching.filter(|(_, mask, _)| any || Some(*mask) == longest).flat_map(|(_, _, ports)| ports.clone()).collect()
    }
    /// Whether all that one port receives leaves by the other.
    pub fn connects(&self, from: usize, out: usize) -> bool {
        self.ports[from].connect == Some(out)
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
/// several it may have seen parts.
pub fn may_leave(versions: &[&Network], kind: Kind, from: usize, out: usize) -> bool {
    let domains =
        |port: usize| versions.iter().filter_map(|network| network.ports[port].domain).collect::<BTreeSet<_>>();
    let bridged = from != out && !domains(from).is_disjoint(&domains(out));
    let routed = match kind {
        Kind::Routed(to) => versions.iter().any(|network| network.routed(to, versions.len() > 1).contains(&out)),
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
            "routes": [{"prefix": "10.0.0.0/8", "paths": [{"via": "10.2.0.2", "interface": "p2"}]}],
        }));
        let may = |kind, from, out| may_leave(&[&network], kind, from, out);
        assert!(may(Kind::Switched, 0, 1) && !may(Kind::Switched, 0, 2) && !may(Kind::Switched, 0, 0));
        assert!(may(Kind::Switched, 2, 3) && !may(Kind::Switched, 3, 2));
        assert!(may(Kind::Routed([10, 3, 0, 9].into()), 3, 3) && !may(Kind::Routed([10, 3, 0, 9].into()), 3, 2));
        assert!(may(Kind::Routed([10, 9, 0, 9].into()), 3, 2) && !may(Kind::Broken, 3, 2));
        assert!(!may(Kind::Routed([11, 0, 0, 1].into()), 3, 2));
        let later = Network::default();
        assert!(may_leave(&[&network, &later], Kind::Switched, 0, 1));
        assert!(!may_leave(&[&later], Kind::Switched, 0, 1));
    }
}
