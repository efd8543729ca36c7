//! The nodes of forwarding, for both families. Those that only one of them has lie beside it, in [`crate::family`].

pub mod again;
pub mod crossing;
pub mod input;
pub mod local;
pub mod lookup;
pub mod multicast;
pub mod punt;
pub mod rewrite;
pub mod rewrite_node;
pub mod too_big;

mod encapsulate;
mod walk;

use quiver_engine::trace::Record;
use quiver_engine::{Context, Frame};
use quiver_wire::{EthernetHeader, Header, MacAddress};

use crate::family::Family;

/// The source address of the frame that a packet came in. On links without such addresses it is not looked at.
pub fn station(cx: &Context, frame: &mut Frame, i: usize) -> Option<MacAddress> {
    const BACK: isize = EthernetHeader::LENGTH as isize;
    if !frame.advance(cx.pool, i, -BACK) {
        return None;
    }
    let station = EthernetHeader::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.source);
    frame.advance(cx.pool, i, BACK);
    station.filter(|mac| !mac.is_multicast() && *mac != MacAddress::ZERO)
}

/// Text of a packet in `show trace`: its header's fields.
pub fn describe<F: Family>(record: &Record) -> String {
    match F::Header::parse(&record.bytes) {
        Some((header, _)) => F::describe(header),
        None => format!("no {} header", F::TITLE),
    }
}
