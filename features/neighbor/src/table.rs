//! The neighbor table, on the control thread.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::{Control, Time};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, NodeHandle, Publisher, Worker};
use quiver_interface::InterfaceId;
use quiver_ip::fib::{Path, Source, TableId, Target};
use quiver_ip::{Family, Ip};
use quiver_wire::{MacAddress, Prefix};

use crate::api::events::Listeners;
use crate::deadlines::Deadlines;
use crate::input::{Guests, ReceivedMessage};
use crate::manners::{Manners, NeighborDefaults, OwnManners, Unresolved};
use crate::protocol::Protocol;
use crate::rate::Rate;
use crate::resolve::{NeighborKey, Outcome, Resolve};
use crate::state::{NEVER, State};

/// RFC 1122, 2.3.2.1: a neighbour is asked once a second at most. How often links are looked after.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// Neighbours at most that have not answered yet while others are asked for without a packet that waits.
const UNANSWERED_MAX: usize = 8192;
/// Questions at most on one link in one second. All links together are bounded by the packets that can wait.
const REQUESTS_PER_SECOND: u32 = 1000;

/// A neighbour.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// Its address, once known.
    pub mac: Option<MacAddress>,
    /// Reachability state.
    pub state: State,
    /// Time when it was last heard or probed.
    pub since: Time,
    /// Its adjacency, held as long as the neighbour is known.
    hop: u32,
    /// The table in which it has a route of its own.
    routed: Option<TableId>,
    /// Whether it may have one.
    routable: bool,
}

/// When something is to be done about the neighbours on a link that are not configured, and how often they may be asked.
/// No link waits for another.
pub(crate) struct Link<F: Family> {
    /// Deadlines of resolved neighbors.
    deadlines: Deadlines<F::Address>,
    /// Deadlines of unresolved neighbors.
    unanswered: Deadlines<F::Address>,
    asking: Rate,
    /// Settings that this interface overrides.
    own: OwnManners,
    /// Number of its resolved neighbors.
    known: usize,
}

impl<F: Family> Default for Link<F> {
    fn default() -> Link<F> {
        let asking = Rate::new(REQUESTS_PER_SECOND, Duration::from_secs(1));
        let (deadlines, unanswered) = Default::default();
        Link { deadlines, unanswered, asking, own: OwnManners::default(), known: 0 }
    }
}

/// Looks at a message that an interface received.
pub(crate) type Looker<F> = Rc<dyn Fn(InterfaceId, &<F as Protocol>::Message)>;

/// Answers a message that an interface received, or says that it does not.
pub(crate) type Answerer<F> = Rc<dyn Fn(&Control, &ReceivedMessage<F>) -> bool>;

/// All neighbours of a family.
pub struct Neighbors<F: Protocol> {
    pub(crate) all: BTreeMap<NeighborKey<F>, Neighbor>,
    pub(crate) resolve: NodeHandle<Resolve<F>>,
    pub(crate) input: NodeId,
    pub(crate) links: BTreeMap<InterfaceId, Link<F>>,
    /// Number of resolved neighbors on all links.
    pub(crate) known: usize,
    /// When an address of ours was last defended on a link.
    pub(crate) defended: BTreeMap<InterfaceId, Time>,
    /// Clients that want to be told.
    pub(crate) listeners: Option<Rc<Listeners>>,
    /// Rooms that look at each message.
    pub(crate) lookers: Vec<Looker<F>>,
    /// Hosts that belong on a link though none of its subnets has their addresses.
    pub(crate) guests: Publisher<Guests<F>>,
    /// Handlers of rooms that may answer a message in place of this one.
    pub(crate) answerers: Vec<Answerer<F>>,
    /// The effective settings, and the values of those that are not configured.
    pub(crate) manners: Manners,
    pub(crate) defaults: NeighborDefaults,
    /// The part of it that workers know.
    pub(crate) unresolved: Publisher<Unresolved>,
    /// Known neighbours that have no route of their own, though they may have one: another interface is on their subnet, or
    /// the table was full.
    unrouted: BTreeSet<NeighborKey<F>>,
}

