//! Which nodes take packets for us, by protocol: rooms claim the protocols that they speak.

use quiver_control::Control;
use quiver_engine::{ArcSpec, Dataplane, DataplaneError};
use quiver_wire::IpProtocol;

use crate::config::room::Ip;
use crate::family::Family;
use crate::node::local;

/// Has packets for us of a protocol go to a node, with `offset` at their IP headers.
///
/// # Errors
/// If another node takes them already, or the data plane runs.
pub fn claim<F: Family>(control: &Control, protocol: IpProtocol, node: &'static str) -> Result<(), DataplaneError> {
    claim_by::<F>(control, protocol, ArcSpec::to_node(node))
}

/// Has packets for us of a protocol go to control, past the features of the arc of punted packets.
///
/// # Errors
/// If a node takes them already.
pub fn punt<F: Family>(control: &Control, protocol: IpProtocol) -> Result<(), DataplaneError> {
    claim_by::<F>(control, protocol, local::Next::arcs::<F>()[local::Next::Punt as usize])
}

fn claim_by<F: Family>(control: &Control, protocol: IpProtocol, arc: ArcSpec) -> Result<(), DataplaneError> {
    let arc = control.room_mut::<Dataplane>().blueprint().claim(F::NAMES.local, protocol, arc)?;
    control.room_mut::<Ip<F>>().published.protocols.update(|protocols| {
        let mut protocols = *protocols;
        protocols[usize::from(protocol.0)] = arc;
        protocols
    });
    Ok(())
}
