//! The classifier: which packets are meant, by bytes of their headers.
//!
//! A [`table`] has a mask and the values that are looked for behind it; a chain of tables is a filter, such as that of
//! `pcap trace`. [`text`] reads masks and values in VPP's words, `command` has the commands.
#![forbid(unsafe_code)]

mod command;
pub mod table;
pub mod text;

use std::collections::BTreeMap;

use quiver_control::Control;

use table::Chain;

/// Purpose of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Traces: `trace add ... filter`.
    Trace,
    /// Captures: `pcap trace ... filter`.
    Pcap,
}

impl Use {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Use; 2] = [Use::Trace, Use::Pcap];

    /// The word in commands.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Use::Trace => "trace",
            Use::Pcap => "pcap",
        }
    }
}

/// The room's state.
#[derive(Default)]
pub struct Classifier {
    /// Tables of the filters.
    filters: BTreeMap<Use, Chain>,
    /// The number of the next table.
    next: u32,
}

/// Registers the room.
pub fn register(control: &Control) {
    control.insert_room(Classifier::default());
    command::register(control);
}

/// The tables of a filter as configured now; empty without a table.
pub fn filter(control: &Control, of: Use) -> Chain {
    control.room::<Classifier>().filters.get(&of).cloned().unwrap_or_default()
}
