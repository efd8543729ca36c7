//! Messages about the addresses of interfaces, and their tables.

use std::collections::HashSet;
use std::net::IpAddr;

use quiver_compat::api::Adding;
use quiver_compat::types::{AddressWithPrefix, InterfaceIndex, Prefix};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::{find, name};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_wire::{InterfaceAddress as Address, V4};

use super::leaving::sweep;
use super::no_ip6;
use super::replacing::Replacing;
use crate::command::{clear_addresses, put_table};
use crate::fib::TableId;
use crate::objects::InterfaceAddress;
use crate::room::Ip4;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.dump(|control, IpAddressDump { sw_if_index, is_ipv6 }: IpAddressDump| {
        let id = u16::try_from(sw_if_index.0).ok().map(InterfaceId);
        let addresses = match id.filter(|_| !is_ipv6) {
            Some(id) => control.room::<Ip4>().addresses(id).to_vec(),
            None => vec![],
        };
        addresses.into_iter().map(move |address| IpAddressDetails { sw_if_index, prefix: told(address) })
    });
    file.dump(|control, IpDump { is_ipv6 }: IpDump| {
        let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip4>());
        let speaks = |id: &InterfaceId| !is_ipv6 && !ip.addresses(*id).is_empty();
        let details = |id: InterfaceId| IpDetails { sw_if_index: InterfaceIndex(id.0.into()), is_ipv6 };
        interfaces.iter().map(|interface| interface.id).filter(speaks).map(details).collect::<Vec<_>>()
    });
    // No interface goes without an address of its own.
    file.dump(|_, IpUnnumberedDump { .. }: IpUnnumberedDump| Vec::<IpUnnumberedDetails>::new());
    file.request(|control, SwInterfaceIp6EnableDisable { sw_if_index, enable }| {
        find(control, sw_if_index)?;
        if enable { Err(no_ip6("enable")) } else { Ok(()) }
    });
}

pub(super) fn add_messages_of_interfaces(file: &mut Adding<'_>) {
    file.request(sw_interface_add_del_address);
    file.request(|control, SwInterfaceSetTable { sw_if_index, is_ipv6, vrf_id }| {
        let name = name(control, sw_if_index)?;
        if is_ipv6 {
            return Err(no_ip6("is_ipv6"));
        }
        if control.room::<Ip4>().fib.table(TableId(vrf_id)).is_none() {
            return Err(Refusal::new(Retval::NO_SUCH_FIB, format!("vrf_id: there is no table {vrf_id}")));
        }
        put_table(control, name, vrf_id)?;
        sweep(control);
        Ok(())
    });
    file.request(|control, SwInterfaceGetTable { sw_if_index, is_ipv6 }| {
        let table = control.room::<Ip4>().table_of(find(control, sw_if_index)?.id);
        // The tables of IPv6 are one, table 0, in which nothing is.
        Ok(SwInterfaceGetTableReply { vrf_id: if is_ipv6 { 0 } else { table.0 } })
    });
    file.request(|control, _: SwInterfaceAddressReplaceBegin| {
        let all = control.objects().all::<InterfaceAddress>();
        let marked: HashSet<_> = all.iter().map(|address| (address.interface.clone(), address.address)).collect();
        control.room_mut::<Replacing>().addresses = Some(marked);
        Ok(())
    });
    file.request(|control, _: SwInterfaceAddressReplaceEnd| {
        let marked = control.room_mut::<Replacing>().addresses.take().unwrap_or_default();
        for key in marked {
            if control.objects().get::<InterfaceAddress>(&key).is_some() {
                control.delete::<InterfaceAddress>(&key)?;
            }
        }
        Ok(())
    });
}

fn told(address: Address<V4>) -> AddressWithPrefix {
    AddressWithPrefix(Prefix { address: address.address().into(), len: address.prefix().length() })
}

/// The addresses of an interface, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpAddressDetails)]
pub(super) struct IpAddressDump {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// An address of an interface.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpAddressDetails {
    pub sw_if_index: InterfaceIndex,
    pub prefix: AddressWithPrefix,
}

