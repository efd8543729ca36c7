//! The memory of quiverd, for `show memory`: the allocator's, as glibc reports it, and all mappings of the process. Free memory returns to
//! the system.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result};
use std::time::Duration;

use quiver_control::Control;
use quiver_runtime::memory::{Heap, Mapping};

/// Looks at it.
pub fn read() -> Result<Heap> {
    let info = mallinfo2()?;
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

/// glibc's account of its memory. The function exists since glibc 2.33, and packages also run with older ones: so it is looked
/// up, not linked.
fn mallinfo2() -> Result<libc::mallinfo2> {
    // SAFETY: The name ends with a zero, and the handle stands for all loaded libraries.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if function.is_null() {
        return Err(Error::new(ErrorKind::Unsupported, "it takes glibc 2.33 or newer"));
    }
    // SAFETY: mallinfo2 of glibc has this type (mallinfo(3)).
    let function =
        unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> libc::mallinfo2>(function) };
    // SAFETY: The function takes nothing and gives numbers by value; glibc locks its arenas itself. It may be called at any
    // time from any thread.
    Ok(unsafe { function() })
}

/// Allocations of this size or more get a mapping of their own if no free chunk holds them (M_MMAP_THRESHOLD): it grows without a copy.
const MAPPED_MIN: libc::c_int = 1 << 20;

/// Sets options of glibc's malloc such that no call goes through all free chunks. Call it before other threads start.
pub fn set_malloc_options() {
    for (option, value) in [
        // No fastbins: the first large allocation would consolidate them all, 100 ms for millions of chunks.
        (libc::M_MXFAST, 0),
        (libc::M_MMAP_THRESHOLD, MAPPED_MIN),
    ] {
        // SAFETY: mallopt takes numbers and changes no allocated memory (mallopt(3)).
        if unsafe { libc::mallopt(option, value) } == 0 {
            tracing::warn!(
                "glibc refuses the option {option} of its allocator: turns of the control thread may be long"
            );
        }
    }
}

/// Sorts the chunks that this turn has freed into their bins. Otherwise the first allocations of a later turn do, up to 10,000 chunks in each
/// call.
pub fn sort_free_chunks() {
    // Larger than chunks of the thread's cache, and smaller than a mapping.
    const SIZE: usize = 2048;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(SIZE)));
}

/// Free memory of the allocator that is not worth being given back.
const FREE_MAX: usize = 32 << 20;
/// Period of the check.
const PERIOD: Duration = Duration::from_secs(10);

/// Returns free memory of the allocator to the system: after long answers, many clients, large configurations. It takes
/// long, so another thread does it.
pub async fn keep_small(control: Control) {
    loop {
        control.sleep(PERIOD).await;
        match tokio::task::spawn_blocking(give_back).await {
            Ok(true) => tracing::debug!("memory that was free was given back to the system"),
            Ok(false) => {}
            Err(error) => tracing::error!("memory could not be given back: {error}"),
        }
    }
}

/// Gives free memory back, if there is much or glibc cannot tell; whether there was.
fn give_back() -> bool {
    let is_much = mallinfo2().map_or(true, |info| info.fordblks > FREE_MAX);
    // SAFETY: The function takes a number by value, and glibc locks its arenas itself. It does not change allocated
    // memory. It may be called at any time from any thread.
    is_much && unsafe { libc::malloc_trim(0) } == 1
}

/// Start of the heap, its size, and its resident part, in bytes: proc_pid_smaps(5).
fn place(smaps: impl Iterator<Item = String>) -> Option<(u64, u64, u64)> {
    let mut lines = smaps.skip_while(|line| !line.ends_with("[heap]"));
    let first = lines.next()?;
    let (from, to) = first.split(' ').next()?.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    let resident = lines.find_map(|line| line.strip_prefix("Rss:").map(str::to_owned))?;
    let kilobytes: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
    Some((from, to - from, kilobytes << 10))
}

/// The mappings of the process.
pub fn map() -> Result<Vec<Mapping>> {
    let maps = BufReader::new(File::open("/proc/self/maps")?);
    Ok(maps.lines().map_while(Result::ok).filter_map(|line| mapping(&line)).collect())
}

/// A line of proc_pid_maps(5).
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    let access = words.next()?.to_owned();
    // Offset, device and inode.
    let name = words.skip(3).collect::<Vec<_>>().join(" ");
    Some(Mapping { base: from, size: to.checked_sub(from)?, access, name })
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

    #[test]
    fn all_that_is_mapped_is_seen() {
        let here = all_that_is_mapped_is_seen as *const () as u64;
        let map = map().expect("it can be looked at");
        let code = map.iter().find(|mapping| (mapping.base..mapping.base + mapping.size).contains(&here));
        let code = code.expect("this code is mapped");
        assert!(code.access.starts_with("r-x") && code.name.starts_with('/'), "{code:?}");
        assert!(map.iter().any(|mapping| mapping.name == "[heap]"));
    }

    #[test]
    fn what_has_gone_is_given_back_though_something_behind_it_stays() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says so");
            line.trim().strip_suffix(" kB").and_then(|size| size.parse::<u64>().ok()).expect("a number") << 10
        };
        let before = resident();
        let mut pieces: Vec<Vec<u8>> = (0..200_000).map(|_| std::hint::black_box(vec![1u8; 1000])).collect();
        let last = pieces.pop();
        drop(pieces);
        let kept = resident();
        assert!(kept - before > 150 << 20, "the allocator keeps it: {kept} after {before}");
        assert!(give_back());
        let after = resident();
        assert!(kept - after > 150 << 20, "{after} of {kept}");
        drop(last);
    }
}
