//! The task that tells routers to which groups interfaces listen.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

use quiver_control::{Control, Signal, Time, behind};
use quiver_engine::channel::Inbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, Injected};
use quiver_interface::{Events, InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::Ip6;
use quiver_wire::nd::{ALL_NODES, group_mac};
use quiver_wire::{EtherType, MacAddress};
use zerocopy::IntoBytes;

use crate::input::{Next, ReceivedQuery};
use crate::listener::{Listener, PendingReports};
use crate::message::{of_first_version, reports};

/// The room.
pub(crate) struct Listeners {
    node: NodeId,
    /// Whether interfaces tell, if nothing is configured.
    by_default: bool,
    configured: Option<bool>,
    all: BTreeMap<InterfaceId, Listener>,
    more: Signal,
}

impl Listeners {
    /// Whether interfaces tell to which groups they listen.
    pub fn reports(&self) -> bool {
        self.configured.unwrap_or(self.by_default)
    }
    /// The interfaces that listen.
    pub fn behind(&self, last: Option<&InterfaceId>) -> Option<(&InterfaceId, &Listener)> {
        behind(&self.all, last)
    }
}

/// Sets whether interfaces tell, where nothing is configured of that.
pub fn set_reporting(control: &Control, wanted: bool) {
    control.room_mut::<Listeners>().by_default = wanted;
    follow_all(control);
}

/// The same, as it is configured.
pub(crate) fn configure(control: &Control, wanted: Option<bool>) {
    control.room_mut::<Listeners>().configured = wanted;
    follow_all(control);
}

pub(crate) fn register(control: &Control, node: NodeId, heard: Inbox<ReceivedQuery>) {
    let (more, all) = (Signal::new(), BTreeMap::new());
    control.insert_room(Listeners { node, by_default: false, configured: None, all, more });
    control.spawn("listener reports", report(control.clone()));
    control.spawn("listeners' own addresses", follow_usability(control.clone()));
    // What was heard on an interface that is no more is not of the one that has its number now.
    let generations = control.room::<Dataplane>().generations().clone();
    let hear = move |control: &Control| {
        for ReceivedQuery { interface, generation, question } in heard.waiting() {
            if generations.of(interface.0) == generation {
                let (now, seed) = (control.now(), seed(control, interface));
                let mut room = control.room_mut::<Listeners>();
                room.all.get_mut(&interface).into_iter().for_each(|own| own.hear(question.clone(), now, seed));
                room.more.notify();
            }
        }
        !heard.is_empty()
    };
    control.spawn("listener questions", Events::listen(control.clone(), hear));
    watch(control, |control, event| match event {
        InterfaceEvent::Removed(id) => _ = control.room_mut::<Listeners>().all.remove(&id),
        InterfaceEvent::AdminState(id)
        | InterfaceEvent::Link(id)
        | InterfaceEvent::Mac(id)
        | InterfaceEvent::AddressAdded(id, _)
        | InterfaceEvent::AddressRemoved(id) => follow(control, id),
        InterfaceEvent::Created(_) | InterfaceEvent::Mtu(_) => {}
    });
}

fn follow_all(control: &Control) {
    let ids: Vec<InterfaceId> = control.room::<Interfaces>().iter().map(|interface| interface.id).collect();
    ids.into_iter().for_each(|id| follow(control, id));
}

/// The groups reported on a link: all except all-nodes, which no node ever leaves (RFC 3810, 5.2.12 and 6).
fn groups(control: &Control, id: InterfaceId) -> Option<BTreeSet<Ipv6Addr>> {
    let is_usable = control.room::<Interfaces>().is_usable(id);
    let ip = control.room::<Ip6>();
    let own = ip.current().interfaces.get(id.index()).filter(|own| is_usable && own.link_local.is_some())?;
    Some(own.groups().into_iter().filter(|group| *group != ALL_NODES).collect())
}

/// Reports changes of an interface's groups. An interface that has come up reports all.
pub fn follow(control: &Control, id: InterfaceId) {
    let (now, groups) = (control.now(), groups(control, id));
    let mut room = control.room_mut::<Listeners>();
    match groups.filter(|_| room.reports()) {
        Some(groups) => {
            room.all.entry(id).or_default().set_groups(groups, now);
            room.more.notify();
        }
        None => _ = room.all.remove(&id),
    }
}

/// Tells all again that was told without an address, as soon as there is one (RFC 3590, 4).
async fn follow_usability(control: Control) {
    loop {
        let changed = control.room::<Ip6>().usability().changed();
        {
            let (ip, now) = (control.room::<Ip6>(), control.now());
            let mut room = control.room_mut::<Listeners>();
            let unnamed = room.all.iter_mut().filter(|(id, own)| own.unnamed && ip.usable_link_local(**id).is_some());
            unnamed.for_each(|(_, own)| own.repeat(now));
            room.more.notify();
        }
        changed.await;
    }
}

async fn report(control: Control) {
    loop {
        let more = control.room::<Listeners>().more.changed();
        let now = control.now();
        let next = {
            let room = control.room::<Listeners>();
            room.all.iter().filter_map(|(id, own)| Some((own.due()?, *id))).min()
        };
        match next {
            None => more.await,
            Some((at, _)) if at > now => _ = control.timeout(at.since(now), more).await,
            Some((_, id)) => tell(&control, id, now),
        }
    }
}

/// Seed of an interface's random delays.
fn seed(control: &Control, id: InterfaceId) -> u64 {
    let mac = control.room::<Ip6>().fib.adjacencies.link(id).map_or([0; 6], |link| link.mac);
    MacAddress(mac).to_u64()
}

fn tell(control: &Control, id: InterfaceId, now: Time) {
    let seed = seed(control, id);
    let told = control.room_mut::<Listeners>().all.get_mut(&id).map(|own| own.tell(now, seed)).unwrap_or_default();
    let ip = control.room::<Ip6>();
    let Some(link) = ip.fib.adjacencies.link(id).copied().filter(|link| link.up) else { return };
    if ip.link_local(id).is_none() {
        return;
    }
    // RFC 3590, 4: until the interface has an address for sure it says who listens, but not who it is.
    let source = ip.usable_link_local(id);
    if source.is_none() && !told.is_empty() {
        control.room_mut::<Listeners>().all.get_mut(&id).into_iter().for_each(|own| own.unnamed = true);
    }
    let source = source.unwrap_or(Ipv6Addr::UNSPECIFIED);
    let sent = told.into_iter().flat_map(|telling| match telling {
        PendingReports::Records(records) => reports(source, &records, link.mtu.into()),
        PendingReports::Groups(groups) => {
            groups.into_iter().map(|(group, listens)| of_first_version(source, group, listens)).collect()
        }
    });
    let node = control.room::<Listeners>().node;
    for (to, packet) in sent {
        let mac = if link.point_to_point { link.peer } else { group_mac(to) };
        let bytes = [link.header(mac, EtherType::IP6).as_bytes(), &packet].concat();
        control.room::<Dataplane>().emit(0, node, Next::Send, Injected { bytes, rx: 0, tx: id.0, hop: 0 });
    }
}
