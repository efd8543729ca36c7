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
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec};
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
        for (name, is_output, arc) in [(F::IN, false, F::NAMES.unicast), (F::OUT, true, F::NAMES.output)] {
            let node = Clamp::<F>::new(is_output, room.largest());
            let graph = dataplane.blueprint();
            let mut spec = NodeSpec::new(name, Next::arcs::<F>(), move |_| node.clone());
            if !is_output {
                spec = spec.describe(describe::<F>);
            }
            graph.node(spec)?;
            graph.feature(FeatureSpec { arc, node: name, before: &[], after: &[] })?;
            let arc = Next::arcs::<F>()[Next::Clamped as usize].name;
            dataplane.also_called((name, arc), &format!("{name}/clamped"))?;
        }
        room
    };
    decides(control, F::IN, |control, record| clamp_of::<F>(control, record.rx));
    decides(control, F::OUT, |control, record| clamp_of::<F>(control, record.tx));
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>));
    Ok(())
}

/// The object that has the largest size of an interface.
fn clamp_of<F: Clamped>(control: &Control, interface: u16) -> Option<String> {
    Some(format!("{} {}", F::KIND, control.room::<Interfaces>().name(InterfaceId(interface))))
}
