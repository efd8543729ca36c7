//! Neighbors in VPP's messages, and the clients that get events about them.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use quiver_compat::api::{Adding, MessageId};
use quiver_compat::types::{Address, InterfaceIndex, NONE};
use quiver_compat::{Message, Subscribers, Wire, flags};
use quiver_interface::InterfaceId;
use quiver_wire::MacAddress;

use crate::state::State;

/// A neighbour of either family, as clients are told of it.
pub(super) type Told = (InterfaceId, IpAddr);

flags! {
    /// Properties of a neighbor.
    pub(crate) struct IpNeighborFlags(u8) as "ip_neighbor_flags" Enum {
        /// No property.
        NONE = 0 => "IP_API_NEIGHBOR_FLAG_NONE",
        /// The neighbor was configured.
        STATIC = 1 => "IP_API_NEIGHBOR_FLAG_STATIC",
        /// The neighbor has no route of its own.
        NO_FIB_ENTRY = 2 => "IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY",
    }
}

/// A neighbour.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IpNeighbor {
    pub(super) sw_if_index: InterfaceIndex,
    pub(super) flags: IpNeighborFlags,
    pub(super) mac_address: MacAddress,
    pub(super) ip_address: Address,
}

impl IpNeighbor {
    pub(super) fn of((interface, address): Told, mac: MacAddress, state: State) -> IpNeighbor {
        let flags = if state == State::Static { IpNeighborFlags::STATIC } else { IpNeighborFlags::NONE };
        IpNeighbor { sw_if_index: interface.into(), flags, mac_address: mac, ip_address: address.into() }
    }
}

/// Whether a request about the neighbours on an interface, or on all, means those on this one.
pub(super) fn is_meant(sw_if_index: InterfaceIndex, id: InterfaceId) -> bool {
    sw_if_index.0 == NONE || sw_if_index.0 == id.0
}

/// Subscribes to or unsubscribes from resolved neighbors: all, or those of one address or interface.
#[derive(Message, Clone, Debug)]
#[message(request, events(IpNeighborEvent))]
pub(super) struct WantIpNeighborEvents {
    pub(super) enable: bool,
    pub(super) pid: u32,
    pub(super) ip: Address,
    pub(super) sw_if_index: InterfaceIndex,
}

/// Reports a neighbor that was resolved.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct IpNeighborEvent {
    pub(super) neighbor: IpNeighbor,
}

/// Subscribes to or unsubscribes from resolved and deleted neighbors: all, or those of one address or interface.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_ip_neighbor_events_v2", events(IpNeighborEventV2))]
pub(super) struct WantIpNeighborEventsV2 {
    pub(super) enable: bool,
    pub(super) pid: u32,
    pub(super) ip: Address,
    pub(super) sw_if_index: InterfaceIndex,
}

flags! {
    /// Kind of a change of a neighbor.
    pub(super) struct IpNeighborEventFlags(u32) as "ip_neighbor_event_flags" Enum {
        /// The neighbor was resolved.
        ADDED = 1 => "IP_NEIGHBOR_API_EVENT_FLAG_ADDED",
        /// The neighbor was removed.
        REMOVED = 2 => "IP_NEIGHBOR_API_EVENT_FLAG_REMOVED",
    }
}

/// Reports a neighbor that was resolved or deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event, name = "ip_neighbor_event_v2")]
pub(super) struct IpNeighborEventV2 {
    pub(super) flags: IpNeighborEventFlags,
    pub(super) neighbor: IpNeighbor,
}

/// The neighbors that a client gets events about.
#[derive(Clone, Copy, PartialEq)]
struct Filter {
    address: Option<IpAddr>,
    interface: InterfaceIndex,
}

impl Filter {
    fn new(ip: Address, interface: InterfaceIndex) -> Filter {
        Filter { address: Some(ip.get()).filter(|address| !address.is_unspecified()), interface }
    }
    fn passes(&self, (id, address): Told) -> bool {
        self.address.is_none_or(|only| only == address) && is_meant(self.interface, id)
    }
}

/// Clients by what they want to be told.
struct Filtered<E> {
    id: MessageId<E>,
    by_filter: RefCell<Vec<(Filter, Rc<Subscribers<E>>)>>,
}

impl<E: Message> Filtered<E> {
    fn new(id: MessageId<E>) -> Filtered<E> {
        Filtered { id, by_filter: RefCell::default() }
    }
    fn of(&self, filter: Filter) -> Rc<Subscribers<E>> {
        let mut all = self.by_filter.borrow_mut();
        all.retain(|(of, subscribers)| *of == filter || !subscribers.is_empty());
        if let Some((_, subscribers)) = all.iter().find(|(of, _)| *of == filter) {
            return subscribers.clone();
        }
        let subscribers = Rc::new(Subscribers::new(self.id));
        all.push((filter, subscribers.clone()));
        subscribers
    }
    fn watched(&self) -> Vec<(Option<InterfaceId>, Option<IpAddr>)> {
        let all = self.by_filter.borrow();
        let of = |(filter, _): &(Filter, Rc<Subscribers<E>>)| (Some(InterfaceId(filter.interface.0)), filter.address);
        all.iter().filter(|(_, clients)| !clients.is_empty()).map(of).collect()
    }
    fn tell(&self, wanted: Told, event: &E) {
        let all = self.by_filter.borrow();
        all.iter().filter(|(filter, _)| filter.passes(wanted)).for_each(|(_, subscribers)| subscribers.tell(event));
    }
}

/// The clients that want to be told of neighbours.
pub(crate) struct Listeners {
    known: Filtered<IpNeighborEvent>,
    changed: Filtered<IpNeighborEventV2>,
}

impl Listeners {
    /// Watched neighbors of all clients: interface and address, none for any.
    pub fn watched(&self) -> Vec<(Option<InterfaceId>, Option<IpAddr>)> {
        let mut all = self.known.watched();
        all.extend(self.changed.watched());
        all
    }
    /// A neighbour has become known by this address.
    pub fn added(&self, wanted: Told, mac: MacAddress, state: State) {
        let neighbor = IpNeighbor::of(wanted, mac, state);
        self.known.tell(wanted, &IpNeighborEvent { neighbor });
        self.changed.tell(wanted, &IpNeighborEventV2 { flags: IpNeighborEventFlags::ADDED, neighbor });
    }
    /// A neighbour of this address was forgotten.
    pub fn removed(&self, wanted: Told, mac: MacAddress, state: State) {
        let neighbor = IpNeighbor::of(wanted, mac, state);
        self.changed.tell(wanted, &IpNeighborEventV2 { flags: IpNeighborEventFlags::REMOVED, neighbor });
    }
}

pub(super) fn add(file: &mut Adding<'_>) -> Option<Rc<Listeners>> {
    let (known, changed) = (Filtered::new(file.event()), Filtered::new(file.event()));
    let listeners = Rc::new(Listeners { known, changed });
    let of = listeners.clone();
    file.call(move |call, request: WantIpNeighborEvents| {
        of.known.of(Filter::new(request.ip, request.sw_if_index)).set(&call.client, request.pid, request.enable);
        Ok(())
    });
    let of = listeners.clone();
    file.call(move |call, request: WantIpNeighborEventsV2| {
        of.changed.of(Filter::new(request.ip, request.sw_if_index)).set(&call.client, request.pid, request.enable);
        Ok(())
    });
    Some(listeners)
}
