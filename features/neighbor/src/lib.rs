//! Neighbors: their MAC addresses by ARP (RFC 826, 5227), by Neighbor Discovery (RFC 4861) or by configuration.
//!
//! - [`protocol`]: what differs between the two. [`input`]: `arp-input` and `nd-input`, which tell control what they heard.
//!   [`resolve`]: `ip4-resolve` and `ip6-resolve`, where packets wait for a neighbour's address.
//! - [`table`]: what is known, on the control side, and `state`, how sure we are of it; `keeper`: the task that learns, asks and forgets;
//!   `messages`: what control sends; `announce`: the one that says which addresses are ours. `deadlines`, `rate`: when they do, and how much.
//! - [`counted`]: messages by interface, for clients of the statistics.
//! - [`objects`]: configured neighbours; [`settings`]: how neighbours are found and kept, [`interface`]: behind one interface; `manners`: what
//!   holds of both; `command`: the command line; `api`: VPP's messages, and `api::events`, who is told.
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
pub mod interface;
mod keeper;
mod manners;
mod messages;
pub mod objects;
pub mod protocol;
mod rate;
pub mod resolve;
pub mod settings;
mod state;
pub mod table;

pub use announce::{announce_asked, set_announcing};
pub use input::{Guests, ReceivedMessage};
pub use interface::{InterfaceNeighborSettings, hear_timers};
pub use keeper::{answer, is_ours, learn, look, seek, set_guests};
pub use manners::{NeighborDefaults, Strangers, Timers, Unresolved};
pub use messages::{answer_for, ask, claim, probe};
pub use objects::NeighborObject;
pub use protocol::{Protocol, Question};
pub use settings::{NeighborSettings, set_neighbor_defaults};
pub use state::State;
pub use table::{Neighbor, Neighbors};

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::trace::Record;
use quiver_engine::{ArcSpec, Dataplane, DataplaneError, FeatureArcSpec, NodeSpec, Publisher, Seed, Side, To};
use quiver_interface::{Interfaces, Undecided, decides, receiver, undecided};
use quiver_ip::Ip;
use quiver_wire::{EtherType, V4, V6};
use std::rc::Rc;

use counted::NeighborCounters;
use input::NeighborInput;
use resolve::Resolve;

/// Features of ARP packets that an interface receives in layer 3.
const ARP: FeatureArcSpec = FeatureArcSpec { name: "arp", end: V4::NODE, side: Side::Rx };

/// Messages of a protocol that may wait for control; more are lost, by name.
const MESSAGES: usize = 4096;
/// The part of all buffers, by its inverse, in which packets may wait for neighbours of a family.
const BUFFERS_PART: usize = 4;

/// Registers nodes, objects and commands. The rooms of interfaces and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    control.room_mut::<Dataplane>().blueprint().feature_arc(ARP)?;
    let to_features = ArcSpec { name: V4::NODE, to: To::Features(ARP.name) };
    quiver_ethernet::claim_by(control, EtherType::ARP, to_features)?;
    let mut dataplane = control.room_mut::<Dataplane>();
    // What VPP's clients know the counts by.
    for (arc, name) in
        [("wrong-subnet", "l3_src_address_not_local"), ("wrong-subnet-claim", "l3_dst_address_not_local")]
    {
        dataplane.also_called((V4::NODE, arc), &format!("arp-reply/{name}"))?;
    }
    drop(dataplane);
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Protocol>(control: &Control) -> Result<(), DataplaneError> {
    let ingress = control.room::<Ip<F>>().ingress();
    let adjacencies = control.room::<Ip<F>>().fib.adjacencies.snapshot();
    let mut dataplane = control.room_mut::<Dataplane>();
    let (outbox, heard) = channel(MESSAGES, dataplane.bell());
    let settings = *dataplane.settings();
    let waiting = settings.buffers_limit as usize / BUFFERS_PART / settings.workers;
    let waiting = waiting.clamp(1, resolve::WAITING_MAX);
    // Whatever waits can be told of, so nobody's word is lost among those of others.
    let (wants, wanted) = channel(waiting * settings.workers, dataplane.bell());
    let generations = dataplane.generations().clone();
    let unresolved = Publisher::new(dataplane.domain(), Unresolved::Queue);
    let guests = Publisher::new(dataplane.domain(), Guests::<F>::new());
    let counters = Rc::new(NeighborCounters::<F>::new(dataplane.statistics()));
    let graph = dataplane.blueprint();
    let of_input = generations.clone();
    let (received, known_guests) = (counters.clone(), guests.snapshot());
    let input = graph.node(input::node::<F>(move |seed: Seed| NeighborInput {
        ingress: ingress.clone(),
        guests: known_guests.clone(),
        generations: of_input.clone(),
        heard: outbox.of(seed),
        counted: received.received(seed.worker),
    }))?;
    let published = unresolved.snapshot();
    let queue = move |seed| {
        let (adjacencies, unresolved) = (adjacencies.clone(), published.clone());
        Resolve::<F>::new(adjacencies, unresolved, wants.of(seed), generations.clone(), waiting)
    };
    let resolve = graph.node_of(NodeSpec::new(F::NAMES.resolve, resolve::Next::arcs::<F>(), queue))?;
    drop(dataplane);
    decides(control, F::NAMES.resolve, decider::<F>);
    undecided(control, F::NAMES.resolve, Undecided::Packet, &["bad-header"]);
    undecided(control, F::NAMES.resolve, Undecided::Load, &["too-many-wait", "control-busy"]);
    // Whether an interface speaks, and which subnets it has.
    decides(control, F::NODE, receiver);
    undecided(control, F::NODE, Undecided::Packet, F::MALFORMED);
    undecided(control, F::NODE, Undecided::Load, &["control-busy"]);
    let defaults = NeighborDefaults::default();
    let manners = NeighborSettings::<F>::unchanged().manners(defaults);
    control.insert_room(Neighbors::<F>::new(resolve, input, unresolved, guests, (manners, defaults)));
    control.objects().add(Kind::new(objects::apply::<F>).check(objects::check::<F>));
    control.objects().add(Kind::new(settings::apply::<F>).check(settings::check::<F>));
    control.objects().add(Kind::new(interface::apply::<F>).check(interface::check::<F>));
    keeper::register::<F>(control, heard, wanted);
    announce::register::<F>(control);
    counted::register::<F>(control, counters);
    Ok(())
}

/// The neighbour that packets were for, or the settings that say how many may be known.
fn decider<F: Protocol>(control: &Control, record: &Record) -> Option<String> {
    if record.arc != Some(resolve::Next::NoRoom.into()) {
        return quiver_ip::deciding::neighbor::<F>(control, record);
    }
    let interface = control.room::<Ip<F>>().fib.adjacencies.get(record.hop)?.interface;
    let neighbors = control.room::<Neighbors<F>>();
    Some(match neighbors.own_at(interface) {
        Some((Some(limit), known)) if known >= limit => {
            let interface = &control.room::<Interfaces>().name(interface);
            format!("{} {interface}, whose limit is {limit}", F::INTERFACE_SETTINGS)
        }
        _ => format!("{} default, whose limit is {}", F::SETTINGS, neighbors.manners.limit),
    })
}
