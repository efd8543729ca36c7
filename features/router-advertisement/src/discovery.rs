//! Router discovery as a host (RFC 4861, 6.3; RFC 4862, 5.5): learns addresses and default routes from the routers on a
//! link.

use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_control::{Control, Time};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::addresses::change_address;
use quiver_ip::fib::{Path, Source, TableId, Target};
use quiver_ip::{Family, Ip6, say_mtu};
use quiver_neighbor::{Timers, hear_timers};
use quiver_wire::nd::PrefixOption;
use quiver_wire::{InterfaceAddress, Prefix, V6};

use crate::config::INFINITE;
use crate::input::Advertisement;
use crate::link::asker;
use crate::message::{AUTONOMOUS, ON_LINK};
use crate::routers::{PATIENT, Routers, Solicitor};
use crate::solicit;

/// Largest number of addresses, and of routers, that an interface learns, so that a flood on the link does not fill the
/// tables.
const LEARNED_MAX: usize = 16;
/// An advertisement does not shorten the remaining lifetime of an address below this (RFC 4862, 5.5.3 (e)).
const TWO_HOURS: Duration = Duration::from_secs(2 * 3600);

pub(crate) fn register(control: &Control) {
    control.spawn("router discovery", discover(control.clone()));
    watch(control, |control, event| match event {
        InterfaceEvent::Removed(id) => {
            let mut room = control.room_mut::<Routers>();
            room.solicitors.remove(&id);
            room.publish();
        }
        InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) => begin_anew(control, id),
        InterfaceEvent::AddressAdded(id, std::net::IpAddr::V6(address)) if V6::is_link_local(address) => {
            begin_anew(control, id);
        }
        _ => {}
    });
}

/// Asks for routers where a link that is learned from can be spoken to again.
fn begin_anew(control: &Control, id: InterfaceId) {
    if control.room::<Routers>().all.contains_key(&id) && asker(control, id).is_some() {
        solicit::begin(control, id, PATIENT);
    }
}

/// Makes an interface learn from the routers on its link.
pub(crate) fn learn_from(control: &Control, id: InterfaceId, default_route: bool) {
    let mut room = control.room_mut::<Routers>();
    let own = room.all.entry(id).or_default();
    own.default_route = default_route;
    if !default_route {
        own.routers.clear();
    }
    room.publish();
    drop(room);
    route(control, id);
    begin_anew(control, id);
}

/// Deletes the learned state of an interface, which learns no more.
pub(crate) fn forget(control: &Control, id: InterfaceId) {
    let mut room = control.room_mut::<Routers>();
    let gone = room.all.remove(&id).unwrap_or_default();
    room.solicitors.remove(&id);
    room.publish();
    drop(room);
    hear_timers::<V6>(control, id, Timers::default());
    say_mtu::<V6>(control, id, None);
    gone.addresses.into_keys().for_each(|address| change(control, id, address, false));
    route(control, id);
}

/// Gives an interface an address, or takes it away.
fn change(control: &Control, id: InterfaceId, address: InterfaceAddress<V6>, add: bool) {
    if !add {
        control.room_mut::<Ip6>().set_deprecated(id, address.address(), false);
    }
    if let Err(error) = change_address::<V6>(control, id, address, add) {
        let name = control.room::<Interfaces>().name(id);
        tracing::warn!("{name}: the learned address {address}: {error}");
    }
}

/// Updates the default route of an interface's table to the known default routers.
fn route(control: &Control, id: InterfaceId) {
    let (room, mut ip) = (control.room::<Routers>(), control.room_mut::<Ip6>());
    let table: TableId = ip.table_of(id);
    let of_table = room.all.iter().filter(|(id, _)| ip.table_of(**id) == table);
    let hop = |id: InterfaceId| move |router: &Ipv6Addr| Path::to(Target::NextHop(id, *router));
    let paths: Vec<Path<V6>> = of_table.flat_map(|(id, own)| own.routers.keys().map(hop(*id))).collect();
    if paths.is_empty() {
        ip.fib.remove(table, Prefix::ALL, Source::Router);
    } else if let Err(error) = ip.fib.insert(table, Prefix::ALL, Source::Router, paths) {
        tracing::warn!("table {table} gets no default route: {error}");
    }
}

