//! TCP MSS clamping: what the ends of a connection say about the longest segment that they take is lowered to what the path
//! between them carries.
//!
//! - [`segment`]: the option in a TCP header. [`node`]: the nodes, features of the arcs in front of the lookups and of those
//!   behind the rewrites.
//! - [`config`]: the objects of kinds `mss-clamps` and `ip6-mss-clamps`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;
pub mod segment;

pub use config::{Mss, MssClamp, Side};

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::{InterfaceId, Interfaces, decides};
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use crate::config::{Clamped, Clamps};
use crate::node::{Clamp, Next};

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Clamped>(control: &Control) -> Result<(), DataplaneError> {
    let room = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let room = Clamps::<F>::new(dataplane.domain());
        let (input, output) = (Clamp::<F, false>::new(room.largest()), Clamp::<F, true>::new(room.largest()));
        let input = NodeSpec::stage(move |_| input.clone()).describe(describe::<F>);
        add::<F>(&mut dataplane, input, F::NAMES.unicast)?;
        add::<F>(&mut dataplane, NodeSpec::stage(move |_| output.clone()), F::NAMES.output)?;
        room
    };
    decides(control, F::IN, |control, record| clamp_of::<F>(control, record.rx));
    decides(control, F::OUT, |control, record| clamp_of::<F>(control, record.tx));
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>));
    Ok(())
}

/// Adds a node, a feature of an arc.
fn add<F: Clamped>(dataplane: &mut Dataplane, spec: NodeSpec, arc: &'static str) -> Result<(), DataplaneError> {
    let (graph, node) = (dataplane.blueprint(), spec.name());
    graph.node(spec)?;
    graph.feature(FeatureSpec::new(arc, node, Phase::Translate))?;
    let clamped = Next::arcs::<F>()[Next::Clamped as usize].name;
    dataplane.also_called((node, clamped), &format!("{node}/clamped"))
}

/// The object that has the largest size of an interface.
fn clamp_of<F: Clamped>(control: &Control, interface: u32) -> Option<String> {
    Some(format!("{} {}", F::KIND, control.room::<Interfaces>().name(InterfaceId(interface))))
}
