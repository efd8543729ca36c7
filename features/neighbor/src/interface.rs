//! How the neighbours behind one interface are found and kept, where that differs from what holds of all; and what routers on its
//! link say about it (RFC 4861, 6.3.4).

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};

use crate::manners::{OwnManners, Timers, check_numbers};
use crate::protocol::Protocol;
use crate::table::Neighbors;

/// How the neighbours behind an interface are found and kept. What it does not say is as of all.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::INTERFACE_SETTINGS)]
pub struct InterfaceNeighborSettings<F: Protocol> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Neighbours behind it at most that are known; those that are configured count, but are always taken.
    pub limit: Option<u32>,
    /// Seconds after which a neighbour that was not heard is asked whether it is still there; 0 keeps it.
    pub age: Option<u32>,
    /// Questions before a neighbour counts as silent: 1 to 20.
    pub probes: Option<u32>,
    /// Seconds between two of them: 1 to 60.
    pub interval: Option<u32>,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Protocol> InterfaceNeighborSettings<F> {
    /// Sets what is configured of an interface, or nothing.
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

/// Notes what routers on a link say about its neighbours; nothing any more, where `timers` says nothing.
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
