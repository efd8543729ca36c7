//! VPP's messages about routers that others are.

use std::rc::Rc;
use std::time::Duration;

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Subscribers};
use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_interface::api::{find, name};
use quiver_ip::Ip6;

use super::event::{Ip6RaEvent, Listeners};
use crate::autoconfiguration::AddressAutoconfiguration;
use crate::routers::{Pace, Routers};
use crate::solicit;

/// Starts or stops router solicitations. The interval grows from `irt` to `mrt` seconds; `mrc` limits their number
/// and `mrd` their duration. 0 is unlimited.
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

/// Subscribes to or unsubscribes from received router advertisements.
#[derive(Message, Clone, Debug)]
#[message(request, events(Ip6RaEvent))]
pub(super) struct WantIp6RaEvents {
    pub enable: bool,
    pub pid: u32,
}

/// Enables or disables stateless address autoconfiguration on an interface, with or without default routes.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip6_nd_address_autoconfig")]
pub(super) struct Ip6NdAddressAutoconfig {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
    pub install_default_routes: bool,
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

/// The interface that a message names, if it speaks IPv6.
pub(super) fn speaking(control: &Control, index: InterfaceIndex) -> Result<InterfaceName, Refusal> {
    let id = find(control, index)?.id;
    match control.room::<Ip6>().speaks(id) {
        true => name(control, index),
        false => Err(Refusal::new(Retval::IP6_NOT_ENABLED, "sw_if_index: the interface does not speak IPv6")),
    }
}

#[cfg(test)]
mod tests;
