//! Which route and which neighbour decide.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_wire::{Header, IpHeader};

use crate::family::Family;
use crate::fib::{Source, TableId};
use crate::room::Ip;

pub(crate) fn register<F: Family>(control: &Control) {
    decides(control, F::NAMES.input, quiver_interface::receiver);
    decides(control, F::NAMES.lookup, route::<F>);
    decides(control, F::NAMES.rewrite, neighbor::<F>);
    decides(control, F::NAMES.local, route::<F>);
}

/// The route that a packet's destination has in the table of the interface that received it.
pub fn route<F: Family>(control: &Control, record: &Record) -> Option<String> {
    let (header, _) = F::Header::parse(&record.bytes)?;
    let ip = control.room::<Ip<F>>();
    let id = ip.table_of(InterfaceId(record.rx));
    let of_table = if id == TableId::DEFAULT { String::new() } else { format!(" of table {}", id.0) };
    let table = ip.fib.table(id)?;
    let Some((prefix, _)) = table.find(header.destination()) else { return Some(format!("no route{of_table}")) };
    let source = table.get(&prefix).map(|entry| entry.source).filter(|source| *source != Source::Static);
    let source = source.map_or(String::new(), |source| format!(" ({source})"));
    Some(format!("{} {prefix}{of_table}{source}", F::NAMES.routes))
}

/// The neighbour that the route chose for a packet.
pub fn neighbor<F: Family>(control: &Control, record: &Record) -> Option<String> {
    let ip = control.room::<Ip<F>>();
    let adjacency = ip.fib.adjacencies.get(record.hop)?;
    let interface = control.room::<Interfaces>().name(adjacency.interface);
    let (next_hop, mac) = (adjacency.next_hop, adjacency.mac);
    Some(match (next_hop, mac) {
        (Some(next_hop), Some(mac)) => format!("neighbor {next_hop} on {interface}, {mac}"),
        (Some(next_hop), None) => format!("neighbor {next_hop} on {interface}, not resolved"),
        (None, _) => format!("interface {interface}"),
    })
}
