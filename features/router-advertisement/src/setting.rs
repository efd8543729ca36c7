//! Changes by VPP's messages and command: unnamed parameters stay as they are.

use quiver_control::{Control, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};

use crate::config::{INFINITE, PREFERRED, RouterAdvertisements, VALID};
use crate::keeper;

/// A change of an interface's advertisements. Zeros name nothing.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Whether named parameters return to their defaults.
    pub no: bool,
    /// Suppresses advertisements. Without it they begin, whatever else is named.
    pub suppress: bool,
    /// See [`RouterAdvertisements::managed`].
    pub managed: bool,
    /// See [`RouterAdvertisements::other`].
    pub other: bool,
    /// The MAC address is not to be told.
    pub hide_link_layer: bool,
    /// See [`RouterAdvertisements::send_unicast`].
    pub send_unicast: bool,
    /// See [`RouterAdvertisements::lifetime`]; more than 9000 counts as 9000.
    pub lifetime: Option<u32>,
    /// See [`RouterAdvertisements::max_interval`].
    pub max_interval: u32,
    /// See [`RouterAdvertisements::min_interval`]; three quarters of the longest, where only that is named.
    pub min_interval: u32,
    /// See [`RouterAdvertisements::initial_count`].
    pub initial_count: u32,
    /// See [`RouterAdvertisements::initial_interval`].
    pub initial_interval: u32,
}

impl Setting {
    /// Makes the change, and has the interface advertise as in the beginning.
    pub(crate) fn apply(self, control: &Control, interface: InterfaceName) -> Result<(), ObjectError> {
        let base = RouterAdvertisements::new(interface.clone());
        let (first, no) = (base.clone(), self.no);
        let min = if self.min_interval == 0 { self.max_interval.saturating_mul(3) / 4 } else { self.min_interval };
        let max = small("max-interval", self.max_interval)?;
        let min = small("min-interval", min)?;
        let count = small("initial-count", self.initial_count)?;
        let initial = small("initial-interval", self.initial_interval)?;
        let lifetime = self.lifetime.map(|lifetime| lifetime.min(9000) as u16);
        control.edit(base, |own| {
            own.suppress = self.suppress && !no;
            let flag = |flag: &mut bool, named, value| *flag = if named { value } else { *flag };
            flag(&mut own.managed, self.managed, !no);
            flag(&mut own.other, self.other, !no);
            flag(&mut own.source_link_layer, self.hide_link_layer, no);
            flag(&mut own.send_unicast, self.send_unicast, !no);
            set(&mut own.lifetime, lifetime, first.lifetime, no);
            set(&mut own.max_interval, max, first.max_interval, no);
            set(&mut own.min_interval, min, first.min_interval, no);
            set(&mut own.initial_count, count, first.initial_count, no);
            set(&mut own.initial_interval, initial, first.initial_interval, no);
        })?;
        restart(control, &interface)
    }
}

fn set<T>(field: &mut T, named: Option<T>, first: T, no: bool) {
    if let Some(named) = named {
        *field = if no { first } else { named };
    }
}

/// A number that is named, in the size of its field.
fn small<T: TryFrom<u32>>(field: &str, number: u32) -> Result<Option<T>, ObjectError> {
    let wrong = |_| ObjectError::field(field, format!("{number} is out of range"));
    if number == 0 { Ok(None) } else { T::try_from(number).map(Some).map_err(wrong) }
}

/// Restarts the advertisements of an interface from the initial phase, even if nothing has changed.
pub(crate) fn restart(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    keeper::restart(control, id);
    Ok(())
}

/// Valid and preferred lifetime of a prefix: both infinite if one of them is.
pub(crate) fn lifetimes(given: Option<(u32, u32)>) -> (u32, u32) {
    match given {
        None => (VALID, PREFERRED),
        Some((INFINITE, _) | (_, INFINITE)) => (INFINITE, INFINITE),
        Some(given) => given,
    }
}
