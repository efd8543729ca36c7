//! The commands that show addresses, tables and adjacencies.

use std::fmt::Write;

use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows, Table as Columns};
use quiver_control::{Control, one_by_one};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceId, Interfaces, chosen};
use quiver_wire::{V4, V6};
use serde_json::json;

use super::forwarding::state_text;
pub use super::forwarding::{forwarding, forwarding_json};
use super::table_word::{name_of, table};
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;
use crate::fib::kind::{Kind, Of};

pub(super) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    let commands = control.commands();
    let counting = "adjacency counters (enable|disable)";
    commands.add(
        Command::new(counting, "No effect: adjacency counters are always on.", count_adjacencies)
            .argument("enable", "no effect")
            .argument("disable", "not supported"),
    );
    let kinds = "Show the registered kinds of next hops and their nodes.";
    commands.add(Command::new("show next-hop kinds", kinds, show_kinds));
    let address = "show interface address [<interface>]";
    commands.add(Command::waiting(address, "Show the addresses of interfaces.", show_addresses));
    let adjacency = "show adjacency [<hop:u32> | <interface>]";
    commands.add(
        Command::waiting(adjacency, "Show adjacencies: next hops, rewrites and counters.", show_adjacencies)
            .argument("hop", "index of one adjacency"),
    );
}

fn register_family<F: Family>(control: &Control) {
    let (commands, name, command) = (control.commands(), F::NAME, F::NAMES.command);
    let tables = format!("show {command} table [<table:{name}-table>]");
    commands.add(Command::waiting(tables, format!("Show the {} tables.", F::TITLE), show_tables::<F>));
    let help = format!("Show the nodes or actions for local {} packets, by protocol.", F::TITLE);
    commands.add(Command::new(format!("show {command} local"), help, show_local::<F>));
}

fn show_local<F: Family>(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Columns::new(["Protocol", "Goes to", "As"]);
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    for (_, _, claim) in graph.claims().filter(|(node, ..)| *node == F::NAMES.local) {
        let to = graph.claimant(F::NAMES.local, claim);
        table.row([Cell::from(claim.shown.as_str()), Cell::from(to), Cell::from("")]);
    }
    // RFC 792; RFC 4443, 3.4.
    let told = if F::VERSION == 6 { "parameter-problem" } else { "protocol-unreachable" };
    table.row([Cell::from("all others"), Cell::from(F::NAMES.error), Cell::from(told)]);
    Ok(table.into())
}

fn show_kinds(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Columns::new(["Kind", "By", "IPv4", "IPv6", "Packets"]);
    for spec in control.room::<Ip<V4>>().fib.kinds.iter().map(Kind::spec) {
        let by = if spec.of == Of::Interface { "interface" } else { "number" };
        table.row([spec.name, by, spec.nodes[0], spec.nodes[1], spec.help].map(Cell::from));
    }
    Ok(table.into())
}

async fn show_tables<F: Family>(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let wanted = table::<F>(&control, &given, "table")?.map(TableId);
    let mut rows = Rows::new(&control, &output, ["Table", "Name", "Routes", "Counters"]);
    let row = |id: TableId| {
        let (ip, name) = (control.room::<Ip<F>>(), name_of::<F>(&control, id));
        let table = ip.fib.table(id)?;
        Some([id.0.into(), name.into(), table.len().into(), table.counted().is_some().into()])
    };
    rows.each(tables::<F>(&control).filter(|id| wanted.is_none_or(|wanted| *id == wanted)), row).await;
    Ok(rows.end())
}

/// The numbers of all tables, one by one.
pub(crate) fn tables<F: Family>(control: &Control) -> impl Iterator<Item = TableId> + use<F> {
    let control = control.clone();
    one_by_one(move |last| {
        let id = control.room::<Ip<F>>().fib.table_behind(last)?.id;
        Some((id, id))
    })
}

