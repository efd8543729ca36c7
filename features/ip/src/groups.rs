//! The commands that show in which groups interfaces are, and what follows: `show ip6 interface`, and the MAC addresses besides
//! its own to which an interface listens.

use std::collections::BTreeSet;
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_interface::{Interface, InterfaceId, InterfaceName, Interfaces};
use quiver_wire::{InterfaceAddress, MacAddress, V4, V6};
use serde_json::{Value, json};

use crate::family::Family;
use crate::room::{Ip, Ip6};

pub(crate) fn register(control: &Control) {
    let help = "Show the interfaces that speak IPv6, their addresses and the groups that they are in.";
    control.commands().add(Command::new("show ip6 interface [<interface>]", help, show_ip6));
    let help = "Show the MAC addresses of groups to which interfaces listen.";
    let secondary = "show interface secondary-mac-address [<interface>]";
    control.commands().add(Command::new(secondary, help, show_macs));
}

/// The groups of a family that an interface is in.
fn groups<F: Family>(control: &Control, id: InterfaceId) -> BTreeSet<F::Address> {
    let ip = control.room::<Ip<F>>();
    ip.current().interfaces.get(id.index()).map(|own| own.groups()).unwrap_or_default()
}

/// The MAC addresses of the groups that an interface is in: several groups may have one.
fn macs(control: &Control, id: InterfaceId) -> BTreeSet<MacAddress> {
    let ip4 = groups::<V4>(control, id).into_iter().map(V4::group_mac);
    ip4.chain(groups::<V6>(control, id).into_iter().map(V6::group_mac)).collect()
}

/// The interfaces that a command names: one, or all.
fn named(control: &Control, given: &Matches) -> Result<Vec<Interface>, CommandError> {
    let wanted = given.find::<InterfaceName>("interface")?;
    let interfaces = control.room::<Interfaces>();
    Ok(interfaces.iter().filter(|one| wanted.as_ref().is_none_or(|name| name.0 == one.name)).cloned().collect())
}

fn show_macs(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (mut text, mut json) = (String::new(), vec![]);
    for interface in named(control, given)? {
        let macs = macs(control, interface.id);
        // A text that is a String takes everything, so the results of `write` say nothing.
        let _ = writeln!(text, "{} ({}):", interface.name, if interface.up { "up" } else { "dn" });
        macs.iter().for_each(|mac| _ = writeln!(text, "  {mac}"));
        let macs: Vec<_> = macs.iter().map(ToString::to_string).collect();
        json.push(json!({"interface": interface.name, "up": interface.up, "macs": macs}));
    }
    Ok(Reply::new(text, Value::Array(json)))
}

fn show_ip6(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (mut text, mut json) = (String::new(), vec![]);
    for interface in named(control, given)? {
        let ip = control.room::<Ip6>();
        if !ip.speaks(interface.id) {
            continue;
        }
        let link_local = ip.link_local(interface.id);
        let addresses = ip.addresses(interface.id).iter().map(InterfaceAddress::to_string).collect::<Vec<_>>();
        let groups = groups::<V6>(control, interface.id).iter().map(ToString::to_string).collect::<Vec<_>>();
        let state = if interface.up { "up" } else { "down" };
        let _ = writeln!(text, "{} is admin {state}, mtu {}", interface.name, interface.mtu);
        link_local.iter().for_each(|own| _ = writeln!(text, "  Link-local address(es):\n    {own}"));
        for (title, all) in [("Global unicast address(es)", &addresses), ("Joined group address(es)", &groups)] {
            if !all.is_empty() {
                let _ = writeln!(text, "  {title}:");
                all.iter().for_each(|one| _ = writeln!(text, "    {one}"));
            }
        }
        let link_local = link_local.map(|own| own.to_string());
        json.push(json!({
            "interface": interface.name, "up": interface.up, "link-local": link_local,
            "addresses": addresses, "groups": groups,
        }));
    }
    Ok(Reply::new(text, Value::Array(json)))
}
