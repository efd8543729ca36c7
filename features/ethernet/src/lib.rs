//! Ethernet input: whom a frame is for, and what it carries.
//!
//! - [`input`]: the node `ethernet-input`; [`ethertypes`]: which nodes take which ethertypes.
//! - [`casts`]: frames for one, for a group and for all, counted apart; [`api`]: VPP's message about that.
//! - [`ports`]: what the node knows of each interface; rooms of layer 2 and of VLANs change it.
#![forbid(unsafe_code)]

pub mod api;
pub mod casts;
pub mod ethertypes;
pub mod input;
pub mod ports;

pub use casts::CastCounters;
pub use ethertypes::{claim, claim_by};
pub use input::EthernetInput;
pub use ports::{Port, Ports, is_layer2, set_layer2, set_tags};

use ethertypes::EtherTypes;
use quiver_control::Control;
use quiver_engine::stats::{Counter, Segment};
use quiver_engine::{Dataplane, DataplaneError, FeatureArcSpec, NodeSpec, Side};
use quiver_interface::{Undecided, decides, receiver, undecided};
use quiver_wire::EtherType;

/// The feature arc between the receive queues and `ethernet-input`.
pub const DEVICE_INPUT: &str = "device-input";

/// VPP's count of packets that were dropped without a reason, which its clients look for first. Here a reason is an arc, so
/// there are none.
fn show_no_error(segment: &Segment) {
    let mut edit = segment.edit();
    let none = edit.vector::<Counter>("/quiver/no-error", 1);
    edit.symlink("/err/ethernet-input/no error", none.target(), 0);
    drop(edit);
    none.show(1);
}

/// Registers the node and the feature arc in front of it, and follows the interfaces.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let ports = Ports::new(dataplane.domain());
        let ethertypes = EtherTypes::new(dataplane.domain());
        let stage = EthernetInput::new(ports.snapshot(), ethertypes.snapshot());
        let graph = dataplane.blueprint();
        graph.feature_arc(FeatureArcSpec { name: DEVICE_INPUT, end: ethertypes::NODE, side: Side::Rx })?;
        graph.node(NodeSpec::stage(move |_| stage.clone()).describe(input::describe))?;
        for ethertype in [EtherType::DOT1Q, EtherType::DOT1AD] {
            graph.claim(ethertypes::NODE, ethertype, input::Next::ARCS[input::Next::Vlan as usize])?;
        }
        control.insert_room(ports);
        control.insert_room(ethertypes);
        show_no_error(dataplane.statistics());
    }
    decides(control, ethertypes::NODE, receiver);
    undecided(control, ethertypes::NODE, Undecided::Packet, &["too-short", "unknown-ethertype"]);
    ports::follow_interfaces(control);
    casts::register(control)?;
    api::register(control);
    Ok(())
}
