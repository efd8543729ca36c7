//! Ticks of the time stamp counter per lookup, in short windows.
#![allow(unsafe_code)]
use std::hint::black_box;

pub const PROBES: usize = 1 << 20;
/// Short enough that some windows are not disturbed.
const WINDOW: usize = 1 << 14;

fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
}

/// The median and the least, in ticks per lookup.
pub fn windows<K, R>(probes: &[K], mut window: impl FnMut(&[K]) -> R) -> (f64, f64) {
    let mut results = Vec::new();
    for part in probes.chunks_exact(WINDOW).cycle().take(9 * probes.len() / WINDOW) {
        let start = ticks();
        black_box(window(part));
        results.push((ticks() - start) as f64 / WINDOW as f64);
    }
    results.sort_by(f64::total_cmp);
    (results[results.len() / 2], results[0])
}
