//! Messages about IPv6 on interfaces without addresses, and their addresses for their links.

use std::net::Ipv6Addr;

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_interface::api::{find, name};

use crate::config::link_local::Ip6Interface;
use crate::config::room::Ip6;

pub(super) fn add_messages(file: &mut Adding<'_>) {
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
pub(super) fn change_link_local(
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

/// Enables or disables IPv6 on an interface that has no IPv6 address.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_enable_disable")]
pub(super) struct SwInterfaceIp6EnableDisable {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
}

/// Sets the IPv6 link-local address of an interface.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_set_link_local_address")]
pub(super) struct SwInterfaceIp6SetLinkLocalAddress {
    pub sw_if_index: InterfaceIndex,
    pub ip: Ipv6Addr,
}

/// Asks for the IPv6 link-local address of an interface.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_get_link_local_address", reply = SwInterfaceIp6GetLinkLocalAddressReply)]
pub(super) struct SwInterfaceIp6GetLinkLocalAddress {
    pub sw_if_index: InterfaceIndex,
}

/// IPv6 link-local address of the interface.
#[derive(Message, Clone, Debug)]
#[message(reply, name = "sw_interface_ip6_get_link_local_address_reply")]
pub(super) struct SwInterfaceIp6GetLinkLocalAddressReply {
    pub ip: Ipv6Addr,
}

impl Default for SwInterfaceIp6GetLinkLocalAddressReply {
    fn default() -> SwInterfaceIp6GetLinkLocalAddressReply {
        SwInterfaceIp6GetLinkLocalAddressReply { ip: Ipv6Addr::UNSPECIFIED }
    }
}
