//! Layer 3 cross-connect: packets that an interface receives go by given paths, whatever their destinations.
//!
//! - [`node`]: the nodes `l3xc-input-ip4` and `l3xc-input-ip6`, features of the arcs in front of the lookups.
//! - [`config`]: the objects of kinds `l3-cross-connects` and `ip6-l3-cross-connects`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;

pub use config::L3CrossConnect;

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase, Stage};
use quiver_interface::{InterfaceId, Interfaces, Undecided, decides, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};
use std::marker::PhantomData;

use crate::config::{Connected, CrossConnects};
use crate::node::L3Xc;

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Connected>(control: &Control) -> Result<(), DataplaneError> {
    let room = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let room = CrossConnects::<F>::new(dataplane.domain());
        let rows = control.room::<Ip<F>>().fib.groups.snapshot();
        let stage = L3Xc { groups: room.groups(), rows, family: PhantomData::<F> };
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::stage(move |_| stage.clone()).describe(describe::<F>))?;
        graph.feature(FeatureSpec::new(F::NAMES.unicast, L3Xc::<F>::NAME, Phase::Forward))?;
        room
    };
    decides(control, L3Xc::<F>::NAME, |control, record| {
        let interface = InterfaceId(record.rx);
        control.room::<CrossConnects<F>>().group(interface)?;
        Some(format!("{} {}", F::KIND, control.room::<Interfaces>().name(interface)))
    });
    undecided(control, L3Xc::<F>::NAME, Undecided::Packet, &["link-layer-broadcast"]);
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>).check(config::check::<F>));
    Ok(())
}
