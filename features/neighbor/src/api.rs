//! VPP's messages about neighbours: `ip_neighbor.api`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::IpAddr;
use std::rc::Rc;

use quiver_compat::api::{Adding, MessageId};
use quiver_compat::types::{Address, AddressFamily, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Subscribers, Wire, flags};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::api::by_family;
use quiver_wire::{MacAddress, UnicastMac, V4, V6};

use crate::objects::NeighborObject;
use crate::protocol::Protocol;
use crate::resolve::{Outcome, Wanted};
use crate::settings::NeighborSettings;
use crate::table::{Neighbors, State};

pub(crate) fn register(control: &Control) {
    control.insert_room(Replacing::<V4>(None));
    control.insert_room(Replacing::<V6>(None));
    let listeners = quiver_compat::add(control, "ip_neighbor", (1, 0, 1), |file| {
        file.request(|control, request: IpNeighborAddDel| {
            by_family!(request.neighbor.ip_address.is_ip6(), add_del(control, &request))
        });
        file.dump(|control, request: IpNeighborDump| {
            by_family!(request.af == AddressFamily::Ip6, dump(control, request.sw_if_index))
        });
        file.request(|control, request: IpNeighborFlush| {
            if request.sw_if_index.0 != NONE {
                name(control, request.sw_if_index)?;
            }
            by_family!(request.af == AddressFamily::Ip6, flush(control, request.sw_if_index))
        });
        file.request(|control, request: IpNeighborConfig| {
            by_family!(request.af == AddressFamily::Ip6, configure(control, &request))
        });
        file.request(|control, request: IpNeighborConfigGet| {
            Ok(by_family!(request.af == AddressFamily::Ip6, configured(control, request.af)))
        });
        file.request(|control, _: IpNeighborReplaceBegin| {
            replace_begin::<V4>(control);
            replace_begin::<V6>(control);
            Ok(())
        });
        file.request(|control, _: IpNeighborReplaceEnd| {
            replace_end::<V4>(control)?;
            replace_end::<V6>(control)
        });
        add_events(file)
    });
    control.room_mut::<Neighbors<V4>>().listeners = listeners.clone();
    control.room_mut::<Neighbors<V6>>().listeners = listeners;
}

/// Neighbours that have a mark, while a client says which ones shall be there.
struct Replacing<F: Protocol>(Option<HashSet<Wanted<F>>>);

/// A neighbour of either family, as clients are told of it.
type Told = (InterfaceId, IpAddr);

flags! {
    /// What is to be known of a neighbour.
    pub(crate) struct IpNeighborFlags(u8) as "ip_neighbor_flags" Enum {
        /// Nothing.
        NONE = 0 => "IP_API_NEIGHBOR_FLAG_NONE",
        /// It was configured.
        STATIC = 1 => "IP_API_NEIGHBOR_FLAG_STATIC",
        /// It has no route of its own.
        NO_FIB_ENTRY = 2 => "IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY",
    }
}

/// A neighbour.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IpNeighbor {
    sw_if_index: InterfaceIndex,
    flags: IpNeighborFlags,
    mac_address: MacAddress,
    ip_address: Address,
}

impl IpNeighbor {
    fn of((interface, address): Told, mac: MacAddress, state: State) -> IpNeighbor {
        let flags = if state == State::Static { IpNeighborFlags::STATIC } else { IpNeighborFlags::NONE };
        IpNeighbor { sw_if_index: interface.into(), flags, mac_address: mac, ip_address: address.into() }
    }
}

/// Add a neighbour, or delete it. One that is not static ages like those that were heard.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpNeighborAddDelReply)]
struct IpNeighborAddDel {
    is_add: bool,
    neighbor: IpNeighbor,
}

/// Where packets to the neighbour are counted.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct IpNeighborAddDelReply {
    stats_index: u32,
}

