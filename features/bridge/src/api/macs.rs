//! Messages about addresses in bridge domains.

use std::collections::btree_map;

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_interface::api::{find, name};
use quiver_wire::{MacAddress, UnicastMac};

use super::domain;
use crate::bridges::Bridges;
use crate::gathering::{Gathering, Stations};
use crate::layer2::DomainIndex;
use crate::learning::settle;
use crate::macs::MacEntry;
use crate::objects::{DomainId, StaticMac};
use crate::set::{put_mac, remove_mac};
use crate::station::Station;

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
    file.dump_in_steps(|control, request: L2FibTableDump| Entries::new(control, request.bd_id));
    file.request(|control, _: L2FibClearTable| {
        for said in control.objects().all::<StaticMac>() {
            control.delete::<StaticMac>(&(said.domain.clone(), said.mac))?;
        }
        flush(control, None, None);
        Ok(())
    });
    file.request(|control, _: L2fibFlushAll| {
        flush(control, None, None);
        Ok(())
    });
    file.request(|control, request: L2fibFlushBd| {
        let index = control.room::<Bridges>().domains().get(&request.bd_id).map(|domain| domain.index);
        let what = format!("bd_id: there is no bridge domain {}", request.bd_id);
        let index = index.ok_or_else(|| Refusal::new(Retval::NO_SUCH_ENTRY, what))?;
        flush(control, None, Some(index));
        Ok(())
    });
    file.request(|control, request: L2fibFlushInt| {
        flush(control, Some(find(control, request.sw_if_index)?.id), None);
        Ok(())
    });
}

/// Forgets learned addresses, with those that are on their way.
pub(super) fn flush(control: &Control, interface: Option<InterfaceId>, domain: Option<DomainIndex>) {
    settle(control);
    control.room_mut::<Bridges>().macs.forget_learned(interface, domain);
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

/// Buckets of the table that are gathered in a step of an answer; a turn has 64 steps.
const GATHERED: usize = 16;

/// The entries of a dump, by domain and address: gathered first, then described one by one.
pub(super) struct Entries {
    control: Control,
    bd_id: u32,
    gathering: Option<Gathering>,
    stations: btree_map::IntoValues<(DomainIndex, MacAddress), Station>,
}

impl Entries {
    pub fn new(control: &Control, bd_id: u32) -> Entries {
        // What was seen before the client asked belongs to the answer.
        settle(control);
        let stations = Stations::new().into_values();
        Entries { control: control.clone(), bd_id, gathering: Some(Gathering::new()), stations }
    }

    /// Describes a station, if it is still there.
    fn details(&self, station: Station) -> Option<L2FibTableDetails> {
        let bridges = self.control.room::<Bridges>();
        let MacEntry { station, place, .. } = bridges.macs.get(station)?;
        let id = bridges.id_of(station.domain).filter(|id| self.bd_id == NONE || self.bd_id == *id)?;
        Some(L2FibTableDetails {
            bd_id: id,
            mac: station.mac,
            sw_if_index: if place.filter { InterfaceIndex(NONE) } else { place.interface.into() },
            static_mac: place.fixed,
            filter_mac: place.filter,
            bvi_mac: place.bvi,
        })
    }
}

impl Iterator for Entries {
    type Item = Option<L2FibTableDetails>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(gathering) = &mut self.gathering else {
            let station = self.stations.next()?;
            return Some(self.details(station));
        };
        if !gathering.step(&self.control.room::<Bridges>().macs, GATHERED) {
            self.stations = self.gathering.take().unwrap_or_else(Gathering::new).into_stations().into_values();
        }
        Some(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.gathering.as_ref().map_or(self.stations.len(), Gathering::len), None)
    }
}
