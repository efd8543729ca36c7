//! Reassembly: packets for us that come in fragments are put together again (RFC 791 3.2, RFC 8200 4.5).
//!
//! - [`assembly`]: the parts of one packet. [`family`]: what differs between IPv4 and IPv6.
//! - [`node`]: `ip4-reassembly` and `ip6-reassembly`, and the limits of what they keep.
//! - `patience`: the task that ends waiting for parts that do not come.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod family;
pub mod node;
mod patience;

use quiver_control::Control;
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec};
use quiver_interface::{Undecided, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use family::Reassembled;
use node::{Limits, Reassembly};

/// Registers the nodes. The room of IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)
}

fn register_family<F: Reassembled>(control: &Control) -> Result<(), DataplaneError> {
    let ingress = control.room::<Ip<F>>().ingress();
    let (node, waiting) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (waits, waiting) = channel(dataplane.settings().workers, dataplane.bell());
        let graph = dataplane.blueprint();
        let make = move |seed| Reassembly::<F>::new(ingress.clone(), waits.of(seed), Limits::default());
        let node = NodeSpec::new(F::NAMES.reassembly, node::arcs_of::<F>(), make).describe(describe::<F>);
        (graph.node_of::<Reassembly<F>>(node)?, waiting)
    };
    let packet = ["overlapping-fragments", "too-many-fragments", "reassembly-timeout"];
    undecided(control, F::NAMES.reassembly, Undecided::Packet, &packet);
    if F::VERSION == 4 {
        // Senders of IPv6 are told of these.
        let packet = ["bad-fragment-length", "reassembled-too-long"];
        undecided(control, F::NAMES.reassembly, Undecided::Packet, &packet);
    }
    undecided(control, F::NAMES.reassembly, Undecided::Load, &["reassembly-full", "no-buffers"]);
    control.spawn("reassembly", patience::end::<F>(control.clone(), node.id, waiting));
    Ok(())
}
