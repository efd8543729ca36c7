//! `show memory`: memory that the daemon's allocator has taken from the system, and the process's mappings, as the host
//! reads them.

use std::fmt::Write;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::Dataplane;
use serde_json::{Map, Value, json};

use crate::Runtime;

/// Memory of the allocator; sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Address of the heap.
    pub base: u64,
    /// Size of the heap.
    pub size: u64,
    /// Resident bytes of the heap.
    pub resident: u64,
    /// Page size of the system.
    pub page: u64,
    /// Bytes taken from the system, in the heap and elsewhere.
    pub total: u64,
    /// Used bytes of these.
    pub used: u64,
    /// Free bytes of these.
    pub free: u64,
    /// Bytes that could be returned to the system at once.
    pub trimmable: u64,
    /// Number of free chunks.
    pub free_chunks: u64,
    /// Number of small free chunks kept for reuse.
    pub fast_chunks: u64,
}

/// A mapping of the process's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Start address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Access rights, such as `rw-p`.
    pub access: String,
    /// The file, or the given name; empty if it has none.
    pub name: String,
}

/// Functions of the host that read its memory.
#[derive(Clone)]
pub struct ReadMemory {
    /// Memory of the allocator.
    pub heap: Rc<dyn Fn() -> std::io::Result<Heap>>,
    /// All mappings.
    pub map: Rc<dyn Fn() -> std::io::Result<Vec<Mapping>>>,
}

pub(crate) fn register(control: &Control) {
    let show = "show memory {main-heap | stats-segment | api-segment | map | verbose}";
    let show = Command::new(show, "Show the memory of the allocator, or other memory.", show_memory);
    let show = show.argument("main-heap", "the only heap").argument("verbose", "include free chunks");
    let show = show.argument("stats-segment", "the statistics segment").argument("map", "all mappings of the process");
    control.commands().add(show.argument("api-segment", "always none: clients of the API use sockets"));
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
    let is_alone = !["stats-segment", "api-segment", "map"].into_iter().any(|word| matches.has(word));
    let (mut text, mut json) = (String::new(), Map::new());
    if matches.has("main-heap") || is_alone {
        let heap = (host(control)?.heap)().map_err(unseen)?;
        text.push_str(&self::text(&heap, matches.has("verbose")));
        json = of_heap(&heap);
    }
    if matches.has("api-segment") {
        text.push_str("API segment: none, clients of the API meet at sockets\n");
        json.insert("api-segment".into(), Value::Null);
    }
    if matches.has("stats-segment") {
        let (size, touched) = control.room::<Dataplane>().statistics().size();
        let [shown, in_memory] = [size, touched].map(|bytes| in_units(bytes, ["K", "M", "G"]));
        let _ = writeln!(text, "Stats segment\n  size {shown}, in memory {in_memory}");
        json.insert("stats-segment".into(), json!({"size": size, "in-memory": touched}));
    }
    if matches.has("map") {
        let map = (host(control)?.map)().map_err(unseen)?;
        let _ = writeln!(text, "{:>18} {:>10}  {:<7} Name", "StartAddr", "Size", "Access");
        for Mapping { base, size, access, name } in &map {
            let line = format!("{base:>#18x} {:>10}  {access:<7} {name}", in_units(*size, ["K", "M", "G"]));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let map = map.iter().map(
            |Mapping { base, size, access, name }| json!({"base": base, "size": size, "access": access, "name": name}),
        );
        json.insert("map".into(), map.collect());
    }
    Ok(Reply::new(text, json.into()))
}

/// The host's functions that read memory.
fn host(control: &Control) -> Result<ReadMemory, CommandError> {
    let read = control.room::<Runtime>().memory.clone();
    read.ok_or_else(|| CommandError::new("the memory of the allocator is known to a running quiverd only"))
}

fn unseen(error: std::io::Error) -> CommandError {
    CommandError::new(format!("the memory cannot be read: {error}"))
}

fn of_heap(heap: &Heap) -> Map<String, Value> {
    let fields = [
        ("base", heap.base),
        ("size", heap.size),
        ("resident", heap.resident),
        ("page", heap.page),
        ("total", heap.total),
        ("used", heap.used),
        ("free", heap.free),
        ("trimmable", heap.trimmable),
        ("free-chunks", heap.free_chunks),
        ("fast-chunks", heap.fast_chunks),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
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
