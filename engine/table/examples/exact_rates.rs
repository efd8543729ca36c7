//! Cost of an exact-match table: `cargo run --release -p quiver-table --example exact_rates`.
//!
//! Keys are neighbouring MAC addresses in one bridge domain, looked up in random order. Ticks are of the time
//! stamp counter; a figure is the median of 576 short windows with the least beside it. It asserts nothing.
mod windows;

use fastrand::Rng;
use quiver_table::{Domain, ExactWriter};
use std::time::Instant;
use windows::{PROBES, windows};

fn measure(entries: u64) {
    let key = |i: u64| 1 << 48 | (0x0242_0a00_0000 + i);
    let domain = Domain::new();
    let mut table = ExactWriter::new(&domain, entries as usize, 0x9e37_79b9_7f4a_7c15).expect("memory");
    let start = Instant::now();
    for i in 0..entries {
        table.insert(key(i), i, 0).expect("room for all entries");
    }
    let insert = start.elapsed().as_nanos() as f64 / entries as f64;
    let mut random = Rng::with_seed(1);
    let probes: Vec<u64> = (0..PROBES).map(|_| key(random.u64(..entries))).collect();
    let misses: Vec<u64> = probes.iter().map(|key| key + entries).collect();
    let (shared, reader) = (table.reader(), domain.register());
    let view = shared.view(reader.guard());
    let sum = |probes: &[u64]| probes.iter().fold(0, |sum, &key| sum ^ view.get(key).unwrap_or(1));
    let ahead = |probes: &[u64], now: Option<u32>| {
        let mut sum = 0;
        for (i, &key) in probes.iter().enumerate() {
            if let Some(&later) = probes.get(i + 32) {
                view.prefetch(later);
            }
            if let Some(entry) = view.find(key) {
                sum ^= entry.value();
                if let Some(now) = now {
                    entry.touch(now);
                }
            }
        }
        sum
    };
    let hit = windows(&probes, sum);
    let miss = windows(&misses, sum);
    let fetched = windows(&probes, |probes| ahead(probes, None));
    let mut now = 0;
    let touched = windows(&probes, |probes| {
        now += 1;
        ahead(probes, Some(now))
    });
    let mb = table.memory_bytes() as f64 / 1048576.0;
    print!("{entries:>8} {insert:>7.0} {mb:>7.1}");
    for (median, least) in [hit, miss, fetched, touched] {
        print!("  {median:>6.1} {least:>6.1}");
    }
    println!();
}

fn main() {
    println!("          ns per      MB  ticks per lookup: median and least");
    println!(" entries  insert           hit            miss           prefetched     and stamped");
    for entries in [16, 1_000, 100_000, 1_000_000] {
        measure(entries);
    }
}
