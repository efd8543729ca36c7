//! Single IPv6 hosts on a link to whose subnet they do not belong. Requests for them on the subnet's link are answered
//! by proxy, and so are their requests for known hosts of that subnet: this router and other proxied hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceEvent, InterfaceId, InterfaceName, Interfaces, watch};
use quiver_ip::fib::{Path, Source, TableId, Target};
use quiver_ip::{Family, Ip6};
use quiver_neighbor::{Guests, Protocol, ReceivedMessage, answer, answer_for, learn, set_guests};
use quiver_wire::{Prefix, V6};

/// Proxied host behind an interface, in a subnet of another one. It has a host route, and solicitations for it on its
/// subnet's link are answered.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nd-proxy-hosts")]
pub struct ProxiedHost {
    /// Interface to which it is attached.
    #[key]
    #[follows(V6::NAMES.interface_tables)]
    pub interface: InterfaceName,
    /// IPv6 address of the host.
    #[key]
    pub address: Ipv6Addr,
}

/// Under which name interfaces are in groups for hosts.
const ROOM: &str = "nd-proxy";

struct Hosts {
    all: Guests<V6>,
    /// The interfaces that are in groups for others.
    joined: BTreeSet<InterfaceId>,
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Hosts { all: Guests::<V6>::new(), joined: BTreeSet::new() });
    control.objects().add(Kind::new(apply).check(check));
    answer::<V6>(control, hear);
    watch(control, |control, event| {
        if let InterfaceEvent::AddressAdded(..) | InterfaceEvent::AddressRemoved(_) = event {
            join(control);
        }
    });
}

fn check(host: &ProxiedHost) -> Result<(), ObjectError> {
    if !V6::is_host(host.address) || V6::is_link_local(host.address) {
        let what = format!("{} is not one host's on many links", host.address);
        return Err(ObjectError::field("address", what).remedy("give an address that others know the host by"));
    }
    Ok(())
}

fn apply(control: &Control, change: Change<'_, ProxiedHost>) -> Result<(), ObjectError> {
    let (host, on) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&host.interface.0)?;
    {
        let mut ip = control.room_mut::<Ip6>();
        let (table, prefix) = (ip.table_of(id), Prefix::host(host.address));
        match on {
            true => {
                let path = vec![Path::to(Target::NextHop(id, host.address))];
                let done = ip.fib.insert(table, prefix, Source::Proxy, path);
                done.map_err(|error| ObjectError::whole(error.to_string()))?;
            }
            false => _ = ip.fib.remove(table, prefix, Source::Proxy),
        }
    }
    let all = {
        let all = &mut control.room_mut::<Hosts>().all;
        _ = if on { all.insert((id, host.address)) } else { all.remove(&(id, host.address)) };
        all.clone()
    };
    set_guests::<V6>(control, all);
    join(control);
    Ok(())
}

/// Joins the solicited-node groups on interfaces where proxied hosts are asked for (RFC 4861, 7.2.8), and where we are
/// asked for by an address of another interface.
fn join(control: &Control) {
    let all = control.room::<Hosts>().all.clone();
    if all.is_empty() && control.room::<Hosts>().joined.is_empty() {
        return;
    }
    let mut wanted: BTreeMap<InterfaceId, BTreeSet<Ipv6Addr>> = BTreeMap::new();
    {
        let ip = control.room::<Ip6>();
        let mut add = |id, address| {
            let group = V6::own_group(address);
            group.into_iter().for_each(|group| _ = wanted.entry(id).or_default().insert(group));
        };
        let mut links: BTreeMap<TableId, BTreeSet<InterfaceId>> = BTreeMap::new();
        for (id, _) in &all {
            links.entry(ip.table_of(*id)).or_default().insert(*id);
        }
        for (id, host) in &all {
            let table = ip.table_of(*id);
            if let Some(link) = ip.subnet_of(table, *host).filter(|link| link != id) {
                add(link, *host);
                ip.addresses(link).iter().for_each(|own| add(*id, own.address()));
            }
            let others = links.get(&table).into_iter().flatten().filter(|other| *other != id);
            others.for_each(|other| add(*other, *host));
        }
    }
    let now = wanted.keys().copied().collect();
    let before = std::mem::replace(&mut control.room_mut::<Hosts>().joined, now);
    let none = BTreeSet::new();
    for id in before.union(&wanted.keys().copied().collect()) {
        control.room_mut::<Ip6>().join(*id, ROOM, wanted.get(id).unwrap_or(&none));
        quiver_mld::follow(control, *id);
    }
}

/// Answers questions about hosts, and questions of hosts about us and each other.
fn hear(control: &Control, heard: &ReceivedMessage<V6>) -> bool {
    let id = heard.interface;
    let Some(question) = V6::question_in(&heard.message) else { return false };
    let (table, is_ours, is_host, is_asked_for) = {
        let (ip, hosts) = (control.room::<Ip6>(), control.room::<Hosts>());
        let table = ip.table_of(id);
        let is_ours = ip.owner(table, question.target).is_some_and(|owner| owner != id);
        let is_usable = |other| ip.fib.adjacencies.link(other).is_some_and(|link| link.up);
        let is_meant = |(other, host): &(InterfaceId, Ipv6Addr)| {
            *host == question.target && *other != id && ip.table_of(*other) == table && is_usable(*other)
        };
        let is_host = hosts.all.contains(&(id, question.sender));
        (table, is_ours, is_host, hosts.all.iter().any(is_meant))
    };
    let is_near = || control.room::<Ip6>().subnet_of(table, question.target) == Some(id);
    if !(is_host && (is_ours || is_asked_for) || is_asked_for && is_near()) {
        return false;
    }
    question.mac.into_iter().for_each(|mac| learn::<V6>(control, (id, question.sender), mac, true));
    answer_for::<V6>(control, heard, &question)
}
