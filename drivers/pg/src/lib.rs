//! The packet generator: interfaces whose wire is memory.
//!
//! - [`interface`]: the interfaces, objects of kind `packet-generators`; `ports` creates and deletes them.
//! - [`queue`]: their receive and transmit queues; `input`: the node behind the former.
//! - [`stream`]: streams, objects of kind `pg-streams`; [`values`]: what their fields hold; `layout`: where headers stand; `check`:
//!   which fields go together; [`profiles`]: streams by the names that CSIT's suites use.
//! - `generator` makes their packets on a worker from a `template`, `tag` is what their last bytes say, `sequence` tells what
//!   became of them, `timing` how long they took, by a [`histogram`], `offload` what is left to
//!   do of packets, `mac_filter` what an interface does not receive, `output` what it sends instead; `running` is what control keeps of
//!   streams, `start` starts and stops them, `capture` keeps copies, `room` holds all of these.
//! - `recording`: packets of a pcap file; [`names`]: names of interfaces.
//! - `commands`, `show`, `chosen` and [`text`] are the command line, `api` VPP's messages.
//! - [`wire`]: a packet into an interface, and out of it, by hand: for tests.
#![forbid(unsafe_code)]

mod api;
mod capture;
mod check;
mod chosen;
mod commands;
mod generator;
pub mod histogram;
mod input;
pub mod interface;
mod layout;
mod mac_filter;
pub mod names;
mod offload;
mod output;
mod ports;
pub mod profiles;
pub mod queue;
pub mod recording;
mod room;
mod running;
mod sequence;
mod show;
mod start;
pub mod stream;
mod tag;
mod template;
pub mod text;
mod timing;
pub mod values;
pub mod wire;

pub use interface::{PacketGenerator, PgMode};
pub use room::PacketGenerators;
pub use stream::PgStream;
pub use wire::{send, sent};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError};
use quiver_interface::{Events, Undecided, undecided};

/// Gives the control side the packet generator. Interfaces are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let generators = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let input = dataplane.blueprint().input("pg-input", input::Next::ARCS)?;
        PacketGenerators::new(input, dataplane.bell())
    };
    control.insert_room(generators);
    undecided(control, "pg-input", Undecided::Load, &["no-buffer"]);
    ports::register(control);
    mac_filter::register(control)?;
    output::register(control)?;
    let streams = Kind::new(start::apply).check(check::check);
    control.objects().add(streams.content("pcap", |stream| stream.pcap.as_deref(), recording::read));
    commands::register(control);
    api::register(control);
    control.spawn("pg-capture", Events::listen(control.clone(), room::collect));
    control.spawn("pg-streams", start::see_off(control.clone()));
    Ok(())
}
