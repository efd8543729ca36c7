//! The messages of VPP's `interface.api` about all interfaces; rooms that make interfaces have those about theirs.
//!
//! - [`details`]: what there is to know of an interface; rooms [`add`](details::add) what only they know.
//! - `settings`: what the commands of the room do; `queues`: receive and transmit queues; `events`: changes as they happen;
//!   `speed`: what a link's speed can be set to.
//! - [`find`]: the interface that a message names. [`dump`]: what a dump of features says of it, or of all.

use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Refusal, Retval};
use quiver_control::Control;

use crate::feature::{Direction, FeatureKey, InterfaceFeature};
use crate::interfaces::{Interface, InterfaceId, Interfaces, walk};
use crate::settings::InterfaceName;

pub mod details;
mod events;
mod features;
mod queues;
mod settings;
mod speed;

/// The file of messages, and its version in VPP: for all rooms that add to it.
pub const FILE: (&str, (u32, u32, u32)) = ("interface", (3, 2, 5));

pub(crate) fn register(control: &Control) {
    control.insert_room(details::Additions::default());
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        details::add_messages(file);
        settings::add_messages(file);
        queues::add_messages(file);
        speed::add_messages(file);
        events::add_messages(control, file);
    });
    features::register(control);
}

impl From<InterfaceId> for InterfaceIndex {
    fn from(id: InterfaceId) -> InterfaceIndex {
        InterfaceIndex(id.0)
    }
}

/// The interface that a message names.
///
/// # Errors
/// [`Retval::INVALID_SW_IF_INDEX`] if there is none.
pub fn find(control: &Control, index: InterfaceIndex) -> Result<Interface, Refusal> {
    let id = InterfaceId(index.0);
    let interfaces = control.room::<Interfaces>();
    interfaces.get(id).cloned().ok_or_else(|| Refusal::no_interface(index.0))
}

/// The same, as objects name it.
pub fn name(control: &Control, index: InterfaceIndex) -> Result<InterfaceName, Refusal> {
    Ok(InterfaceName(find(control, index)?.name))
}

/// All interfaces, as a dump asks for them.
pub const ALL: InterfaceIndex = InterfaceIndex(NONE);

/// The interfaces that a dump asks for: all if its field is all ones, or else the one of this number, if there is one. Each is
/// looked for when it is asked for.
pub fn wanted(control: &Control, index: InterfaceIndex) -> impl Iterator<Item = InterfaceId> + use<> {
    let one = Some(InterfaceId(index.0)).filter(|id| control.room::<Interfaces>().get(*id).is_some());
    let all = (index == ALL).then(|| walk(control));
    one.into_iter().chain(all.into_iter().flatten())
}

/// Answers a dump: with the details of one interface, or with those of all in the order of their numbers, each as it is when it
/// is asked for. None behind those of each interface: a turn may end there.
pub fn dump<D, I: IntoIterator<Item = D>, F: Fn(&Control, InterfaceId, InterfaceName) -> I>(
    control: &Control,
    index: InterfaceIndex,
    details: F,
) -> impl Iterator<Item = Option<D>> + use<D, I, F> {
    let control = control.clone();
    wanted(&control.clone(), index).flat_map(move |id| {
        let name = control.room::<Interfaces>().get(id).map(|interface| InterfaceName(interface.name.clone()));
        let details = name.map(|name| details(&control, id, name));
        details.into_iter().flatten().map(Some).chain([None])
    })
}

/// The details of a feature's objects at an interface: of that of received packets first, and once if it is that of sent ones, too.
pub fn details_at<T: InterfaceFeature, D>(
    control: &Control,
    (id, interface): (InterfaceId, &InterfaceName),
    details: impl Fn(&Control, InterfaceId, &T) -> D,
) -> Vec<D> {
    let mut keys = Direction::ALL.map(|direction| T::Key::at(interface.clone(), direction)).to_vec();
    keys.dedup();
    let objects = keys.iter().filter_map(|key| control.objects().get::<T>(key));
    objects.map(|object| details(control, id, &object)).collect()
}

/// A field whose value is too much.
fn too_much(field: &str, value: u32) -> Refusal {
    Refusal::new(Retval::INVALID_VALUE, format!("{field}: {value} is out of range; at most {}", u16::MAX))
}

#[cfg(test)]
mod tests;
