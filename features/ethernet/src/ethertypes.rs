//! Receivers of EtherTypes: rooms claim those that they process, and `ethernet-input` has an arc to the node of each.

use quiver_control::Control;
use quiver_engine::{ArcSpec, Dataplane, DataplaneError, Domain, Publisher, Snapshot};
use quiver_wire::EtherType;

/// The name of the node.
pub const NODE: &str = "ethernet-input";

/// An ethertype, and the arc by which its packets leave `ethernet-input`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub ethertype: u32,
    pub arc: u16,
}

/// The ethertypes that rooms take, in the order in which they claimed them.
pub(crate) struct EtherTypes(Publisher<Vec<Taken>>);

impl EtherTypes {
    pub fn new(domain: &Domain) -> EtherTypes {
        EtherTypes(Publisher::new(domain, vec![]))
    }
    /// The claims that workers read.
    pub fn snapshot(&self) -> Snapshot<Vec<Taken>> {
        self.0.snapshot()
    }
}

/// Sends packets of an EtherType to a node, with `offset` behind the Ethernet header. The node gets frames to our
/// address, and flagged frames to multicast and broadcast addresses.
///
/// # Errors
/// If another node has claimed the EtherType, or the data plane runs.
pub fn claim(control: &Control, ethertype: EtherType, node: &'static str) -> Result<(), DataplaneError> {
    claim_by(control, ethertype, ArcSpec::to_node(node))
}

/// The same for the features of an arc, behind which the node stands.
///
/// # Errors
/// As [`claim`].
pub fn claim_by(control: &Control, ethertype: EtherType, arc: ArcSpec) -> Result<(), DataplaneError> {
    let arc = control.room_mut::<Dataplane>().blueprint().claim(NODE, ethertype, arc)?;
    let taken = Taken { ethertype: ethertype.get().into(), arc };
    control.room_mut::<EtherTypes>().0.update(|all| all.iter().copied().chain([taken]).collect());
    Ok(())
}
