//! Write a plugin of Quiver in safe Rust: nodes, feature arcs, config objects, commands, messages, counters and trace.
//!
//! ```
//! use quiver_plugin_sdk::{Context, Frame, Node, NodeSpec, Setup, SetupError, arcs, plugin};
//!
//! arcs! {
//!     /// Where packets go.
//!     pub enum Next {
//!         Pass => next_feature,
//!         Empty => drop "empty",
//!     }
//! }
//!
//! struct Guard;
//!
//! impl Node for Guard {
//!     type Published = ();
//!     fn process(&mut self, _: &mut Context<'_, ()>, frame: &mut Frame<'_>) {
//!         for row in 0..frame.len() {
//!             if frame.bytes(row).is_empty() {
//!                 frame.set_next(row, Next::Empty);
//!             }
//!         }
//!     }
//! }
//!
//! fn register(setup: &mut Setup<'_>) -> Result<(), SetupError> {
//!     setup.node(NodeSpec::new("guard", Next::ARCS, |_worker| Guard))?;
//!     setup.feature("ip4-unicast", "guard", &["ip4-lookup"], &[])
//! }
//!
//! plugin!("guard", register);
//! # fn main() {}
//! ```
//!
//! Build it as a `cdylib`, in a profile that unwinds, and give the file to `quiverd --plugin`. A panic of the plugin never
//! leaves it: one in a node disables that node, any other fails the call.

mod arcs;
mod boundary;
mod command;
mod configuration;
mod control;
mod entry;
mod error;
mod frame;
mod handles;
mod message;
mod node;
mod refusal;
mod setup;
mod value;

#[cfg(panic = "abort")]
compile_error!("a plugin is built with panic = \"unwind\": otherwise its panics would end the whole daemon");

pub use arcs::{Arc, To};
pub use command::{Command, Reply, Table};
pub use configuration::{Change, Field, Kind, Object};
pub use control::Control;
pub use error::SetupError;
pub use frame::{Flags, Frame};
pub use handles::{Counters, Event, MetadataKey, NodeHandle};
pub use message::{Answer, Message, MessageField, Refused};
pub use node::{Context, Node, Record};
pub use refusal::Refusal;
pub use setup::{NodeSpec, Setup, Side};
pub use value::{Arguments, Cell, FromValue, Interface};

/// Names that [`plugin!`] uses.
#[doc(hidden)]
pub mod exported {
    pub use crate::entry::{BUILT_BY, Table, register};
    pub use quiver_plugin_abi::{Host, Plugin, Setup, Status};
}
