//! `ip neighbor`, `show ip neighbors`, `clear ip neighbors`, and the same of IPv6; how they are found and kept, and counters.

use std::net::IpAddr;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces, chosen, walk};
use quiver_wire::{V4, V6};

use crate::counted::NeighborCounters;
use crate::interface::InterfaceNeighborSettings;
use crate::manners::{Manners, Strangers, Unresolved};
use crate::objects::NeighborObject;
use crate::protocol::Protocol;
use crate::resolve::{NeighborKey, Outcome};
use crate::settings::NeighborSettings;
use crate::state::State;
use crate::table::Neighbors;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<Unresolved>());
    commands.add_kind(ArgumentKind::of::<Strangers>());
    register_family::<V4>(control);
    register_family::<V6>(control);
    let all = "show arp [<interface>]";
    commands.add(Command::waiting(all, SHOW, show::<V4>));
    for grammar in ["show ip4 neighbors [<interface>]", "show ip4 neighbor [<interface>]"] {
        commands.add(Command::waiting(grammar, SHOW, show::<V4>));
    }
    commands.add(Command::waiting("show ip4 neighbor-sorted [<interface>]", SHOW, show::<V4>));
    commands.add(Command::waiting("show ip6 neighbor-sorted [<interface>]", SHOW, show::<V6>));
    let help = "Show how neighbors are resolved and aged.";
    commands.add(Command::waiting("show ip neighbor-config", help, show_settings));
    let help = "Show the counters of received and transmitted neighbor messages.";
    commands.add(Command::waiting("show ip neighbor-stats [<interface>]", help, show_counters));
    let help = "Show the clients that subscribed to neighbor events.";
    commands.add(Command::waiting("show ip neighbor-watcher", help, show_watchers));
}

const SHOW: &str = "Show the neighbor entries.";

fn register_family<F: Protocol>(control: &Control) {
    let (name, command) = (F::NAME, F::NAMES.command);
    let set = Command::new(
        format!("[set] ip neighbor [del] <interface> <address:{name}> [<mac>] {{static|no-fib-entry}}"),
        "Add or delete a static neighbor entry.",
        set::<F>,
    );
    let set = set.arguments_of::<NeighborObject<F>>();
    let set = set.argument("static", "no effect: configured neighbors are static");
    control.commands().add(set.argument("no-fib-entry", "without a host route"));
    for what in ["neighbors", "neighbor"] {
        control.commands().add(Command::waiting(format!("show {command} {what} [<interface>]"), SHOW, show::<F>));
    }
    control.commands().add(Command::new(
        format!("clear {command} neighbors [<interface>]"),
        "Delete learned neighbor entries.",
        clear::<F>,
    ));
    let grammar = format!(
        "set ip neighbor-config {name} {{limit <limit:u32> | age <age:u32> | probes <probes:u32> | interval <interval:u32> \
         | (recycle | norecycle) | unresolved <unresolved:unresolved> | strangers <strangers:strangers>}}"
    );
    let help = format!("Set how {} neighbors are resolved and aged.", F::TITLE);
    let set = Command::new(grammar, help, configure::<F>).arguments_of::<NeighborSettings<F>>();
    let set = set.argument("recycle", "evict an entry at the limit");
    control.commands().add(set.argument("norecycle", "learn no more at the limit"));
    let grammar = format!(
        "set interface neighbor-config <interface> {name} {{default | limit <limit:u32> | age <age:u32> \
         | probes <probes:u32> | interval <interval:u32>}}"
    );
    let help = format!("Set how {} neighbors of one interface are resolved and aged.", F::TITLE);
    let set = Command::new(grammar, help, configure_interface::<F>).arguments_of::<InterfaceNeighborSettings<F>>();
    control.commands().add(set.argument("default", "follow the global settings, but for those given"));
}

fn configure<F: Protocol>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (limit, age) = (given.find("limit")?, given.find("age")?);
    let (unresolved, strangers) = (given.find("unresolved")?, given.find("strangers")?);
    let (probes, interval) = (given.find("probes")?, given.find("interval")?);
    let recycle = (given.has("recycle") || given.has("norecycle")).then(|| given.has("recycle"));
    control.edit(NeighborSettings::<F>::unchanged(), |settings| {
        settings.limit = limit.unwrap_or(settings.limit);
        settings.age = age.unwrap_or(settings.age);
        settings.probes = probes.unwrap_or(settings.probes);
        settings.interval = interval.unwrap_or(settings.interval);
        settings.recycle = recycle.unwrap_or(settings.recycle);
        settings.unresolved = unresolved.or(settings.unresolved);
        settings.strangers = strangers.or(settings.strangers);
    })?;
    Ok(Reply::done())
}

fn configure_interface<F: Protocol>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let [limit, age, probes, interval] =
        [given.find("limit")?, given.find("age")?, given.find("probes")?, given.find("interval")?];
    let nothing = InterfaceNeighborSettings::<F>::new(interface.clone());
    let known = control.objects().get::<InterfaceNeighborSettings<F>>(&interface).filter(|_| !given.has("default"));
    let mut settings = known.map_or_else(|| nothing.clone(), |known| (*known).clone());
    settings.limit = limit.or(settings.limit);
    settings.age = age.or(settings.age);
    settings.probes = probes.or(settings.probes);
    settings.interval = interval.or(settings.interval);
    if settings != nothing {
        control.put(settings)?;
    } else if control.objects().get::<InterfaceNeighborSettings<F>>(&interface).is_some() {
        control.delete::<InterfaceNeighborSettings<F>>(&interface)?;
    }
    Ok(Reply::done())
}

