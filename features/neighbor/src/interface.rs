//! Neighbor settings of one interface that override the global ones, and the values that routers on its link advertise
//! (RFC 4861, 6.3.4).

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};

use crate::manners::{OwnManners, Timers, check_numbers};
use crate::protocol::Protocol;
use crate::table::Neighbors;

/// Neighbor settings of one interface. Fields that are not set follow the global settings.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::INTERFACE_SETTINGS)]
pub struct InterfaceNeighborSettings<F: Protocol> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Largest number of neighbors of the interface. Static entries count, but are always accepted.
    pub limit: Option<u32>,
    /// Seconds since the last confirmation after which a neighbor is probed; 0 disables aging.
    pub age: Option<u32>,
    /// Number of probes before a neighbor is unreachable, 1 to 20.
    pub probes: Option<u32>,
    /// Seconds between probes, 1 to 60.
    pub interval: Option<u32>,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Protocol> InterfaceNeighborSettings<F> {
    /// Applies the configuration of an interface, or its absence.
    fn set(settings: Option<&Self>, own: &mut OwnManners) {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let age = |age: u32| (age > 0).then(|| seconds(age));
        *own = OwnManners {
            limit: settings.and_then(|of_it| of_it.limit).map(|limit| limit as usize),
            age: settings.and_then(|of_it| of_it.age).map(age),
            probes: settings.and_then(|of_it| of_it.probes),
            interval: settings.and_then(|of_it| of_it.interval).map(seconds),
            heard: own.heard,
        };
    }
}

/// Applies the timers of a router advertisement to an interface's neighbors; empty `timers` end that.
pub fn hear_timers<F: Protocol>(control: &Control, id: InterfaceId, timers: Timers) {
    control.room_mut::<Neighbors<F>>().behave_at(id, control.now(), |own| own.heard = timers);
}

pub(crate) fn check<F: Protocol>(wanted: &InterfaceNeighborSettings<F>) -> Result<(), ObjectError> {
    check_numbers(wanted.probes, wanted.interval)
}

pub(crate) fn apply<F: Protocol>(
    control: &Control,
    change: Change<'_, InterfaceNeighborSettings<F>>,
) -> Result<(), ObjectError> {
    let (name, settings) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new)),
        Change::Delete(old) => (&old.interface, None),
    };
    let id = control.room::<Interfaces>().id_of(&name.0)?;
    control
        .room_mut::<Neighbors<F>>()
        .behave_at(id, control.now(), |own| InterfaceNeighborSettings::set(settings, own));
    Ok(())
}
