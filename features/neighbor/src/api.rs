//! VPP's messages about neighbours: `ip_neighbor.api`.

pub(crate) mod events;

use std::collections::HashSet;

use quiver_compat::types::{AddressFamily, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::{Control, Pace, one_by_one};
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::api::by_family;
use quiver_wire::{UnicastMac, V4, V6};

use self::events::{IpNeighbor, IpNeighborFlags, is_meant};
use crate::objects::NeighborObject;
use crate::protocol::Protocol;
use crate::resolve::{NeighborKey, Outcome};
use crate::settings::NeighborSettings;
use crate::state::State;
use crate::table::Neighbors;

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
        file.waiting(|control, request: IpNeighborFlush| async move {
            if request.sw_if_index.0 != NONE {
                name(&control, request.sw_if_index)?;
            }
            by_family!(await request.af == AddressFamily::Ip6, flush(&control, request.sw_if_index))
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
        file.waiting(|control, _: IpNeighborReplaceEnd| async move {
            replace_end::<V4>(&control).await?;
            replace_end::<V6>(&control).await
        });
        events::add(file)
    });
    control.room_mut::<Neighbors<V4>>().listeners = listeners.clone();
    control.room_mut::<Neighbors<V6>>().listeners = listeners;
}

/// Neighbours that have a mark, while a client says which ones shall be there.
struct Replacing<F: Protocol>(Option<HashSet<NeighborKey<F>>>);

/// Adds or deletes a neighbor entry. An entry without the static flag ages like a learned one.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpNeighborAddDelReply)]
struct IpNeighborAddDel {
    is_add: bool,
    neighbor: IpNeighbor,
}

/// Index of the adjacency's counter.
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
fn remove<F: Protocol>(control: &Control, interface: &InterfaceName, wanted: NeighborKey<F>) -> Result<(), Refusal> {
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

/// Dumps the resolved neighbors of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpNeighborDetails)]
struct IpNeighborDump {
    sw_if_index: InterfaceIndex,
    af: AddressFamily,
}

/// Describes one neighbor entry; `age` is in seconds since it was last confirmed.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct IpNeighborDetails {
    age: f64,
    neighbor: IpNeighbor,
}

/// Step by step; none in place of a neighbor that the client does not ask for, or that has no MAC address.
fn dump<F: Protocol>(
    control: &Control,
    sw_if_index: InterfaceIndex,
) -> Box<dyn Iterator<Item = Option<IpNeighborDetails>>> {
    let control = control.clone();
    Box::new(one_by_one(move |last: Option<&NeighborKey<F>>| {
        let neighbors = control.room::<Neighbors<F>>();
        let (wanted, neighbor) = neighbors.after(last.copied()).next()?;
        let age = control.now().since(neighbor.since).as_secs_f64();
        let mac = neighbor.mac.filter(|_| is_meant(sw_if_index, wanted.0));
        let told = mac.map(|mac| IpNeighbor::of((wanted.0, wanted.1.into()), mac, neighbor.state));
        Some((*wanted, told.map(|neighbor| IpNeighborDetails { age, neighbor })))
    }))
}

/// Deletes the neighbors of one interface, or of all if the index is 0xffffffff; static ones, too.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborFlush {
    af: AddressFamily,
    sw_if_index: InterfaceIndex,
}

async fn flush<F: Protocol>(control: &Control, sw_if_index: InterfaceIndex) -> Result<(), Refusal> {
    let all = one_by_one(|last: Option<&NeighborKey<F>>| {
        let wanted = control.room::<Neighbors<F>>().after(last.copied()).next().map(|(wanted, _)| *wanted)?;
        Some((wanted, wanted))
    });
    remove_all::<F>(control, all, |id| is_meant(sw_if_index, id)).await
}

/// Deletes in turns those neighbors whose interface is meant; others may delete some of them meanwhile.
async fn remove_all<F: Protocol>(
    control: &Control,
    all: impl Iterator<Item = NeighborKey<F>>,
    is_meant: impl Fn(InterfaceId) -> bool,
) -> Result<(), Refusal> {
    let mut pace = Pace::in_turns(control);
    for wanted in all {
        pace.step().await;
        if is_meant(wanted.0) && control.room::<Neighbors<F>>().get(wanted).is_some() {
            let interface = InterfaceName(control.room::<Interfaces>().name(wanted.0));
            remove::<F>(control, &interface, wanted)?;
        }
    }
    Ok(())
}

/// Sets the limit, the aging time in seconds and the recycling of neighbor entries of a family.
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

/// Asks for the neighbor settings of a family.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpNeighborConfigGetReply)]
struct IpNeighborConfigGet {
    af: AddressFamily,
}

/// Limit, aging time in seconds and recycling of neighbor entries.
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

/// Marks all neighbor entries; `ip_neighbor_replace_end` deletes those not added again.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborReplaceBegin;

fn replace_begin<F: Protocol>(control: &Control) {
    let marked = control.room::<Neighbors<F>>().iter().map(|(wanted, _)| *wanted).collect();
    control.room_mut::<Replacing<F>>().0 = Some(marked);
}

/// Deletes the neighbor entries that are still marked.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpNeighborReplaceEnd;

async fn replace_end<F: Protocol>(control: &Control) -> Result<(), Refusal> {
    let marked = control.room_mut::<Replacing<F>>().0.take().unwrap_or_default();
    remove_all::<F>(control, marked.into_iter(), |_| true).await
}

#[cfg(test)]
mod tests;