/// Handles a router advertisement.
pub(crate) fn hear(control: &Control, id: InterfaceId, heard: &Advertisement) {
    let listeners = control.room::<Routers>().listeners.clone();
    listeners.iter().for_each(|listeners| listeners.tell(id, heard));
    let lifetime = Duration::from_secs(heard.header.lifetime.get().into());
    let mut room = control.room_mut::<Routers>();
    // RFC 4861, 6.3.7: there is a router.
    if !lifetime.is_zero() {
        room.solicitors.remove(&id);
    }
    // Clients may have left meanwhile.
    room.publish();
    drop(room);
    learn_link(control, id, heard);
    learn_router(control, id, heard.router, lifetime);
    heard.prefixes.iter().for_each(|prefix| learn_address(control, id, prefix));
    control.room::<Routers>().sooner.notify();
}

/// Learns the link's parameters; unspecified ones keep their last value (RFC 4861, 6.3.4).
fn learn_link(control: &Control, id: InterfaceId, heard: &Advertisement) {
    let most = control.room::<Interfaces>().get(id).map_or(0, |interface| interface.mtu_of(6));
    let mut room = control.room_mut::<Routers>();
    let Some(own) = room.all.get_mut(&id) else { return };
    let said = |ms: u32| (ms > 0).then(|| Duration::from_millis(ms.into()));
    own.timers = Timers {
        reachable: said(heard.header.reachable_ms.get()).or(own.timers.reachable),
        retransmission: said(heard.header.retransmission_ms.get()).or(own.timers.retransmission),
    };
    let mtu = heard.mtu.and_then(|mtu| u16::try_from(mtu).ok());
    own.mtu = mtu.filter(|mtu| (V6::LINK_MTU_MIN..=most).contains(mtu)).or(own.mtu);
    let (timers, mtu) = (own.timers, own.mtu);
    drop(room);
    hear_timers::<V6>(control, id, timers);
    say_mtu::<V6>(control, id, mtu);
}

/// RFC 4861, 6.3.4.
fn learn_router(control: &Control, id: InterfaceId, router: Ipv6Addr, lifetime: Duration) {
    let mut room = control.room_mut::<Routers>();
    let Some(own) = room.all.get_mut(&id).filter(|own| own.default_route) else { return };
    let before = own.routers.len();
    let may_come = own.routers.contains_key(&router) || before < LEARNED_MAX;
    match lifetime.is_zero() {
        true => drop(own.routers.remove(&router)),
        false if may_come => drop(own.routers.insert(router, control.now() + lifetime)),
        false => {}
    }
    let is_news = own.routers.len() != before;
    drop(room);
    if is_news {
        route(control, id);
    }
}

/// RFC 4862, 5.5.3.
fn learn_address(control: &Control, id: InterfaceId, prefix: &PrefixOption) {
    let Some(address) = address_of(control, id, prefix) else { return };
    let now = control.now();
    let valid = match prefix.valid.get() {
        INFINITE => None,
        seconds => Some(Duration::from_secs(seconds.into())),
    };
    let preferred = match prefix.preferred.get() {
        INFINITE => None,
        seconds => Some(now + Duration::from_secs(seconds.into())),
    };
    let mut room = control.room_mut::<Routers>();
    let Some(own) = room.all.get_mut(&id) else { return };
    let known = own.addresses.iter_mut().find(|(known, _)| known.address() == address.address());
    if let Some((known, until)) = known {
        // What it was learned as: whether a prefix is on the link may change.
        let known = *known;
        let left = until.map(|until| until.since(now));
        *until = renewed(left, valid).map(|valid| now + valid);
        // RFC 4862, 5.5.3 (e): this one is believed at once.
        own.preferred.insert(known, preferred);
        drop(room);
        return deprecate(control, id, now);
    }
    if valid == Some(Duration::ZERO) || own.addresses.len() >= LEARNED_MAX {
        return;
    }
    own.addresses.insert(address, valid.map(|valid| now + valid));
    own.preferred.insert(address, preferred);
    drop(room);
    change(control, id, address, true);
    deprecate(control, id, now);
}

