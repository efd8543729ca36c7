//! TAP interfaces: Ethernet devices of Linux whose other end is the daemon.
//!
//! - `object`: the object `Tap`; `config`: makes its interface.
//! - `device`: making the Linux device, with a descriptor for each queue; `passed`: one whose descriptors were passed to quiverd.
//! - `queue`: receiving through the descriptors; sending is `quiver_linux::WriteQueue`.
//! - `commands`: `create tap`, `delete tap`, `show tap`; [`api`]: VPP's messages.

pub mod api;
mod commands;
mod config;
mod device;
mod object;
mod passed;
mod queue;

pub use object::{Tap, TapMtu, TapQueues};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Undecided, decides, receiver, undecided};
use quiver_linux::Passed;

/// Gives the control side its TAP interfaces. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("tap-input", queue::Next::ARCS)?;
    control.insert_room(config::Taps::new(input));
    undecided(control, "tap-input", Undecided::Load, &["no-buffer"]);
    undecided(control, "tap-input", Undecided::Packet, &["truncated"]);
    decides(control, "tap-input", receiver);
    let taps = Kind::new(config::apply).check(config::check).memory(|_| quiver_interface::MEMORY);
    let passed = Passed::of(control);
    control.objects().add(taps.outside(config::apply_inside, move |tap| config::needs(&passed, tap), config::takes));
    config::watch(control);
    commands::register(control);
    api::register(control);
    Ok(())
}