fn add_del<F: Protocol>(control: &Control, request: &IpNeighborAddDel) -> Result<IpNeighborAddDelReply, Refusal> {
    let IpNeighbor { sw_if_index, flags, mac_address, ip_address } = request.neighbor;
    let interface = name(control, sw_if_index)?;
    let address = ip_address.in_family::<F>()?;
    let wanted = (control.room::<Interfaces>().id_of(&interface.0)?, address);
    if !request.is_add {
        remove::<F>(control, &interface, wanted)?;
        return Ok(IpNeighborAddDelReply { stats_index: NONE });
    }
    let route = !flags.has(IpNeighborFlags::NO_FIB_ENTRY);
    let wrong = |error| Refusal::new(Retval::INVALID_VALUE, format!("neighbor.mac_address: {error}"));
    let mac = UnicastMac::new(mac_address).map_err(wrong)?;
    if let Some(marked) = &mut control.room_mut::<Replacing<F>>().0 {
        marked.remove(&wanted);
    }
    match flags.has(IpNeighborFlags::STATIC) {
        true => control.put(NeighborObject::<F> { interface, address, mac, route })?,
        false if control.objects().get::<NeighborObject<F>>(&(interface.clone(), address)).is_some() => {
            let what = format!("neighbor: {address} on {interface} is static; delete it first");
            return Err(Refusal::new(Retval::ENTRY_ALREADY_EXISTS, what));
        }
        false => {
            crate::objects::check(&NeighborObject::<F> { interface, address, mac, route })?;
            let neighbors = &mut *control.room_mut::<Neighbors<F>>();
            let is_known = neighbors.get(wanted).is_some_and(|neighbor| neighbor.mac.is_some());
            if !is_known && !neighbors.make_room(control, wanted.0) {
                let what = format!("neighbor: {} are known, and no more may be", neighbors.manners.limit);
                return Err(Refusal::new(Retval::LIMIT_EXCEEDED, what));
            }
            neighbors.learn(control, wanted, mac.get(), State::Reachable);
            neighbors.set_routable(control, wanted, route);
        }
    }
    let hop = control.room::<Ip<F>>().fib.adjacencies.find(wanted.0, Some(address));
    Ok(IpNeighborAddDelReply { stats_index: hop.unwrap_or(NONE) })
}

/// Forgets a neighbour, configured or not.
fn remove<F: Protocol>(control: &Control, interface: &InterfaceName, wanted: Wanted<F>) -> Result<(), Refusal> {
    let key = (interface.clone(), wanted.1);
    if control.objects().get::<NeighborObject<F>>(&key).is_some() {
        return Ok(control.delete::<NeighborObject<F>>(&key)?);
    }
    let neighbors = &mut *control.room_mut::<Neighbors<F>>();
    if neighbors.get(wanted).is_none() {
        let what = format!("neighbor: {} is not known on {interface}", wanted.1);
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, what));
    }
    neighbors.forget(control, wanted, Outcome::Silent);
    Ok(())
}

/// The neighbours on an interface, or on all, whose addresses are known.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpNeighborDetails)]
struct IpNeighborDump {
    sw_if_index: InterfaceIndex,
    af: AddressFamily,
}

/// A neighbour, and for how many seconds it was not heard.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct IpNeighborDetails {
    age: f64,
    neighbor: IpNeighbor,
}

fn dump<F: Protocol>(control: &Control, sw_if_index: InterfaceIndex) -> Vec<IpNeighborDetails> {
    let (neighbors, now) = (control.room::<Neighbors<F>>(), control.now());
    let of = |((interface, address), neighbor): (&Wanted<F>, &crate::Neighbor)| {
        let age = now.since(neighbor.since).as_secs_f64();
        let told = (*interface, (*address).into());
        Some(IpNeighborDetails { age, neighbor: IpNeighbor::of(told, neighbor.mac?, neighbor.state) })
    };
    neighbors.iter().filter(|((id, _), _)| is_meant(sw_if_index, *id)).filter_map(of).collect()
}

/// Whether a request about the neighbours on an interface, or on all, means those on this one.
fn is_meant(sw_if_index: InterfaceIndex, id: InterfaceId) -> bool {
    sw_if_index.0 == NONE || sw_if_index.0 == u32::from(id.0)
}

/// Forget the neighbours on an interface, or on all, configured ones, too.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborFlush {
    af: AddressFamily,
    sw_if_index: InterfaceIndex,
}

fn flush<F: Protocol>(control: &Control, sw_if_index: InterfaceIndex) -> Result<(), Refusal> {
    let all: Vec<Wanted<F>> = control.room::<Neighbors<F>>().iter().map(|(wanted, _)| *wanted).collect();
    remove_all::<F>(control, all.into_iter().filter(|(id, _)| is_meant(sw_if_index, *id)).collect())
}

