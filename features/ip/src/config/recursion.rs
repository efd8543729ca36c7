//! Routes into tunnels whose other ends lie behind these tunnels: a packet would go into the tunnel, the datagram into the same tunnel,
//! and so on. A change of the configuration that brings such a route is refused, once all of it is made: the route to the other
//! end may come with it. What comes about otherwise, as that route goes, does no harm: a datagram soon finds no room for
//! one more header in front, and is dropped by that name.

use std::collections::BTreeSet;
use std::net::IpAddr;

use quiver_control::object::ObjectRef;
use quiver_control::{Control, Object, ObjectError};
use quiver_interface::{InterfaceId, Interfaces, TunnelTo};
use quiver_wire::{Prefix, V4, V6};

use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::{Fib, Path, TableId, Target, hop};

/// Tunnels inside each other that are followed: packets have room for the headers of fewer.
const DEPTH_MAX: usize = 8;
/// Interfaces that are looked at: what one route leads to takes no more time.
const LOOKED_AT_MAX: usize = 512;

/// Routes that changes have brought and that may lead into tunnels.
struct Unchecked(Vec<Brought>);

/// Where packets for a route go.
type Leads = Box<dyn Fn(&Control) -> Vec<InterfaceId>>;

/// A route, and the object that has brought it.
struct Brought {
    object: ObjectRef,
    /// The field of the object that says where it leads.
    field: &'static str,
    leads: Leads,
}

/// Has routes checked at the end of each change.
pub(crate) fn register(control: &Control) {
    control.insert_room(Unchecked(vec![]));
    control.objects().at_end(|control| {
        // The last ones come first: routes by next hops before the addresses that lead to these.
        let next = control.room_mut::<Unchecked>().0.pop()?;
        Some(check(control, &next))
    });
}

/// Notes a route that an object has brought, to be checked when the whole change is made.
pub(crate) fn note<F: Family>(
    control: &Control,
    (object, field): (&impl Object, &'static str),
    (table, prefix): (TableId, Prefix<F>),
    paths: &[Path<F>],
) {
    let may_lead_into_one = {
        let interfaces = control.room::<Interfaces>();
        let is_tunnel = |id: InterfaceId| interfaces.get(id).is_some_and(|interface| interface.tunnel.is_some());
        interfaces.has_tunnels()
            && paths.iter().any(|path| match path.target {
                Target::NextHop(id, _) | Target::Link(id) => is_tunnel(id),
                Target::Recursive(..) | Target::Crossing(..) => true,
                _ => false,
            })
    };
    if may_lead_into_one {
        let leads = move |control: &Control| {
            let ip = control.room::<Ip<F>>();
            let group = ip.fib.table(table).and_then(|table| table.get(&prefix)).map(|entry| entry.group);
            group.map_or(vec![], |group| interfaces_of(&ip.fib, group))
        };
        let brought = Brought { object: object.id(), field, leads: Box::new(leads) };
        control.room_mut::<Unchecked>().0.push(brought);
    }
}

fn check(control: &Control, brought: &Brought) -> Result<(), ObjectError> {
    let mut walk = Walk { control, way: vec![], seen: BTreeSet::new() };
    if !walk.is_back((brought.leads)(control)) {
        return Ok(());
    }
    let way: Vec<_> = walk.way.iter().map(|(id, to)| format!("{} to {to}", walk.name(*id))).collect();
    let first = walk.way.first().map(|(id, _)| walk.name(*id)).unwrap_or_default();
    let what = format!("packets would go in a circle: {}, by {first} again", way.join(", by "));
    let remedy = "add a route to the tunnel's other end that leads elsewhere";
    Err(ObjectError::field(brought.field, what).remedy(remedy).of(&brought.object))
}

struct Walk<'c> {
    control: &'c Control,
    /// The tunnels that lead to where the walk is, with the addresses of their other ends.
    way: Vec<(InterfaceId, IpAddr)>,
    seen: BTreeSet<InterfaceId>,
}

impl Walk<'_> {
    fn name(&self, id: InterfaceId) -> String {
        self.control.room::<Interfaces>().name(id)
    }
    /// Whether some of these interfaces lead back to themselves; the way has the circle then.
    fn is_back(&mut self, interfaces: Vec<InterfaceId>) -> bool {
        for id in interfaces {
            if let Some(first) = self.way.iter().position(|(on_way, _)| *on_way == id) {
                self.way.drain(..first);
                return true;
            }
            let to = self.control.room::<Interfaces>().get(id).and_then(|interface| interface.tunnel);
            let Some(TunnelTo::Host { table, address }) = to else { continue };
            if self.way.len() == DEPTH_MAX || self.seen.len() == LOOKED_AT_MAX || !self.seen.insert(id) {
                continue;
            }
            self.way.push((id, address));
            let next = match address {
                IpAddr::V4(address) => behind::<V4>(self.control, TableId(table), address),
                IpAddr::V6(address) => behind::<V6>(self.control, TableId(table), address),
            };
            if self.is_back(next) {
                return true;
            }
            self.way.pop();
        }
        false
    }
}

/// The interfaces by which packets go to an address.
fn behind<F: Family>(control: &Control, table: TableId, address: F::Address) -> Vec<InterfaceId> {
    let ip = control.room::<Ip<F>>();
    let way = ip.fib.table(table).and_then(|table| table.way_to(address));
    way.map_or(vec![], |(_, group)| interfaces_of(&ip.fib, group))
}

/// The interfaces to which a group leads.
fn interfaces_of<F: Family>(fib: &Fib<F>, group: u32) -> Vec<InterfaceId> {
    let hops = fib.groups.get(group).into_iter().flat_map(|group| group.hops);
    let hops: BTreeSet<u32> = hops.map(|hop| hop & !hop::MANY).filter(|hop| *hop >= hop::FIRST_ADJACENCY).collect();
    hops.into_iter().filter_map(|hop| Some(fib.adjacencies.get(hop)?.interface)).collect()
}
