//! Layer 3 cross-connect: packets that an interface receives go by given paths, whatever their destinations.
//!
//! - [`node`]: the node `l3xc-input-ip4`, a feature of the arc in front of `ip4-lookup`.
//! - [`config`]: the objects of kind `l3-cross-connects`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;

pub use config::L3CrossConnect;

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Stage};
use quiver_ip::Ip4;
use quiver_ip::node::describe;

use crate::config::{ARC, CrossConnects};
use crate::node::L3Xc;

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let room = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let room = CrossConnects::new(dataplane.domain());
        let stage = L3Xc { groups: room.groups(), rows: control.room::<Ip4>().fib.groups.snapshot() };
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::stage(move |_| stage.clone()).describe(describe))?;
        graph.feature(FeatureSpec { arc: ARC, node: L3Xc::NAME, before: &[], after: &[] })?;
        room
    };
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply).check(config::check));
    command::register(control);
    api::register(control);
    Ok(())
}
