//! `ip neighbor`, `show ip neighbors`, `clear ip neighbors`.

use std::net::Ipv4Addr;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::{InterfaceName, Interfaces};

use crate::objects::NeighborObject;
use crate::resolve::{Outcome, Wanted};
use crate::table::{Neighbors, State};

pub(crate) fn register(control: &Control) {
    let set = Command::new(
        "[set] ip neighbor [del] <interface> <address:ip4> [<mac>] {static|no-fib-entry}",
        "Configure a neighbour's MAC address, or delete it.",
        set,
    );
    let set = set.arguments_of::<NeighborObject>().argument("static", "understood; configured neighbours always are");
    control.commands().add(set.argument("no-fib-entry", "understood; a neighbour always has its route"));
    for grammar in ["show ip neighbors [<interface>]", "show ip4 neighbors [<interface>]", "show arp [<interface>]"] {
        control.commands().add(Command::new(grammar, "Show the neighbours that are known.", show));
    }
    control.commands().add(Command::new(
        "clear ip neighbors [<interface>]",
        "Forget neighbours that were learned.",
        clear,
    ));
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (interface, address): (InterfaceName, Ipv4Addr) = (matches.get("interface")?, matches.get("address")?);
    if matches.has("del") {
        control.delete::<NeighborObject>(&(interface, address))?;
    } else {
        control.put(NeighborObject { interface, address, mac: matches.get("mac")? })?;
    }
    Ok(Reply::done())
}

fn show(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut table = Table::new(["Age", "IP", "Flags", "State", "Ethernet", "Interface"]);
    for ((interface, address), neighbor) in control.room::<Neighbors>().iter() {
        if only.is_some_and(|only| only != *interface) {
            continue;
        }
        let (flags, state) = match neighbor.state {
            State::Static => ("S", "static"),
            State::Reachable => ("D", "reachable"),
            State::Probing(_) => ("D", "probing"),
            State::Incomplete(_) => ("D", "incomplete"),
        };
        table.row([
            Cell::from(control.now().since(neighbor.since).as_secs_f64()),
            Cell::of(address),
            Cell::from(flags),
            Cell::from(state),
            Cell::from(neighbor.mac.map(|mac| mac.to_string())),
            Cell::from(control.room::<Interfaces>().name(*interface)),
        ]);
    }
    Ok(table.into())
}

fn clear(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut neighbors = control.room_mut::<Neighbors>();
    let learned =
        neighbors.iter().filter(|((id, _), n)| n.state != State::Static && only.is_none_or(|only| only == *id));
    let learned: Vec<Wanted> = learned.map(|(wanted, _)| *wanted).collect();
    neighbors.forget_all(control, &learned, Outcome::Silent);
    Ok(Reply::done())
}
