//! Multicast listener discovery (RFC 3810, and RFC 2710 where a router speaks that): routers on a link are told to which groups
//! of IPv6 an interface listens.
//!
//! - [`input`]: the node `mld-input`, which tells control of questions; [`message`]: what is asked and told.
//! - [`listener`]: what an interface has to tell, and when; `keeper`: the task that does.
//! - [`objects`]: whether that is done; `command`: the command line.
#![forbid(unsafe_code)]

mod command;
pub mod input;
mod keeper;
pub mod listener;
pub mod message;
pub mod objects;

pub use keeper::{follow, set_reporting};
pub use objects::ListenerDiscovery;

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Undecided, undecided};
use quiver_ip::node::describe;
use quiver_wire::V6;

/// Questions that may wait for control; more are lost, by name.
const QUESTIONS: usize = 256;

/// Registers the room. Those of interfaces and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (node, heard) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (outbox, heard) = channel(QUESTIONS, dataplane.bell());
        let generations = dataplane.generations().clone();
        let input = move |seed| input::MldInput { generations: generations.clone(), heard: outbox.of(seed) };
        let node = NodeSpec::new("mld-input", input::Next::ARCS, input).describe(describe::<V6>);
        (dataplane.blueprint().node(node)?, heard)
    };
    undecided(control, "mld-input", Undecided::Packet, &["too-short", "not-of-link", "no-router-alert"]);
    undecided(control, "mld-input", Undecided::Load, &["control-busy"]);
    control.objects().add(Kind::new(objects::apply).check(objects::check));
    keeper::register(control, node, heard);
    command::register(control);
    Ok(())
}
