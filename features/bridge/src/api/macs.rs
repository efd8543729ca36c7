//! Messages about addresses in bridge domains.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::{Control, Pace};
use quiver_interface::api::{find, name};
use quiver_wire::{MacAddress, UnicastMac};

use super::domain;
use crate::bridges::Bridges;
use crate::learning::{flush, settle};
use crate::macs::{Found, MacEntry};
use crate::objects::{DomainId, StaticMac};
use crate::set::{put_mac, remove_mac};

/// Adds or deletes a MAC table entry of a bridge domain.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2fibAddDel {
    pub mac: MacAddress,
    pub bd_id: u32,
    pub sw_if_index: InterfaceIndex,
    #[default(true)]
    pub is_add: bool,
    pub static_mac: bool,
    pub filter_mac: bool,
    pub bvi_mac: bool,
}

/// Dumps the MAC table of one bridge domain, or of all if the id is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = L2FibTableDetails)]
pub(super) struct L2FibTableDump {
    pub bd_id: u32,
}

/// Describes one MAC table entry: its address, bridge domain, interface and flags.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct L2FibTableDetails {
    pub bd_id: u32,
    pub mac: MacAddress,
    pub sw_if_index: InterfaceIndex,
    pub static_mac: bool,
    pub filter_mac: bool,
    pub bvi_mac: bool,
}

/// Deletes all MAC table entries, static ones included.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2FibClearTable;

/// Deletes all learned MAC addresses.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2fibFlushAll;

/// Deletes the learned MAC addresses of one bridge domain.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2fibFlushBd {
    pub bd_id: u32,
}

/// Deletes the MAC addresses learned from one interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2fibFlushInt {
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(add_or_delete);
    file.dump(|control, request: L2FibTableDump| details(control, request.bd_id));
    file.waiting(|control, _: L2FibClearTable| async move {
        let mut pace = Pace::in_turns(&control);
        for said in control.walk::<StaticMac>() {
            pace.step().await;
            control.delete::<StaticMac>(&(said.domain.clone(), said.mac))?;
        }
        flush(&control, None, None).await;
        Ok(())
    });
    file.waiting(|control, _: L2fibFlushAll| async move {
        flush(&control, None, None).await;
        Ok(())
    });
    file.waiting(|control, request: L2fibFlushBd| async move {
        let index = control.room::<Bridges>().domains().get(&request.bd_id).map(|domain| domain.index);
        let what = format!("bd_id: there is no bridge domain {}", request.bd_id);
        let index = index.ok_or_else(|| Refusal::new(Retval::NO_SUCH_ENTRY, what))?;
        flush(&control, None, Some(index)).await;
        Ok(())
    });
    file.waiting(|control, request: L2fibFlushInt| async move {
        let id = find(&control, request.sw_if_index)?.id;
        flush(&control, Some(id), None).await;
        Ok(())
    });
}

fn add_or_delete(control: &Control, request: L2fibAddDel) -> Result<(), Refusal> {
    let id = DomainId(domain(control, request.bd_id)?.id);
    let mac = UnicastMac::new(request.mac);
    let mac = mac.map_err(|error| Refusal::new(Retval::INVALID_VALUE, format!("mac: {error}")))?;
    if !request.is_add {
        return match remove_mac(control, mac, id)? {
            true => Ok(()),
            false => {
                let what = format!("mac: bridge domain {} does not know {mac}", request.bd_id);
                Err(Refusal::new(Retval::NO_SUCH_ENTRY, what))
            }
        };
    }
    if request.filter_mac {
        return Ok(put_mac(control, mac, id, None, true)?);
    }
    let interface = name(control, request.sw_if_index)?;
    let bvi = control.room::<Bridges>().bvi(request.bd_id).map(InterfaceIndex::from);
    if request.bvi_mac && bvi != Some(request.sw_if_index) {
        let what = format!("bvi_mac: {interface} is not the virtual interface of bridge domain {}", request.bd_id);
        return Err(Refusal::new(Retval::INVALID_SW_IF_INDEX, what));
    }
    let no_member = |error: quiver_control::ObjectError| match error.field.as_str() {
        "interface" => Refusal::new(Retval::INVALID_SW_IF_INDEX, error.to_string()),
        _ => Refusal::from(error),
    };
    put_mac(control, mac, id, Some(interface), request.static_mac).map_err(no_member)
}

/// Step by step: first the stations are found, in which there is nothing to tell, and then each is told as it is by then.
pub(super) fn details(control: &Control, bd_id: u32) -> impl Iterator<Item = Option<L2FibTableDetails>> + use<> {
    // What was seen before the client asked belongs to the answer.
    settle(control);
    let (control, mut found) = (control.clone(), Found::default());
    std::iter::from_fn(move || {
        let bridges = control.room::<Bridges>();
        if bridges.macs.find_more(&mut found) {
            return Some(None);
        }
        let (_, station) = found.stations.pop_first()?;
        Some(bridges.macs.get(station).and_then(|entry| told(&bridges, bd_id, entry)))
    })
}

fn told(bridges: &Bridges, bd_id: u32, MacEntry { station, place, .. }: MacEntry) -> Option<L2FibTableDetails> {
    let id = bridges.id_of(station.domain).filter(|id| bd_id == NONE || bd_id == *id)?;
    Some(L2FibTableDetails {
        bd_id: id,
        mac: station.mac,
        sw_if_index: if place.filter { InterfaceIndex(NONE) } else { place.interface.into() },
        static_mac: place.fixed,
        filter_mac: place.filter,
        bvi_mac: place.bvi,
    })
}
