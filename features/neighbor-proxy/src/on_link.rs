//! Hosts that are on a link.

use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_neighbor::{Neighbors, Protocol};

/// Whether a host is known to be on a link, where it answers for itself.
pub(crate) fn is_here<F: Protocol>(control: &Control, wanted: (InterfaceId, F::Address)) -> bool {
    control.room::<Neighbors<F>>().get(wanted).is_some_and(|neighbor| neighbor.mac.is_some())
}
