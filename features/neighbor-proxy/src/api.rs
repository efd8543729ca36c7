//! VPP's messages about proxies: `arp.api`, and those of `ip6_nd.api`.

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip4;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::{V4, V6};

use crate::hosts::ProxiedHost;
use crate::interface::{NeighborProxy, Proxied};
use crate::ranges::ArpProxyRange;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "arp", (1, 0, 0), |file| {
        file.request(|control, ProxyArpAddDel { is_add, proxy }: ProxyArpAddDel| set_range(control, is_add, proxy));
        file.dump(|control, _: ProxyArpDump| ranges(control));
        file.request(|control, ProxyArpIntfcEnableDisable { sw_if_index, enable }: ProxyArpIntfcEnableDisable| {
            set_interface::<V4>(control, sw_if_index, enable)
        });
        file.dump(|control, _: ProxyArpIntfcDump| {
            let control = control.clone();
            control.clone().walk::<NeighborProxy<V4>>().map(move |proxy| {
                index_of(&control, &proxy.interface).map(|index| ProxyArpIntfcDetails { sw_if_index: index.0 })
            })
        });
    });
    quiver_compat::add(control, "ip6_nd", (1, 1, 0), |file| {
        file.request(|control, Ip6ndProxyEnableDisable { sw_if_index, is_enable }: Ip6ndProxyEnableDisable| {
            set_interface::<V6>(control, sw_if_index, is_enable)
        });
        file.request(set_host);
        file.dump(|control, _: Ip6ndProxyDump| hosts(control));
    });
}

/// Addresses for which interfaces of a table answer.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
struct ProxyArp {
    table_id: u32,
    low: Ipv4Addr,
    hi: Ipv4Addr,
}

impl Default for ProxyArp {
    fn default() -> ProxyArp {
        ProxyArp { table_id: 0, low: Ipv4Addr::UNSPECIFIED, hi: Ipv4Addr::UNSPECIFIED }
    }
}

/// Adds or deletes an address range for which proxy ARP answers.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct ProxyArpAddDel {
    is_add: bool,
    proxy: ProxyArp,
}

/// Dumps the address ranges of proxy ARP.
#[derive(Message, Clone, Debug)]
#[message(dump, details = ProxyArpDetails)]
struct ProxyArpDump;

/// Describes one address range: its table, first and last address.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct ProxyArpDetails {
    proxy: ProxyArp,
}

/// Enables or disables proxy ARP on an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct ProxyArpIntfcEnableDisable {
    sw_if_index: InterfaceIndex,
    enable: bool,
}

/// Dumps the interfaces with proxy ARP.
#[derive(Message, Clone, Debug)]
#[message(dump, details = ProxyArpIntfcDetails)]
struct ProxyArpIntfcDump;

/// Names one interface with proxy ARP.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct ProxyArpIntfcDetails {
    sw_if_index: u32,
}

/// Enables or disables ND proxy on an interface: it answers solicitations for hosts on other links (RFC 4389).
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Ip6ndProxyEnableDisable {
    sw_if_index: InterfaceIndex,
    is_enable: bool,
}

/// Adds or deletes a proxied host: one behind this interface whose address belongs to another interface's subnet.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Ip6ndProxyAddDel {
    sw_if_index: InterfaceIndex,
    is_add: bool,
    ip: Ipv6Addr,
}

/// Dumps all proxied hosts.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Ip6ndProxyDetails)]
struct Ip6ndProxyDump;

/// Describes one proxied host: its interface and its address.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Ip6ndProxyDetails {
    sw_if_index: InterfaceIndex,
    ip: Ipv6Addr,
}

fn set_range(control: &Control, is_add: bool, proxy: ProxyArp) -> Result<(), Refusal> {
    let ProxyArp { table_id, low, hi: high } = proxy;
    if control.room::<Ip4>().fib.table(TableId(table_id)).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_FIB, format!("proxy.table_id: there is no table {table_id}")));
    }
    let range = ArpProxyRange { table: TableNumber::new(table_id), low, high };
    let key = (range.table, low, high);
    match (is_add, control.objects().get::<ArpProxyRange>(&key).is_some()) {
        (true, true) => Ok(()),
        (true, false) => Ok(control.put(range)?),
        (false, true) => Ok(control.delete::<ArpProxyRange>(&key)?),
        (false, false) => {
            let what = format!("proxy: there is no range {low} - {high} in table {table_id}");
            Err(Refusal::new(Retval::NO_SUCH_ENTRY, what))
        }
    }
}

fn ranges(control: &Control) -> impl Iterator<Item = ProxyArpDetails> + use<> {
    control.walk::<ArpProxyRange>().map(|range| {
        let proxy = ProxyArp { table_id: range.table.0, low: range.low, hi: range.high };
        ProxyArpDetails { proxy }
    })
}

/// Switches the proxy of an interface on or off. Repeating the current state is no error.
fn set_interface<F: Proxied>(control: &Control, index: InterfaceIndex, on: bool) -> Result<(), Refusal> {
    let interface = name(control, index)?;
    match (on, control.objects().get::<NeighborProxy<F>>(&interface).is_some()) {
        (true, false) => Ok(control.put(NeighborProxy::<F>::on(interface))?),
        (false, true) => Ok(control.delete::<NeighborProxy<F>>(&interface)?),
        _ => Ok(()),
    }
}

fn index_of(control: &Control, interface: &InterfaceName) -> Option<InterfaceIndex> {
    control.room::<Interfaces>().id_of(&interface.0).ok().map(InterfaceIndex::from)
}

fn set_host(control: &Control, request: Ip6ndProxyAddDel) -> Result<(), Refusal> {
    let (interface, address) = (name(control, request.sw_if_index)?, request.ip);
    let key = (interface.clone(), address);
    match (request.is_add, control.objects().get::<ProxiedHost>(&key).is_some()) {
        (true, true) => Ok(()),
        (true, false) => Ok(control.put(ProxiedHost { interface, address })?),
        (false, true) => Ok(control.delete::<ProxiedHost>(&key)?),
        (false, false) => {
            let what = format!("ip: {address} behind {interface} is not proxied");
            Err(Refusal::new(Retval::NO_SUCH_ENTRY, what))
        }
    }
}

fn hosts(control: &Control) -> impl Iterator<Item = Option<Ip6ndProxyDetails>> + use<> {
    let control = control.clone();
    control.clone().walk::<ProxiedHost>().map(move |host| {
        Some(Ip6ndProxyDetails { sw_if_index: index_of(&control, &host.interface)?, ip: host.address })
    })
}

#[cfg(test)]
mod tests;
