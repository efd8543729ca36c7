//! The tasks that advertise and answer (RFC 4861, 6.2.4 to 6.2.6).

use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_control::{Control, Time};
use quiver_engine::Dataplane;
use quiver_engine::channel::Inbox;
use quiver_interface::{Events, InterfaceEvent, InterfaceId, watch};
use quiver_ip::Ip6;
use quiver_wire::MacAddress;
use quiver_wire::nd::{ALL_NODES, group_mac};

use crate::advertiser::{APART, Advertisers};
use crate::config::RouterAdvertisements;
use crate::input::{Message, ReceivedMessage, Solicitation};
use crate::link::{seed, speaker, transmit};
use crate::{discovery, message};

/// Longest delay of a multicast answer, so that one answers several solicitations: MAX_RA_DELAY_TIME of RFC 4861, 10.
const ANSWER_MAX: Duration = Duration::from_millis(500);

pub(crate) fn register(control: &Control, heard: Inbox<ReceivedMessage>) {
    control.spawn("router advertisements", advertise(control.clone()));
    control.spawn("routers' own addresses", follow_usability(control.clone()));
    // What was heard on an interface that is no more is not of the one that has its number now.
    let generations = control.room::<Dataplane>().generations().clone();
    let hear = move |control: &Control| {
        for ReceivedMessage { interface, generation, message } in heard.waiting() {
            match message {
                _ if generations.of(interface.0) != generation => {}
                Message::Solicitation(asked) => answer(control, interface, asked),
                Message::Advertisement(heard) => discovery::hear(control, interface, &heard),
            }
        }
        !heard.is_empty()
    };
    control.spawn("router messages", Events::listen(control.clone(), hear));
    watch(control, |control, event| match event {
        InterfaceEvent::Removed(id) => control.room_mut::<Advertisers>().forget(id),
        InterfaceEvent::AdminState(id)
        | InterfaceEvent::Link(id)
        | InterfaceEvent::AddressAdded(id, _)
        | InterfaceEvent::AddressRemoved(id) => follow(control, id),
        // Hosts are to know them soon.
        InterfaceEvent::Mac(id) | InterfaceEvent::Mtu(id) => restart(control, id),
        InterfaceEvent::Created(_) => {}
    });
}

/// Begins to advertise where an address is known to be ours, and ceases where it is not any more.
async fn follow_usability(control: Control) {
    loop {
        let changed = control.room::<Ip6>().usability().changed();
        let ids = control.room::<Advertisers>().ids();
        ids.into_iter().for_each(|id| follow(&control, id));
        changed.await;
    }
}

/// Begins to advertise where that is wanted and possible, and ceases where it is not any more.
pub(crate) fn follow(control: &Control, id: InterfaceId) {
    let can_speak = speaker(control, id).is_some();
    let mut room = control.room_mut::<Advertisers>();
    if room.get(id).is_none() {
        return;
    }
    let own = room.of(id);
    let wanted = own.config.clone().filter(|config| !config.suppress && can_speak);
    let begins = wanted.is_some();
    match (std::mem::replace(&mut own.told, wanted), begins) {
        (None, true) => {
            room.publish();
            drop(room);
            restart(control, id);
        }
        (Some(told), false) => {
            room.schedule(id, None);
            room.publish();
            drop(room);
            // RFC 4861, 6.2.5: hosts must not go on using us. Where we cannot speak nobody hears it.
            let last = RouterAdvertisements { lifetime: 0, ..told };
            send(control, id, &last, (ALL_NODES, group_mac(ALL_NODES)));
        }
        _ => {}
    }
}

/// Advertises as in the beginning, where that has begun: there is news (RFC 4861, 6.2.4). Hosts that ask are answered again.
pub(crate) fn restart(control: &Control, id: InterfaceId) {
    let mut room = control.room_mut::<Advertisers>();
    let Some(initial) = room.get(id).and_then(|own| Some(own.told.as_ref()?.initial_count)) else { return };
    let own = room.of(id);
    (own.initial, own.last_answer) = (initial, None);
    let at = own.allowed(control.now());
    room.schedule(id, Some(at));
}

async fn advertise(control: Control) {
    loop {
        let sooner = control.room::<Advertisers>().sooner.changed();
        let now = control.now();
        let next = loop {
            let first = control.room::<Advertisers>().first();
            match first {
                Some((at, id)) if at <= now => tell_all(&control, id, now),
                later => break later,
            }
        };
        match next {
            Some((at, _)) => _ = control.timeout(at.since(now), sooner).await,
            None => sooner.await,
        }
    }
}

/// Tells all on a link, and says when that is to be done again.
fn tell_all(control: &Control, id: InterfaceId, now: Time) {
    let told = control.room::<Advertisers>().get(id).and_then(|own| own.told.clone());
    let Some(config) = told else { return control.room_mut::<Advertisers>().schedule(id, None) };
    send(control, id, &config, (ALL_NODES, group_mac(ALL_NODES)));
    let seed = seed(control, id);
    let mut room = control.room_mut::<Advertisers>();
    let seconds = |seconds: u16| Duration::from_secs(seconds.into());
    let mut wait = room.draw(seed, (seconds(config.min_interval), seconds(config.max_interval)));
    let own = room.of(id);
    own.last_multicast = Some(now);
    own.initial = own.initial.saturating_sub(1);
    if own.initial > 0 {
        wait = wait.min(seconds(config.initial_interval.into())).max(APART);
    }
    room.schedule(id, Some(now + wait));
}

/// Answers a host that asks for routers (RFC 4861, 6.2.6).
fn answer(control: &Control, id: InterfaceId, Solicitation { source, mac }: Solicitation) {
    let (now, seed) = (control.now(), seed(control, id));
    let mut room = control.room_mut::<Advertisers>();
    let Some(config) = room.get(id).and_then(|own| own.told.clone()) else { return };
    let own = room.of(id);
    own.solicited = own.solicited.wrapping_add(1);
    if own.last_answer.is_some_and(|last| now.since(last) < APART) {
        own.dropped = own.dropped.wrapping_add(1);
        return;
    }
    own.last_answer = Some(now);
    if let Some(mac) = mac.filter(|_| config.send_unicast) {
        drop(room);
        // RFC 6085: what is for all may go to one host alone, here to one that has no address yet.
        let to = if source.is_unspecified() { ALL_NODES } else { source };
        return send(control, id, &config, (to, mac));
    }
    let (allowed, next) = (own.allowed(now), own.next);
    let at = allowed + room.draw(seed, (Duration::ZERO, ANSWER_MAX));
    if next.is_none_or(|next| at < next) {
        room.schedule(id, Some(at));
    }
}

/// Sends an advertisement to a host, or to all.
fn send(control: &Control, id: InterfaceId, config: &RouterAdvertisements, (to, mac): (Ipv6Addr, MacAddress)) {
    let prefixes = control.room_mut::<Advertisers>().of(id).prefixes.clone();
    let Some((link, source)) = speaker(control, id) else { return };
    transmit(control, id, mac, &link, &message::advertisement(&link, (source, to), config, &prefixes));
    let mut room = control.room_mut::<Advertisers>();
    let own = room.of(id);
    own.sent = own.sent.wrapping_add(1);
}
