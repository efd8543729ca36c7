//! Where packets go by a group, in words and for programs: paths, hops and their adjacencies.

use quiver_interface::{InterfaceId, Interfaces};
use serde_json::{Value, json};

use crate::adjacency::State;
use crate::family::Family;
use crate::fib::group::Group;
use crate::fib::rows::Buckets;
use crate::fib::{CrossFamilyHop, Fib, Path, Target, hop};

/// The names of interfaces.
pub(super) struct Names<'a>(pub &'a Interfaces);
impl Names<'_> {
    pub fn of(&self, id: InterfaceId) -> String {
        self.0.name(id)
    }
}

/// Runs of equal buckets: the first, the last, and their hop.
fn runs(buckets: &Buckets) -> Vec<(usize, usize, u32)> {
    let mut runs: Vec<(usize, usize, u32)> = vec![];
    for (i, hop) in buckets.iter().enumerate() {
        match runs.last_mut() {
            Some((_, last, of)) if of == hop => *last = i,
            _ => runs.push((i, i, *hop)),
        }
    }
    runs
}

/// Where packets go by a group, in words: a line for each run of equal buckets.
pub fn forwarding<F: Family>(fib: &Fib<F>, interfaces: &Interfaces, group: &Group<F>) -> String {
    let line = |(first, last, hop)| format!("    [{first}-{last}] {}\n", hop_text(fib, &Names(interfaces), hop));
    runs(&group.hops).into_iter().map(line).collect()
}

/// The same for programs.
pub fn forwarding_json<F: Family>(fib: &Fib<F>, interfaces: &Interfaces, group: &Group<F>) -> Value {
    let to = |hop| hop_json(fib, &Names(interfaces), hop);
    let bucket = |(first, last, hop): (usize, usize, u32)| json!({"first": first, "last": last, "to": to(hop)});
    runs(&group.hops).into_iter().map(bucket).collect()
}

pub(super) fn path_text<F: Family>(fib: &Fib<F>, names: &Names, path: &Path<F>) -> String {
    match path.target {
        Target::NextHop(interface, to) => format!("attached-nexthop: via {to} {}", names.of(interface)),
        Target::Link(interface) => format!("attached: {}", names.of(interface)),
        Target::Recursive(table, to) => {
            let through = fib.table(table).and_then(|table| table.way_to(to));
            let through = through.map_or("unresolved".into(), |(prefix, _)| format!("through {prefix}"));
            format!("recursive: via {to} in table {table}, {through}")
        }
        Target::Special(special) => special.to_string(),
        Target::Lookup(table) => format!("lookup: destination in table {table}"),
        Target::SourceLookup(table) => format!("lookup: source in table {table}"),
        Target::Received(interface) => format!("receive: by {}", names.of(interface)),
        Target::Kind(kind, index) => kind_text(names, kind.spec().name, kind.hop(index)),
        Target::Crossing(_, CrossFamilyHop { interface: Some(on), via }) => {
            format!("attached-nexthop: via {via} {}", names.of(on))
        }
        Target::Crossing(_, CrossFamilyHop { interface: None, via }) => format!("recursive: via {via} in table 0"),
    }
}

/// A hop in words: the adjacency with what it puts before packets.
fn hop_text<F: Family>(fib: &Fib<F>, names: &Names, hop: u32) -> String {
    if let Some(again) = hop::Continuation::of(hop) {
        return again_text(fib, names, again);
    }
    let Some(adjacency) = fib.adjacencies.get(hop) else { return hop::name(hop).unwrap_or("none").into() };
    let (row, interface) = (fib.adjacencies.row(hop), names.of(adjacency.interface));
    match adjacency.next_hop {
        None => format!("{}-glean: {interface} mtu {}", F::NAMES.protocol, row.mtu()),
        Some(to) if row.is_complete() => {
            let header: String = row.header().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} via {to} {interface}: mtu {} {header}", F::NAMES.protocol, row.mtu())
        }
        Some(to) => format!("arp-{}: via {to} {interface}", F::NAMES.protocol),
    }
}

/// Where a packet is looked up again, in words.
fn again_text<F: Family>(fib: &Fib<F>, names: &Names, again: hop::Continuation) -> String {
    let table = |slot| match fib.tables().find(|table| table.slot == slot) {
        Some(table) => format!("table {}", table.id),
        None => "no table".into(),
    };
    match again {
        hop::Continuation::Destination(slot) => format!("lookup: destination in {}", table(slot)),
        hop::Continuation::Source(slot) => format!("lookup: source in {}", table(slot)),
        hop::Continuation::Received(interface) => format!("receive: by {}", names.of(InterfaceId(interface))),
        hop::Continuation::Kind(of_kind) => {
            kind_text(names, fib.kinds.of(of_kind).map_or("unknown", |kind| kind.spec().name), of_kind)
        }
        hop::Continuation::Crossing(number) => format!("{}: way {number}", F::NAMES.crossing),
    }
}

/// A next hop of a kind that a room has registered, in words.
fn kind_text(names: &Names, kind: &str, of_kind: hop::KindHop) -> String {
    match of_kind.interface() {
        Some(interface) => format!("{kind}: {}", names.of(InterfaceId(interface))),
        None => format!("{kind}: {}", of_kind.index()),
    }
}

fn hop_json<F: Family>(fib: &Fib<F>, names: &Names, hop: u32) -> Value {
    match fib.adjacencies.get(hop) {
        None => match hop::Continuation::of(hop) {
            Some(again) => json!({"again": again_text(fib, names, again)}),
            None => json!({"hop": hop::name(hop)}),
        },
        Some(adjacency) => json!({
            "hop": hop,
            "interface": names.of(adjacency.interface),
            "next-hop": adjacency.next_hop.map(|to| to.to_string()),
            "mac": adjacency.mac.map(|mac| mac.to_string()),
            "state": state_text(fib, hop),
        }),
    }
}

pub(super) fn state_text<F: Family>(fib: &Fib<F>, hop: u32) -> &'static str {
    let row = fib.adjacencies.row(hop);
    match () {
        () if row.is_complete() => "complete",
        () if row.is(State::Glean) => "glean",
        () => "incomplete",
    }
}
