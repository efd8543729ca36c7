//! The content of a session's second: directions, tuples, tables.

use quiver_engine::Frame;
use quiver_ip::fib::hop::Continuation;
use quiver_session::record::Direction;
use quiver_session::second::Second;
use quiver_session::translation::Session;

use crate::tuple::Tuple;

/// Flags of a second.
pub mod flag {
    /// The host on the inside is the higher end of the first key.
    pub const INSIDE_HIGH: u16 = quiver_session::second::INSIDE_HIGH;
    /// A static mapping says so.
    pub const STATIC: u16 = 1 << 1;
    /// The client's address is translated, too.
    pub const TWICE: u16 = 1 << 2;
    /// Packets are forwarded as they are.
    pub const FORWARDED: u16 = 1 << 3;
    /// The outside port is taken from the pool.
    pub const OWNS_PORT: u16 = 1 << 4;
    /// The port of the client on the inside is taken from the second pool.
    pub const OWNS_FAR_PORT: u16 = 1 << 5;
    /// Packets from the inside come back to the inside.
    pub const HAIRPIN: u16 = 1 << 6;
    /// Packets from the inside are translated where they leave.
    pub const OUTPUT: u16 = 1 << 7;
    /// The outside end is that of a mapping, which the session holds.
    pub const MAPPED: u16 = 1 << 8;
    /// The mapping lets in packets from the address on the outside as long as the session lives.
    pub const CONTACT: u16 = 1 << 9;
}

/// Slots of tables, as a second's note has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSlots {
    /// That of the host on the inside.
    pub inside: u16,
    /// That on the outside.
    pub outside: u16,
}

impl TableSlots {
    /// As a note.
    pub fn note(self) -> u32 {
        u32::from(self.inside) << 16 | u32::from(self.outside)
    }
    /// Those of a note.
    #[inline(always)]
    pub fn of(note: u32) -> TableSlots {
        TableSlots { inside: (note >> 16) as u16, outside: note as u16 }
    }
}

/// Whether a second has a flag.
#[inline(always)]
pub fn has(second: &Second, flag: u16) -> bool {
    second.flags & flag != 0
}

/// The tuple of a session's packets from the inside, before translation.
#[inline(always)]
pub fn inside(session: &Session) -> Tuple {
    Tuple::from_inside(&session.key, has(&session.second, flag::INSIDE_HIGH))
}

/// Whether the session was begun from the inside.
#[inline(always)]
pub fn is_outbound(session: &Session) -> bool {
    session.is_from_high == has(&session.second, flag::INSIDE_HIGH)
}

/// The direction of packets that come from the inside, or from the outside.
#[inline(always)]
pub fn direction(session: &Session, is_from_inside: bool) -> Direction {
    Direction::reverse(is_outbound(session) != is_from_inside)
}

/// The tuple of a packet from the inside, or from the outside, once it is translated.
#[inline(always)]
pub fn translated(session: &Session, is_from_inside: bool) -> Tuple {
    if is_from_inside { Tuple::to_outside(&session.second.key) } else { inside(session).reversed() }
}

/// Where a translated packet is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In the table of the interface that received it.
    On,
    /// In the table of a slot.
    Table(u16),
    /// It is for a host on the inside, by that one's outside address.
    Hairpin,
}

impl Way {
    /// Sends a row by one of two arcs: to hosts on the inside, or to the lookup in another table. False if it is looked up where it would be anyway.
    #[inline(always)]
    pub fn turns(self, frame: &mut Frame, i: usize, [hairpin, again]: [impl Into<u16>; 2]) -> bool {
        match self {
            Way::On => return false,
            Way::Hairpin => frame.next[i] = hairpin.into(),
            Way::Table(slot) => {
                frame.hop[i] = Continuation::Destination(slot).hop();
                frame.next[i] = again.into();
            }
        }
        true
    }
}

/// Where a translated packet is looked up, by flags and note of its session's second; by whether it comes from the inside, and whether the
/// session was begun from there. `received` is the slot of the table of the interface that received it.
#[inline(always)]
pub fn way(
    (flags, note): (u16, u32),
    (is_from_inside, is_outbound): (bool, bool),
    received: impl FnOnce() -> u32,
) -> Way {
    let (has, slots) = (|flag: u16| flags & flag != 0, TableSlots::of(note));
    let slot = match is_from_inside {
        _ if has(flag::FORWARDED) => return Way::On,
        true if has(flag::HAIRPIN) => return Way::Hairpin,
        true if is_outbound || has(flag::OUTPUT) => return Way::On,
        true => slots.outside,
        false => slots.inside,
    };
    if u32::from(slot) == received() { Way::On } else { Way::Table(slot) }
}

/// The same of a session.
pub fn way_of(session: &Session, is_from_inside: bool, received: u32) -> Way {
    let second = (session.second.flags, session.second.note);
    way(second, (is_from_inside, is_outbound(session)), || received)
}
