//! Messages about the hosts for which bridge domains answer questions.

use std::rc::Rc;

use quiver_compat::api::Adding;
use quiver_compat::types::{Address, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Subscribers, Wire};
use quiver_control::Control;
use quiver_wire::{MacAddress, UnicastMac};

use super::domain;
use crate::hosts::{self, Asked};
use crate::objects::{BridgeHost, DomainId};

/// A host of a bridge domain: its address of layer 3, and that of its hardware.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
pub(super) struct BdIpMac {
    pub bd_id: u32,
    pub ip: Address,
    pub mac: MacAddress,
}

/// Adds or deletes a host for which a bridge domain answers ARP or neighbor solicitations.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BdIpMacAddDel {
    #[default(true)]
    pub is_add: bool,
    pub entry: BdIpMac,
}

/// Deletes all hosts for which a bridge domain answers.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BdIpMacFlush {
    pub bd_id: u32,
}

/// Dumps the hosts for which one bridge domain answers, or all if the id is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = BdIpMacDetails)]
pub(super) struct BdIpMacDump {
    pub bd_id: u32,
}

/// Describes one host: its bridge domain, IP address and MAC address.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct BdIpMacDetails {
    pub entry: BdIpMac,
}

/// Subscribes to or unsubscribes from events about ARP and neighbor solicitations in bridge domains that terminate
/// them.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_l2_arp_term_events", events(L2ArpTermEvent))]
pub(super) struct WantL2ArpTermEvents {
    pub enable: bool,
    pub pid: u32,
}

/// Reports the sender of an ARP request or neighbor solicitation, at most once in 10 s.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct L2ArpTermEvent {
    pub ip: Address,
    pub sw_if_index: InterfaceIndex,
    pub mac: MacAddress,
}

pub(super) fn add_messages(control: &Control, file: &mut Adding<'_>) {
    file.request(add_or_delete);
    file.request(|control, request: BdIpMacFlush| {
        domain(control, request.bd_id)?;
        Ok(hosts::clear(control, &DomainId(request.bd_id))?)
    });
    file.dump(|control, request: BdIpMacDump| {
        let only = (request.bd_id != NONE).then_some(DomainId(request.bd_id));
        let details = |host: Rc<BridgeHost>| BdIpMacDetails {
            entry: BdIpMac { bd_id: host.domain.0, ip: host.address.into(), mac: host.mac.get() },
        };
        hosts::of(control, only).map(move |host| host.map(details))
    });
    // Shared, and in no room: what a room keeps must not keep control.
    let listeners = Rc::new(Subscribers::new(file.event()));
    let told = listeners.clone();
    control.room_mut::<Asked>().set(Box::new(move |asker| {
        let (ip, sw_if_index, mac) = (asker.address.into(), asker.interface.into(), asker.mac);
        told.tell(&L2ArpTermEvent { ip, sw_if_index, mac });
    }));
    file.call(move |call, request: WantL2ArpTermEvents| {
        listeners.set(&call.client, request.pid, request.enable);
        call.control.room_mut::<Asked>().want(!listeners.is_empty());
        Ok(())
    });
}

fn add_or_delete(control: &Control, request: BdIpMacAddDel) -> Result<(), Refusal> {
    let BdIpMac { bd_id, ip, mac } = request.entry;
    domain(control, bd_id)?;
    let (domain, address) = (DomainId(bd_id), ip.get());
    if request.is_add {
        let wrong = |error| Refusal::new(Retval::INVALID_VALUE, format!("entry.mac: {error}"));
        return Ok(control.put(BridgeHost { domain, address, mac: UnicastMac::new(mac).map_err(wrong)? })?);
    }
    let key = (domain, address);
    if control.objects().get::<BridgeHost>(&key).is_none() {
        let what = format!("entry.ip: {address} is no host of bridge domain {bd_id}");
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, what));
    }
    Ok(control.delete::<BridgeHost>(&key)?)
}

#[cfg(test)]
mod tests;
