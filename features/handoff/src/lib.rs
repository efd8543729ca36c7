//! Hand-off: the flows of an interface spread over workers in software, where it has fewer receive queues than there are
//! workers (RSS without the hardware).
//!
//! - [`node`]: the node `worker-handoff`, a feature of the arc in front of `ethernet-input`.
//! - [`config`]: the objects of kind `handoffs`, and the commands.
#![forbid(unsafe_code)]

pub mod config;
pub mod node;

pub use config::Handoff;

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeHandle, NodeSpec, Phase};
use quiver_ethernet::DEVICE_INPUT;
use quiver_interface::{InterfaceId, Interfaces, Undecided, decides, undecided};

use crate::node::{NAME, Next, WorkerHandoff};

/// The node, to reach its instances on the workers.
struct Handoffs(NodeHandle<WorkerHandoff>);

/// Registers the room. Ethernet is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let node = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        let node = graph.node_of(NodeSpec::new(NAME, Next::ARCS, |_| WorkerHandoff::default()))?;
        graph.feature(FeatureSpec::new(DEVICE_INPUT, NAME, Phase::Device))?;
        node
    };
    decides(control, NAME, |control, record| {
        Some(format!("handoffs {}", control.room::<Interfaces>().name(InterfaceId(record.rx))))
    });
    undecided(control, NAME, Undecided::Load, &["handoff-full"]);
    control.insert_room(Handoffs(node));
    control.objects().add(Kind::new(config::apply).check(config::check));
    config::register(control);
    Ok(())
}
