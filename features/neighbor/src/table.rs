//! What is known of neighbours, on the control side: the only table there is.

use std::collections::BTreeMap;

use quiver_control::{Control, Time};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, NodeHandle, Worker};
use quiver_ip::Ip4;
use quiver_ip::fib::{Path, Source, Target};
use quiver_wire::{MacAddress, Prefix};

use crate::resolve::{Ip4Resolve, Outcome, Wanted};

/// How sure we are of a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Packets wait for it; it was asked so many times.
    Incomplete(u32),
    /// It was heard, or answered, not long ago.
    Reachable,
    /// It was not heard for long; it was asked so many times.
    Probing(u32),
    /// It was configured, and is never forgotten.
    Static,
}

/// A neighbour.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// Its address, once known.
    pub mac: Option<MacAddress>,
    /// How sure we are.
    pub state: State,
    /// When it was heard last, or asked.
    pub since: Time,
    /// Its adjacency, held as long as the neighbour is known.
    hop: u32,
}

/// All neighbours.
pub struct Neighbors {
    pub(crate) all: BTreeMap<Wanted, Neighbor>,
    pub(crate) resolve: NodeHandle<Ip4Resolve>,
    pub(crate) input: NodeId,
}

impl Neighbors {
    pub(crate) fn new(resolve: NodeHandle<Ip4Resolve>, input: NodeId) -> Neighbors {
        Neighbors { all: BTreeMap::new(), resolve, input }
    }
    /// A neighbour.
    pub fn get(&self, wanted: Wanted) -> Option<&Neighbor> {
        self.all.get(&wanted)
    }
    /// All of them, by interface and address.
    pub fn iter(&self) -> impl Iterator<Item = (&Wanted, &Neighbor)> {
        self.all.iter()
    }
    /// The neighbour, made in a state if it was not there.
    pub(crate) fn entry(&mut self, control: &Control, wanted: Wanted, state: State) -> &mut Neighbor {
        let since = control.now();
        self.all.entry(wanted).or_insert_with(|| {
            let hop = control.room_mut::<Ip4>().fib.adjacencies.acquire(wanted.0, Some(wanted.1));
            Neighbor { mac: None, state, since, hop }
        })
    }
    /// Notes a neighbour's address and lets packets through that wait for it. True if the address is news.
    pub(crate) fn learn(&mut self, control: &Control, wanted: Wanted, mac: MacAddress, state: State) -> bool {
        let neighbor = self.entry(control, wanted, state);
        (neighbor.state, neighbor.since) = (state, control.now());
        let news = neighbor.mac != Some(mac);
        if news {
            let first = neighbor.mac.replace(mac).is_none();
            let mut ip = control.room_mut::<Ip4>();
            ip.fib.adjacencies.set_mac(neighbor.hop, Some(mac));
            if first {
                route(&mut ip, wanted, true);
            }
        }
        self.release(control, wanted, Outcome::Known);
        news
    }
    /// Forgets a neighbour; packets that wait for it learn why.
    pub(crate) fn forget(&mut self, control: &Control, wanted: Wanted, outcome: Outcome) {
        let Some(neighbor) = self.all.remove(&wanted) else { return };
        {
            let mut ip = control.room_mut::<Ip4>();
            if neighbor.mac.is_some() {
                ip.fib.adjacencies.set_mac(neighbor.hop, None);
                route(&mut ip, wanted, false);
            }
            ip.fib.adjacencies.release(neighbor.hop);
        }
        self.release(control, wanted, outcome);
    }
    fn release(&self, control: &Control, wanted: Wanted, outcome: Outcome) {
        let node = self.resolve.id;
        let release = |_| move |worker: &mut Worker| Ip4Resolve::release(worker, node, wanted, outcome);
        control.room::<Dataplane>().post_all(release);
    }
}

/// A known neighbour has a route of its own, so that packets for it do not meet the link's, and routes by it resolve.
fn route(ip: &mut Ip4, (interface, address): Wanted, add: bool) {
    let (table, prefix) = (ip.table_of(interface), Prefix::host(address));
    let done = match add {
        true => ip.fib.insert(table, prefix, Source::Neighbor, vec![Path::to(Target::NextHop(interface, address))]),
        false => ip.fib.remove(table, prefix, Source::Neighbor).map(|_| ()),
    };
    if let Err(error) = done {
        // A table at its limit: packets for the neighbour go by the link's route, a little slower.
        tracing::warn!("the neighbour {address} gets no route of its own: {error}");
    }
}
