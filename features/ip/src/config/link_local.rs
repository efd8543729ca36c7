//! IPv6 on interfaces that have no address of their own choosing: each that speaks IPv6 has one for its link (RFC 4291, 2.1),
//! made of its MAC address unless another one is configured.

use std::net::{IpAddr, Ipv6Addr};

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceEvent, InterfaceName, tell};
use quiver_wire::V6;

use crate::config::interfaces::speaking;
use crate::config::room::Ip6;
use crate::family::Family;

/// IPv6 on an interface, even without a global address.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "ip6-interfaces")]
pub struct Ip6Interface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Link-local address, such as fe80::1. Default: derived from the MAC address (RFC 4291, 2.5.6).
    pub link_local: Option<Ipv6Addr>,
}

pub(super) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
}

fn check(interface: &Ip6Interface) -> Result<(), ObjectError> {
    match interface.link_local {
        Some(address) if !V6::is_link_local(address) => {
            let what = format!("{address} is no address for a link");
            Err(ObjectError::field("link-local", what).remedy("give one in fe80::/10"))
        }
        _ => Ok(()),
    }
}

fn apply(control: &Control, change: Change<'_, Ip6Interface>) -> Result<(), ObjectError> {
    let (wanted, enabled) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = speaking(control, &wanted.interface)?;
    control.room_mut::<Ip6>().set_enabled(id, enabled, wanted.link_local.filter(|_| enabled));
    let event = match control.room::<Ip6>().link_local(id) {
        Some(address) => InterfaceEvent::AddressAdded(id, IpAddr::V6(address)),
        None => InterfaceEvent::AddressRemoved(id),
    };
    tell(control, event);
    Ok(())
}
