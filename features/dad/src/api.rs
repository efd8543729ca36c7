//! VPP's messages about duplicate address detection: `ip6_dad.api`.

use std::net::Ipv6Addr;
use std::rc::Rc;

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Subscribers, Wire};
use quiver_control::Control;
use quiver_control::object::Interval;

use crate::check::{Address, Checks, State};
use crate::objects::DuplicateAddressDetection;

pub(crate) fn register(control: &Control) {
    let listeners = quiver_compat::add(control, "ip6_dad", (1, 0, 0), |file| {
        file.request(ip6_dad_enable_disable);
        file.dump(|control, _: Ip6DadDump| vec![details(control)]);
        let listeners = Rc::new(Listeners(Subscribers::new(file.event())));
        let wanted = listeners.clone();
        file.call(move |call, request: WantIp6DadEvents| {
            wanted.0.set(&call.client, request.pid, request.enable_disable);
            Ok(())
        });
        listeners
    });
    control.room_mut::<Checks>().listeners = Some(listeners);
}

/// What is known of an address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "ip6_dad_state")]
#[repr(u8)]
enum DadState {
    /// Nobody was asked.
    #[default]
    #[value("IP6_DAD_STATE_IDLE")]
    Idle = 0,
    /// Others are being asked.
    #[value("IP6_DAD_STATE_TENTATIVE")]
    Tentative = 1,
    /// Nobody else has it.
    #[value("IP6_DAD_STATE_PREFERRED")]
    Preferred = 2,
    /// Somebody else has it.
    #[value("IP6_DAD_STATE_DUPLICATE")]
    Duplicate = 3,
}

/// Ask others about each IPv6 address that comes to an interface, or nobody any more.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip6_dad_enable_disable")]
struct Ip6DadEnableDisable {
    #[default(true)]
    enable: bool,
    #[default(1)]
    dad_transmits: u8,
    #[default(1.0)]
    dad_retransmit_delay: f64,
}

fn ip6_dad_enable_disable(control: &Control, request: Ip6DadEnableDisable) -> Result<(), Refusal> {
    let Ip6DadEnableDisable { enable, dad_transmits: transmits, dad_retransmit_delay: delay } = request;
    let name = DuplicateAddressDetection::NAME.to_owned();
    if !enable {
        return match control.objects().get::<DuplicateAddressDetection>(&name) {
            Some(_) => Ok(control.delete::<DuplicateAddressDetection>(&name)?),
            None => Ok(()),
        };
    }
    if !DuplicateAddressDetection::TRANSMITS.contains(&transmits) {
        return Err(Refusal::new(Retval::INVALID_VALUE, "dad_transmits: give 1 to 10"));
    }
    let within = DuplicateAddressDetection::DELAY.contains(&delay).then(|| Interval::seconds(delay)).flatten();
    let wrong = || Refusal::new(Retval::INVALID_VALUE_2, "dad_retransmit_delay: give 0.1 to 10 seconds");
    Ok(control.put(DuplicateAddressDetection { name, transmits, delay: within.ok_or_else(wrong)? })?)
}

/// How are others asked about addresses?
#[derive(Message, Clone, Debug)]
#[message(dump, name = "ip6_dad_dump", details = Ip6DadDetails)]
struct Ip6DadDump;

/// So.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details, name = "ip6_dad_details")]
struct Ip6DadDetails {
    enabled: bool,
    dad_transmits: u8,
    dad_retransmit_delay: f64,
}

fn details(control: &Control) -> Ip6DadDetails {
    let name = DuplicateAddressDetection::NAME.to_owned();
    let configured = control.objects().get::<DuplicateAddressDetection>(&name);
    let enabled = configured.is_some();
    let settings = configured.map_or_else(|| DuplicateAddressDetection::new(name), |settings| (*settings).clone());
    let dad_retransmit_delay = settings.delay.0.as_secs_f64();
    Ip6DadDetails { enabled, dad_transmits: settings.transmits, dad_retransmit_delay }
}

/// Tell me what becomes of addresses, or stop it.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_ip6_dad_events", events(Ip6DadEvent))]
struct WantIp6DadEvents {
    enable_disable: bool,
    pid: u32,
}

/// What has become of an address.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event, name = "ip6_dad_event")]
struct Ip6DadEvent {
    state: DadState,
    sw_if_index: InterfaceIndex,
    address: Ipv6Addr,
    dad_count: u8,
    dad_transmits: u8,
}

/// The clients that want to be told.
pub(crate) struct Listeners(Subscribers<Ip6DadEvent>);

impl Listeners {
    /// An address is in a state now, after so many questions of those that there are to be.
    pub fn tell(&self, (id, address): Address, state: State, asked: u8, of: u8) {
        let state = match state {
            State::Tentative => DadState::Tentative,
            State::Preferred => DadState::Preferred,
            State::Duplicate => DadState::Duplicate,
        };
        let event = Ip6DadEvent { state, sw_if_index: id.into(), address, dad_count: asked, dad_transmits: of };
        self.0.tell(&event);
    }
}

#[cfg(test)]
mod tests;
