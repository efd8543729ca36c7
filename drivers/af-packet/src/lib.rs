//! Any Linux interface through AF_PACKET sockets: received through a ring of TPACKET_V2, sent many at once.
//!
//! - `config`: the object `HostInterface`, and what becomes of it.
//! - `socket`: the socket and its options.
//! - `ring`: the memory that the kernel fills; [`frame`]: what it writes there.
//! - `queue`: receiving; `send`: sending.
//! - `commands`: `create host-interface`, `delete host-interface`, `show af-packet`; [`api`]: VPP's messages.

pub mod api;
mod commands;
mod config;
pub mod frame;
mod queue;
mod ring;
mod send;
mod socket;

pub use config::{HostInterface, HostQueues};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Undecided, undecided};

/// Gives the control side its host interfaces. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("af-packet-input", queue::Next::ARCS)?;
    control.insert_room(config::HostInterfaces::new(input));
    undecided(control, "af-packet-input", Undecided::Load, &["no-buffer", "ring-full"]);
    undecided(control, "af-packet-input", Undecided::Packet, &["truncated"]);
    let hosts = Kind::new(config::apply).check(config::check).memory(|_| quiver_interface::MEMORY);
    // Any number of sockets share a link.
    control.objects().add(hosts.outside(config::apply_inside, config::needs, |_| vec![]));
    config::watch(control);
    commands::register(control);
    api::register(control);
    Ok(())
}
