//! Session tenants whose packets are inspected.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Paged, Publisher};
use quiver_session::tenant::{TenantId, Tenants};

use crate::instance::InstanceName;
use crate::room::Snort;

/// Inspection of a session tenant by an instance: the service `sfdp-inspect` of its chains offers packets to the instance's inspector.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "snort-tenants")]
pub struct SnortTenant {
    /// Number of the tenant.
    #[key]
    pub tenant: TenantId,
    /// Name of the instance.
    pub instance: InstanceName,
}

/// Numbers of instances by the slot of a tenant: a room of the control side.
pub(crate) struct Inspected(pub Publisher<Paged<Option<u32>>>);

pub(crate) fn apply(control: &Control, change: Change<'_, SnortTenant>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let Some(tenant) = new.or(old).map(|of| &of.tenant) else { return Ok(()) };
    let slot = control.room::<Tenants>().slot(tenant.0).ok_or_else(|| {
        ObjectError::field("tenant", format!("there is no tenant {tenant}")).remedy("add it first, or name another one")
    })?;
    let number = new.and_then(|of| control.room::<Snort>().number(&of.instance.0));
    control.room_mut::<Inspected>().0.edit(|rows| *rows.get_mut(slot.into()) = number);
    Ok(())
}
