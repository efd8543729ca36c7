//! IPv4 routes, through the FIB's own interface.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use quiver_engine::Domain;
use quiver_engine::thread::monotonic;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Fib, FibError, Path, Size, Source, TableId, Target};
use quiver_wire::{Prefix, V4};

use super::{Row, median};
use crate::graph::cpu;
use crate::shape;

const TABLE: TableId = TableId(1);
const RUNS: usize = 3;
const MILLION: u32 = 1_000_000;
/// Changes that a worker is to see.
const SIGHTINGS: u32 = 10_000;

/// A prefix and length by number.
type Shape = fn(u32) -> (u32, u8);
const SHAPES: [(&str, Shape); 2] = [("dense /32", shape::dense), ("as in BGP", shape::bgp)];

/// An empty FIB with a link, and a table.
fn fib(domain: &Domain, size: Size, counted: bool) -> Result<Fib<V4>, String> {
    let mut fib = Fib::new(domain, 1);
    fib.set_link(InterfaceId(1), Some(Link { up: true, mtu: 1500, ..Link::default() }));
    fib.add_table(TABLE, size, counted).map_err(|error| error.to_string())?;
    Ok(fib)
}

fn prefix((prefix, length): (u32, u8)) -> Prefix<V4> {
    Prefix::new(prefix.into(), length).expect("a length of IPv4")
}

fn insert(fib: &mut Fib<V4>, table: TableId, n: u32, route: (u32, u8)) -> Result<(), FibError> {
    let via = Path::to(Target::NextHop(InterfaceId(1), (0x0a00_0002 + n % 8).into()));
    fib.insert(table, prefix(route), Source::Static, vec![via])
}

/// Bytes that the system has given to this process, as it counts exactly.
pub fn resident() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").map_err(|error| error.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).ok_or("smaps_rollup says no Rss")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().map_err(|_| "Rss is no number")?;
    Ok(kilobytes * 1024.0)
}

/// A million routes come and go; with two millions there, the memory of their lookup. What the process as a whole has says
/// nothing here: the allocator keeps the notes of the run before.
pub fn come_and_go() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for ((name, shape), counted) in SHAPES.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
        let (mut came, mut went, mut memory) = (vec![], vec![], [0.0; 2]);
        for _ in 0..RUNS {
            let domain = Domain::new();
            let mut fib = fib(&domain, Size::Large, counted)?;
            let reported = |fib: &Fib<V4>| fib.table(TABLE).map_or(0, |table| table.memory_bytes().0) as f64;
            let start = cpu();
            (0..MILLION).try_for_each(|n| insert(&mut fib, TABLE, n, shape(n))).map_err(|error| error.to_string())?;
            came.push((cpu() - start) as f64 / 1e9);
            for n in MILLION..2 * MILLION {
                insert(&mut fib, TABLE, n, shape(n)).map_err(|error| error.to_string())?;
            }
            memory[0] = reported(&fib);
            (MILLION..2 * MILLION).for_each(|n| _ = fib.remove(TABLE, prefix(shape(n)), Source::Static));
            domain.reclaim();
            let start = cpu();
            (0..MILLION).for_each(|n| _ = fib.remove(TABLE, prefix(shape(n)), Source::Static));
            domain.reclaim();
            went.push((cpu() - start) as f64 / 1e9);
            memory[1] = reported(&fib);
            if let Some(left) = fib.table(TABLE).map(|table| table.len()).filter(|left| *left > 0) {
                return Err(format!("{left} routes are still there"));
            }
        }
        let to = format!("1 million routes, {name}{}", if counted { ", counted" } else { "" });
        let two = to.replace('1', "2");
        let mb = |what, value: f64| Row { what, to: two.clone(), value: value / f64::from(1 << 20), unit: "MB" };
        rows.extend([
            Row { what: "insert", to: to.clone(), value: median(came), unit: "s" },
            Row { what: "remove", to: to.clone(), value: median(went), unit: "s" },
            mb("lookup memory, reported", memory[0]),
            mb("lookup memory after removal, reported", memory[1]),
        ]);
    }
    Ok(rows)
}

/// Tables of few routes: what each costs.
pub fn small_tables() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for tables in [1, 10, 100, 1000] {
        let (domain, before) = (Domain::new(), resident()?);
        let mut fib = fib(&domain, Size::Small, false)?;
        let ready = resident()? - before;
        for table in (10..10 + tables).map(TableId) {
            fib.add_table(table, Size::Small, false).map_err(|error| error.to_string())?;
            for n in 0..8 {
                insert(&mut fib, table, n, (0x0a00_0000 + (n << 16), 24)).map_err(|error| error.to_string())?;
            }
        }
        let took = resident()? - before - ready;
        let reported: usize = fib.tables().filter(|table| table.id != TABLE).map(|table| table.memory_bytes().0).sum();
        let to = format!("each of {tables} tables of 8 routes");
        let each = |bytes: f64| bytes / 1024.0 / f64::from(tables);
        rows.extend([
            Row { what: "process memory", to: to.clone(), value: each(took), unit: "KB" },
            Row { what: "lookup memory, reported", to, value: each(reported as f64), unit: "KB" },
        ]);
    }
    Ok(rows)
}

/// How long it takes from before a route is inserted until a worker's lookup finds it, on another core, in a large table.
pub fn visibility() -> Result<Vec<Row>, String> {
    let domain = Domain::new();
    let mut fib = fib(&domain, Size::Large, false)?;
    (0..MILLION).try_for_each(|n| insert(&mut fib, TABLE, n, shape::dense(n))).map_err(|error| error.to_string())?;
    let address = |n: u32| 0x6000_0000 + (n << 8);
    let (begun, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU32::new(0)));
    let (lpm, mut reader) = (fib.table(TABLE).ok_or("the table is gone")?.reader(), domain.register());
    let worker = std::thread::spawn({
        let (begun, seen) = (begun.clone(), seen.clone());
        move || {
            let mut times = vec![];
            for n in 0..SIGHTINGS {
                while lpm.lookup(reader.guard(), address(n)) == 0 {
                    reader.quiescent();
                    std::hint::spin_loop();
                }
                times.push((monotonic() - begun.load(Ordering::Acquire)) as f64 / 1000.0);
                seen.store(n + 1, Ordering::Release);
            }
            reader.offline();
            times
        }
    });
    for n in 0..SIGHTINGS {
        begun.store(monotonic(), Ordering::Release);
        insert(&mut fib, TABLE, n, (address(n), 24)).map_err(|error| error.to_string())?;
        while seen.load(Ordering::Acquire) <= n && !worker.is_finished() {
            std::thread::yield_now();
        }
    }
    let mut times = worker.join().map_err(|_| "the worker has panicked")?;
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((share * (times.len() - 1) as f64) as usize).copied().unwrap_or(f64::NAN);
    let row = |what, value| Row { what, to: format!("{SIGHTINGS} routes, seen on another core"), value, unit: "us" };
    Ok(vec![
        row("insert until seen, median", at(0.5)),
        row("insert until seen, 99.9 %", at(0.999)),
        row("insert until seen, longest", at(1.0)),
    ])
}