async fn show_addresses(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &given)? {
        listing.step().await;
        let interfaces = control.room::<Interfaces>();
        let Some(interface) = interfaces.get(id) else { continue };
        let text = listing.text();
        let _ = writeln!(text, "{} ({}):", interface.name, if interface.up { "up" } else { "dn" });
        let (table, ip4) = addresses::<V4>(&control, interface.id, text);
        let (ip6_table, ip6) = addresses::<V6>(&control, interface.id, text);
        let lender = control.room::<Ip<V4>>().lender(interface.id).map(|lender| interfaces.name(lender));
        if let Some(lender) = &lender {
            let _ = writeln!(text, "  unnumbered, use {lender}");
        }
        let (name, up) = (&interface.name, interface.up);
        listing.element(|| {
            json!({"interface": name, "up": up, "table": table, "ip4": ip4, "ip6-table": ip6_table, "ip6": ip6,
            "unnumbered": lender})
        });
    }
    Ok(listing.end())
}

/// Writes an interface's addresses of a family. Its table, and the addresses.
fn addresses<F: Family>(control: &Control, id: InterfaceId, text: &mut String) -> (u32, Vec<String>) {
    let ip = control.room::<Ip<F>>();
    let (table, link_local) = (ip.table_of(id), ip.link_local(id));
    let of_table = if table == TableId::DEFAULT { String::new() } else { format!(" {} table-id {table}", F::NAME) };
    let own = ip.addresses(id).iter().map(|address| address.to_string());
    let own: Vec<String> = own.chain(link_local.map(|own| format!("{own}/{}", F::ADDRESS_BITS))).collect();
    for address in &own {
        let _ = writeln!(text, "  L3 {address}{of_table}");
    }
    (table.0, own)
}

fn count_adjacencies(_: &Control, given: &Matches) -> Result<Reply, CommandError> {
    match given.has("disable") {
        true => Err(CommandError::new("packets to neighbours are counted always").at(given.place("disable"))),
        false => Ok(Reply::done()),
    }
}

async fn show_adjacencies(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let wanted = (given.find::<u32>("hop")?, given.find::<String>("interface")?);
    let titles = ["Hop", "Interface", "Next hop", "State", "MAC", "Users", "Packets", "Bytes"];
    let mut rows = Rows::new(&control, &output, titles);
    adjacencies::<V4>(&control, &wanted, &mut rows).await;
    adjacencies::<V6>(&control, &wanted, &mut rows).await;
    Ok(rows.end())
}

async fn adjacencies<F: Family>(control: &Control, wanted: &(Option<u32>, Option<String>), rows: &mut Rows) {
    let mut next = Some(0);
    while let Some(first) = next {
        rows.step().await;
        next = some_adjacencies::<F>(control, wanted, rows, first);
    }
}

/// Lists adjacencies from a number on, as long as the turn lasts. The next number, if there may be more.
fn some_adjacencies<F: Family>(
    control: &Control,
    wanted: &(Option<u32>, Option<String>),
    rows: &mut Rows,
    first: u32,
) -> Option<u32> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    for (hop, adjacency) in ip.fib.adjacencies.from(first) {
        if !rows.goes_on() {
            return Some(hop);
        }
        let Some(adjacency) = adjacency else { continue };
        let interface = interfaces.name(adjacency.interface);
        let is_other = wanted.1.as_ref().is_some_and(|wanted| *wanted != interface);
        if is_other || wanted.0.is_some_and(|wanted| wanted != hop) {
            continue;
        }
        let sent = ip.fib.adjacencies.counters().sum(hop);
        rows.row([
            hop.into(),
            interface.into(),
            adjacency.next_hop.map(|to| to.to_string()).into(),
            state_text(&ip.fib, hop).into(),
            adjacency.mac.map(|mac| mac.to_string()).into(),
            adjacency.users.into(),
            sent.packets.into(),
            sent.bytes.into(),
        ]);
    }
    None
}
