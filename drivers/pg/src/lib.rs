//! The packet generator: interfaces whose wire is memory.
//!
//! - [`interface`]: the interfaces, objects of kind `packet-generators`.
//! - [`queue`]: their receive and transmit queues.
//! - [`wire`]: a packet into an interface, and out of it, by hand: for tests.
#![forbid(unsafe_code)]

pub mod interface;
pub mod queue;
pub mod wire;

pub use interface::{PacketGenerator, PacketGenerators};
pub use wire::{send, sent};

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError};

/// Gives the control side the packet generator. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let generators = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let input = dataplane.blueprint().input("pg-input")?;
        PacketGenerators::new(input, dataplane.bell())
    };
    control.insert_room(generators);
    interface::register(control);
    Ok(())
}
