//! Configured neighbours.

use std::net::Ipv4Addr;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::UnicastMac;

use crate::resolve::{Outcome, Wanted};
use crate::table::{Neighbors, State};

/// A neighbour whose MAC address is configured: it is neither asked for nor forgotten.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "neighbors")]
pub struct NeighborObject {
    /// The interface behind which it is.
    #[key]
    #[follows("interface-tables")]
    pub interface: InterfaceName,
    /// Its IPv4 address.
    #[key]
    pub address: Ipv4Addr,
    /// Its MAC address.
    pub mac: UnicastMac,
}

pub(crate) fn check(neighbor: &NeighborObject) -> Result<(), ObjectError> {
    if neighbor.address.is_multicast() || neighbor.address.is_unspecified() || neighbor.address.is_broadcast() {
        let what = format!("{} is not one host's", neighbor.address);
        return Err(ObjectError::field("address", what).remedy("give the neighbour's own address"));
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, NeighborObject>) -> Result<(), ObjectError> {
    let wanted = |neighbor: &NeighborObject| -> Result<Wanted, ObjectError> {
        Ok((control.room::<Interfaces>().id_of(&neighbor.interface.0)?, neighbor.address))
    };
    match change {
        Change::Create(new) | Change::Update { new, .. } => {
            let wanted = wanted(new)?;
            control.room_mut::<Neighbors>().learn(control, wanted, new.mac.get(), State::Static);
        }
        Change::Delete(old) => {
            let wanted = wanted(old)?;
            control.room_mut::<Neighbors>().forget(control, wanted, Outcome::Silent);
        }
    }
    Ok(())
}