async fn show_settings(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let columns =
        ["Family", "Interface", "Known", "Limit", "Age", "Probes", "Interval", "Recycle", "Unresolved", "Strangers"];
    let mut rows = Rows::new(&control, &output, columns);
    rows.each(settings::<V4>(&control).chain(settings::<V6>(&control)), |row| row).await;
    Ok(rows.end())
}

/// Settings of all interfaces, and those of each interface that overrides some, one by one.
fn settings<F: Protocol>(control: &Control) -> impl Iterator<Item = Option<[Cell; 10]>> + use<F> {
    let row = |interface: &str, known: usize, limit: usize, manners: Manners| {
        [
            Cell::from(F::NAME),
            Cell::from(interface),
            Cell::of(known),
            Cell::of(limit),
            Cell::of(manners.age.map_or(0, |age| age.as_secs())),
            Cell::of(manners.probes),
            Cell::of(manners.interval.as_secs()),
            Cell::of(manners.recycle),
            Cell::of(manners.unresolved),
            Cell::of(manners.strangers),
        ]
    };
    let all = {
        let neighbors = control.room::<Neighbors<F>>();
        let all = neighbors.manners;
        row("all", neighbors.known, all.limit, all)
    };
    let control = control.clone();
    let own = walk(&control.clone()).map(move |id| {
        let neighbors = control.room::<Neighbors<F>>();
        let (limit, known) = neighbors.own_at(id)?;
        let name = control.room::<Interfaces>().name(id);
        Some(row(&name, known, limit.unwrap_or(neighbors.manners.limit), neighbors.manners_at(id)))
    });
    std::iter::once(Some(all)).chain(own)
}

async fn show_counters(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Interface", "Protocol", "Direction", "Requests", "Replies", "Gratuitous"];
    let mut rows = Rows::new(&control, &output, titles);
    for id in chosen(&control, &given)? {
        rows.step().await;
        let name = control.room::<Interfaces>().name(id);
        counters::<V4>(&control, (id, &name), &mut rows);
        counters::<V6>(&control, (id, &name), &mut rows);
    }
    Ok(rows.end())
}

fn counters<F: Protocol>(control: &Control, (id, name): (InterfaceId, &str), rows: &mut Rows) {
    for (direction, counts) in control.room::<Rc<NeighborCounters<F>>>().counts(id) {
        let [requests, replies, gratuitous] = counts.map(Cell::of);
        rows.row([name.into(), F::COUNTED.into(), direction.into(), requests, replies, gratuitous]);
    }
}

async fn show_watchers(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "IP"]);
    let watched = control.room::<Neighbors<V4>>().listeners.as_ref().map(|listeners| listeners.watched());
    let row = |(interface, address): (Option<InterfaceId>, Option<IpAddr>)| {
        let interface = interface.map_or("any".into(), |id| control.room::<Interfaces>().name(id));
        let address = address.map_or("any".into(), |address| address.to_string());
        Some([Cell::from(interface), Cell::from(address)])
    };
    rows.each(watched.unwrap_or_default(), row).await;
    Ok(rows.end())
}

fn set<F: Protocol>(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (interface, address): (InterfaceName, F::Address) = (matches.get("interface")?, matches.get("address")?);
    if matches.has("del") {
        control.delete::<NeighborObject<F>>(&(interface, address))?;
    } else {
        let route = !matches.has("no-fib-entry");
        control.put(NeighborObject::<F> { interface, address, mac: matches.get("mac")?, route })?;
    }
    Ok(Reply::done())
}

async fn show<F: Protocol>(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut rows = Rows::new(&control, &output, ["Age", "IP", "Flags", "State", "Ethernet", "Interface"]);
    let mut last = None;
    rows.step().await;
    while let Some(next) = show_some::<F>(&control, &mut rows, only, last) {
        last = Some(next);
        rows.next_turn().await;
    }
    Ok(rows.end())
}

/// Lists the neighbours behind one as long as the turn lasts. The last one, if there are more.
fn show_some<F: Protocol>(
    control: &Control,
    rows: &mut Rows,
    only: Option<InterfaceId>,
    after: Option<NeighborKey<F>>,
) -> Option<NeighborKey<F>> {
    let (neighbors, interfaces) = (control.room::<Neighbors<F>>(), control.room::<Interfaces>());
    for (&(interface, address), neighbor) in neighbors.after(after) {
        let (flags, state) = match neighbor.state {
            State::Static => ("S", "static"),
            State::Reachable => ("D", "reachable"),
            State::Probing(_) => ("D", "probing"),
            State::Incomplete(_) => ("D", "incomplete"),
        };
        if only.is_none_or(|only| only == interface) {
            rows.row([
                Cell::from(control.now().since(neighbor.since).as_secs_f64()),
                Cell::from(address.to_string()),
                Cell::from(flags),
                Cell::from(state),
                Cell::from(neighbor.mac.map(|mac| mac.to_string())),
                Cell::from(interfaces.name(interface)),
            ]);
        }
        if !rows.goes_on() {
            return Some((interface, address));
        }
    }
    None
}

fn clear<F: Protocol>(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let only = matches.find::<InterfaceName>("interface")?.map(|name| control.room::<Interfaces>().id_of(&name.0));
    let only = only.transpose()?;
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let learned =
        neighbors.iter().filter(|((id, _), n)| n.state != State::Static && only.is_none_or(|only| only == *id));
    let learned: Vec<NeighborKey<F>> = learned.map(|(wanted, _)| *wanted).collect();
    neighbors.forget_all(control, &learned, Outcome::Silent);
    Ok(Reply::done())
}
