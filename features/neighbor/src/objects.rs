//! Configured neighbours.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::UnicastMac;

use crate::protocol::Protocol;
use crate::resolve::{NeighborKey, Outcome};
use crate::state::State;
use crate::table::Neighbors;

/// Static neighbor entry: it is neither probed nor aged.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct NeighborObject<F: Protocol> {
    /// Interface to which it is attached.
    #[key]
    #[follows(F::NAMES.interface_tables)]
    pub interface: InterfaceName,
    /// IP address of the neighbor.
    #[key]
    pub address: F::Address,
    /// MAC address of the neighbor.
    pub mac: UnicastMac,
    /// Whether it has a host route. Without one, packets to it follow the route of its subnet.
    #[default(true)]
    pub route: bool,
}

pub(crate) fn check<F: Protocol>(neighbor: &NeighborObject<F>) -> Result<(), ObjectError> {
    if !F::is_host(neighbor.address) {
        let what = format!("{} is not one host's", neighbor.address);
        return Err(ObjectError::field("address", what).remedy("give the neighbour's own address"));
    }
    Ok(())
}

pub(crate) fn apply<F: Protocol>(control: &Control, change: Change<'_, NeighborObject<F>>) -> Result<(), ObjectError> {
    let wanted = |neighbor: &NeighborObject<F>| -> Result<NeighborKey<F>, ObjectError> {
        Ok((control.room::<Interfaces>().id_of(&neighbor.interface.0)?, neighbor.address))
    };
    match change {
        Change::Create(new) | Change::Update { new, .. } => {
            let wanted = wanted(new)?;
            let mut neighbors = control.room_mut::<Neighbors<F>>();
            neighbors.learn(control, wanted, new.mac.get(), State::Static);
            neighbors.set_routable(control, wanted, new.route);
        }
        Change::Delete(old) => {
            let wanted = wanted(old)?;
            control.room_mut::<Neighbors<F>>().forget(control, wanted, Outcome::Silent);
        }
    }
    Ok(())
}
