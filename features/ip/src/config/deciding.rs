//! Which route and which neighbour decide.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, Undecided, decides, receiver, undecided};
use quiver_wire::{Header, IpHeader};

use crate::config::room::Ip;
use crate::family::Family;
use crate::fault::{Fault, FaultKind};
use crate::fib::hop::{self, Continuation};
use crate::fib::rows::BUCKETS;
use crate::fib::{Source, TableId};
use crate::node::again::LOOKUPS_MAX;
use crate::node::{local, rewrite};

pub(crate) fn register<F: Family>(control: &Control) {
    let names = F::NAMES;
    decides(control, names.input, receiver);
    decides(control, names.lookup, |control, record| match Continuation::of(record.hop) {
        // What is not followed there is for `ip4-lookup-again`.
        Some(_) => route::<F>(control, record),
        None => last_route::<F>(control, record, (Continuation::Received(record.rx).hop(), 1 + LOOKUPS_MAX)),
    });
    undecided(control, names.lookup, Undecided::Packet, &["link-layer-broadcast"]);
    way_out::<F>(control, names.rewrite);
    decides(control, names.again, |control, record| {
        last_route::<F>(control, record, (record.chosen, LOOKUPS_MAX)).or_else(|| route::<F>(control, record))
    });
    decides(control, names.local, |control, record| match record.arc {
        Some(arc) if arc == local::Next::Spoofed as u16 || arc == local::Next::Unrouted as u16 => {
            route_of::<F>(control, record, IpHeader::source)
        }
        _ => route::<F>(control, record),
    });
    // To which groups an interface belongs follows from what it speaks.
    decides(control, names.multicast, receiver);
    let packet = |node, reasons: &[&str]| undecided(control, node, Undecided::Packet, reasons);
    if F::VERSION == 4 {
        packet(names.input, &["bad-header", "bad-length", "bad-checksum", "broadcast", "martian-address"]);
        packet("ip4-options", &["bad-length", "bad-checksum", "broadcast", "martian-address", "bad-option"]);
        packet("ip4-options", &["source-route", "fragment-in-header"]);
    } else {
        packet(names.input, &["bad-header", "bad-length", "martian-address"]);
        packet("ip6-hop-by-hop", &["martian-address", "bad-option", "unknown-option"]);
        packet(names.local, &["unknown-option"]);
        decides(control, "ip6-link-local", receiver);
    }
}

/// Says what decides at a node with the arcs of `ip4-rewrite`, which has packets leave by what their routes chose.
pub fn way_out<F: Family>(control: &Control, node: &'static str) {
    decides(control, node, |control, record| {
        let refused =
            record.arc == Some(rewrite::Next::TooBig as u16) || record.arc == Some(rewrite::Next::Expired as u16);
        match Fault(record.hop).kind() {
            _ if record.arc == Some(rewrite::Next::Continuation as u16) => route::<F>(control, record),
            _ if record.arc == Some(rewrite::Next::CannotFragment as u16) => mtu::<F>(control, record),
            _ if record.arc == Some(rewrite::Next::LinkTooSmall as u16) => mtu::<F>(control, record),
            FaultKind::TooBig if refused => mtu::<F>(control, record),
            // Its hops, or its sender.
            _ if refused => None,
            _ => neighbor::<F>(control, record),
        }
    });
    undecided(control, node, Undecided::Load, &["no-buffers"]);
}

/// The route that a packet's destination has in the table of the interface that received it.
pub fn route<F: Family>(control: &Control, record: &Record) -> Option<String> {
    route_of::<F>(control, record, IpHeader::destination)
}

/// The route of one of a packet's addresses in that table.
fn route_of<F: Family>(control: &Control, record: &Record, which: fn(&F::Header) -> F::Address) -> Option<String> {
    let (header, _) = F::Header::parse(&record.bytes)?;
    let ip = control.room::<Ip<F>>();
    named(&ip, ip.table_of(InterfaceId(record.rx)), which(header))
}

/// The route of an address in a table, in words.
fn named<F: Family>(ip: &Ip<F>, id: TableId, address: F::Address) -> Option<String> {
    let of_table = if id == TableId::DEFAULT { String::new() } else { format!(" of table {}", id.0) };
    let table = ip.fib.table(id)?;
    let Some((prefix, _)) = table.find(address) else { return Some(format!("no route{of_table}")) };
    let source = table.get(&prefix).map(|entry| entry.source).filter(|source| *source != Source::Static);
    let source = source.map_or(String::new(), |source| format!(" ({source})"));
    Some(format!("{} {prefix}{of_table}{source}", F::NAMES.routes))
}

/// The last of the routes that a packet takes from a hop on that says where it is looked up, so often at most.
fn last_route<F: Family>(control: &Control, record: &Record, (mut hop, most): (u32, usize)) -> Option<String> {
    let (header, _) = F::Header::parse(&record.bytes)?;
    let ip = control.room::<Ip<F>>();
    let mut found = None;
    for _ in 0..most {
        let slot_of = |id| ip.fib.table(id).map(|table| table.slot);
        let (slot, address) = match Continuation::of(hop) {
            None | Some(Continuation::Kind(_) | Continuation::Crossing(_)) => break,
            Some(Continuation::Destination(slot)) => (slot, header.destination()),
            Some(Continuation::Source(slot)) => (slot, header.source()),
            Some(Continuation::Received(interface)) => {
                (slot_of(ip.table_of(InterfaceId(interface)))?, header.destination())
            }
        };
        let table = ip.fib.tables().find(|table| table.slot == slot)?;
        found = named(&ip, table.id, address);
        let group = table.find(address).and_then(|(_, group)| ip.fib.groups.get(group));
        let flow = ip.current().table(slot.into()).map_or(0, |view| view.flows.hash_of::<F>(&record.bytes));
        hop = group.map_or(hop::NO_ROUTE, |group| group.hops[flow as usize % BUCKETS]);
    }
    found
}

/// The object whose MTU keeps a packet from its route: the path MTU to its destination, or the interface.
fn mtu<F: Family>(control: &Control, record: &Record) -> Option<String> {
    let ip = control.room::<Ip<F>>();
    let interface = ip.fib.adjacencies.get(record.chosen)?.interface;
    let mtu = ip.fib.adjacencies.row(record.chosen).mtu();
    let (header, _) = F::Header::parse(&record.bytes)?;
    let (table, to) = (ip.table_of(InterfaceId(record.rx)), header.destination());
    if ip.current().path_mtu(record.rx, to).is_some_and(|of_path| of_path < mtu) {
        return Some(format!("{} {table} {to}", F::NAMES.path_mtus));
    }
    Some(format!("interface {}, whose packets have {mtu} bytes at most", control.room::<Interfaces>().name(interface)))
}

/// The neighbour that the route chose for a packet.
pub fn neighbor<F: Family>(control: &Control, record: &Record) -> Option<String> {
    let ip = control.room::<Ip<F>>();
    let adjacency = ip.fib.adjacencies.get(record.chosen)?;
    let interface = control.room::<Interfaces>().name(adjacency.interface);
    let (next_hop, mac) = (adjacency.next_hop, adjacency.mac);
    Some(match (next_hop, mac) {
        (Some(next_hop), Some(mac)) => format!("neighbor {next_hop} on {interface}, {mac}"),
        (Some(next_hop), None) => format!("neighbor {next_hop} on {interface}, not resolved"),
        (None, _) => format!("interface {interface}"),
    })
}
