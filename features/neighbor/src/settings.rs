//! Configuration of neighbor resolution.

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::manners::{Manners, NeighborDefaults, Strangers, Unresolved, check_numbers};
use crate::protocol::Protocol;
use crate::table::Neighbors;

/// Neighbor resolution settings that differ from quiverd's defaults.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::SETTINGS)]
pub struct NeighborSettings<F: Protocol> {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Action for packets to unresolved neighbors. Default: quiverd's option --unresolved.
    pub unresolved: Option<Unresolved>,
    /// Action for requests whose sender is not on the link's subnet. Default: quiverd's option --strangers.
    pub strangers: Option<Strangers>,
    /// Largest number of neighbors. At the limit no more are learned, and packets to them are dropped. Static entries
    /// count, but are always accepted.
    #[default(100_000)]
    pub limit: u32,
    /// Seconds since the last confirmation after which a neighbor is probed; 0 disables aging.
    #[default(600)]
    pub age: u32,
    /// Number of probes before a neighbor is unreachable, 1 to 20.
    #[default(3)]
    pub probes: u32,
    /// Seconds between probes, 1 to 60.
    #[default(1)]
    pub interval: u32,
    /// Whether at the limit the entry that expires first is evicted. Otherwise no more are learned.
    #[default(false)]
    pub recycle: bool,
    /// The settings of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Protocol> NeighborSettings<F> {
    /// The only name.
    pub const NAME: &str = "default";
    /// The configured settings, or the defaults.
    pub fn current(control: &Control) -> NeighborSettings<F> {
        let configured = control.objects().get::<NeighborSettings<F>>(&NeighborSettings::<F>::NAME.to_owned());
        configured.map_or_else(NeighborSettings::unchanged, |settings| (*settings).clone())
    }
    /// Settings that change nothing.
    pub fn unchanged() -> NeighborSettings<F> {
        NeighborSettings::new(NeighborSettings::<F>::NAME.to_owned())
    }
    /// The effective settings.
    pub(crate) fn manners(&self, defaults: NeighborDefaults) -> Manners {
        Manners {
            unresolved: self.unresolved.unwrap_or(defaults.unresolved),
            strangers: self.strangers.unwrap_or(defaults.strangers),
            limit: self.limit as usize,
            age: (self.age > 0).then(|| Duration::from_secs(self.age.into())),
            probes: self.probes,
            interval: Duration::from_secs(self.interval.into()),
            recycle: self.recycle,
        }
    }
}

/// Sets the values of settings that are not configured, for both families.
pub fn set_neighbor_defaults(control: &Control, defaults: NeighborDefaults) {
    set_defaults::<V4>(control, defaults);
    set_defaults::<V6>(control, defaults);
}

fn set_defaults<F: Protocol>(control: &Control, defaults: NeighborDefaults) {
    let settings = NeighborSettings::<F>::current(control);
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    neighbors.defaults = defaults;
    neighbors.behave(settings.manners(defaults), control.now());
}

pub(crate) fn check<F: Protocol>(wanted: &NeighborSettings<F>) -> Result<(), ObjectError> {
    if wanted.name != NeighborSettings::<F>::NAME {
        return Err(ObjectError::field("name", "there is one only").remedy("call it default"));
    }
    check_numbers(Some(wanted.probes), Some(wanted.interval))
}

pub(crate) fn apply<F: Protocol>(
    control: &Control,
    change: Change<'_, NeighborSettings<F>>,
) -> Result<(), ObjectError> {
    let unsaid = NeighborSettings::<F>::unchanged();
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => new,
        Change::Delete(_) => &unsaid,
    };
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let manners = wanted.manners(neighbors.defaults);
    neighbors.behave(manners, control.now());
    Ok(())
}
