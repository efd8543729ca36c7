//! The classifier: which packets are meant, by bytes of their headers.
//!
//! A [`table`] has a mask and the values that are looked for behind it; a chain of tables is a filter, such as that of
//! `pcap trace`. [`text`] reads masks and values in VPP's words, `command` has the commands.
#![forbid(unsafe_code)]

mod command;
pub mod table;
pub mod text;

use quiver_control::Control;

use table::Chain;

/// The room's state.
#[derive(Default)]
pub struct Classifier {
    /// What `pcap trace ... filter` takes.
    pcap: Chain,
    /// The number of the next table.
    next: u32,
}

/// Registers the room.
pub fn register(control: &Control) {
    control.insert_room(Classifier::default());
    command::register(control);
}

/// What captures with a filter take, as it is configured now; without a table, nothing.
pub fn pcap_filter(control: &Control) -> Chain {
    control.room::<Classifier>().pcap.clone()
}
