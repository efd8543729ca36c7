//! Turns of a worker that callgrind counts, and others; and the line that names the counted ones.

use std::hint::black_box;

use quiver_engine::Worker;

use super::callgrind::Count;
use crate::graph::WAY;

/// Names the last dump of callgrind.
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
