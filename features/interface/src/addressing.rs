//! Which interfaces can have addresses of layer 3. A room that makes interfaces refuses those that cannot send what layer 3
//! sends; rooms that give addresses to interfaces ask here.

use quiver_control::{Control, ObjectError};

use crate::interfaces::Interface;

/// Refuses an interface that cannot have addresses. Interfaces of other rooms pass.
pub type AddressCheck = fn(&Control, &Interface) -> Result<(), ObjectError>;

/// Of each room that makes such interfaces.
#[derive(Default)]
pub(crate) struct AddressChecks(Vec<AddressCheck>);

/// Has a function say which interfaces cannot have addresses.
pub fn restricts_addresses(control: &Control, check: AddressCheck) {
    control.room_mut::<AddressChecks>().0.push(check);
}

/// Whether an interface can have addresses.
///
/// # Errors
/// Why it cannot, and what to do about it.
pub fn check_addressable(control: &Control, interface: &Interface) -> Result<(), ObjectError> {
    let checks = control.room::<AddressChecks>().0.clone();
    checks.iter().try_for_each(|check| check(control, interface))
}
