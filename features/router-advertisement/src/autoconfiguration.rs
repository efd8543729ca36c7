//! Interfaces that are configured by the routers on their links.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::InterfaceName;

use crate::config::on_link;
use crate::discovery;

/// Stateless address autoconfiguration of an interface (RFC 4862, 5.5). Learned addresses are not configuration, and
/// end with their lifetime.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "address-autoconfigurations")]
pub struct AddressAutoconfiguration {
    /// Name of the interface, on which IPv6 is enabled.
    #[key]
    #[follows("interface-ip6-tables")]
    pub interface: InterfaceName,
    /// Whether advertising routers also become default routers.
    #[default(false)]
    pub default_route: bool,
}

pub(crate) fn apply(control: &Control, change: Change<'_, AddressAutoconfiguration>) -> Result<(), ObjectError> {
    let (name, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new.default_route)),
        Change::Delete(old) => (&old.interface, None),
    };
    let id = on_link(control, name)?;
    match wanted {
        Some(default_route) => discovery::learn_from(control, id, default_route),
        None => discovery::forget(control, id),
    }
    Ok(())
}
