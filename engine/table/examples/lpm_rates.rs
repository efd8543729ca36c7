//! Cost of a forwarding table: `cargo run --release -p quiver-table --example lpm_rates [ROUTES]`.
//!
//! Ticks are of the time stamp counter; a figure is the median of 576 short windows of lookups of random addresses
//! inside routes, with the least beside it. It measures and asserts nothing.
mod windows;

use fastrand::Rng;
use quiver_table::{Domain, LpmConfig, LpmView, LpmWriter};
use std::time::Instant;
use windows::{PROBES, windows};

/// Routes per thousand by prefix length, roughly as in the Internet's table of 2025.
const BGP: [(u8, u32); 12] = [
    (24, 600),
    (23, 95),
    (22, 110),
    (21, 45),
    (20, 45),
    (19, 25),
    (18, 14),
    (17, 8),
    (16, 14),
    (15, 6),
    (14, 6),
    (32, 32),
];

type Route = (u32, u8);

fn dense(routes: u32) -> Vec<Route> {
    (0..routes).map(|i| (0x1400_0000 + i, 32)).collect()
}

/// Random prefixes of unicast space; `long` of them are /32, the others as in [`BGP`].
fn bgp(routes: u32, long: u32, random: &mut Rng) -> Vec<Route> {
    let mut list = Vec::new();
    for i in 0..routes {
        let mut pick = random.u32(..1000);
        let mut length = 32;
        for (candidate, share) in BGP {
            if pick < share {
                length = candidate;
                break;
            }
            pick -= share;
        }
        let address = random.u32(0x0100_0000..0xe000_0000);
        list.push((address, if i < long { 32 } else { length }));
    }
    list
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) / 1024
}

fn each_sixteen(view: LpmView, probes: &[u32], ahead: usize, fetch: impl Fn(&LpmView, u32)) -> u32 {
    let mut sum = 0_u32;
    for (i, sixteen) in probes.as_chunks::<16>().0.iter().enumerate() {
        let later = i * 16 + ahead;
        for address in probes.get(later..later + 16).unwrap_or_default() {
            fetch(&view, *address);
        }
        for leaf in view.lookup_each(sixteen) {
            sum ^= leaf;
        }
    }
    sum
}

fn each_sixteen_fetched_twice(view: LpmView, probes: &[u32]) -> u32 {
    let mut sum = 0_u32;
    for (i, sixteen) in probes.as_chunks::<16>().0.iter().enumerate() {
        let (soon, later) = (i * 16 + 32, i * 16 + 64);
        for address in probes.get(later..later + 16).unwrap_or_default() {
            view.prefetch_first(*address);
        }
        for address in probes.get(soon..soon + 16).unwrap_or_default() {
            {
                view.begin(*address);
            };
        }
        for leaf in view.lookup_each(sixteen) {
            sum ^= leaf;
        }
    }
    sum
}

fn measure(name: &str, config: LpmConfig, routes: &[Route]) {
    let mut random = Rng::with_seed(1);
    let before = resident_mb();
    let domain = Domain::new();
    let mut table = LpmWriter::new(&domain, config.with_blocks_max(1 << 22)).expect("memory for the table");
    let start = Instant::now();
    for (i, &(prefix, length)) in routes.iter().enumerate() {
        table.insert(prefix, length, 1 + i as u32 % 1000).expect("a valid route");
    }
    let insert = start.elapsed().as_nanos() as f64 / routes.len() as f64;
    let (count, resident) = (table.len(), resident_mb() - before);

    let probes: Vec<u32> = (0..PROBES)
        .map(|_| {
            let (prefix, length) = routes[random.usize(..routes.len())];
            prefix | random.u32(..) & u32::MAX.checked_shr(length.into()).unwrap_or(0)
        })
        .collect();
    let (lpm, reader) = (table.reader(), domain.register());
    let view = lpm.view(reader.guard());
    let one = windows(&probes, |probes| probes.iter().fold(0, |sum, &address| sum ^ view.lookup(address)));
    let each = windows(&probes, |probes| each_sixteen(view, probes, 0, |_, _| ()));
    let ahead = windows(&probes, |probes| each_sixteen(view, probes, 32, |view, address| _ = view.begin(address)));
    let root = windows(&probes, |probes| each_sixteen(view, probes, 32, |view, address| view.prefetch_first(address)));
    let both = windows(&probes, |probes| each_sixteen_fetched_twice(view, probes));

    let start = Instant::now();
    for &(prefix, length) in routes {
        table.remove(prefix, length);
    }
    domain.reclaim();
    let remove = start.elapsed().as_nanos() as f64 / routes.len() as f64;
    let bytes = resident as f64 * 1048576.0 / count as f64;
    print!("{name:<14} {count:>8} {insert:>7.0} {remove:>7.0} {resident:>6} {bytes:>8.0}");
    for (median, least) in [one, each, ahead, root, both] {
        print!("  {median:>5.1} {least:>5.1}");
    }
    println!();
}

fn main() {
    let routes: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2_000_000);
    let mut random = Rng::with_seed(2);
    println!("                          ns per ns per  MB      bytes  ticks per lookup: median and least");
    println!(
        "table            routes  insert  remove resident /route   one by one  by sixteen   prefetched   root only   root, block"
    );
    measure("8 routes", LpmConfig::large(), &(0..8).map(|i| ((20 + i) << 24, 8)).collect::<Vec<_>>());
    measure("dense /32", LpmConfig::large(), &dense(routes));
    measure("BGP", LpmConfig::large(), &bgp(routes, 0, &mut random));
    measure("BGP, half /32", LpmConfig::large(), &bgp(routes, routes / 2, &mut random));
    measure("small, 8", LpmConfig::small(), &(0..8).map(|i| ((20 + i) << 24, 8)).collect::<Vec<_>>());
    measure("small, BGP 10k", LpmConfig::small(), &bgp(10_000, 0, &mut random));
}
