//! The commands about IPv6 on interfaces without addresses, and their addresses for their links.

use std::net::Ipv6Addr;

use quiver_control::Control;
use quiver_control::cli::{Command, Reply};

use crate::config::link_local::Ip6Interface;

pub(super) fn register(control: &Control) {
    let commands = control.commands();
    let enable = "enable ip6 interface <interface>";
    commands.add(Command::new(
        enable,
        "Enable IPv6 on an interface, even without an IPv6 address.",
        |control, given| {
            let interface = given.get("interface")?;
            control.edit(Ip6Interface::new(interface), |_| {})?;
            Ok(Reply::done())
        },
    ));
    let disable = "disable ip6 interface <interface>";
    commands.add(Command::new(disable, "Disable IPv6 on an interface without an IPv6 address.", |control, given| {
        control.delete::<Ip6Interface>(&given.get("interface")?)?;
        Ok(Reply::done())
    }));
    let set = "set interface ip6 link-local <interface> <link-local:ip6>";
    let set = Command::new(set, "Set the IPv6 link-local address of an interface.", |control, given| {
        let address: Ipv6Addr = given.get("link-local")?;
        control.edit(Ip6Interface::new(given.get("interface")?), |own| own.link_local = Some(address))?;
        Ok(Reply::done())
    });
    commands.add(set.arguments_of::<Ip6Interface>());
}
