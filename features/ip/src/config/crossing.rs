//! Next hops of the other family (RFC 8950): routes of IPv4 by routers that are known by addresses of IPv6, and the reverse. Who is
//! at such an address, and by which way, is the other family's to know: each such next hop is a group there, which is held as
//! long as a route here leads to it, and which workers look into. While the other family knows no way there, or only one that leads
//! back ([`circles`](super::circles)), a path by it is none.

use std::collections::BTreeMap;

use quiver_control::{Control, ObjectError};
use quiver_engine::{Dataplane, DataplaneError, NodeSpec, Paged, Publisher, Seed, Snapshot};
use quiver_interface::{InterfaceEvent, watch};
use quiver_wire::{IpFamily, V4, V6};

use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::{CrossFamilyHop, Path, TableId, Target};
use crate::node::crossing::{Crossing, arcs_of};
use crate::node::describe;
use crate::upper;

/// The next hops of the other family that routes of a family have.
pub(crate) struct Crossings<F: Family> {
    /// Their numbers, and their groups in the other family.
    ways: BTreeMap<CrossFamilyHop, (u16, u32)>,
    /// Where to look for a number that is free: those that were given back last come last.
    next: u16,
    /// Those that are new since [`sweep`] looked last: nothing leads to them if whoever wanted them was refused.
    fresh: Vec<CrossFamilyHop>,
    /// Groups by number; 0 is none.
    published: Publisher<Paged<u32>>,
    /// MTUs of the family, by interface.
    mtus: Publisher<Paged<u16>>,
    family: std::marker::PhantomData<F>,
}

pub(super) fn register(control: &Control) -> Result<(), DataplaneError> {
    insert::<V4>(control);
    insert::<V6>(control);
    register_family::<V4>(control)?;
    register_family::<V6>(control)
}

fn insert<F: Family>(control: &Control) {
    let domain = control.room::<Dataplane>().domain().clone();
    let (published, mtus) = (Publisher::new(&domain, Paged::default()), Publisher::new(&domain, Paged::default()));
    let (ways, family) = (BTreeMap::new(), std::marker::PhantomData);
    control.insert_room(Crossings::<F> { ways, next: 0, fresh: vec![], published, mtus, family });
    watch(control, |control, event| {
        let (InterfaceEvent::Created(id) | InterfaceEvent::Mtu(id) | InterfaceEvent::Link(id)) = event else { return };
        let mtu = control.room::<Ip<F>>().fib.adjacencies.link(id).map_or(0, |link| link.mtu);
        let mut crossings = control.room_mut::<Crossings<F>>();
        if crossings.mtus.current().get(id.index()) != Some(&mtu) {
            crossings.mtus.edit(|mtus| *mtus.get_mut(id.index()) = mtu);
        }
    });
}

fn register_family<F: Family>(control: &Control) -> Result<(), DataplaneError> {
    let ways = (ways::<F>(control), ways::<F::Other>(control));
    let mtus = (mtus::<F>(control), mtus::<F::Other>(control));
    let (own, other) = (control.room::<Ip<F>>(), control.room::<Ip<F::Other>>());
    let rows = (own.fib.groups.snapshot(), other.fib.groups.snapshot());
    let (adjacencies, sent) = (other.fib.adjacencies.snapshot(), other.fib.adjacencies.counters().clone());
    let (ingress, upper) = (own.ingress(), upper::key(control));
    drop((own, other));
    let make = move |Seed { worker, .. }: Seed| Crossing::<F> {
        ways: ways.clone(),
        rows: rows.clone(),
        adjacencies: adjacencies.clone(),
        ingress: ingress.clone(),
        mtus: mtus.clone(),
        sent: sent.row(worker),
        upper,
    };
    let spec = NodeSpec::new(F::NAMES.crossing, arcs_of::<F>(), make).describe(describe::<F>);
    control.room_mut::<Dataplane>().blueprint().node(spec)?;
    quiver_interface::decides(control, F::NAMES.crossing, crate::config::deciding::neighbor::<F::Other>);
    Ok(())
}

/// The groups of the other family that next hops there are, by number, as workers read them.
pub fn ways<F: Family>(control: &Control) -> Snapshot<Paged<u32>> {
    control.room::<Crossings<F>>().published.snapshot()
}

fn mtus<F: Family>(control: &Control) -> Snapshot<Paged<u16>> {
    control.room::<Crossings<F>>().mtus.snapshot()
}

/// The target of a path by a next hop of the other family. Whoever has it makes a route or a group of it at once.
pub(crate) fn target<F: Family>(control: &Control, way: CrossFamilyHop) -> Result<Target<F>, ObjectError> {
    let wrong = |what: &str| ObjectError::field("other-via", what);
    let via = F::Other::from_ip(way.via).ok_or_else(|| wrong("it is not of the other family"))?;
    let mut crossings = control.room_mut::<Crossings<F>>();
    if let Some((number, _)) = crossings.ways.get(&way) {
        return Ok(Target::Crossing(*number, way));
    }
    let next = crossings.next;
    let mut numbers = (0..=u16::MAX).map(|n| next.wrapping_add(n));
    let number =
        numbers.find(|number| crossings.published.current().get((*number).into()).is_none_or(|group| *group == 0));
    let number = number.ok_or_else(|| wrong("there are 65,536 such next hops already").remedy("use fewer"))?;
    let target = match way.interface {
        Some(interface) => Target::NextHop(interface, via),
        None => Target::Recursive(TableId::DEFAULT, via),
    };
    let (group, leads) = {
        let fib = &mut control.room_mut::<Ip<F::Other>>().fib;
        let group = fib.hold(vec![Path::to(target)]);
        fib.groups.watch(group, true);
        (group, fib.groups.leads(group))
    };
    control.room_mut::<Ip<F>>().fib.set_way(way, leads);
    crossings.ways.insert(way, (number, group));
    crossings.fresh.push(way);
    crossings.next = number.wrapping_add(1);
    crossings.publish(number, group);
    Ok(Target::Crossing(number, way))
}

/// Lets go of next hops that no route leads to any more.
pub(crate) fn sweep<F: Family>(control: &Control) {
    let mut crossings = control.room_mut::<Crossings<F>>();
    let fresh = std::mem::take(&mut crossings.fresh);
    let unused: Vec<CrossFamilyHop> = {
        let groups = &mut control.room_mut::<Ip<F>>().fib.groups;
        let perhaps = fresh.into_iter().chain(groups.take_uncrossed());
        perhaps.filter(|way| !groups.crosses(*way)).collect()
    };
    for way in unused {
        let Some((number, group)) = crossings.ways.remove(&way) else { continue };
        crossings.publish(number, 0);
        // Whether it leads anywhere is asked again when somebody wants it again.
        control.room_mut::<Ip<F>>().fib.set_way(way, true);
        let fib = &mut control.room_mut::<Ip<F::Other>>().fib;
        fib.groups.watch(group, false);
        fib.let_go(group);
    }
}

impl<F: Family> Crossings<F> {
    /// All next hops, each with its group in the other family.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (CrossFamilyHop, u32)> + '_ {
        self.ways.iter().map(|(way, (_, group))| (*way, *group))
    }
    /// The group of one.
    pub(crate) fn group(&self, way: CrossFamilyHop) -> Option<u32> {
        self.ways.get(&way).map(|(_, group)| *group)
    }
    fn publish(&mut self, number: u16, group: u32) {
        let mut groups = self.published.current().clone();
        *groups.get_mut(number.into()) = group;
        self.published.publish(groups);
    }
}
