//! The nodes of forwarding, for both families. Those that only one of them has lie beside it, in [`crate::family`].

pub mod input;
pub mod local;
pub mod lookup;
pub mod multicast;
pub mod punt;
pub mod rewrite;

mod encapsulate;
pub mod too_big;

use quiver_engine::trace::Record;
use quiver_wire::Header;

use crate::family::Family;

/// What `show trace` says of a packet: its header's fields.
pub fn describe<F: Family>(record: &Record) -> String {
    match F::Header::parse(&record.bytes) {
        Some((header, _)) => F::describe(header),
        None => format!("no {} header", F::TITLE),
    }
}
