//! The messages of VPP's `interface.api` about all interfaces; rooms that make interfaces have those about theirs.
//!
//! - [`details`]: what there is to know of an interface; rooms [`add`](details::add) what only they know.
//! - `settings`: what the commands of the room do; `queues`: receive and transmit queues; `events`: changes as they happen;
//!   `speed`: what a link's speed can be set to.
//! - [`find`]: the interface that a message names.

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Refusal, Retval};
use quiver_control::Control;

use crate::interfaces::{Interface, InterfaceId, Interfaces};
use crate::settings::InterfaceName;

pub mod details;
mod events;
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

/// A field whose value is too much.
fn too_much(field: &str, value: u32) -> Refusal {
    Refusal::new(Retval::INVALID_VALUE, format!("{field}: {value} is too much; at most {}", u16::MAX))
}

#[cfg(test)]
mod tests;
