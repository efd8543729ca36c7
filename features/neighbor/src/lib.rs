//! Neighbours: who is at which MAC address, by ARP (RFC 826, 5227) or by configuration.
//!
//! - [`input`]: `arp-input`, which tells control what it heard. [`resolve`]: `ip4-resolve`, where packets wait for a
//!   neighbour's address.
//! - [`table`]: what is known, on the control side; `keeper`: the task that answers, asks, learns and forgets;
//!   `announce`: the one that says which addresses are ours. `deadlines`, `rate`: when they do, and how much.
//! - [`counted`]: ARP packets by interface, for clients of the statistics.
//! - [`objects`]: configured neighbours; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

// Tests put this room among others, which they call by their names.
#[cfg(test)]
extern crate self as quiver_neighbor;

mod announce;
mod api;
mod command;
pub mod counted;
mod deadlines;
pub mod input;
mod keeper;
pub mod objects;
mod rate;
pub mod resolve;
pub mod table;

pub use announce::set_announcing;
pub use keeper::{ask, claim, look};
pub use objects::NeighborObject;
pub use table::{Neighbor, Neighbors, State};

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec, Seed};
use quiver_ip::Ip4;
use std::rc::Rc;

use counted::ArpCounters;

/// ARP packets that may wait for control; more are lost, by name.
const MESSAGES: usize = 4096;
/// The part of all buffers, by its inverse, in which packets may wait for neighbours.
const BUFFERS_PART: usize = 4;

/// Registers nodes, objects and commands. The rooms of interfaces and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let ingress = control.room::<Ip4>().ingress();
    let adjacencies = control.room::<Ip4>().fib.adjacencies.snapshot();
    let mut dataplane = control.room_mut::<Dataplane>();
    let (outbox, heard) = channel(MESSAGES, dataplane.bell());
    let settings = *dataplane.settings();
    let waiting = settings.buffers_limit as usize / BUFFERS_PART / settings.workers;
    let waiting = waiting.clamp(1, resolve::WAITING_MAX);
    // Whatever waits can be told of, so nobody's word is lost among those of others.
    let (wants, wanted) = channel(waiting * settings.workers, dataplane.bell());
    let generations = dataplane.generations().clone();
    let counters = Rc::new(ArpCounters::new(dataplane.statistics()));
    let graph = dataplane.blueprint();
    let of_arp = generations.clone();
    let received = counters.clone();
    let input = move |seed: Seed| input::ArpInput {
        ingress: ingress.clone(),
        generations: of_arp.clone(),
        heard: outbox.clone(),
        counted: received.received(seed.worker),
    };
    let arp = graph.node(NodeSpec::new("arp-input", input::Next::ARCS, input).describe(input::describe))?;
    let queue = move |_| resolve::Ip4Resolve::new(adjacencies.clone(), wants.clone(), generations.clone(), waiting);
    let resolve = graph.node_of(NodeSpec::new("ip4-resolve", resolve::Next::ARCS, queue))?;
    drop(dataplane);
    control.insert_room(Neighbors::new(resolve, arp));
    control.objects().add(Kind::new(objects::apply).check(objects::check));
    command::register(control);
    api::register(control);
    keeper::register(control, heard, wanted);
    announce::register(control);
    counted::register(control, counters);
    Ok(())
}
