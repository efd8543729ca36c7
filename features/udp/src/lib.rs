//! UDP (RFC 768): which room takes the packets for us of a destination port, by family.
//!
//! - [`node`]: the nodes `ip4-udp-lookup` and `ip6-udp-lookup`; [`ports`]: what ports lead to; [`family`]: what differs between the
//!   families.
#![forbid(unsafe_code)]

pub mod family;
pub mod node;
pub mod ports;

pub use family::Udp;
pub use ports::{Ports, claim, open, release};

use quiver_control::Control;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Undecided, undecided};
use quiver_ip::node::describe;
use quiver_wire::{IpProtocol, V4, V6};

use crate::node::Lookup;

/// Registers the room. IP is registered before; rooms that take ports are registered behind it.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)
}

fn register_family<F: Udp>(control: &Control) -> Result<(), DataplaneError> {
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let ports = Ports::<F>::new(dataplane.domain());
        let taken = ports.snapshot();
        let spec = NodeSpec::with_slow_path(move |_| Lookup::<F>::new(taken.clone()));
        dataplane.blueprint().node(spec.describe(describe::<F>))?;
        control.insert_room(ports);
    }
    undecided(control, F::NODE, Undecided::Packet, &[]);
    quiver_ip::claim::<F>(control, IpProtocol::UDP, F::NODE)
}
