//! Configuration.

use quiver_control::{Change, Control, Object, ObjectError};

use crate::keeper;

/// Multicast listener discovery: reports the groups of interfaces to routers. Enabled without this object.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "multicast-listener-discovery")]
pub struct ListenerDiscovery {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Whether groups are reported to routers.
    #[default(true)]
    pub report: bool,
}

impl ListenerDiscovery {
    /// The only name.
    pub const NAME: &str = "default";
}

pub(crate) fn check(wanted: &ListenerDiscovery) -> Result<(), ObjectError> {
    match wanted.name == ListenerDiscovery::NAME {
        true => Ok(()),
        false => Err(ObjectError::field("name", "there is one only").remedy("call it default")),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, ListenerDiscovery>) -> Result<(), ObjectError> {
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => Some(new.report),
        Change::Delete(_) => None,
    };
    keeper::configure(control, wanted);
    Ok(())
}
