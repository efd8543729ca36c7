//! The memory that quiverd allocates from, for `show memory`: what glibc says of it, and what Linux says of its pages.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result};

use quiver_runtime::memory::Heap;

/// Looks at it.
pub fn read() -> Result<Heap> {
    // SAFETY: The function takes nothing and gives numbers by value; glibc locks its arenas itself. It may be called at any
    // time from any thread.
    let info = unsafe { libc::mallinfo2() };
    let of = |count: usize| count as u64;
    // Linux makes the lines as they are read, and walks through all pages of a mapping for it: none behind the heap is asked
    // for.
    let smaps = BufReader::with_capacity(4096, File::open("/proc/self/smaps")?);
    let place = place(smaps.lines().map_while(Result::ok));
    let (base, size, resident) =
        place.ok_or_else(|| Error::new(ErrorKind::NotFound, "no [heap] in /proc/self/smaps"))?;
    Ok(Heap {
        base,
        size,
        resident,
        page: rustix::param::page_size() as u64,
        // Large pieces are mappings of their own.
        total: of(info.arena + info.hblkhd),
        used: of(info.uordblks + info.hblkhd),
        free: of(info.fordblks),
        trimmable: of(info.keepcost),
        free_chunks: of(info.ordblks),
        fast_chunks: of(info.smblks),
    })
}

/// Where the heap begins, its size, and what of it is in memory, in bytes: proc_pid_smaps(5).
fn place(smaps: impl Iterator<Item = String>) -> Option<(u64, u64, u64)> {
    let mut lines = smaps.skip_while(|line| !line.ends_with("[heap]"));
    let first = lines.next()?;
    let (from, to) = first.split(' ').next()?.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    let resident = lines.find_map(|line| line.strip_prefix("Rss:").map(str::to_owned))?;
    let kilobytes: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
    Some((from, to - from, kilobytes << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_allocated_is_seen() {
        let before = read().expect("it can be looked at");
        assert!(before.base > 0 && before.resident <= before.size && before.used <= before.total, "{before:?}");
        let large = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = read().expect("it can be looked at");
        assert!(after.used >= 64 << 20, "{after:?}");
        drop(large);
    }
}
