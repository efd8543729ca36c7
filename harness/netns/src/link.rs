//! Links between namespaces: veth pairs and Linux bridges.

use std::process::Command;

use crate::{Error, Namespace, run};

/// Joins two namespaces by a veth pair, whose ends are named and up.
///
/// Both ends get the same MTU, in bytes of layer 3.
pub fn veth(one: (&Namespace, &str), other: (&Namespace, &str), mtu: u16) -> Result<(), Error> {
    let mtu = mtu.to_string();
    let add = ["link", "add", one.1, "mtu", &mtu, "netns", one.0.name(), "type", "veth"];
    let peer = ["peer", "name", other.1, "mtu", &mtu, "netns", other.0.name()];
    run(Command::new("ip").args(add).args(peer))?;
    for (namespace, link) in [one, other] {
        namespace.ip(&format!("link set dev {link} up"))?;
    }
    Ok(())
}

/// Makes a Linux bridge with these ports in a namespace, up and forwarding at once.
pub fn bridge(namespace: &Namespace, name: &str, ports: &[&str], mtu: u16) -> Result<(), Error> {
    namespace.ip(&format!("link add {name} mtu {mtu} type bridge stp_state 0 forward_delay 0"))?;
    for port in ports {
        namespace.ip(&format!("link set dev {port} master {name}"))?;
    }
    namespace.ip(&format!("link set dev {name} up"))?;
    Ok(())
}
