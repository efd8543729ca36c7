//! `set interface proxy-arp`, `set arp proxy`, `set interface ip6-nd proxy`, `set ip6 nd proxy`, and their `show`
//! commands.

use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_ip::table_word::table;
use quiver_wire::{V4, V6};

use crate::hosts::ProxiedHost;
use crate::interface::{NeighborProxy, Proxied};
use crate::ranges::ArpProxyRange;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let on_off = |command: Command| {
        let command = command.argument("enable", "enable the proxy").argument("on", "continue second by second");
        command.argument("disable", "disable the proxy").argument("off", "continue second by second")
    };
    let help = "Enable or disable proxy ARP on an interface.";
    let grammar = "set interface proxy-arp <interface> (enable|on|disable|off)";
    commands.add(on_off(Command::new(grammar, help, set_proxy::<V4>)).arguments_of::<NeighborProxy<V4>>());
    let help = "Enable or disable ND proxy on an interface: it answers solicitations for hosts on other links.";
    let grammar = "set interface ip6-nd proxy <interface> (enable|on|disable|off)";
    commands.add(on_off(Command::new(grammar, help, set_proxy::<V6>)).arguments_of::<NeighborProxy<V6>>());
    let help = "Add or delete an address range of proxy ARP.";
    let grammar = "set arp proxy {del | table-id <table:ip4-table> | start <low:ip4> | end <high:ip4>}";
    let set = Command::new(grammar, help, set_range).arguments_of::<ArpProxyRange>();
    commands.add(set.argument("del", "delete the range"));
    let help =
        "Add or delete a proxied host: one behind an interface whose address belongs to another interface's subnet.";
    let grammar = "set ip6 nd proxy <interface> [del] <address:ip6>";
    commands.add(Command::new(grammar, help, set_host).arguments_of::<ProxiedHost>());
    let help = "Show the interfaces and address ranges of proxy ARP.";
    commands.add(Command::waiting("show arp proxy", help, show_ranges));
    let help = "Show the interfaces and hosts of ND proxy.";
    commands.add(Command::waiting("show ip6 nd proxy", help, show_hosts));
}

/// Switches the proxy of an interface on or off. As in VPP, repeating the current state is no error.
pub(crate) fn put<F: Proxied>(control: &Control, interface: InterfaceName, on: bool) -> Result<(), CommandError> {
    match (on, control.objects().get::<NeighborProxy<F>>(&interface).is_some()) {
        (true, false) => control.put(NeighborProxy::<F>::on(interface))?,
        (false, true) => control.delete::<NeighborProxy<F>>(&interface)?,
        _ => {}
    }
    Ok(())
}

fn set_proxy<F: Proxied>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put::<F>(control, given.get("interface")?, given.has("enable") || given.has("on"))?;
    Ok(Reply::done())
}

fn set_range(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let table = TableNumber::new(table::<V4>(control, given, "table")?.unwrap_or(0));
    let (low, high) = (given.get("low")?, given.get("high")?);
    match given.has("del") {
        true => control.delete::<ArpProxyRange>(&(table, low, high))?,
        false => control.put(ArpProxyRange { table, low, high })?,
    }
    Ok(Reply::done())
}

fn set_host(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interface, address) = (given.get("interface")?, given.get("address")?);
    match given.has("del") {
        true => control.delete::<ProxiedHost>(&(interface, address))?,
        false => control.put(ProxiedHost { interface, address })?,
    }
    Ok(Reply::done())
}

async fn proxies<F: Proxied>(control: &Control, rows: &mut Rows) {
    let row = |proxy: Rc<NeighborProxy<F>>| Some([Cell::of(&proxy.interface), Cell::from("")]);
    rows.each(control.walk::<NeighborProxy<F>>(), row).await;
}

async fn show_ranges(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Range"]);
    proxies::<V4>(&control, &mut rows).await;
    let row = |range: Rc<ArpProxyRange>| {
        let of = format!("{} - {} in table {}", range.low, range.high, range.table);
        Some([Cell::from(""), Cell::from(of)])
    };
    rows.each(control.walk::<ArpProxyRange>(), row).await;
    Ok(rows.end())
}

async fn show_hosts(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Host"]);
    proxies::<V6>(&control, &mut rows).await;
    let row = |host: Rc<ProxiedHost>| Some([Cell::of(&host.interface), Cell::of(host.address)]);
    rows.each(control.walk::<ProxiedHost>(), row).await;
    Ok(rows.end())
}
