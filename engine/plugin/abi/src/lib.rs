//! The contract between quiverd and its plugins: `repr(C)` types and function pointers, nothing else.
//!
//! A plugin is a shared object that exports one function, `quiver_plugin_entry`. It returns a [`Plugin`] table; its
//! `setup` gets the daemon's [`Host`] table and says what the plugin brings. From this file comes the C header,
//! `include/quiver_plugin.h`.
//!
//! Rules for both sides:
//!
//! - Nothing that one side allocated is freed by the other. What a call gets or gives as a pointer is valid until the
//!   call returns, unless its text says otherwise.
//! - No panic and no exception crosses; a function that fails returns a [`Status`] other than [`OK`].
//! - No thread-local state and no runtime is shared.
//! - A plugin is never unloaded: its functions and statics are valid for as long as the process lives.
//! - `setup` and all functions that get a [`Setup`] or a [`Control`] run on the control thread. `process` runs on a
//!   worker, each with a state of its own.
#![no_std]
#![forbid(unsafe_code)]

mod configuration;
mod graph;
mod handles;
mod host;
mod messages;
mod text;

pub use configuration::{
    Change, Command, FIELD_FIXED, FIELD_KEY, FIELD_LIST, FIELD_OPTIONAL, Field, Kind, Setting, VALUE_ADDRESS,
    VALUE_BOOL, VALUE_INTERFACE, VALUE_NONE, VALUE_NUMBER, VALUE_REFERENCE, VALUE_TEXT, Value,
};
pub use graph::{
    ARC_DONE, ARC_DROP, ARC_FEATURES, ARC_NEXT_FEATURE, ARC_NODE, ARC_OUT, ARC_PUNT, Arc, Count, CounterSet, Counters,
    FLAG_CHAINED, FLAG_LOCAL, FLAG_OFFLOAD, FLAG_TRACED, Feature, FeatureArc, Frame, NO_ARC, Offload, Record, SIDE_RX,
    SIDE_TX, Slice,
};
pub use handles::{Answer, Call, Control, Object, Setup};
pub use host::{Context, Host, LOG_ERROR, LOG_INFO, LOG_WARNING, Node, Plugin};
pub use messages::{EVENT_BYTES, Event, Message, MessageField};
pub use text::Text;

/// The version of this contract. It changes whenever anything here does; a plugin of another version is refused.
pub const VERSION: u32 = 5;

/// First bytes of a plugin's table: `QUIVERPL` in memory on a little-endian machine.
pub const MAGIC: u64 = 0x4c50_5245_5649_5551;

/// The name of the one function that a plugin exports: `const QuiverPlugin *quiver_plugin_entry(void)`.
pub const ENTRY: &str = "quiver_plugin_entry";

/// Result of a call: [`OK`], or an error.
pub type Status = i32;

/// The call did what it says.
pub const OK: Status = 0;

/// The call did nothing.
pub const FAILED: Status = -1;
