//! What is configured.

use quiver_control::{Change, Control, Object, ObjectError};

use crate::keeper;

/// Whether routers are told to which groups of IPv6 interfaces listen. Without it they are.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "multicast-listener-discovery")]
pub struct ListenerDiscovery {
    /// `default`, which is all there is.
    #[key]
    pub name: String,
    /// Whether they are told.
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
