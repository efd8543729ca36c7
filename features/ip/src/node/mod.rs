//! The nodes of IPv4 forwarding.

pub mod input;
pub mod local;
pub mod lookup;
pub mod multicast;
pub mod options;
pub mod punt;
pub mod rewrite;

mod encapsulate;
mod fragment;
mod too_big;

use quiver_engine::trace::Record;
use quiver_wire::{Header, Ip4Header};

/// What `show trace` says of a packet: its header's fields.
pub fn describe(record: &Record) -> String {
    match Ip4Header::parse(&record.bytes) {
        Some((header, _)) => format!(
            "{} -> {} {} ttl {} length {} id {}{}",
            header.source(),
            header.destination(),
            header.protocol,
            header.ttl,
            header.total_length,
            header.identification,
            if header.is_fragment() { " fragment" } else { "" },
        ),
        None => "no IPv4 header".into(),
    }
}
