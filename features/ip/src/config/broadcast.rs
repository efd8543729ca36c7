//! Directed broadcasts: packets for all hosts of a subnet that come from elsewhere. Routers do not forward them (RFC 2644), unless
//! the subnet's interface is told to.

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};

use crate::config::error::refused;
use crate::config::room::Ip4;

/// Interface to which directed broadcasts for its IPv4 subnets are forwarded.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "directed-broadcasts")]
pub struct DirectedBroadcast {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
}

pub(super) fn register(control: &Control) {
    control.objects().add(Kind::new(apply));
}

/// Has packets for all on an interface's IPv4 subnets forwarded, or dropped.
pub(crate) fn put(control: &Control, interface: InterfaceName, wanted: bool) -> Result<(), ObjectError> {
    match (wanted, control.objects().get::<DirectedBroadcast>(&interface).is_some()) {
        (true, false) => control.put(DirectedBroadcast::new(interface)),
        (false, true) => control.delete::<DirectedBroadcast>(&interface),
        _ => Ok(()),
    }
}

fn apply(control: &Control, change: Change<'_, DirectedBroadcast>) -> Result<(), ObjectError> {
    let (of, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&of.interface.0)?;
    control.room_mut::<Ip4>().set_directed_broadcast(id, wanted).map_err(refused)
}
