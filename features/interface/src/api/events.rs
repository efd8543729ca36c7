//! `want_interface_events`: clients are told of changes of interfaces as they happen.

use quiver_compat::api::Adding;
use quiver_compat::types::{IfStatusFlags, InterfaceIndex};
use quiver_compat::{Message, Subscribers};
use quiver_control::Control;

use super::details::state;
use crate::interfaces::{InterfaceEvent, watch};

/// Subscribes to or unsubscribes from interface events: creation, deletion, admin state and link state.
#[derive(Message, Clone, Debug)]
#[message(request, events(SwInterfaceEvent))]
pub(super) struct WantInterfaceEvents {
    pub enable_disable: u32,
    pub pid: u32,
}

/// Reports the state of an interface, or that it was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct SwInterfaceEvent {
    pub sw_if_index: InterfaceIndex,
    pub flags: IfStatusFlags,
    pub deleted: bool,
}

pub(super) fn add_messages(control: &Control, file: &mut Adding<'_>) {
    let subscribers = std::rc::Rc::new(Subscribers::new(file.event::<SwInterfaceEvent>()));
    let wanted = subscribers.clone();
    file.call(move |call, request: WantInterfaceEvents| {
        wanted.set(&call.client, request.pid, request.enable_disable != 0);
        Ok(())
    });
    watch(control, move |control, event| {
        let (id, deleted) = match event {
            InterfaceEvent::Removed(id) => (id, true),
            InterfaceEvent::Created(id) | InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) => (id, false),
            InterfaceEvent::Mtu(_)
            | InterfaceEvent::Mac(_)
            | InterfaceEvent::AddressAdded(..)
            | InterfaceEvent::AddressRemoved(_) => return,
        };
        if !subscribers.is_empty() {
            let flags = if deleted { IfStatusFlags::default() } else { state(control, id) };
            subscribers.tell(&SwInterfaceEvent { sw_if_index: id.into(), flags, deleted });
        }
    });
}
