//! memif interfaces: packets through memory that another process shares, in either role.
//!
//! - `config`: the objects `MemifSocket` and `Memif`; `apply`: their changes.
//! - `port`: an interface and its connection; `room`: sockets, interfaces and control channels.
//! - `service`: the control task that accepts, connects, and talks on control channels; `connection`: one of these.
//! - `handover`: how a connection's rings come to the workers and back.
//! - `rx`, `tx`: the queues; `store`: which kind of stores pays.
//! - `commands`, `show`: `create memif socket`, `create interface memif`, `show memif` and their like; `api`: VPP's
//!   messages.
#![forbid(unsafe_code)]

mod api;
mod apply;
mod commands;
mod config;
mod connection;
mod handover;
mod port;
mod room;
mod rx;
mod service;
mod show;
mod store;
mod tx;

pub use config::{Memif, MemifQueues, MemifSocket};
pub use room::sockets_in;

use quiver_control::cli::ArgumentKind;
use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Undecided, undecided};

/// Gives the control side its memif interfaces. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("memif-input", rx::Next::ARCS)?;
    let memifs = room::Memifs::new(input, control.room::<Dataplane>().buffers())?;
    control.insert_room(memifs);
    undecided(control, "memif-input", Undecided::Load, &["no-buffer"]);
    undecided(control, "memif-input", Undecided::Packet, &["truncated"]);
    control.commands().add_kind(ArgumentKind::of::<config::MemifSocketId>());
    control.commands().add_kind(ArgumentKind::of::<config::MemifMode>());
    // A socket by itself is a name; masters listen on it. What else a name needs outside, only the attempt tells.
    let sockets = Kind::new(apply::apply_socket).check(config::check_socket);
    control.objects().add(sockets.outside(apply::apply_socket, |_| Ok(()), apply::takes));
    let memifs = Kind::new(apply::apply).check(config::check).memory(|_| quiver_interface::MEMORY);
    control.objects().add(memifs.outside(apply::apply_inside, |_| Ok(()), |_| vec![]));
    service::start(control);
    commands::register(control);
    show::register(control);
    api::register(control);
    Ok(())
}
