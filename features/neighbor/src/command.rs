//! `ip neighbor`, `show ip neighbors`, `clear ip neighbors`, and the same of IPv6.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::{V4, V6};

use crate::objects::NeighborObject;
use crate::protocol::Protocol;
use crate::resolve::{Outcome, Wanted};
use crate::table::{Neighbors, State};

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    control.commands().add(Command::new("show arp [<interface>]", SHOW, show::<V4>));
    control.commands().add(Command::new("show ip4 neighbors [<interface>]", SHOW, show::<V4>));
}

const SHOW: &str = "Show the neighbours that are known.";

fn register_family<F: Protocol>(control: &Control) {
    let (name, command) = (F::NAME, F::NAMES.command);
    let set = Command::new(
        format!("[set] ip neighbor [del] <interface> <address:{name}> [<mac>] {{static|no-fib-entry}}"),
        "Configure a neighbour's MAC address, or delete it.",
        set::<F>,
    );
    let set = set.arguments_of::<NeighborObject<F>>();
    let set = set.argument("static", "understood; configured neighbours always are");
    control.commands().add(set.argument("no-fib-entry", "understood; a neighbour always has its route"));
    control.commands().add(Command::new(format!("show {command} neighbors [<interface>]"), SHOW, show::<F>));
    control.commands().add(Command::new(
        format!("clear {command} neighbors [<interface>]"),
        "Forget neighbours that were learned.",
        clear::<F>,
    ));
}

fn set<F: Protocol>(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (interface, address): (InterfaceName, F::Address) = (matches.get("interface")?, matches.get("address")?);
    if matches.has("del") {
        control.delete::<NeighborObject<F>>(&(interface, address))?;
    } else {
        control.put(NeighborObject::<F> { interface, address, mac: matches.get("mac")? })?;
    }
    Ok(Reply::done())
}

fn show<F: Protocol>(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut table = Table::new(["Age", "IP", "Flags", "State", "Ethernet", "Interface"]);
    for ((interface, address), neighbor) in control.room::<Neighbors<F>>().iter() {
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
            Cell::from(address.to_string()),
            Cell::from(flags),
            Cell::from(state),
            Cell::from(neighbor.mac.map(|mac| mac.to_string())),
            Cell::from(control.room::<Interfaces>().name(*interface)),
        ]);
    }
    Ok(table.into())
}

fn clear<F: Protocol>(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let learned =
        neighbors.iter().filter(|((id, _), n)| n.state != State::Static && only.is_none_or(|only| only == *id));
    let learned: Vec<Wanted<F>> = learned.map(|(wanted, _)| *wanted).collect();
    neighbors.forget_all(control, &learned, Outcome::Silent);
    Ok(Reply::done())
}
