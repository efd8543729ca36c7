//! Turns of a worker that callgrind counts, turns that it does not count, and the line that names a count.

use std::hint::black_box;

use quiver_engine::Worker;

use super::callgrind::Count;
use crate::graph::WAY;

/// Ends a count: callgrind dumps what was counted since the last one when this function returns, and the line names the dump.
#[inline(never)]
pub fn say(path: &str, vector: usize, packets: usize) {
    println!("{}", Count { path: path.into(), way: WAY.into(), vector: vector.to_string(), packets, instructions: 0 });
}

/// Turns that are not counted.
pub fn warm_turns(worker: &mut Worker, turns: usize) {
    for _ in 0..turns {
        black_box(worker.turn(0));
    }
}

/// The counted function; callgrind finds it by its name.
#[inline(never)]
pub fn counted_turns(worker: &mut Worker, turns: usize) {
    for _ in 0..turns {
        black_box(worker.turn(0));
    }
}