/// The interfaces that have addresses, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpDetails)]
pub(super) struct IpDump {
    pub is_ipv6: bool,
}

/// An interface that has addresses.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpDetails {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// The interfaces that use the addresses of others, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpUnnumberedDetails)]
pub(super) struct IpUnnumberedDump {
    pub sw_if_index: InterfaceIndex,
}

/// An interface that uses the addresses of another one.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct IpUnnumberedDetails {
    pub sw_if_index: InterfaceIndex,
    pub ip_sw_if_index: InterfaceIndex,
}

/// Let an interface speak IPv6, or not any more.
#[derive(Message, Clone, Debug)]
#[message(request, name = "sw_interface_ip6_enable_disable")]
pub(super) struct SwInterfaceIp6EnableDisable {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
}

/// Give an interface an address, or take one or all away.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddDelAddress {
    pub sw_if_index: InterfaceIndex,
    pub is_add: bool,
    pub del_all: bool,
    pub prefix: AddressWithPrefix,
}

fn sw_interface_add_del_address(control: &Control, request: SwInterfaceAddDelAddress) -> Result<(), Refusal> {
    let name = name(control, request.sw_if_index)?;
    if request.del_all {
        return Ok(clear_addresses(control, &name)?);
    }
    let Prefix { address, len } = request.prefix.0;
    let IpAddr::V4(own) = address.get() else { return Err(no_ip6("prefix")) };
    let wrong = |error: &dyn std::fmt::Display| Refusal::new(Retval::INVALID_VALUE, format!("prefix: {error}"));
    let address = Address::<V4>::new(own, len).map_err(|error| wrong(&error))?;
    let key = (name, address);
    let is_there = control.objects().get::<InterfaceAddress>(&key).is_some();
    match (request.is_add, is_there) {
        (true, false) => {
            make_way(control, &key)?;
            Ok(control.put(InterfaceAddress::new(key.0, key.1))?)
        }
        (true, true) if control.room::<Replacing>().addresses.is_some() => {
            control.room_mut::<Replacing>().keep_address(&key);
            Ok(())
        }
        (true, true) => Err(Refusal::new(Retval::DUPLICATE_IF_ADDRESS, format!("prefix: {} has {address}", key.0))),
        (false, true) => Ok(control.delete::<InterfaceAddress>(&key)?),
        (false, false) => {
            let why = format!("prefix: {} does not have {address}", key.0);
            Err(Refusal::new(Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE, why))
        }
    }
}

/// While addresses are replaced, those that have a mark give way to what shall be there: other interfaces' that overlap.
fn make_way(control: &Control, (interface, address): &(InterfaceName, Address<V4>)) -> Result<(), Refusal> {
    let table = |name: &InterfaceName| {
        let id = control.room::<Interfaces>().id_of(&name.0);
        id.map(|id| control.room::<Ip4>().table_of(id)).ok()
    };
    let (wanted, own) = (address.prefix(), table(interface));
    let is_in_the_way = |(of, other): &&(InterfaceName, Address<V4>)| {
        let other = other.prefix();
        let overlaps = other.contains(wanted.address()) || wanted.contains(other.address());
        of != interface && overlaps && table(of) == own
    };
    let marked: Vec<_> =
        control.room::<Replacing>().addresses.iter().flatten().filter(is_in_the_way).cloned().collect();
    for key in marked {
        control.room_mut::<Replacing>().keep_address(&key);
        if control.objects().get::<InterfaceAddress>(&key).is_some() {
            control.delete::<InterfaceAddress>(&key)?;
        }
    }
    Ok(())
}

/// Have the packets of an interface looked up in a table.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetTable {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
    pub vrf_id: u32,
}

/// In which table are the packets of an interface looked up?
#[derive(Message, Clone, Debug)]
#[message(request, reply = SwInterfaceGetTableReply)]
pub(super) struct SwInterfaceGetTable {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// In this one.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SwInterfaceGetTableReply {
    pub vrf_id: u32,
}

/// Mark all addresses; those that are not added again until `sw_interface_address_replace_end` are taken away then.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddressReplaceBegin;

/// Take away the addresses that have a mark.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddressReplaceEnd;
