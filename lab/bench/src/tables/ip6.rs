//! IPv6 routes in the table of the lookup, without what a FIB keeps of them.

use std::hint::black_box;

use quiver_engine::Domain;
use quiver_table::{Lpm6View, Lpm6Writer, LpmConfig};

use super::{Row, median};
use crate::graph::cpu;
use crate::shape;

const RUNS: usize = 3;
const MILLION: u32 = 1_000_000;
/// Addresses that are looked up in each run.
const PROBES: u32 = 1 << 20;
/// How many addresses ahead of a lookup its first node is fetched, and the root's word before that.
const AHEAD: [usize; 2] = [32, 64];

/// A prefix and length by number.
type Shape = fn(u32) -> (u128, u8);
const SHAPES: [(&str, Shape); 3] =
    [("dense /128", shape::dense6), ("scattered /128", shape::hosts6), ("as in BGP", shape::bgp6)];

/// A million routes come and go; with two millions there, the memory, and lookups of random addresses inside them.
pub fn come_and_go() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for (name, shape) in SHAPES {
        let (mut came, mut went, mut each, mut memory, mut bytes) = (vec![], vec![], vec![], [0.0; 2], 0.0);
        let probes: Vec<u128> = (0..PROBES).map(|n| shape::inside6(shape, n, 2 * MILLION)).collect();
        for _ in 0..RUNS {
            let domain = Domain::new();
            let mut table = Lpm6Writer::new(&domain, LpmConfig::large()).map_err(|error| error.to_string())?;
            let start = cpu();
            insert(&mut table, shape, 0..MILLION)?;
            came.push((cpu() - start) as f64 / 1e9);
            insert(&mut table, shape, MILLION..2 * MILLION)?;
            memory[0] = table.memory_bytes() as f64;
            bytes = memory[0] / table.len() as f64;
            let (lpm, reader) = (table.reader(), domain.register());
            let start = cpu();
            let found = lookups(lpm.view(reader.guard()), &probes);
            each.push((cpu() - start) as f64 / f64::from(PROBES));
            if found < probes.len() {
                return Err(format!("{name}: {} of {PROBES} addresses have no route", probes.len() - found));
            }
            drop(reader);
            remove(&mut table, shape, MILLION..2 * MILLION);
            domain.reclaim();
            let start = cpu();
            remove(&mut table, shape, 0..MILLION);
            domain.reclaim();
            went.push((cpu() - start) as f64 / 1e9);
            memory[1] = table.memory_bytes() as f64;
            if !table.is_empty() {
                return Err(format!("{} routes are still there", table.len()));
            }
        }
        let [one, two] = [1, 2].map(|millions| format!("{millions} million IPv6 routes, {name}"));
        let row = |what, to: &str, value, unit| Row { what, to: to.into(), value, unit };
        let mb = |bytes: f64| bytes / f64::from(1 << 20);
        rows.extend([
            row("insert", &one, median(came), "s"),
            row("remove", &one, median(went), "s"),
            row("memory, reported", &two, mb(memory[0]), "MB"),
            row("memory of a route, reported", &two, bytes, "B"),
            row("memory after removal, reported", &two, mb(memory[1]), "MB"),
            row("lookup by sixteen, random address", &two, median(each), "ns each"),
        ]);
    }
    Ok(rows)
}

fn insert(table: &mut Lpm6Writer, shape: Shape, routes: std::ops::Range<u32>) -> Result<(), String> {
    for n in routes {
        let (prefix, length) = shape(n);
        table.insert(prefix, length, 1 + n % 8).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn remove(table: &mut Lpm6Writer, shape: Shape, routes: std::ops::Range<u32>) {
    for (prefix, length) in routes.map(shape) {
        table.remove(prefix, length);
    }
}

/// Looks all of them up as a stage would; how many have a route.
fn lookups(view: Lpm6View<'_>, probes: &[u128]) -> usize {
    let mut found = 0;
    for (group, sixteen) in probes.as_chunks::<16>().0.iter().enumerate() {
        let ahead = |by: usize| probes.get(group * 16 + by..group * 16 + by + 16).unwrap_or_default();
        ahead(AHEAD[1]).iter().for_each(|address| view.prefetch_first(*address));
        ahead(AHEAD[0]).iter().for_each(|address| {
            view.begin(*address);
        });
        found += view.lookup_each(black_box(sixteen)).iter().filter(|leaf| **leaf != 0).count();
    }
    found
}
