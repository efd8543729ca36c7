//! The commands that show in which groups interfaces are, and what follows: `show ip6 interface`, and the MAC addresses besides
//! its own to which an interface listens.

use std::collections::BTreeSet;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::{InterfaceId, Interfaces, chosen};
use quiver_wire::{InterfaceAddress, MacAddress, V4, V6};
use serde_json::json;

use crate::config::room::{Ip, Ip6};
use crate::family::Family;

pub(super) fn register(control: &Control) {
    let help = "Show the interfaces with IPv6, their addresses and groups.";
    control.commands().add(Command::waiting("show ip6 interface [<interface>]", help, show_ip6));
    let help = "Show the multicast MAC addresses that interfaces receive.";
    let secondary = "show interface secondary-mac-address [<interface>]";
    control.commands().add(Command::waiting(secondary, help, show_macs));
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

async fn show_macs(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &given)? {
        listing.step().await;
        let interfaces = control.room::<Interfaces>();
        let Some(interface) = interfaces.get(id) else { continue };
        let macs = macs(&control, id);
        listing.line(&format!("{} ({}):", interface.name, if interface.up { "up" } else { "dn" }));
        let macs: Vec<_> = macs.iter().map(ToString::to_string).collect();
        macs.iter().for_each(|mac| listing.line(&format!("  {mac}")));
        listing.element(|| json!({"interface": interface.name, "up": interface.up, "macs": macs}));
    }
    Ok(listing.end())
}

async fn show_ip6(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &given)? {
        listing.step().await;
        let (ip, interfaces) = (control.room::<Ip6>(), control.room::<Interfaces>());
        let Some(interface) = interfaces.get(id).filter(|_| ip.speaks(id)) else { continue };
        let link_local = ip.link_local(interface.id);
        let addresses = ip.addresses(interface.id).iter().map(InterfaceAddress::to_string).collect::<Vec<_>>();
        let groups = groups::<V6>(&control, interface.id).iter().map(ToString::to_string).collect::<Vec<_>>();
        let state = if interface.up { "up" } else { "down" };
        listing.line(&format!("{} is admin {state}, mtu {}", interface.name, interface.mtu));
        link_local.iter().for_each(|own| listing.line(&format!("  Link-local address(es):\n    {own}")));
        for (title, all) in [("Global unicast address(es)", &addresses), ("Joined group address(es)", &groups)] {
            if !all.is_empty() {
                listing.line(&format!("  {title}:"));
                all.iter().for_each(|one| listing.line(&format!("    {one}")));
            }
        }
        let link_local = link_local.map(|own| own.to_string());
        listing.element(|| {
            json!({
                "interface": interface.name, "up": interface.up, "link-local": link_local,
                "addresses": addresses, "groups": groups,
            })
        });
    }
    Ok(listing.end())
}
