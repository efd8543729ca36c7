//! Pins threads to cores.

use rustix::thread::{CpuSet, sched_setaffinity};

/// Keeps this thread on a core; where that is not allowed, the figures say so by their spread.
pub fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    let _ = sched_setaffinity(None, &cores);
}
