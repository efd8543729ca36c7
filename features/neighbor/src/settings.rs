//! How neighbours are found and kept: what is configured, and what holds without it.

use std::marker::PhantomData;
use std::time::Duration;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::interface::check_numbers;
use crate::protocol::Protocol;
use crate::table::Neighbors;

quiver_control::choice! {
    /// What becomes of packets for neighbours whose MAC addresses are not known.
    pub enum Unresolved {
        /// They wait, and control asks until it is answered, or gives up.
        Queue = "queue",
        /// They vanish; each has the neighbour asked for, once in a millisecond at most.
        Drop = "drop",
    } as "unresolved", "queue or drop";
}

quiver_control::choice! {
    /// What becomes of questions about our addresses by those who do not belong on the link.
    pub enum Strangers {
        /// They are answered: networks whose addresses are /32 or /128 work so.
        Answer = "answer",
        /// They are not, and neither are those who name, by ARP, another MAC address than the one that their frame came from.
        Ignore = "ignore",
    } as "strangers", "answer or ignore";
}

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
}

/// What holds of settings that say nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborDefaults {
    /// What becomes of packets for unknown neighbours.
    pub unresolved: Unresolved,
    /// What becomes of questions by strangers.
    pub strangers: Strangers,
}

impl Default for NeighborDefaults {
    /// As RFC 1122, 2.3.2.2, recommends, and as networks of single addresses need it.
    fn default() -> NeighborDefaults {
        NeighborDefaults { unresolved: Unresolved::Queue, strangers: Strangers::Answer }
    }
}

/// Questions before a neighbour counts as silent that may be set.
pub(crate) const PROBES_MAX: u32 = 20;
/// Seconds between them.
pub(crate) const INTERVAL_MAX: u32 = 60;

/// What holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manners {
    pub unresolved: Unresolved,
    pub strangers: Strangers,
    pub limit: usize,
    /// After so long without a word from it, a neighbour is probed, if ever.
    pub age: Option<Duration>,
    pub probes: u32,
    pub interval: Duration,
    pub recycle: bool,
}

impl Manners {
    pub fn new<F: Protocol>(settings: &NeighborSettings<F>, defaults: NeighborDefaults) -> Manners {
        Manners {
            unresolved: settings.unresolved.unwrap_or(defaults.unresolved),
            strangers: settings.strangers.unwrap_or(defaults.strangers),
            limit: settings.limit as usize,
            age: (settings.age > 0).then(|| Duration::from_secs(settings.age.into())),
            probes: settings.probes,
            interval: Duration::from_secs(settings.interval.into()),
            recycle: settings.recycle,
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
    neighbors.behave(Manners::new(&settings, defaults), control.now());
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
    let manners = Manners::new(wanted, neighbors.defaults);
    neighbors.behave(manners, control.now());
    Ok(())
}
