//! VPP's messages about what has become of an address, and the clients that want to be told.

use std::net::Ipv6Addr;
use std::rc::Rc;

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Subscribers, Wire};

use crate::address::{Address, State};

/// State of an address in duplicate address detection.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "ip6_dad_state")]
#[repr(u8)]
pub(super) enum DadState {
    /// No probe was sent.
    #[default]
    #[value("IP6_DAD_STATE_IDLE")]
    Idle = 0,
    /// Probes are being sent.
    #[value("IP6_DAD_STATE_TENTATIVE")]
    Tentative = 1,
    /// No other host has the address.
    #[value("IP6_DAD_STATE_PREFERRED")]
    Preferred = 2,
    /// Another host has the address.
    #[value("IP6_DAD_STATE_DUPLICATE")]
    Duplicate = 3,
}

/// Subscribes to or unsubscribes from duplicate address detection events.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_ip6_dad_events", events(Ip6DadEvent))]
pub(super) struct WantIp6DadEvents {
    pub(super) enable_disable: bool,
    pub(super) pid: u32,
}

/// Reports the state of an address under duplicate address detection.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event, name = "ip6_dad_event")]
pub(super) struct Ip6DadEvent {
    pub(super) state: DadState,
    pub(super) sw_if_index: InterfaceIndex,
    pub(super) address: Ipv6Addr,
    pub(super) dad_count: u8,
    pub(super) dad_transmits: u8,
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

pub(super) fn add(file: &mut Adding<'_>) -> Option<Rc<Listeners>> {
    let listeners = Rc::new(Listeners(Subscribers::new(file.event())));
    let wanted = listeners.clone();
    file.call(move |call, request: WantIp6DadEvents| {
        wanted.0.set(&call.client, request.pid, request.enable_disable);
        Ok(())
    });
    Some(listeners)
}
