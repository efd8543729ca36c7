//! The program that runs under callgrind: each path with warm tables, and one function whose instructions count.
//! Callgrind dumps a count when this program has printed the line that names it (`turns`).

use quiver_engine::Level;

use super::connections;
use super::turns::{counted_turns, say, warm_turns};
use crate::graph;
use crate::graph::filling::FILL;
use crate::{memif, path};

/// Packets received at once: full vectors, and small ones, where what a turn costs by itself counts.
const VECTORS: [usize; 2] = [8, 256];
/// Paths that are left out: their tables are too large to be filled at callgrind's speed, or for the memory that it leaves. Packets of
/// large tables take the code of those with 1,100 routes, which are walked ahead as well. Packets of 64,000 sessions would begin them.
const LARGE: [&str; 4] = ["million", "thousand", "000 rules", "000 sessions"];
/// Fillings of 256 packets that are counted through memif.
const FILLINGS: usize = 4;

/// Counts paths at one level, those whose names contain `only`; or connections, if it is [`CONNECTIONS`](super::CONNECTIONS).
pub fn run(level: Level, only: &str) -> Result<(), String> {
    if only == super::CONNECTIONS {
        return connections::count(level);
    }
    let is_large = |name: &str| LARGE.iter().any(|word| name.contains(word));
    let is_counted = |path: &&path::Path| path.name.contains(only) && !is_large(path.name) && path.in_flight == FILL;
    for path in path::all().iter().filter(is_counted) {
        let mut bench = graph::Bench::new(path, level)?;
        for vector in VECTORS {
            // What only the first packets do is no part of it.
            bench.fill()?;
            warm_turns(bench.worker(vector), FILL / vector);
            bench.empty()?;
            bench.fill()?;
            counted_turns(bench.worker(vector), FILL / vector);
            bench.empty()?;
            say(path.name, vector, FILL);
        }
        bench.finish()?;
    }
    if "memif".contains(only) {
        VECTORS.into_iter().try_for_each(|packets| through_memif(level, packets))?;
    }
    Ok(())
}

/// A ring of 64-byte packets from one peer to another. Which stores pay is measured with a clock by the driver; but its first
/// 16 batches go through the caches, the next 16 with lines claimed ahead, and 16 more past them, whatever the clock says, so
/// each kind has counts of its own. A filling is one batch. Small ones tell nothing of stores, so they go through the caches.
fn through_memif(level: Level, packets: usize) -> Result<(), String> {
    let mut bench = memif::Bench::new(level, memif::Role::Master)?;
    let (mut from, mut to) = bench.peers()?;
    for filling in 0..48 {
        from.fill(64, packets)?;
        let worker = &mut bench.daemon.workers()[0];
        let (way, batch) = (filling / 16, filling % 16);
        let ways = ["memif, through the caches", "memif, claimed ahead", "memif, past the caches"];
        let path = ways.get(way).filter(|_| (4..4 + FILLINGS).contains(&batch));
        match path {
            None => warm_turns(worker, 1),
            Some(path) => {
                counted_turns(worker, 1);
                if batch + 1 == 4 + FILLINGS {
                    say(path, packets, FILLINGS * packets);
                }
            }
        }
        match to.drain()? {
            came if came == packets => {}
            came => return Err(format!("{came} of {packets} packets came out; drops: {:?}", bench.daemon.drops())),
        }
    }
    Ok(())
}
