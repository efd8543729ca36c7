//! `show memory`: what the daemon's allocator has taken from the system, as the host knows it.

use std::fmt::Write;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::json;

use crate::Runtime;

/// The memory that is allocated from; sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Where it begins.
    pub base: u64,
    /// How large it is there.
    pub size: u64,
    /// Of this, what is in memory.
    pub resident: u64,
    /// The system's pages.
    pub page: u64,
    /// What was taken from the system there and elsewhere.
    pub total: u64,
    /// Of this, what is in use.
    pub used: u64,
    /// And what is not.
    pub free: u64,
    /// What could be given back at once.
    pub trimmable: u64,
    /// Pieces that are free.
    pub free_chunks: u64,
    /// Small ones among those that are kept to be used again soon.
    pub fast_chunks: u64,
}

/// How the host looks at it.
pub type ReadHeap = Rc<dyn Fn() -> std::io::Result<Heap>>;

pub(crate) fn register(control: &Control) {
    let show = Command::new("show memory [main-heap] [verbose]", "Show the memory of the allocator.", show_memory);
    let show = show.argument("main-heap", "there is no other").argument("verbose", "also pieces that are free");
    control.commands().add(show);
}

/// As VPP writes bytes: in the largest unit of which there is one.
fn in_units(bytes: u64, units: [&str; 3]) -> String {
    let unit = (1..=3).rev().find(|power| bytes >> (10 * power) > 0);
    match unit {
        Some(power) => format!("{:.2}{}", bytes as f64 / (1u64 << (10 * power)) as f64, units[power - 1]),
        None => bytes.to_string(),
    }
}

/// Clients read this by an expression; so the thread stands before it, and units are small letters in the first lines.
fn text(heap: &Heap, is_verbose: bool) -> String {
    let (small, large) = (|bytes| in_units(bytes, ["k", "m", "g"]), |bytes| in_units(bytes, ["K", "M", "G"]));
    let page = heap.page.max(1);
    let (pages, mapped) = (heap.size.div_ceil(page), heap.resident.div_ceil(page));
    let mut text = format!("Thread 0 vpp_main\n  base {:#x}, size {}, name 'main heap'\n", heap.base, small(heap.size));
    let _ = writeln!(
        text,
        "    page stats: page-size {}K, total {pages}, mapped {mapped}, not-mapped {}\n    \
         total: {}, used: {}, free: {}, trimmable: {}",
        page >> 10,
        pages.saturating_sub(mapped),
        large(heap.total),
        large(heap.used),
        large(heap.free),
        large(heap.trimmable),
    );
    if is_verbose {
        // The allocator does not remember when it had most; it gives little back.
        let _ = writeln!(
            text,
            "      free chunks {} free fastbin blks {}\n      max total allocated {}",
            heap.free_chunks,
            heap.fast_chunks,
            large(heap.total),
        );
    }
    text
}

fn show_memory(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let read = control.room::<Runtime>().heap.clone();
    let read = read.ok_or_else(|| CommandError::new("nobody here knows of the memory: ask a running quiverd"))?;
    let heap = read().map_err(|error| CommandError::new(format!("the memory cannot be looked at: {error}")))?;
    let json = json!({
        "base": heap.base, "size": heap.size, "resident": heap.resident, "page": heap.page, "total": heap.total,
        "used": heap.used, "free": heap.free, "trimmable": heap.trimmable, "free-chunks": heap.free_chunks,
        "fast-chunks": heap.fast_chunks,
    });
    Ok(Reply::new(text(&heap, matches.has("verbose")), json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let heap = Heap {
            base: 0x5000,
            size: 3 << 20,
            resident: 1 << 20,
            page: 4096,
            total: 5 << 30,
            used: 4500,
            free: 100,
            ..Heap::default()
        };
        let expected = "\
Thread 0 vpp_main
  base 0x5000, size 3.00m, name 'main heap'
    page stats: page-size 4K, total 768, mapped 256, not-mapped 512
    total: 5.00G, used: 4.39K, free: 100, trimmable: 0
";
        assert_eq!(text(&heap, false), expected);
        assert!(text(&heap, true).ends_with("\n      max total allocated 5.00G\n"));
    }
}
