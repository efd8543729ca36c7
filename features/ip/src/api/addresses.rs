//! Messages about the addresses of interfaces, and their tables.

use std::collections::HashSet;
use std::net::IpAddr;

use quiver_compat::api::Adding;
use quiver_compat::types::{AddressWithPrefix, InterfaceIndex, Prefix};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::{find, name};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces, walk};
use quiver_wire::{InterfaceAddress as Address, PrefixError, V4, V6};

use super::leaving::sweep;
use super::link_local::change_link_local;
use super::replacing::Replacing;
use crate::config::edits::{clear_addresses, put_table};
use crate::config::objects::InterfaceAddress;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.dump(|control, request: IpAddressDump| by_family!(request.is_ipv6, addresses(control, request.sw_if_index)));
    file.dump(|control, IpDump { is_ipv6 }: IpDump| {
        let control = control.clone();
        walk(&control.clone()).map(move |id| {
            let speaks = by_family!(is_ipv6, speaks(&control, id));
            speaks.then(|| IpDetails { sw_if_index: id.into(), is_ipv6 })
        })
    });
}

/// The addresses of an interface.
fn addresses<F: Family>(control: &Control, sw_if_index: InterfaceIndex) -> Vec<IpAddressDetails> {
    let addresses = control.room::<Ip<F>>().addresses(InterfaceId(sw_if_index.0)).to_vec();
    addresses.into_iter().map(|address| IpAddressDetails { sw_if_index, prefix: told(address) }).collect()
}

/// The interfaces that speak a family.
fn speaks<F: Family>(control: &Control, id: InterfaceId) -> bool {
    control.room::<Ip<F>>().speaks(id)
}

pub(super) fn add_messages_of_interfaces(file: &mut Adding<'_>) {
    file.request(|control, request: SwInterfaceAddDelAddress| {
        let name = name(control, request.sw_if_index)?;
        if request.del_all {
            clear_addresses::<V4>(control, &name)?;
            return Ok(clear_addresses::<V6>(control, &name)?);
        }
        let prefix = request.prefix.0;
        match prefix.address.get() {
            IpAddr::V6(own) if V6::is_link_local(own) => change_link_local(control, name, own, request.is_add),
            address => by_family!(address.is_ipv6(), change(control, name, prefix, request.is_add)),
        }
    });
    file.request(|control, SwInterfaceSetTable { sw_if_index, is_ipv6, vrf_id }| {
        by_family!(is_ipv6, set_table(control, sw_if_index, vrf_id))
    });
    file.request(|control, SwInterfaceGetTable { sw_if_index, is_ipv6 }| {
        let id = find(control, sw_if_index)?.id;
        Ok(SwInterfaceGetTableReply { vrf_id: by_family!(is_ipv6, table_of(control, id)).0 })
    });
    file.request(|control, _: SwInterfaceAddressReplaceBegin| {
        replace_begin::<V4>(control);
        replace_begin::<V6>(control);
        Ok(())
    });
    file.request(|control, _: SwInterfaceAddressReplaceEnd| {
        replace_end::<V4>(control)?;
        replace_end::<V6>(control)
    });
}

fn set_table<F: Family>(control: &Control, sw_if_index: InterfaceIndex, table: u32) -> Result<(), Refusal> {
    let name = name(control, sw_if_index)?;
    if control.room::<Ip<F>>().fib.table(TableId(table)).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_FIB, format!("vrf_id: there is no table {table}")));
    }
    put_table::<F>(control, name, table)?;
    sweep::<F>(control);
    Ok(())
}

fn table_of<F: Family>(control: &Control, id: InterfaceId) -> TableId {
    control.room::<Ip<F>>().table_of(id)
}

fn replace_begin<F: Family>(control: &Control) {
    let all = control.objects().all::<InterfaceAddress<F>>();
    let marked: HashSet<_> = all.iter().map(|address| (address.interface.clone(), address.address)).collect();
    control.room_mut::<Replacing<F>>().addresses = Some(marked);
}