fn remove_all<F: Protocol>(control: &Control, all: Vec<Wanted<F>>) -> Result<(), Refusal> {
    for wanted in all {
        let interface = InterfaceName(control.room::<Interfaces>().name(wanted.0));
        if control.room::<Neighbors<F>>().get(wanted).is_some() {
            remove::<F>(control, &interface, wanted)?;
        }
    }
    Ok(())
}

/// Set how many neighbours may be known, how long they are kept, and whether one makes room for another.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborConfig {
    af: AddressFamily,
    max_number: u32,
    max_age: u32,
    recycle: bool,
}

fn configure<F: Protocol>(control: &Control, request: &IpNeighborConfig) -> Result<(), Refusal> {
    Ok(control.edit(NeighborSettings::<F>::unchanged(), |settings| {
        (settings.limit, settings.age) = (request.max_number, request.max_age);
        settings.recycle = request.recycle;
    })?)
}

/// How many neighbours may be known, and how long are they kept?
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpNeighborConfigGetReply)]
struct IpNeighborConfigGet {
    af: AddressFamily,
}

/// So many, and for so many seconds after they were heard.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct IpNeighborConfigGetReply {
    af: AddressFamily,
    max_number: u32,
    max_age: u32,
    recycle: bool,
}

fn configured<F: Protocol>(control: &Control, af: AddressFamily) -> IpNeighborConfigGetReply {
    let settings = NeighborSettings::<F>::current(control);
    IpNeighborConfigGetReply { af, max_number: settings.limit, max_age: settings.age, recycle: settings.recycle }
}

/// Mark all neighbours; those that are not added again until `ip_neighbor_replace_end` are forgotten then.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborReplaceBegin;

fn replace_begin<F: Protocol>(control: &Control) {
    let marked = control.room::<Neighbors<F>>().iter().map(|(wanted, _)| *wanted).collect();
    control.room_mut::<Replacing<F>>().0 = Some(marked);
}

/// Forget the neighbours that have a mark.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborReplaceEnd;

fn replace_end<F: Protocol>(control: &Control) -> Result<(), Refusal> {
    let marked = control.room_mut::<Replacing<F>>().0.take().unwrap_or_default();
    remove_all::<F>(control, marked.into_iter().collect())
}

/// Tell me when a neighbour becomes known, or stop it: any, or only one of this address and on this interface.
#[derive(Message, Clone, Debug)]
#[message(request, events(IpNeighborEvent))]
struct WantIpNeighborEvents {
    enable: bool,
    pid: u32,
    ip: Address,
    sw_if_index: InterfaceIndex,
}

/// A neighbour has become known.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
struct IpNeighborEvent {
    neighbor: IpNeighbor,
}

/// Tell me when a neighbour becomes known or is forgotten, or stop it: any, or only one of this address and on this interface.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_ip_neighbor_events_v2", events(IpNeighborEventV2))]
struct WantIpNeighborEventsV2 {
    enable: bool,
    pid: u32,
    ip: Address,
    sw_if_index: InterfaceIndex,
}

flags! {
    /// What has become of a neighbour.
    struct IpNeighborEventFlags(u32) as "ip_neighbor_event_flags" Enum {
        /// It has become known.
        ADDED = 1 => "IP_NEIGHBOR_API_EVENT_FLAG_ADDED",
        /// It was forgotten.
        REMOVED = 2 => "IP_NEIGHBOR_API_EVENT_FLAG_REMOVED",
    }
}

/// A neighbour has become known, or was forgotten.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event, name = "ip_neighbor_event_v2")]
struct IpNeighborEventV2 {
    flags: IpNeighborEventFlags,
    neighbor: IpNeighbor,
}

/// Of which neighbours a client wants to be told.
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
        let of = |(filter, _): &(Filter, Rc<Subscribers<E>>)| {
            (u16::try_from(filter.interface.0).ok().map(InterfaceId), filter.address)
        };
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
    /// Of what clients want to be told: on which interface, and of which address.
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

fn add_events(file: &mut Adding<'_>) -> Option<Rc<Listeners>> {
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

#[cfg(test)]
mod tests;
