//! Pipes: two interfaces, the ends; each receives the packets that the other sends.
//!
//! [`queue`]: the cable between two ends; [`config`]: objects and commands; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod config;
pub mod queue;

pub use config::Pipe;

use std::collections::BTreeMap;

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError};

/// Registers the node `pipe-input`, objects, commands and messages. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("pipe-input", queue::Next::ARCS)?;
    control.insert_room(config::Pipes { input, cables: BTreeMap::new() });
    config::register(control);
    api::register(control);
    Ok(())
}
