//! What an exact-match table costs: `cargo run --release -p quiver-table --example exact_rates`.
//!
//! Keys are neighbouring MAC addresses in one bridge domain, looked up in random order. Ticks are of the time
//! stamp counter; a figure is the median of 576 short windows with the least beside it. It asserts nothing.
#![allow(unsafe_code)]
use fastrand::Rng;
use quiver_table::{Domain, ExactWriter};
use std::hint::black_box;
use std::time::Instant;

const PROBES: usize = 1 << 20;
/// Short enough that some windows are not disturbed.
const WINDOW: usize = 1 << 14;

fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
}

fn windows(probes: &[u64], mut window: impl FnMut(&[u64]) -> u64) -> (f64, f64) {
    let mut results = Vec::new();
    for part in probes.chunks_exact(WINDOW).cycle().take(9 * probes.len() / WINDOW) {
        let start = ticks();
        black_box(window(part));
        results.push((ticks() - start) as f64 / WINDOW as f64);
    }
    results.sort_by(f64::total_cmp);
    (results[results.len() / 2], results[0])
}

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
