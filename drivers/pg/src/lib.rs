//! The packet generator: interfaces whose wire is memory.
//!
//! - [`interface`]: the interfaces, objects of kind `packet-generators`.
//! - [`queue`]: their receive and transmit queues.
//! - [`stream`]: streams, objects of kind `pg-streams`; [`values`]: what their fields hold; [`profiles`]: streams by the names
//!   that CSIT's suites use.
//! - `generator` makes their packets on a worker from a `template`, `tag` is what their last bytes say, `sequence` tells what
//!   became of them, `timing` how long they took, by a `histogram`, `offload` what is left to
//!   do of packets, `mac_filter` what an interface does not receive, `output` what it sends instead; `running` is control's part, `capture` keeps copies,
//!   `commands`, `show` and [`text`] are the command line, `api` VPP's messages.
//! - [`wire`]: a packet into an interface, and out of it, by hand: for tests.
#![forbid(unsafe_code)]

mod api;
mod capture;
mod commands;
mod generator;
mod histogram;
pub mod interface;
mod layout;
mod mac_filter;
mod offload;
mod output;
pub mod profiles;
pub mod queue;
mod running;
mod sequence;
mod show;
pub mod stream;
mod tag;
mod template;
pub mod text;
mod timing;
pub mod values;
pub mod wire;

pub use interface::{PacketGenerator, PacketGenerators, PgMode};
pub use stream::PgStream;
pub use wire::{send, sent};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Events, Undecided, undecided};

/// Gives the control side the packet generator. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let generators = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let input = dataplane.blueprint().input("pg-input", queue::Next::ARCS)?;
        PacketGenerators::new(input, dataplane.bell())
    };
    control.insert_room(generators);
    undecided(control, "pg-input", Undecided::Load, &["no-buffer"]);
    interface::register(control);
    mac_filter::register(control)?;
    output::register(control)?;
    control.objects().add(Kind::new(running::apply).check(stream::check));
    commands::register(control);
    api::register(control);
    control.spawn("pg-capture", Events::listen(control.clone(), capture::collect));
    control.spawn("pg-streams", running::see_off(control.clone()));
    Ok(())
}
