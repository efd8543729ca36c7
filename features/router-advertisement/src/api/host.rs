//! VPP's messages about routers that others are.

use std::net::Ipv6Addr;
use std::rc::Rc;
use std::time::Duration;

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, Prefix};
use quiver_compat::{Message, Refusal, Retval, Subscribers, Wire};
use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_interface::api::{find, name};
use quiver_wire::nd::PrefixOption;
use quiver_wire::{InterfaceAddress, V6};

use super::speaking;
use crate::autoconfiguration::AddressAutoconfiguration;
use crate::discovery::Routers;
use crate::input::Advertisement;
use crate::solicit::{self, Pace};

/// Ask for routers on a link, or stop it: again after `irt` seconds, and then after times that double up to `mrt`, `mrc` times
/// or for `mrd` seconds. Zeros are no limits.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct Ip6ndSendRouterSolicitation {
    pub irt: u32,
    pub mrt: u32,
    pub mrc: u32,
    pub mrd: u32,
    pub sw_if_index: InterfaceIndex,
    pub stop: bool,
}

/// Tell me of router advertisements, or stop it.
#[derive(Message, Clone, Debug)]
#[message(request, events(Ip6RaEvent))]
pub(super) struct WantIp6RaEvents {
    pub enable: bool,
    pub pid: u32,
}

/// What a router says of a prefix; the flags as it sends them.
#[derive(Wire, Clone, Debug, PartialEq)]
pub(super) struct Ip6RaPrefixInfo {
    pub prefix: Prefix,
    pub flags: u8,
    pub valid_time: u32,
    pub preferred_time: u32,
}

/// What a router says of itself; the flags as it sends them.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct Ip6RaEvent {
    pub sw_if_index: InterfaceIndex,
    pub router_addr: Ipv6Addr,
    pub current_hop_limit: u8,
    pub flags: u8,
    pub router_lifetime_in_sec: u16,
    pub neighbor_reachable_time_in_msec: u32,
    pub time_in_msec_between_retransmitted_neighbor_solicitations: u32,
    #[count(u32, "n_prefixes")]
    pub prefixes: Vec<Ip6RaPrefixInfo>,
}

/// Let an interface make itself addresses of the prefixes that routers advertise, and use them as default routers; or not.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip6_nd_address_autoconfig")]
pub(super) struct Ip6NdAddressAutoconfig {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
    pub install_default_routes: bool,
}

/// The clients that are told of advertisements.
pub(crate) struct Listeners(Subscribers<Ip6RaEvent>);

impl Listeners {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn tell(&self, id: InterfaceId, heard: &Advertisement) {
        let header = &heard.header;
        self.0.tell(&Ip6RaEvent {
            sw_if_index: id.into(),
            router_addr: heard.router,
            current_hop_limit: header.hop_limit,
            flags: header.flags,
            router_lifetime_in_sec: header.lifetime.get(),
            neighbor_reachable_time_in_msec: header.reachable_ms.get(),
            time_in_msec_between_retransmitted_neighbor_solicitations: header.retransmission_ms.get(),
            prefixes: heard.prefixes.iter().filter_map(told).collect(),
        });
    }
}

/// None of a prefix that has too many bits.
fn told(option: &PrefixOption) -> Option<Ip6RaPrefixInfo> {
    let prefix = InterfaceAddress::<V6>::new(option.prefix.into(), option.prefix_length).ok()?.prefix();
    let (flags, valid_time, preferred_time) = (option.flags, option.valid.get(), option.preferred.get());
    Some(Ip6RaPrefixInfo { prefix: prefix.into(), flags, valid_time, preferred_time })
}

pub(super) fn add_messages(file: &mut Adding<'_>) -> Option<Rc<Listeners>> {
    let listeners = Rc::new(Listeners(Subscribers::new(file.event())));
    file.request(solicit);
    let of = listeners.clone();
    file.call(move |call, WantIp6RaEvents { enable, pid }| {
        if of.0.has(&call.client) == enable {
            let what = if enable { "is told already" } else { "is not told" };
            return Err(Refusal::new(Retval::INVALID_REGISTRATION, format!("enable: the client {what}")));
        }
        of.0.set(&call.client, pid, enable);
        call.control.room_mut::<Routers>().publish();
        Ok(())
    });
    Some(listeners)
}

pub(super) fn add_autoconfiguration(file: &mut Adding<'_>) {
    file.request(|control, request: Ip6NdAddressAutoconfig| {
        let interface = name(control, request.sw_if_index)?;
        let is_there = control.objects().get::<AddressAutoconfiguration>(&interface).is_some();
        let default_route = request.install_default_routes;
        match request.enable {
            true => Ok(control.put(AddressAutoconfiguration { interface, default_route })?),
            false if is_there => Ok(control.delete::<AddressAutoconfiguration>(&interface)?),
            false => Ok(()),
        }
    });
}

fn solicit(control: &Control, request: Ip6ndSendRouterSolicitation) -> Result<(), Refusal> {
    let id = find(control, request.sw_if_index)?.id;
    if request.stop {
        control.room_mut::<Routers>().solicitors.remove(&id);
        return Ok(());
    }
    speaking(control, request.sw_if_index)?;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    if request.irt == 0 {
        return Err(Refusal::new(Retval::INVALID_VALUE, "irt: give a second at least"));
    }
    let Ip6ndSendRouterSolicitation { irt, mrt, mrc, mrd, .. } = request;
    let pace = Pace { first: seconds(irt), longest: seconds(mrt), count: mrc, duration: seconds(mrd) };
    solicit::begin(control, id, pace);
    Ok(())
}

#[cfg(test)]
mod tests;