/// Says with which addresses of an interface nothing new is to begin by now.
fn deprecate(control: &Control, id: InterfaceId, now: Time) {
    let mut room = control.room_mut::<Routers>();
    let Some(own) = room.all.get_mut(&id) else { return };
    let mut ip = control.room_mut::<Ip6>();
    let is_over = |until: Option<Time>| until.is_some_and(|until| until <= now);
    own.preferred.iter().for_each(|(address, until)| ip.set_deprecated(id, address.address(), is_over(*until)));
    // What is over once stays so until a router says something else.
    own.preferred.retain(|_, until| !is_over(*until));
}

/// Valid lifetime of an address after an advertisement, from the remaining one; none is infinite. A forged
/// advertisement can shorten it to two hours only (RFC 4862, 5.5.3 (e)).
fn renewed(left: Option<Duration>, said: Option<Duration>) -> Option<Duration> {
    match (left, said) {
        (_, None) => None,
        (_, Some(said)) if said > TWO_HOURS => Some(said),
        (Some(left), Some(said)) if said > left => Some(said),
        (Some(left), Some(_)) if left <= TWO_HOURS => Some(left),
        _ => Some(TWO_HOURS),
    }
}

/// The address that an interface makes itself of a prefix, if it may: one of the prefix where that is on the link, else one
/// that stands alone.
fn address_of(control: &Control, id: InterfaceId, prefix: &PrefixOption) -> Option<InterfaceAddress<V6>> {
    let first = Ipv6Addr::from(prefix.prefix);
    let is_usable = V6::is_host(first) && !V6::is_link_local(first) && prefix.preferred.get() <= prefix.valid.get();
    // The identifier of an interface has 64 bits (RFC 2464, 4).
    if prefix.flags & AUTONOMOUS == 0 || prefix.prefix_length != 64 || !is_usable {
        return None;
    }
    let identifier = control.room::<Ip6>().link_local(id)?.to_bits() & u128::from(u64::MAX);
    let address = Ipv6Addr::from_bits(first.to_bits() >> 64 << 64 | identifier);
    InterfaceAddress::new(address, if prefix.flags & ON_LINK != 0 { 64 } else { 128 }).ok()
}

async fn discover(control: Control) {
    loop {
        let (sooner, now) = (control.room::<Routers>().sooner.changed(), control.now());
        let next = control.room::<Routers>().next();
        match next {
            Some(at) if at <= now => do_due(&control, now),
            Some(at) => _ = control.timeout(at.since(now), sooner).await,
            None => sooner.await,
        }
    }
}

/// Sends solicitations that are due, and deletes expired entries.
fn do_due(control: &Control, now: Time) {
    let room = control.room::<Routers>();
    let due = |(id, solicitor): (&InterfaceId, &Solicitor)| (solicitor.next <= now).then_some(*id);
    let asking: Vec<InterfaceId> = room.solicitors.iter().filter_map(due).collect();
    let learning: Vec<InterfaceId> = room.all.keys().copied().collect();
    drop(room);
    asking.into_iter().for_each(|id| solicit::ask(control, id, now));
    for id in learning {
        let mut room = control.room_mut::<Routers>();
        let Some(own) = room.all.get_mut(&id) else { continue };
        let is_over = |until: &Option<Time>| until.is_some_and(|until| until <= now);
        let gone = own.addresses.iter().filter(|(_, until)| is_over(until)).map(|(address, _)| *address);
        let gone: Vec<InterfaceAddress<V6>> = gone.collect();
        own.addresses.retain(|_, until| !is_over(until));
        own.preferred.retain(|address, _| !gone.contains(address));
        let before = own.routers.len();
        own.routers.retain(|_, until| *until > now);
        let fewer = own.routers.len() != before;
        drop(room);
        deprecate(control, id, now);
        gone.into_iter().for_each(|address| change(control, id, address, false));
        if fewer {
            route(control, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_an_address_is_not_cut_below_two_hours() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (left, said, renewed) in [
            (seconds(100), None, None),
            (seconds(100), seconds(200), seconds(200)),
            (seconds(100), seconds(50), seconds(100)),
            (seconds(10_000), seconds(7300), seconds(7300)),
            (seconds(10_000), seconds(50), seconds(7200)),
            (None, seconds(50), seconds(7200)),
        ] {
            assert_eq!(super::renewed(left, said), renewed, "{left:?}, {said:?}");
        }
    }
}
