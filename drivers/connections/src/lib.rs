//! The connection generator: TCP and UDP clients and servers by the million, on one worker.
//!
//! - [`load`]: what a generator is to do, read by `words`: [`profile`], the packets of a connection, and [`plan`], its addresses.
//! - `run`: all connections, each a [`record`] of 64 bytes; `list`: those that wait or have something to send; `tuples` finds them
//!   where a device translates addresses; `pace`: when they are due; `count`: what they have counted.
//! - `receive`: what a packet does to its connection, as `segment` reads it; `send`: which packet it sends next, as `template` writes it, `bare` without payload.
//! - `replay`: connections that are flows of a capture.
//! - `queue`: the two queues of an interface; `input`: the node behind the one that sends.
//! - [`config`]: interfaces as objects; `start` and `show`: commands; `room`: control's state.
#![forbid(unsafe_code)]

mod bare;
pub mod config;
mod count;
mod input;
mod list;
pub mod load;
mod pace;
pub mod plan;
pub mod profile;
mod queue;
mod receive;
pub mod record;
mod replay;
mod room;
mod run;
mod segment;
mod send;
mod show;
mod start;
mod template;
mod tuples;
mod words;

pub use config::ConnectionGenerator;
pub use load::Load;
pub use words::LoadError;

use std::collections::BTreeMap;

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Undecided, undecided};

/// Registers the node `connections-input`, objects and commands. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("connections-input", input::Next::ARCS)?;
    control.insert_room(room::ConnectionGenerators { input, ports: BTreeMap::new() });
    undecided(control, "connections-input", Undecided::Load, &["no-buffer"]);
    config::register(control);
    start::register(control);
    show::register(control);
    Ok(())
}
