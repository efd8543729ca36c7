//! How neighbours are found and kept: what is configured.

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::manners::{Manners, NeighborDefaults, Strangers, Unresolved, check_numbers};
use crate::protocol::Protocol;
use crate::table::Neighbors;

/// How neighbours are found and kept, where that is to differ from what quiverd does anyway.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::SETTINGS)]
pub struct NeighborSettings<F: Protocol> {
    /// `default`, which is all there is.
    #[key]
    pub name: String,
    /// What becomes of packets for a neighbour that is not known yet. Without it, as quiverd's option --unresolved says.
    pub unresolved: Option<Unresolved>,
    /// What becomes of questions by those who do not belong on the link. Without it, as quiverd's option --strangers says.
    pub strangers: Option<Strangers>,
    /// Neighbours at most that are known: further ones are not learned, and packets for them are dropped. Those that are
    /// configured count, but are always taken.
    #[default(100_000)]
    pub limit: u32,
    /// Seconds after which a neighbour that was not heard is asked whether it is still there; 0 keeps it.
    #[default(600)]
    pub age: u32,
    /// Questions before a neighbour counts as silent: 1 to 20.
    #[default(3)]
    pub probes: u32,
    /// Seconds between two of them: 1 to 60.
    #[default(1)]
    pub interval: u32,
    /// Whether at the limit the neighbour makes room whose time is over first. Else no more are learned.
    #[default(false)]
    pub recycle: bool,
    /// The settings of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Protocol> NeighborSettings<F> {
    /// The only name.
    pub const NAME: &str = "default";
    /// What is configured, or would be if nothing were changed.
    pub fn current(control: &Control) -> NeighborSettings<F> {
        let configured = control.objects().get::<NeighborSettings<F>>(&NeighborSettings::<F>::NAME.to_owned());
        configured.map_or_else(NeighborSettings::unchanged, |settings| (*settings).clone())
    }
    /// Settings that change nothing.
    pub fn unchanged() -> NeighborSettings<F> {
        NeighborSettings::new(NeighborSettings::<F>::NAME.to_owned())
    }
    /// What holds with them.
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

/// Sets what holds of settings that say nothing of it, for both families.
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
