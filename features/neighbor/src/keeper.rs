//! The task that keeps the table: it answers requests, asks for who is wanted, learns, probes and forgets.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::{Dataplane, Injected, Worker};
use quiver_interface::{Events, InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::Ip4;
use quiver_wire::arp::{ArpOperation, ArpPacket};
use quiver_wire::{EtherType, MacAddress};
use zerocopy::IntoBytes;

use crate::counted::ArpCounters;
use crate::input::{Heard, Next};
use crate::resolve::{Ip4Resolve, Outcome, Want, Wanted};
use crate::table::{INTERVAL, Neighbor, Neighbors, State};

/// Questions before a neighbour counts as silent.
const TRIES: u32 = 3;
/// How long a flood of messages is left alone after a part of it, so that others get their turn.
const PAUSE: Duration = Duration::from_micros(100);
/// Neighbours that something is done about in one go.
const AT_ONCE: usize = 100;
/// How often an address of ours that somebody claims is defended, and the claim reported: DEFEND_INTERVAL of RFC 5227, 1.1.
const DEFEND: Duration = Duration::from_secs(10);
/// Dynamic neighbours at most; further ones are not learned.
const NEIGHBORS_MAX: usize = 100_000;

pub(crate) fn register(control: &Control, heard: Inbox<Heard>, wanted: Inbox<Want>) {
    control.spawn("neighbours", listen(control.clone(), heard, wanted));
    control.spawn("neighbour ageing", age(control.clone()));
    watch(control, |control, event| match event {
        // Configured neighbours go only if the interface is gone for good.
        InterfaceEvent::Removed(id) => {
            flush(control, id, Outcome::Gone, |_, _| true);
            let mut neighbors = control.room_mut::<Neighbors>();
            neighbors.defended.remove(&id);
            neighbors.links.remove(&id);
            drop(neighbors);
            // Of some packets that wait control has not heard yet.
            let node = control.room::<Neighbors>().resolve.id;
            let forget = |_| move |worker: &mut Worker| Ip4Resolve::forget(worker, node, id);
            control.room::<Dataplane>().post_all(forget);
        }
        InterfaceEvent::AdminState(id) if !is_up(control, id) => {
            flush(control, id, Outcome::Gone, |_, n| is_learned(n))
        }
        InterfaceEvent::AddressRemoved(id) => {
            let on_link =
                |address| control.room::<Ip4>().addresses(id).iter().any(|own| own.prefix().contains(address));
            flush(control, id, Outcome::Silent, |address, n| is_learned(n) && !on_link(address));
        }
        _ => {}
    });
}

fn is_up(control: &Control, id: InterfaceId) -> bool {
    control.room::<Ip4>().fib.adjacencies.link(id).is_some_and(|link| link.up)
}

fn is_learned(neighbor: &Neighbor) -> bool {
    neighbor.state != State::Static
}

/// Forgets those neighbours of an interface that `unwanted` says yes to.
fn flush(control: &Control, id: InterfaceId, outcome: Outcome, unwanted: impl Fn(Ipv4Addr, &Neighbor) -> bool) {
    let mut neighbors = control.room_mut::<Neighbors>();
    let all = (id, Ipv4Addr::UNSPECIFIED)..=(id, Ipv4Addr::BROADCAST);
    let of_it = neighbors.all.range(all).filter(|(wanted, n)| unwanted(wanted.1, n));
    let gone: Vec<Wanted> = of_it.map(|(wanted, _)| *wanted).collect();
    neighbors.forget_all(control, &gone, outcome);
}

/// Sends an ARP packet by an interface. False if that is not up.
pub(crate) fn send(
    control: &Control,
    id: InterfaceId,
    to: MacAddress,
    packet: impl Fn(MacAddress) -> ArpPacket,
) -> bool {
    let link = control.room::<Ip4>().fib.adjacencies.link(id).cloned();
    let Some(link) = link.filter(|link| link.up) else { return false };
    let mut bytes = [to.0, link.mac].concat();
    bytes.extend(EtherType::ARP.get().to_be_bytes());
    let packet = packet(MacAddress(link.mac));
    bytes.extend(packet.as_bytes());
    // Ethernet's shortest frame, without its check sequence.
    bytes.resize(bytes.len().max(60), 0);
    control.room::<Rc<ArpCounters>>().sent(id, &packet);
    let node = control.room::<Neighbors>().input;
    control.room::<Dataplane>().emit(0, node, Next::Send, Injected { bytes, rx: 0, tx: id.0, hop: 0 });
    true
}

/// Asks for a neighbour: everybody, or only itself if its address is known. False if there is no address of ours to ask
/// with, or the interface is not up.
pub fn ask(control: &Control, (id, address): Wanted, mac: Option<MacAddress>) -> bool {
    let source = control.room::<Ip4>().current().source_for(id, address);
    // Without an address of ours there is nobody to answer to.
    let Some(source) = source else { return false };
    send(control, id, mac.unwrap_or(MacAddress::BROADCAST), |own| ArpPacket::request(own, source, address))
}

/// Tells everybody on a link that an address is ours (RFC 5227, 2.3). False if the interface is not up.
pub fn claim(control: &Control, (id, address): Wanted) -> bool {
    send(control, id, MacAddress::BROADCAST, |mac| ArpPacket::request(mac, address, address))
}

/// Has `look` see each ARP packet that was found worth telling, and the interface that received it.
pub fn look(control: &Control, look: impl Fn(InterfaceId, &ArpPacket) + 'static) {
    control.room_mut::<Neighbors>().lookers.push(Rc::new(look));
}

/// Hears what workers say.
async fn listen(control: Control, heard: Inbox<Heard>, wanted: Inbox<Want>) {
    // What was said of an interface that is no more is not of the one that has its number now.
    let generations = control.room::<Dataplane>().generations().clone();
    loop {
        let changed = control.room::<Events>().signal.changed();
        // What is there now; a flood that never ends must not keep this thread from others.
        for _ in 0..heard.len() {
            let Some(Heard { interface, generation, packet }) = heard.receive() else { break };
            if generations.of(interface.0) == generation {
                hear(&control, interface, &packet);
            }
        }
        for _ in 0..wanted.len() {
            let Some(Want { wanted, generation }) = wanted.receive() else { break };
            if generations.of(wanted.0.0) == generation {
                want(&control, wanted);
            }
        }
        if heard.is_empty() && wanted.is_empty() {
            changed.await;
        } else {
            control.sleep(PAUSE).await;
        }
    }
}

fn hear(control: &Control, interface: InterfaceId, packet: &ArpPacket) {
    control.room::<Neighbors>().lookers.iter().for_each(|look| look(interface, packet));
    let (sender, target) = (packet.sender(), packet.target());
    let is_own = |address| control.room::<Ip4>().current().is_own(interface, address);
    if is_own(sender) {
        return defend(control, interface, packet);
    }
    let for_us = is_own(target);
    // RFC 826: who is known is updated by whatever it says; who asks us, or answers us, is added. Whoever claims an
    // address of another network gets its answer, but no route.
    let on_link = control.room::<Ip4>().addresses(interface).iter().any(|own| own.prefix().contains(sender));
    if !sender.is_unspecified() {
        let mut neighbors = control.room_mut::<Neighbors>();
        let known = neighbors.get((interface, sender)).map(|n| n.state);
        let room = neighbors.all.len() < NEIGHBORS_MAX;
        if known != Some(State::Static) && (known.is_some() || (for_us && on_link && room)) {
            neighbors.learn(control, (interface, sender), packet.sender_mac, State::Reachable);
        }
    }
    if for_us && packet.operation == ArpOperation::REQUEST {
        send(control, interface, packet.sender_mac, |mac| packet.reply(mac));
    }
}

/// Somebody has an address of ours. A router keeps its address and says so (RFC 5227, 2.4 (c)); only now and then, since
/// two that defend theirs would go on for ever, and whoever floods us must not fill the log.
fn defend(control: &Control, interface: InterfaceId, packet: &ArpPacket) {
    let link = control.room::<Ip4>().fib.adjacencies.link(interface).cloned();
    // What we said ourselves may come back.
    if link.is_some_and(|link| MacAddress(link.mac) == packet.sender_mac) {
        return;
    }
    let (now, mut neighbors) = (control.now(), control.room_mut::<Neighbors>());
    if neighbors.defended.get(&interface).is_some_and(|last| now.since(*last) < DEFEND) {
        return;
    }
    neighbors.defended.insert(interface, now);
    drop(neighbors);
    let (name, address) = (control.room::<Interfaces>().name(interface), packet.sender());
    tracing::warn!("{name}: {} claims our address {address}", packet.sender_mac);
    send(control, interface, MacAddress::BROADCAST, |mac| ArpPacket::request(mac, address, address));
}

/// A worker has packets for a neighbour.
fn want(control: &Control, wanted: Wanted) {
    let mut neighbors = control.room_mut::<Neighbors>();
    match neighbors.get(wanted).map(|neighbor| neighbor.mac) {
        // It became known while the message was under way to us.
        Some(Some(_)) => neighbors.let_through(control, wanted),
        // It has been asked; the ageing task asks again.
        Some(None) => {}
        None => {
            let may_ask = neighbors.may_ask(wanted.0, control.now());
            neighbors.enter(control, wanted, State::Incomplete(u32::from(may_ask)));
            drop(neighbors);
            if may_ask {
                ask(control, wanted, None);
            }
        }
    }
}

/// Looks after all links, one after the other.
async fn age(control: Control) {
    loop {
        control.sleep(INTERVAL).await;
        let links: Vec<_> = control.room::<Neighbors>().links.keys().copied().collect();
        let mut done = 0;
        for link in links {
            done += age_link(&control, link);
            if done >= AT_ONCE {
                control.sleep(PAUSE).await;
                done = 0;
            }
        }
    }
}

/// Asks again, probes, forgets the neighbours on a link. How many something was done about.
fn age_link(control: &Control, link: InterfaceId) -> usize {
    let (now, mut gone, mut asked) = (control.now(), vec![], 0);
    loop {
        let mut neighbors = control.room_mut::<Neighbors>();
        let Some((wanted, state, mac)) = neighbors.due(link, now) else { break };
        let next = match state {
            State::Incomplete(tries) if tries < TRIES => State::Incomplete(tries + 1),
            State::Reachable => State::Probing(1),
            State::Probing(tries) if tries < TRIES => State::Probing(tries + 1),
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
        ask(control, wanted, mac);
        asked += 1;
    }
    control.room_mut::<Neighbors>().forget_all(control, &gone, Outcome::Silent);
    asked + gone.len()
}
