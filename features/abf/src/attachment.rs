//! Attachments: at which interfaces policies hold.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceName, Interfaces};

use crate::family::Forwarded;
use crate::policy::PolicyNumber;
use crate::state::Policies;

/// Attachment of an ABF policy to packets that an interface receives.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::ATTACHMENTS)]
pub struct AbfAttachment<F: Forwarded> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Id of the policy.
    #[key]
    pub policy: PolicyNumber<F>,
    /// Priority among the interface's policies; the lowest value is evaluated first.
    #[default(0)]
    pub priority: u32,
}

pub(crate) fn apply<F: Forwarded>(control: &Control, change: Change<'_, AbfAttachment<F>>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let Some(attachment) = new.or(old) else { return Ok(()) };
    let id = control.room::<Interfaces>().id_of(&attachment.interface.0)?;
    let priority = new.map(|attachment| attachment.priority);
    let on = control.room_mut::<Policies<F>>().attach(id, attachment.policy.0, priority);
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.unicast, F::NODE, id.0, on);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}
