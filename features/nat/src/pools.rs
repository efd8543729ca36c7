//! Pools of outside addresses, on the control side.

use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use quiver_control::{Change, Control, ObjectError};
use quiver_interface::{Direction, FeatureSettings, InterfaceEvent};
use quiver_ip::fib::TableId;
use quiver_session::second::Second;

use crate::config::{NatAddresses, NatInterface, NatInterfaceAddress};
use crate::mappings::{Filtering, MappingMode};
use crate::node::session::{flag, has};
use crate::room::{Nat, address_of, end_sessions, note_mtu, publish_mappings_of_interfaces, slot_of};
use crate::rules::Pooled;

/// An address of the pool.
pub(crate) struct PooledAddress {
    /// Address.
    pub address: Ipv4Addr,
    /// Table that it serves; None: all.
    pub table: Option<TableId>,
    /// Whether it is for clients.
    pub is_twice: bool,
    /// Mode of its sessions.
    pub mapping: MappingMode,
    /// Filtering of its mappings.
    pub filtering: Filtering,
}

/// Addresses to which hosts are translated.
pub(crate) fn pooled(control: &Control) -> impl Iterator<Item = Option<PooledAddress>> + use<> {
    let of_range = |object: Rc<NatAddresses>| {
        let (table, is_twice) = (object.table.map(TableId::from), object.twice_nat);
        let (mapping, filtering) = (object.mapping, object.filtering);
        let of = move |address| PooledAddress { address, table, is_twice, mapping, filtering };
        object.all().map(move |address| Some(of(Ipv4Addr::from_bits(address))))
    };
    let ranges = control.walk::<NatAddresses>().flat_map(of_range);
    let (interfaces, control) = (control.walk::<NatInterfaceAddress>(), control.clone());
    let of_interface = move |object: Rc<NatInterfaceAddress>| {
        let (mapping, filtering, is_twice) = (object.mapping, object.filtering, object.twice_nat);
        let of = |address| PooledAddress { address, table: None, is_twice, mapping, filtering };
        address_of(&control, &object.interface).map(of)
    };
    ranges.chain(interfaces.map(of_interface))
}

/// Takes a range of addresses out of all ranges that have some of it.
pub(crate) fn remove_addresses(control: &Control, removed: &NatAddresses) -> Result<(), ObjectError> {
    let (first, last) = removed.range();
    let mut found = false;
    let ranges: Vec<_> = control.room::<Nat>().addresses.values().cloned().collect();
    for range in ranges.iter().filter(|range| range.twice_nat == removed.twice_nat) {
        let (from, to) = range.range();
        if to < first || from > last {
            continue;
        }
        found = true;
        control.delete::<NatAddresses>(&range.first)?;
        for (from, to) in [(from, first.wrapping_sub(1)), (last.wrapping_add(1), to)] {
            // What is left on either side.
            if (range.range().0..=range.range().1).contains(&from) && from <= to && (to < first || from > last) {
                let last = (to != from).then(|| Ipv4Addr::from_bits(to));
                control.put(NatAddresses { first: Ipv4Addr::from_bits(from), last, ..range.clone() })?;
            }
        }
    }
    let unknown = || ObjectError::whole(format!("{} is no address of the pool", removed.first));
    found.then_some(()).ok_or_else(unknown)
}

/// Gives workers the pools.
fn publish_pools(control: &Control) {
    let (mut pool, mut twice_pool) = (vec![], vec![]);
    {
        let nat = control.room::<Nat>();
        for addresses in nat.addresses.values() {
            match addresses.twice_nat {
                true => twice_pool.extend(addresses.all()),
                false => {
                    let table = addresses.table.map(|table| slot_of(control, table.into()).unwrap_or(u32::MAX));
                    let (mode, filtering) = (addresses.mapping, addresses.filtering);
                    pool.extend(addresses.all().map(|address| Pooled { address, table, mode, filtering }));
                }
            }
        }
        for own in nat.interface_addresses.values() {
            let Some(address) = address_of(control, &own.interface).map(Ipv4Addr::to_bits) else { continue };
            match own.twice_nat {
                true => twice_pool.push(address),
                false => {
                    pool.push(Pooled { address, table: None, mode: own.mapping, filtering: own.filtering });
                }
            }
        }
    }
    control.room_mut::<Nat>().rules.edit(|rules| rules.set_pools(pool, twice_pool));
}

/// Follows addresses of interfaces, and makes room for counters.
pub(crate) fn follow(control: &Control, event: InterfaceEvent) {
    match event {
        InterfaceEvent::Created(id) => control.room::<Nat>().counters.grow(id),
        InterfaceEvent::Mtu(id) => {
            let sides = control.room::<FeatureSettings<NatInterface>>().at(Direction::Rx, id).bits;
            if sides != 0 {
                note_mtu(control, id);
            }
        }
        InterfaceEvent::AddressAdded(_, IpAddr::V4(_)) | InterfaceEvent::AddressRemoved(_) => {
            if !control.room::<Nat>().interface_addresses.is_empty() {
                publish_pools(control);
            }
            publish_mappings_of_interfaces(control);
        }
        _ => {}
    }
}

/// Whether the outside end of a session is of the pool.
fn is_pooled(second: &Second) -> bool {
    !has(second, flag::STATIC) && !has(second, flag::FORWARDED)
}

pub(crate) fn apply_addresses(control: &Control, change: Change<'_, NatAddresses>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    {
        let mut nat = control.room_mut::<Nat>();
        if let Some(old) = old {
            nat.addresses.remove(&old.first);
        }
        if let Some(new) = new {
            nat.addresses.insert(new.first, new.clone());
        }
    }
    publish_pools(control);
    if let Some(old) = old {
        let (first, last) = old.range();
        let is_of = move |address: u32| (first..=last).contains(&address);
        end_sessions(control, move |second| is_pooled(second) && is_of(second.key.near.address));
    }
    Ok(())
}

pub(crate) fn apply_interface_address(
    control: &Control,
    change: Change<'_, NatInterfaceAddress>,
) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let address = old.and_then(|old| address_of(control, &old.interface));
    {
        let mut nat = control.room_mut::<Nat>();
        old.into_iter().for_each(|old| drop(nat.interface_addresses.remove(&old.interface)));
        new.into_iter().for_each(|new| drop(nat.interface_addresses.insert(new.interface.clone(), new.clone())));
    }
    publish_pools(control);
    if let Some(address) = address.map(Ipv4Addr::to_bits) {
        end_sessions(control, move |second| is_pooled(second) && second.key.near.address == address);
    }
    Ok(())
}