fn replace_end<F: Family>(control: &Control) -> Result<(), Refusal> {
    let marked = control.room_mut::<Replacing<F>>().addresses.take().unwrap_or_default();
    for key in marked {
        if control.objects().get::<InterfaceAddress<F>>(&key).is_some() {
            control.delete::<InterfaceAddress<F>>(&key)?;
        }
    }
    Ok(())
}

fn told<F: Family>(address: Address<F>) -> AddressWithPrefix {
    let own: IpAddr = address.address().into();
    AddressWithPrefix(Prefix { address: own.into(), len: address.prefix().length() })
}

/// Dumps the addresses of an interface.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpAddressDetails)]
pub(super) struct IpAddressDump {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// Describes one interface address with its prefix length.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpAddressDetails {
    pub sw_if_index: InterfaceIndex,
    pub prefix: AddressWithPrefix,
}

/// Dumps the interfaces that have addresses of a family.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpDetails)]
pub(super) struct IpDump {
    pub is_ipv6: bool,
}

/// Names one interface that has addresses.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpDetails {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// Adds or deletes an interface address; `del_all` deletes all of them.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddDelAddress {
    pub sw_if_index: InterfaceIndex,
    pub is_add: bool,
    pub del_all: bool,
    pub prefix: AddressWithPrefix,
}

fn change<F: Family>(control: &Control, name: InterfaceName, prefix: Prefix, is_add: bool) -> Result<(), Refusal> {
    let own = prefix.address.in_family::<F>()?;
    let wrong = |error: PrefixError| Refusal::new(Retval::INVALID_VALUE, format!("prefix: {error}"));
    let address = Address::<F>::new(own, prefix.len).map_err(wrong)?;
    let key = (name, address);
    let is_there = control.objects().get::<InterfaceAddress<F>>(&key).is_some();
    match (is_add, is_there) {
        (true, false) => {
            make_way(control, &key)?;
            Ok(control.put(InterfaceAddress::<F>::new(key.0, key.1))?)
        }
        (true, true) if control.room::<Replacing<F>>().addresses.is_some() => {
            control.room_mut::<Replacing<F>>().keep_address(&key);
            Ok(())
        }
        (true, true) => Err(Refusal::new(Retval::DUPLICATE_IF_ADDRESS, format!("prefix: {} has {address}", key.0))),
        (false, true) => Ok(control.delete::<InterfaceAddress<F>>(&key)?),
        (false, false) => {
            let why = format!("prefix: {} does not have {address}", key.0);
            Err(Refusal::new(Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE, why))
        }
    }
}

/// While addresses are replaced, those that have a mark give way to what shall be there: other interfaces' that overlap.
fn make_way<F: Family>(control: &Control, (interface, address): &(InterfaceName, Address<F>)) -> Result<(), Refusal> {
    let table = |name: &InterfaceName| {
        let id = control.room::<Interfaces>().id_of(&name.0);
        id.map(|id| control.room::<Ip<F>>().table_of(id)).ok()
    };
    let (wanted, own) = (address.prefix(), table(interface));
    let is_in_the_way = |(of, other): &&(InterfaceName, Address<F>)| {
        let other = other.prefix();
        let overlaps = other.contains(wanted.address()) || wanted.contains(other.address());
        of != interface && overlaps && table(of) == own
    };
    let marked: Vec<_> =
        control.room::<Replacing<F>>().addresses.iter().flatten().filter(is_in_the_way).cloned().collect();
    for key in marked {
        control.room_mut::<Replacing<F>>().keep_address(&key);
        if control.objects().get::<InterfaceAddress<F>>(&key).is_some() {
            control.delete::<InterfaceAddress<F>>(&key)?;
        }
    }
    Ok(())
}

/// Binds an interface to an IP table, in which its received packets are looked up.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetTable {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
    pub vrf_id: u32,
}

/// Asks for the IP table of an interface.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SwInterfaceGetTableReply)]
pub(super) struct SwInterfaceGetTable {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// Id of the IP table.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SwInterfaceGetTableReply {
    pub vrf_id: u32,
}

/// Marks all interface addresses; `sw_interface_address_replace_end` deletes those not added again.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddressReplaceBegin;

/// Deletes the interface addresses that are still marked.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceAddressReplaceEnd;
