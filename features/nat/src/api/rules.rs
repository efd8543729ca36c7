//! Messages about interfaces and addresses.

use std::net::Ipv4Addr;

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::V4;

use super::types::ConfigFlags;
use crate::command::set_sides;
use crate::config::{NatAddresses, NatInterface, NatInterfaceAddress};
use crate::pools::{PooledAddress, pooled, remove_addresses};

pub(super) fn register(file: &mut Adding<'_>) {
    file.request(interface);
    file.dump(interfaces);
    file.request(output_interface);
    file.stream(|control, _: Nat44EdOutputInterfaceGet| {
        Ok((output_interfaces(control), Nat44EdOutputInterfaceGetReply { cursor: NONE }))
    });
    file.request(address_range);
    file.dump(addresses);
    file.request(interface_address);
    file.dump(interface_addresses);
}

/// Makes an interface inside or outside, or no longer.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44InterfaceAddDelFeature {
    is_add: bool,
    flags: ConfigFlags,
    sw_if_index: InterfaceIndex,
}

/// Dumps the inside and outside interfaces.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44InterfaceDetails)]
struct Nat44InterfaceDump {}

/// Describes an interface: whether it is inside, outside or both.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44InterfaceDetails {
    flags: ConfigFlags,
    sw_if_index: InterfaceIndex,
}

/// Translates packets to an interface when they leave, or no longer.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44EdAddDelOutputInterface {
    is_add: bool,
    sw_if_index: InterfaceIndex,
}

/// Asks for the interfaces whose packets are translated when they leave.
#[derive(Message, Clone, Debug)]
#[message(stream, details = Nat44EdOutputInterfaceDetails, reply = Nat44EdOutputInterfaceGetReply)]
struct Nat44EdOutputInterfaceGet {
    cursor: u32,
}

/// Ends the list; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct Nat44EdOutputInterfaceGetReply {
    cursor: u32,
}

/// Describes an interface whose packets are translated when they leave.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44EdOutputInterfaceDetails {
    sw_if_index: InterfaceIndex,
}

/// Adds addresses to which hosts are translated, or deletes them.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44AddDelAddressRange {
    first_ip_address: Ipv4Addr,
    last_ip_address: Ipv4Addr,
    vrf_id: u32,
    is_add: bool,
    flags: ConfigFlags,
}

/// Dumps the addresses to which hosts are translated.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44AddressDetails)]
struct Nat44AddressDump {}

/// Describes an address: the table that it serves, or 0xffffffff for all.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44AddressDetails {
    ip_address: Ipv4Addr,
    flags: ConfigFlags,
    vrf_id: u32,
}

/// Translates hosts to the first address of an interface, or no longer.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44AddDelInterfaceAddr {
    is_add: bool,
    sw_if_index: InterfaceIndex,
    flags: ConfigFlags,
}

/// Dumps the interfaces to whose addresses hosts are translated.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44InterfaceAddrDetails)]
struct Nat44InterfaceAddrDump {}

/// Describes an interface to whose address hosts are translated.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44InterfaceAddrDetails {
    sw_if_index: InterfaceIndex,
    flags: ConfigFlags,
}

/// The number of an interface.
pub(super) fn index(control: &Control, interface: &InterfaceName) -> Option<InterfaceIndex> {
    control.room::<Interfaces>().id_of(&interface.0).ok().map(InterfaceIndex::from)
}

fn interface(control: &Control, request: Nat44InterfaceAddDelFeature) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let (is_inside, on) = (request.flags.has(ConfigFlags::INSIDE), request.is_add);
    Ok(set_sides(control, &interface, |sides| if is_inside { sides.inside = on } else { sides.outside = on })?)
}

fn interfaces(control: &Control, _: Nat44InterfaceDump) -> impl Iterator<Item = Option<Nat44InterfaceDetails>> + use<> {
    let all = control.walk::<NatInterface>();
    let control = control.clone();
    all.map(move |object| {
        let of = |is: bool, flag: ConfigFlags| if is { flag.0 } else { 0 };
        let flags = of(object.inside, ConfigFlags::INSIDE) | of(object.outside, ConfigFlags::OUTSIDE);
        let sw_if_index = index(&control, &object.interface).filter(|_| flags != 0)?;
        Some(Nat44InterfaceDetails { flags: ConfigFlags(flags), sw_if_index })
    })
}

fn output_interface(control: &Control, request: Nat44EdAddDelOutputInterface) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    Ok(set_sides(control, &interface, |sides| sides.output = request.is_add)?)
}

fn output_interfaces(control: &Control) -> impl Iterator<Item = Option<Nat44EdOutputInterfaceDetails>> + use<> {
    let all = control.walk::<NatInterface>();
    let control = control.clone();
    all.map(move |object| {
        let sw_if_index = index(&control, &object.interface).filter(|_| object.output)?;
        Some(Nat44EdOutputInterfaceDetails { sw_if_index })
    })
}

/// The table of a number; it must be there.
pub(super) fn table(control: &Control, id: u32) -> Result<TableNumber<V4>, Refusal> {
    match control.room::<Ip<V4>>().fib.table(TableId(id)) {
        Some(_) => Ok(TableNumber::new(id)),
        None => Err(Refusal::new(Retval::NO_SUCH_FIB, format!("vrf_id: there is no table {id}"))),
    }
}

fn address_range(control: &Control, request: Nat44AddDelAddressRange) -> Result<(), Refusal> {
    let (first, last) = (request.first_ip_address, request.last_ip_address);
    let table = if request.vrf_id == NONE { None } else { Some(table(control, request.vrf_id)?) };
    let twice_nat = request.flags.has(ConfigFlags::TWICE_NAT);
    let addresses =
        NatAddresses { last: (last != first).then_some(last), table, twice_nat, ..NatAddresses::new(first) };
    if request.is_add { Ok(control.put(addresses)?) } else { Ok(remove_addresses(control, &addresses)?) }
}

fn addresses(control: &Control, _: Nat44AddressDump) -> impl Iterator<Item = Option<Nat44AddressDetails>> + use<> {
    let details = |pooled: PooledAddress| Nat44AddressDetails {
        ip_address: pooled.address,
        flags: if pooled.is_twice { ConfigFlags::TWICE_NAT } else { ConfigFlags::NONE },
        vrf_id: pooled.table.map_or(NONE, |table| table.0),
    };
    pooled(control).map(move |found| found.map(details))
}

fn interface_address(control: &Control, request: Nat44AddDelInterfaceAddr) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let twice_nat = request.flags.has(ConfigFlags::TWICE_NAT);
    let object = NatInterfaceAddress { twice_nat, ..NatInterfaceAddress::new(interface.clone()) };
    Ok(control.assign(&interface, request.is_add.then_some(object))?)
}

fn interface_addresses(
    control: &Control,
    _: Nat44InterfaceAddrDump,
) -> impl Iterator<Item = Option<Nat44InterfaceAddrDetails>> + use<> {
    let all = control.walk::<NatInterfaceAddress>();
    let control = control.clone();
    all.map(move |object| {
        let flags = if object.twice_nat { ConfigFlags::TWICE_NAT } else { ConfigFlags::NONE };
        Some(Nat44InterfaceAddrDetails { sw_if_index: index(&control, &object.interface)?, flags })
    })
}

#[cfg(test)]
mod tests;
