//! IPv6 on interfaces that have no address of their own choosing: each that speaks IPv6 has one for its link (RFC 4291, 2.1),
//! made of its MAC address unless another one is configured.

use std::net::{IpAddr, Ipv6Addr};

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::cli::{Command, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::api::{find, name};
use quiver_interface::{InterfaceEvent, InterfaceName, Interfaces, LOCAL, tell};
use quiver_wire::V6;

use crate::family::Family;
use crate::room::Ip6;

/// IPv6 on an interface, whether it has other addresses or not.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "ip6-interfaces")]
pub struct Ip6Interface {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Its address for its link, such as fe80::1. Without it, that which its MAC address makes (RFC 4291, 2.5.6).
    pub link_local: Option<Ipv6Addr>,
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
    let commands = control.commands();
    let enable = "enable ip6 interface <interface>";
    commands.add(Command::new(enable, "Let an interface speak IPv6 without an address, too.", |control, given| {
        let interface = given.get("interface")?;
        control.edit(Ip6Interface::new(interface), |_| {})?;
        Ok(Reply::done())
    }));
    let disable = "disable ip6 interface <interface>";
    commands.add(Command::new(disable, "Let an interface speak IPv6 only if it has an address.", |control, given| {
        control.delete::<Ip6Interface>(&given.get("interface")?)?;
        Ok(Reply::done())
    }));
    let set = "set interface ip6 link-local <interface> <link-local:ip6>";
    let set = Command::new(set, "Set the address that an interface has for its link.", |control, given| {
        let address: Ipv6Addr = given.get("link-local")?;
        control.edit(Ip6Interface::new(given.get("interface")?), |own| own.link_local = Some(address))?;
        Ok(Reply::done())
    });
    commands.add(set.arguments_of::<Ip6Interface>());
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
    let id = control.room::<Interfaces>().id_of(&wanted.interface.0)?;
    if id == LOCAL {
        return Err(ObjectError::field("interface", "local0 neither sends nor receives").remedy("choose another one"));
    }
    control.room_mut::<Ip6>().set_enabled(id, enabled, wanted.link_local.filter(|_| enabled));
    let event = match control.room::<Ip6>().link_local(id) {
        Some(address) => InterfaceEvent::AddressAdded(id, IpAddr::V6(address)),
        None => InterfaceEvent::AddressRemoved(id),
    };
    tell(control, event);
    Ok(())
}

pub(crate) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, SwInterfaceIp6EnableDisable { sw_if_index, enable }| {
        let interface = name(control, sw_if_index)?;
        let is_there = control.objects().get::<Ip6Interface>(&interface).is_some();
        match (enable, is_there) {
            (true, false) => Ok(control.put(Ip6Interface::new(interface))?),
            (false, true) => Ok(control.delete::<Ip6Interface>(&interface)?),
            _ => Ok(()),
        }
    });
    file.request(|control, SwInterfaceIp6SetLinkLocalAddress { sw_if_index, ip }| {
        let interface = name(control, sw_if_index)?;
        change_link_local(control, interface, ip, true)
    });
    file.request(|control, SwInterfaceIp6GetLinkLocalAddress { sw_if_index }| {
        let id = find(control, sw_if_index)?.id;
        let missing = || Refusal::new(Retval::IP6_NOT_ENABLED, "sw_if_index: the interface does not speak IPv6");
        Ok(SwInterfaceIp6GetLinkLocalAddressReply { ip: control.room::<Ip6>().link_local(id).ok_or_else(missing)? })
    });
}

/// Sets the address that an interface has for its link. It always has one, so it cannot be taken away.
pub(crate) fn change_link_local(
    control: &Control,
    interface: InterfaceName,
    address: Ipv6Addr,
    is_add: bool,
) -> Result<(), Refusal> {
    match is_add {
        true => Ok(control.edit(Ip6Interface::new(interface), |own| own.link_local = Some(address))?),
        false => {
            let what = format!("prefix: {interface} has an address for its link as long as it speaks IPv6");
            Err(Refusal::new(Retval::ADDRESS_NOT_DELETABLE, what))
        }
    }
}

/// Let an interface speak IPv6 without an address, too, or only with one.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_enable_disable")]
pub(crate) struct SwInterfaceIp6EnableDisable {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
}

/// Set the address that an interface has for its link.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_set_link_local_address")]
pub(crate) struct SwInterfaceIp6SetLinkLocalAddress {
    pub sw_if_index: InterfaceIndex,
    pub ip: Ipv6Addr,
}

/// Which address does an interface have for its link?
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_get_link_local_address", reply = SwInterfaceIp6GetLinkLocalAddressReply)]
pub(crate) struct SwInterfaceIp6GetLinkLocalAddress {
    pub sw_if_index: InterfaceIndex,
}

/// This one.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "sw_interface_ip6_get_link_local_address_reply")]
pub(crate) struct SwInterfaceIp6GetLinkLocalAddressReply {
    pub ip: Ipv6Addr,
}

impl Default for SwInterfaceIp6GetLinkLocalAddressReply {
    fn default() -> SwInterfaceIp6GetLinkLocalAddressReply {
        SwInterfaceIp6GetLinkLocalAddressReply { ip: Ipv6Addr::UNSPECIFIED }
    }
}
