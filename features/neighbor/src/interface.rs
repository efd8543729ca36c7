//! How the neighbours behind one interface are found and kept, where that differs from what holds of all; and what routers on its
//! link say about it (RFC 4861, 6.3.4).

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};

use crate::protocol::Protocol;
use crate::settings::{INTERVAL_MAX, Manners, PROBES_MAX};
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

/// What holds of one interface in place of what holds of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnManners {
    pub limit: Option<usize>,
    /// None says nothing; Some(None) keeps neighbours.
    pub age: Option<Option<Duration>>,
    pub probes: Option<u32>,
    pub interval: Option<Duration>,
    /// What routers say of the last two, where nothing is configured.
    pub heard: Timers,
}

/// What routers say: for how long a neighbour that was heard is there, and after how long it is asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    /// ReachableTime of RFC 4861, 6.3.2.
    pub reachable: Option<Duration>,
    /// RetransTimer.
    pub retransmission: Option<Duration>,
}

impl OwnManners {
    /// What holds of the interface.
    pub fn over(self, all: Manners) -> Manners {
        // Questions are asked by the second (RFC 1122, 2.3.2.1).
        let seconds = |time: Duration| Duration::from_secs_f64(time.as_secs_f64().ceil().max(1.0));
        // Nobody on the link may keep us from asking.
        let most = Duration::from_secs(INTERVAL_MAX.into());
        let interval = self.interval.or(self.heard.retransmission.map(|time| seconds(time).min(most)));
        Manners {
            age: self.age.unwrap_or(self.heard.reachable.map(seconds).or(all.age)),
            probes: self.probes.unwrap_or(all.probes),
            interval: interval.unwrap_or(all.interval),
            ..all
        }
    }
    fn configured<F: Protocol>(&mut self, settings: Option<&InterfaceNeighborSettings<F>>) {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let age = |age: u32| (age > 0).then(|| seconds(age));
        *self = OwnManners {
            limit: settings.and_then(|own| own.limit).map(|limit| limit as usize),
            age: settings.and_then(|own| own.age).map(age),
            probes: settings.and_then(|own| own.probes),
            interval: settings.and_then(|own| own.interval).map(seconds),
            heard: self.heard,
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

/// What holds of the numbers of questions, and of seconds between them.
pub(crate) fn check_numbers(probes: Option<u32>, interval: Option<u32>) -> Result<(), ObjectError> {
    for (field, value, most) in [("probes", probes, PROBES_MAX), ("interval", interval, INTERVAL_MAX)] {
        if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
            let what = format!("{value} is too little or too much");
            return Err(ObjectError::field(field, what).remedy(format!("give 1 to {most}")));
        }
    }
    Ok(())
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
    control.room_mut::<Neighbors<F>>().behave_at(id, control.now(), |own| own.configured(settings));
    Ok(())
}
