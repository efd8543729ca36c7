//! The task that keeps the table: it handles requests and replies, resolves neighbors that packets wait for, learns,
//! probes and ages entries.

use std::rc::Rc;
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::{Dataplane, Worker};
use quiver_interface::{Events, InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::Ip;
use quiver_wire::{InterfaceAddress, MacAddress};

use crate::announce::Announcements;
use crate::input::{Guests, ReceivedMessage};
use crate::manners::{Strangers, Unresolved};
use crate::messages::{ask_needed, claim};
use crate::protocol::Protocol;
use crate::resolve::{NeighborKey, Outcome, Resolve, Want};
use crate::state::State;
use crate::table::{INTERVAL, Neighbor, Neighbors};

/// Pause between parts of a flood of messages, so that other tasks get their turn.
const PAUSE: Duration = Duration::from_micros(100);
/// Largest number of neighbors processed in one go.
const AT_ONCE: usize = 100;
/// Interval in which a claim of our address by another host is answered and reported: DEFEND_INTERVAL of RFC 5227, 1.1.
const DEFEND: Duration = Duration::from_secs(10);

pub(crate) fn register<F: Protocol>(control: &Control, heard: Inbox<ReceivedMessage<F>>, wanted: Inbox<Want<F>>) {
    control.spawn("neighbours", listen(control.clone(), heard, wanted));
    control.spawn("neighbour ageing", age::<F>(control.clone()));
    watch(control, |control, event| match event {
        // Configured neighbours go only if the interface is gone for good.
        InterfaceEvent::Removed(id) => {
            flush::<F>(control, id, Outcome::Gone, |_, _| true);
            let mut neighbors = control.room_mut::<Neighbors<F>>();
            neighbors.defended.remove(&id);
            neighbors.links.remove(&id);
            drop(neighbors);
            // Of some packets that wait control has not heard yet.
            let node = control.room::<Neighbors<F>>().resolve.id;
            let forget = |_| move |worker: &mut Worker| Resolve::<F>::forget(worker, node, id);
            control.room::<Dataplane>().post_all(forget);
        }
        InterfaceEvent::AdminState(id) if !is_up::<F>(control, id) => {
            flush::<F>(control, id, Outcome::Gone, |_, n| is_learned(n))
        }
        InterfaceEvent::AddressRemoved(id) => {
            let guests = control.room::<Neighbors<F>>().guests.current().clone();
            let on_link = |address| guests.contains(&(id, address)) || is_on_subnet::<F>(control, (id, address));
            flush::<F>(control, id, Outcome::Silent, |address, n| is_learned(n) && !on_link(address));
            control.room_mut::<Neighbors<F>>().reroute(control, &[]);
        }
        InterfaceEvent::AdminState(id) => seek_peers::<F>(control, id, |_| true),
        InterfaceEvent::AddressAdded(id, address) => {
            seek_peers::<F>(control, id, |own| F::from_ip(address) == Some(own.address()));
            let of_address = |own: &InterfaceAddress<F>| F::from_ip(address) == Some(own.address());
            let prefixes = |ip: &Ip<F>| -> Vec<_> {
                ip.current().addresses(id).iter().filter(|own| of_address(own)).map(InterfaceAddress::prefix).collect()
            };
            let prefixes = prefixes(&control.room::<Ip<F>>());
            control.room_mut::<Neighbors<F>>().reroute(control, &prefixes);
        }
        _ => {}
    });
}

fn is_up<F: Protocol>(control: &Control, id: InterfaceId) -> bool {
    control.room::<Ip<F>>().fib.adjacencies.link(id).is_some_and(|link| link.up)
}

fn is_learned(neighbor: &Neighbor) -> bool {
    neighbor.state != State::Static
}

/// Forgets those neighbours of an interface that `unwanted` says yes to.
fn flush<F: Protocol>(
    control: &Control,
    id: InterfaceId,
    outcome: Outcome,
    unwanted: impl Fn(F::Address, &Neighbor) -> bool,
) {
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let all = (id, F::from_bits(0))..=(id, F::from_bits(F::mask(F::ADDRESS_BITS)));
    let of_it = neighbors.all.range(all).filter(|(wanted, n)| unwanted(wanted.1, n));
    let gone: Vec<NeighborKey<F>> = of_it.map(|(wanted, _)| *wanted).collect();
    neighbors.forget_all(control, &gone, outcome);
}

/// Has `answer` see each message that was found worth telling, before this room does. If it says that it has answered, this
/// room does not.
pub fn answer<F: Protocol>(control: &Control, answer: impl Fn(&Control, &ReceivedMessage<F>) -> bool + 'static) {
    control.room_mut::<Neighbors<F>>().answerers.push(Rc::new(answer));
}

/// Sets which hosts belong on a link though none of its subnets has their addresses. Those that do not any more are forgotten.
pub fn set_guests<F: Protocol>(control: &Control, guests: Guests<F>) {
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let gone = neighbors
        .guests
        .current()
        .difference(&guests)
        .copied()
        .filter(|gone| neighbors.get(*gone).is_some_and(is_learned) && !is_on_subnet::<F>(control, *gone));
    let gone: Vec<NeighborKey<F>> = gone.collect();
    neighbors.guests.publish(guests);
    neighbors.forget_all(control, &gone, Outcome::Silent);
}

/// Has `look` see each message that was found worth telling, and the interface that received it.
pub fn look<F: Protocol>(control: &Control, look: impl Fn(InterfaceId, &F::Message) + 'static) {
    control.room_mut::<Neighbors<F>>().lookers.push(Rc::new(look));
}

/// Receives the workers' messages.
async fn listen<F: Protocol>(control: Control, heard: Inbox<ReceivedMessage<F>>, wanted: Inbox<Want<F>>) {
    // What was said of an interface that is no more is not of the one that has its number now.
    let generations = control.room::<Dataplane>().generations().clone();
    loop {
        let changed = control.room::<Events>().signal.changed();
        // What is there now; a flood that never ends must not keep this thread from others.
        for _ in 0..heard.len() {
            let Some(message) = heard.receive() else { break };
            if generations.of(message.interface.0) == message.generation {
                hear::<F>(&control, &message);
            }
        }
        for _ in 0..wanted.len() {
            let Some(Want { wanted, generation }) = wanted.receive() else { break };
            if generations.of(wanted.0.0) == generation {
                want::<F>(&control, wanted);
            }
        }
        if heard.is_empty() && wanted.is_empty() {
            changed.await;
        } else {
            control.sleep(PAUSE).await;
        }
    }
}

/// Passes a message to all rooms that want it, and handles it.
fn hear<F: Protocol>(control: &Control, heard: &ReceivedMessage<F>) {
    let (lookers, answerers) = {
        let neighbors = control.room::<Neighbors<F>>();
        (neighbors.lookers.clone(), neighbors.answerers.clone())
    };
    lookers.iter().for_each(|look| look(heard.interface, &heard.message));
    if !answerers.iter().any(|answer| answer(control, heard)) {
        F::hear(control, heard.interface, heard.station, &heard.message);
    }
}

/// Whether a request for one of our addresses is answered. `is_its_own` tells that the sender named its own MAC
/// address.
pub(crate) fn is_answered<F: Protocol>(control: &Control, from: NeighborKey<F>, is_its_own: bool) -> bool {
    if control.room::<Neighbors<F>>().manners.strangers == Strangers::Answer {
        return true;
    }
    let ip = control.room::<Ip<F>>();
    let is_near = || is_on_link::<F>(control, from) || ip.lender(from.0).is_some() || ip.leads_to(from.0, from.1);
    is_its_own && is_near()
}

/// Whether an address is one that we answer for on a link: the interface's own, or that of a route that says so.
pub fn is_ours<F: Protocol>(control: &Control, (id, address): NeighborKey<F>) -> bool {
    let ip = control.room::<Ip<F>>();
    ip.current().is_own(id, address) || (is_on_link::<F>(control, (id, address)) && ip.is_local_route(id, address))
}

/// Learns a neighbor. A known one is updated by any message (RFC 826). A new one is added only if it asks for an
/// address of ours (`speaks`) and is of the link's subnet: the sender of another subnet gets its answer, but no entry.
/// No entry is added beyond the limits, resolved or not.
pub fn learn<F: Protocol>(control: &Control, wanted: NeighborKey<F>, mac: MacAddress, speaks: bool) {
    let on_link = is_on_link::<F>(control, wanted);
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    let has_place = match neighbors.get(wanted) {
        Some(neighbor) if neighbor.state == State::Static => return,
        None if !(speaks && on_link) => return,
        neighbor => neighbor.is_some_and(|neighbor| neighbor.mac.is_some()),
    };
    if has_place || neighbors.make_room(control, wanted.0) {
        neighbors.learn(control, wanted, mac, State::Reachable);
    } else {
        neighbors.forget(control, wanted, Outcome::NoRoom);
    }
}

/// Whether an address belongs on the link of an interface of ours.
fn is_on_link<F: Protocol>(control: &Control, wanted: NeighborKey<F>) -> bool {
    is_on_subnet::<F>(control, wanted) || control.room::<Neighbors<F>>().guests.current().contains(&wanted)
}

/// Whether it does so by its prefix.
fn is_on_subnet<F: Protocol>(control: &Control, (id, address): NeighborKey<F>) -> bool {
    let ip = control.room::<Ip<F>>();
    let of_link = F::is_link_local(address) && ip.speaks(id);
    of_link || ip.current().addresses(id).iter().any(|own| own.prefix().contains(address))
}

/// Defends one of our addresses that another host uses. A router keeps its address and announces it (RFC 5227, 2.4
/// (c)). The rate is limited: two hosts that defend the same address would go on for ever, and a flood must not fill
/// the log.
pub(crate) fn defend<F: Protocol>(control: &Control, (interface, address): NeighborKey<F>, mac: MacAddress) {
    let link = control.room::<Ip<F>>().fib.adjacencies.link(interface).cloned();
    // What we said ourselves may come back.
    if link.is_some_and(|link| MacAddress(link.mac) == mac) {
        return;
    }
    let (now, mut neighbors) = (control.now(), control.room_mut::<Neighbors<F>>());
    if neighbors.defended.get(&interface).is_some_and(|last| now.since(*last) < DEFEND) {
        return;
    }
    neighbors.defended.insert(interface, now);
    drop(neighbors);
    let name = control.room::<Interfaces>().name(interface);
    tracing::warn!("{name}: {mac} claims our address {address}");
    if control.room::<Announcements<F>>().are_wanted() {
        claim::<F>(control, (interface, address));
    }
}

/// Asks for a neighbour of our own link that is to be learned though no packets wait for it.
pub fn seek<F: Protocol>(control: &Control, wanted: NeighborKey<F>) {
    if control.room::<Neighbors<F>>().may_seek(wanted.0) && is_on_link::<F>(control, wanted) {
        want::<F>(control, wanted);
    }
}

/// Asks for the only other host on a link by an address of ours, so that it is known before the first packet is for it.
fn seek_peers<F: Protocol>(control: &Control, id: InterfaceId, wanted: impl Fn(&InterfaceAddress<F>) -> bool) {
    if !is_up::<F>(control, id) {
        return;
    }
    let peers: Vec<F::Address> = {
        let ip = control.room::<Ip<F>>();
        // RFC 3021 and RFC 6164: a subnet of two.
        let pairs = ip.addresses(id).iter().filter(|own| own.length() == F::ADDRESS_BITS - 1 && wanted(own));
        let peer = |own: &InterfaceAddress<F>| {
            let prefix = own.prefix();
            if prefix.address() == own.address() { prefix.last_address() } else { prefix.address() }
        };
        pairs.map(peer).collect()
    };
    peers.into_iter().for_each(|peer| seek::<F>(control, (id, peer)));
}

/// A worker has packets for a neighbour.
fn want<F: Protocol>(control: &Control, wanted: NeighborKey<F>) {
    let mut neighbors = control.room_mut::<Neighbors<F>>();
    match neighbors.get(wanted).map(|neighbor| neighbor.mac) {
        // It became known while the message was under way to us.
        Some(Some(_)) => neighbors.let_through(control, wanted),
        // It has been asked; the ageing task asks again.
        Some(None) if neighbors.manners.unresolved == Unresolved::Queue => {}
        // Its answer would not be heeded.
        None if !neighbors.may_learn(wanted.0) => {
            if neighbors.manners.unresolved == Unresolved::Queue {
                neighbors.refuse(control, wanted);
            }
        }
        unknown => {
            let manners = neighbors.manners_at(wanted.0);
            let may_ask = neighbors.may_ask(wanted.0, control.now());
            match manners.unresolved {
                Unresolved::Queue => {
                    neighbors.enter(control, wanted, State::Incomplete(u32::from(may_ask)));
                }
                // The next packet asks again, and nobody waits for the end: what is remembered is that an answer is wanted.
                Unresolved::Drop if may_ask && unknown.is_none() => {
                    neighbors.enter(control, wanted, State::Incomplete(manners.probes));
                }
                Unresolved::Drop => {}
            }
            drop(neighbors);
            if may_ask {
                ask_needed::<F>(control, wanted, None);
            }
        }
    }
}

/// Looks after all links, one after the other.
async fn age<F: Protocol>(control: Control) {
    loop {
        control.sleep(INTERVAL).await;
        let links: Vec<_> = control.room::<Neighbors<F>>().links.keys().copied().collect();
        let mut done = 0;
        for link in links {
            done += age_link::<F>(&control, link);
            if done >= AT_ONCE {
                control.sleep(PAUSE).await;
                done = 0;
            }
        }
    }
}

/// Asks again, probes, forgets the neighbours on a link. How many something was done about.
fn age_link<F: Protocol>(control: &Control, link: InterfaceId) -> usize {
    let (now, mut gone, mut asked) = (control.now(), vec![], 0);
    let tries_max = control.room::<Neighbors<F>>().manners_at(link).probes;
    loop {
        let mut neighbors = control.room_mut::<Neighbors<F>>();
        let Some((wanted, state, mac)) = neighbors.due(link, now) else { break };
        let next = match state {
            State::Incomplete(tries) if tries < tries_max => State::Incomplete(tries + 1),
            State::Reachable => State::Probing(1),
            State::Probing(tries) if tries < tries_max => State::Probing(tries + 1),
            _ => {
                neighbors.let_be(wanted);
                gone.push(wanted);
                continue;
            }
        };
        // Beyond this second's questions they stay due.
        if !neighbors.may_ask(link, now) {
            break;
        }
        neighbors.turn(wanted, next, now);
        drop(neighbors);
        ask_needed::<F>(control, wanted, mac);
        asked += 1;
    }
    control.room_mut::<Neighbors<F>>().forget_all(control, &gone, Outcome::Silent);
    asked + gone.len()
}