impl<F: Protocol> Neighbors<F> {
    pub(crate) fn new(
        resolve: NodeHandle<Resolve<F>>,
        input: NodeId,
        unresolved: Publisher<Unresolved>,
        guests: Publisher<Guests<F>>,
        (manners, defaults): (Manners, NeighborDefaults),
    ) -> Neighbors<F> {
        Neighbors {
            all: BTreeMap::new(),
            resolve,
            input,
            links: BTreeMap::new(),
            known: 0,
            defended: BTreeMap::new(),
            listeners: None,
            lookers: vec![],
            answerers: vec![],
            guests,
            manners,
            defaults,
            unresolved,
            unrouted: BTreeSet::new(),
        }
    }
    /// A neighbour.
    pub fn get(&self, wanted: NeighborKey<F>) -> Option<&Neighbor> {
        self.all.get(&wanted)
    }
    /// The effective settings of an interface.
    pub(crate) fn manners_at(&self, id: InterfaceId) -> Manners {
        self.links.get(&id).map_or(self.manners, |link| link.own.over(self.manners))
    }
    /// Number of known neighbors on an interface.
    fn count_at(&self, id: InterfaceId) -> usize {
        self.links.get(&id).map_or(0, |link| link.known)
    }
    /// Limit of an interface that overrides any setting, and the number of neighbors known on it.
    pub(crate) fn own_at(&self, id: InterfaceId) -> Option<(Option<usize>, usize)> {
        let own = self.links.get(&id).map(|link| link.own).filter(|own| *own != OwnManners::default())?;
        Some((own.limit, self.count_at(id)))
    }
    /// Whether one more neighbor may be known behind an interface. Unresolved ones do not count: else a scan of a
    /// link's addresses would keep its hosts out.
    pub(crate) fn has_room(&self, id: InterfaceId) -> bool {
        let own = self.links.get(&id).and_then(|link| link.own.limit);
        self.known < self.manners.limit && own.is_none_or(|limit| self.count_at(id) < limit)
    }
    /// The same, or another would make room.
    pub(crate) fn may_learn(&self, id: InterfaceId) -> bool {
        self.has_room(id) || (self.manners.recycle && self.first_to_go(id).is_some())
    }
    /// Whether one more address may be resolved without a waiting packet: no other limit bounds these.
    pub(crate) fn may_seek(&self, id: InterfaceId) -> bool {
        self.may_learn(id) && self.all.len() - self.known < UNANSWERED_MAX
    }
    /// The neighbor with the earliest deadline: behind the interface if its own limit is reached, else behind any.
    fn first_to_go(&self, id: InterfaceId) -> Option<NeighborKey<F>> {
        let first =
            |(id, link): (&InterfaceId, &Link<F>)| link.deadlines.first().map(|(at, address)| (at, (*id, address)));
        let own = self.links.get(&id).and_then(|link| link.own.limit);
        let eldest = match own.is_some_and(|limit| self.count_at(id) >= limit) {
            true => self.links.get_key_value(&id).and_then(first),
            false => self.links.iter().filter_map(first).min(),
        };
        eldest.map(|(_, wanted)| wanted)
    }
    /// Like [`Neighbors::has_room`], after evicting the entry with the earliest deadline if that is configured.
    pub(crate) fn make_room(&mut self, control: &Control, id: InterfaceId) -> bool {
        if self.has_room(id) || !self.manners.recycle {
            return self.has_room(id);
        }
        if let Some(eldest) = self.first_to_go(id) {
            self.forget(control, eldest, Outcome::Silent);
        }
        self.has_room(id)
    }
    /// All of them, by interface and address.
    pub fn iter(&self) -> impl Iterator<Item = (&NeighborKey<F>, &Neighbor)> {
        self.all.iter()
    }
    /// Those behind one in the order of interfaces and addresses, whether or not that is there; all of them without one.
    pub fn after(&self, last: Option<NeighborKey<F>>) -> impl Iterator<Item = (&NeighborKey<F>, &Neighbor)> {
        self.all.range((last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
    }
    /// A neighbour on a link about which something is to be done by now.
    pub(crate) fn due(&self, link: InterfaceId, now: Time) -> Option<(NeighborKey<F>, State, Option<MacAddress>)> {
        let of_link = self.links.get(&link)?;
        let first = [&of_link.unanswered, &of_link.deadlines].into_iter().filter_map(Deadlines::first).min();
        let wanted = (link, first.filter(|(at, _)| *at <= now)?.1);
        self.all.get(&wanted).map(|neighbor| (wanted, neighbor.state, neighbor.mac))
    }
    /// Cancels the deadline of a neighbor.
    pub(crate) fn let_be(&mut self, (link, address): NeighborKey<F>) {
        if let Some(link) = self.links.get_mut(&link) {
            link.deadlines.cancel(address);
            link.unanswered.cancel(address);
        }
    }
    /// Whether one more question may be put on a link now; if so it is counted.
    pub(crate) fn may_ask(&mut self, link: InterfaceId, now: Time) -> bool {
        self.links.entry(link).or_default().asking.allows(now)
    }
    /// The neighbour is in a state from now on.
    pub(crate) fn turn(&mut self, wanted: NeighborKey<F>, state: State, now: Time) -> Option<&mut Neighbor> {
        let manners = self.manners_at(wanted.0);
        let neighbor = self.all.get_mut(&wanted)?;
        let Link { deadlines, unanswered, .. } = self.links.entry(wanted.0).or_default();
        let (of_it, other) = match state {
            State::Incomplete(_) => (unanswered, deadlines),
            _ => (deadlines, unanswered),
        };
        other.cancel(wanted.1);
        match state.patience(manners) {
            Some(patience) => of_it.set(wanted.1, now + patience),
            None => of_it.cancel(wanted.1),
        }
        (neighbor.state, neighbor.since) = (state, now);
        Some(neighbor)
    }
    /// The same for a neighbour that may not be there yet.
    pub(crate) fn enter(&mut self, control: &Control, wanted: NeighborKey<F>, state: State) -> Option<&mut Neighbor> {
        let since = control.now();
        self.all.entry(wanted).or_insert_with(|| {
            let hop = control.room_mut::<Ip<F>>().fib.adjacencies.acquire(wanted.0, Some(wanted.1));
            Neighbor { mac: None, state, since, hop, routed: None, routable: true }
        });
        self.turn(wanted, state, since)
    }
    /// Notes a neighbour's address and lets packets through that wait for it. True if the address is news.
    pub(crate) fn learn(&mut self, control: &Control, wanted: NeighborKey<F>, mac: MacAddress, state: State) -> bool {
        let Some(neighbor) = self.enter(control, wanted, state) else { return false };
        let (news, is_new) = (neighbor.mac != Some(mac), neighbor.mac.is_none());
        if news {
            neighbor.mac = Some(mac);
            let hop = neighbor.hop;
            if is_new {
                self.known += 1;
                self.links.entry(wanted.0).or_default().known += 1;
            }
            let mut ip = control.room_mut::<Ip<F>>();
            ip.fib.adjacencies.set_mac(hop, Some(mac));
            ip.near.set(wanted, Some(hop));
            drop(ip);
            self.route(control, wanted);
            self.let_through(control, wanted);
            self.listeners.iter().for_each(|listeners| listeners.added((wanted.0, wanted.1.into()), mac, state));
        }
        news
    }
    /// Lets packets through that wait for a neighbour that is known.
    pub(crate) fn let_through(&self, control: &Control, wanted: NeighborKey<F>) {
        let Some(neighbor) = self.all.get(&wanted) else { return };
        let id = control.room::<Ip<F>>().fib.adjacencies.id(neighbor.hop);
        self.release(control, wanted, Outcome::Known(id));
    }
    /// Packets that wait for a neighbour learn that there is no room for it.
    pub(crate) fn refuse(&self, control: &Control, wanted: NeighborKey<F>) {
        self.release(control, wanted, Outcome::NoRoom);
    }
    /// Makes many changes one publication.
    pub(crate) fn together<R>(&mut self, control: &Control, change: impl FnOnce(&mut Neighbors<F>) -> R) -> R {
        control.room_mut::<Ip<F>>().fib.adjacencies.hold();
        let done = change(self);
        control.room_mut::<Ip<F>>().fib.adjacencies.publish_held();
        done
    }
    /// Forgets neighbours; packets that wait for them learn why.
    pub(crate) fn forget_all(&mut self, control: &Control, wanted: &[NeighborKey<F>], outcome: Outcome) {
        self.together(control, |all| wanted.iter().for_each(|wanted| all.forget(control, *wanted, outcome)));
    }
    /// Forgets a neighbour; packets that wait for it learn why.
    pub(crate) fn forget(&mut self, control: &Control, wanted: NeighborKey<F>, outcome: Outcome) {
        let Some(neighbor) = self.all.remove(&wanted) else { return };
        self.let_be(wanted);
        if neighbor.mac.is_some() {
            self.known -= 1;
            if let Some(link) = self.links.get_mut(&wanted.0) {
                link.known -= 1;
            }
        }
        self.unrouted.remove(&wanted);
        {
            let mut ip = control.room_mut::<Ip<F>>();
            if neighbor.mac.is_some() {
                ip.near.set(wanted, None);
                ip.fib.adjacencies.set_mac(neighbor.hop, None);
            }
            if let Some(table) = neighbor.routed {
                // With the table its routes went, too.
                ip.fib.remove(table, Prefix::host(wanted.1), Source::Neighbor);
            }
            ip.fib.adjacencies.release(neighbor.hop);
        }
        if neighbor.routed.is_some() {
            self.route_others(control, wanted);
        }
        self.release(control, wanted, outcome);
        if let (Some(listeners), Some(mac)) = (&self.listeners, neighbor.mac) {
            listeners.removed((wanted.0, wanted.1.into()), mac, neighbor.state);
        }
    }
    /// Whether a neighbour may have a route of its own.
    pub(crate) fn set_routable(&mut self, control: &Control, wanted: NeighborKey<F>, routable: bool) {
        if let Some(neighbor) = self.all.get_mut(&wanted) {
            neighbor.routable = routable;
            self.route(control, wanted);
        }
    }
    /// Adds or removes the neighbor's host route. Every resolved, routable neighbor has one, unless its address is
    /// link-local or on another interface's subnet.
    pub(crate) fn route(&mut self, control: &Control, wanted: NeighborKey<F>) {
        let Some(neighbor) = self.all.get_mut(&wanted) else { return };
        let mut ip = control.room_mut::<Ip<F>>();
        // What means something on one link only has no route in a table for many.
        let may = neighbor.mac.is_some() && neighbor.routable && !F::is_link_local(wanted.1);
        let table = ip.table_of(wanted.0);
        let should = (may && !ip.is_elsewhere(wanted.0, wanted.1)).then_some(table);
        if neighbor.routed != should {
            if let Some(old) = neighbor.routed.take() {
                ip.fib.remove(old, Prefix::host(wanted.1), Source::Neighbor);
            }
            neighbor.routed = should.filter(|table| route(&mut ip, *table, wanted));
        }
        match may && neighbor.routed.is_none() {
            true => self.unrouted.insert(wanted),
            false => self.unrouted.remove(&wanted),
        };
        let is_routed = neighbor.routed.is_some();
        drop(ip);
        // A prefix has one route of neighbours.
        let others: Vec<InterfaceId> =
            self.links.keys().copied().filter(|other| is_routed && *other != wanted.0).collect();
        for other in others {
            let other = (other, wanted.1);
            if let Some(neighbor) = self.all.get_mut(&other).filter(|other| other.routed == should) {
                neighbor.routed = None;
                self.unrouted.insert(other);
            }
        }
    }
    /// A neighbour's route has gone: others of its address may have one now.
    fn route_others(&mut self, control: &Control, gone: NeighborKey<F>) {
        let others: Vec<_> = self.unrouted.iter().copied().filter(|(_, address)| *address == gone.1).collect();
        others.into_iter().for_each(|other| self.route(control, other));
    }
    /// An interface's addresses have changed: neighbours on its subnets that are behind others lose their routes, and those
    /// without one may have one now.
    pub(crate) fn reroute(&mut self, control: &Control, changed: &[Prefix<F>]) {
        let links: Vec<InterfaceId> = self.links.keys().copied().collect();
        let mut concerned: BTreeSet<NeighborKey<F>> = self.unrouted.clone();
        for prefix in changed {
            for link in &links {
                let all = (*link, prefix.address())..=(*link, prefix.last_address());
                concerned.extend(self.all.range(all).map(|(wanted, _)| *wanted));
            }
        }
        for wanted in concerned {
            // Where two neighbours have one address, the one that came last keeps its route.
            let has_route =
                |link: &InterfaceId| self.all.get(&(*link, wanted.1)).is_some_and(|other| other.routed.is_some());
            if !links.iter().any(|link| *link != wanted.0 && has_route(link)) {
                self.route(control, wanted);
            }
        }
    }
    /// Applies new settings.
    pub(crate) fn behave(&mut self, manners: Manners, now: Time) {
        self.unresolved.publish(manners.unresolved);
        self.manners = manners;
        let links: Vec<InterfaceId> = self.links.keys().copied().collect();
        links.into_iter().for_each(|link| self.wait_anew(link, now));
    }
    /// Applies new settings of an interface.
    pub(crate) fn behave_at(&mut self, id: InterfaceId, now: Time, change: impl FnOnce(&mut OwnManners)) {
        let own = &mut self.links.entry(id).or_default().own;
        let before = *own;
        change(own);
        // Routers say the same again and again.
        if *own != before {
            self.wait_anew(id, now);
        }
    }
    /// Neighbours that were heard are waited for as long as they are to be now.
    fn wait_anew(&mut self, id: InterfaceId, now: Time) {
        let age = self.manners_at(id).age;
        let Some(link) = self.links.get_mut(&id) else { return };
        let all = self.all.range(whole_link::<F>(id));
        for ((_, address), neighbor) in all.filter(|(_, neighbor)| neighbor.state == State::Reachable) {
            link.deadlines.set(*address, (neighbor.since + age.unwrap_or(NEVER)).max(now));
        }
    }
    fn release(&self, control: &Control, wanted: NeighborKey<F>, outcome: Outcome) {
        let node = self.resolve.id;
        let release = |_| move |worker: &mut Worker| Resolve::<F>::release(worker, node, wanted, outcome);
        control.room::<Dataplane>().post_all(release);
    }
}

/// All that may be behind an interface.
fn whole_link<F: Family>(id: InterfaceId) -> std::ops::RangeInclusive<NeighborKey<F>> {
    (id, F::from_bits(0))..=(id, F::from_bits(F::mask(F::ADDRESS_BITS)))
}

/// A known neighbour has a route of its own, so that packets for it do not meet the link's, and routes by it resolve.
fn route<F: Family>(ip: &mut Ip<F>, table: TableId, (interface, address): NeighborKey<F>) -> bool {
    let path = vec![Path::to(Target::NextHop(interface, address))];
    let done = ip.fib.insert(table, Prefix::host(address), Source::Neighbor, path);
    if let Err(error) = &done {
        // A table at its limit: packets for the neighbour go by the link's route, with a detour by the queue.
        tracing::warn!("the neighbour {address} gets no route of its own: {error}");
    }
    done.is_ok()
}
