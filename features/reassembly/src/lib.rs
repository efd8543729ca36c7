//! Reassembly: packets that come in fragments are put together again (RFC 791 3.2, RFC 8200 4.5), or their fragments go on with
//! a note of their ports.
//!
//! - [`assembly`]: the parts of one packet. [`family`]: what differs between IPv4 and IPv6. `keeper`: the node around what is kept; `owner`: which worker has the parts.
//! - [`node`]: the nodes that put packets together, at each [`place`]; [`shallow`]: those that know ports.
//! - [`config`]: what is configured, and the limits; `patience`: the tasks that end waiting for parts that do not come, by a clock (`ahead`)
//!   and as long as any wait (`counted`).
//! - `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod ahead;
mod api;
pub mod assembly;
mod command;
pub mod config;
mod counted;
pub mod family;
mod keeper;
pub mod node;
mod owner;
mod patience;
pub mod place;
pub mod shallow;

pub use config::{Kinds, ReassemblySettings};

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::{Undecided, decides, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{IpFamily, V4, V6};

use config::Reassemblies;
use family::Reassembled;
use keeper::Keeper;
use node::Reassembly;
use place::{Local, Place, Received};
use shallow::Shallow;

/// Registers the room. IP is registered before; rooms that look at ports come after.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Reassembled>(control: &Control) -> Result<(), DataplaneError> {
    let room = Reassemblies::<F>::new(control.room::<Dataplane>().domain());
    control.insert_room(room);
    control.objects().add(Kind::new(config::apply::<F>));
    control.objects().add(Kind::new(config::apply_settings::<F>).check(config::check_settings::<F>));
    register_place::<Local<F>>(control)?;
    register_place::<Received<F>>(control)?;
    register_shallow::<F>(control)
}

/// What VPP's clients know the reasons of full reassembly by.
const FULL_KNOWN: [(&str, &str); 7] = [
    ("overlapping-fragments", "reass_overlapping_fragment"),
    ("too-many-fragments", "reass_fragment_chain_too_long"),
    ("reassembly-full", "reass_limit_reached"),
    ("reassembly-timeout", "reass_timeout"),
    ("no-buffers", "reass_no_buf"),
    ("bad-fragment-length", "reass_invalid_frag_len"),
    ("reassembled-too-long", "reass_malformed_packet"),
];

/// The same of shallow reassembly.
const SHALLOW_KNOWN: [(&str, &str); 3] = [
    ("too-many-fragments", "reass_fragment_chain_too_long"),
    ("reassembly-full", "reass_limit_reached"),
    ("reassembly-timeout", "reass_timeout"),
];

fn register_place<P: Place>(control: &Control) -> Result<(), DataplaneError> {
    let (settings, counted) = {
        let room = control.room::<Reassemblies<P::Family>>();
        (room.snapshot(Kinds::Full), if P::IS_LOCAL { room.local.clone() } else { room.received.clone() })
    };
    let ingress = control.room::<Ip<P::Family>>().ingress();
    let (node, waiting) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let workers = dataplane.settings().workers;
        let (waits, waiting) = channel(workers, dataplane.bell());
        let graph = dataplane.blueprint();
        let make = move |seed| {
            let (reads, waits) = ((ingress.clone(), settings.clone()), waits.of(seed));
            Keeper::new(reads, workers, waits, counted.gauge(), Reassembly::<P>::default())
        };
        let spec = NodeSpec::new(P::NODE, node::arcs_of::<P>(), make).describe(describe::<P::Family>);
        let node = graph.node_of::<Keeper<Reassembly<P>>>(spec)?;
        if !P::IS_LOCAL {
            let arc = <P::Family as quiver_ip::Family>::NAMES.unicast;
            graph.feature(FeatureSpec::new(arc, P::NODE, Phase::Reassembly))?;
        }
        known(&mut dataplane, P::NODE, &FULL_KNOWN)?;
        (node, waiting)
    };
    decide::<P::Family>(control, P::NODE, Kinds::Full, &["overlapping-fragments"]);
    undecided(control, P::NODE, Undecided::Load, &["no-buffers"]);
    if P::Family::VERSION == 4 {
        // Senders of IPv6 are told of these.
        undecided(control, P::NODE, Undecided::Packet, &["bad-fragment-length", "reassembled-too-long"]);
    }
    let task = patience::end::<Reassembly<P>>(control.clone(), node.id, Kinds::Full, waiting);
    control.spawn("reassembly", task);
    Ok(())
}

/// The part of the buffers that fragments may hold while they wait, in all.
const BUFFERS_PART: usize = 4;

fn register_shallow<F: Reassembled>(control: &Control) -> Result<(), DataplaneError> {
    let (settings, counted) = {
        let room = control.room::<Reassemblies<F>>();
        (room.snapshot(Kinds::Shallow), room.shallow.clone())
    };
    let ingress = control.room::<Ip<F>>().ingress();
    let (node, waiting) = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let workers = dataplane.settings().workers;
        let most = (dataplane.settings().buffers_limit as usize / BUFFERS_PART / workers).max(1);
        let (waits, waiting) = channel(workers, dataplane.bell());
        let graph = dataplane.blueprint();
        let make = move |seed| {
            let (reads, waits) = ((ingress.clone(), settings.clone()), waits.of(seed));
            Keeper::new(reads, workers, waits, counted.gauge(), Shallow::<F>::new(most))
        };
        let spec = NodeSpec::new(F::SHALLOW, shallow::Next::arcs::<F>(), make).describe(describe::<F>);
        let node = graph.node_of::<Keeper<Shallow<F>>>(spec)?;
        graph.feature(FeatureSpec::new(F::NAMES.unicast, F::SHALLOW, Phase::Reassembly).after(&[F::FULL]))?;
        known(&mut dataplane, F::SHALLOW, &SHALLOW_KNOWN)?;
        (node, waiting)
    };
    decide::<F>(control, F::SHALLOW, Kinds::Shallow, &["bad-fragment-length", "overlapping-fragments"]);
    control.spawn("shallow reassembly", patience::end::<Shallow<F>>(control.clone(), node.id, Kinds::Shallow, waiting));
    Ok(())
}

/// What is too much or too late is so by the limits; these reasons the packet gives, and others the load of the workers.
fn decide<F: Reassembled>(control: &Control, node: &'static str, kind: Kinds, packet: &[&str]) {
    decides(
        control,
        node,
        match kind {
            Kinds::Full => |_, record| full_decides::<F>(record),
            Kinds::Shallow => |_, record| {
                Some(match record.arc {
                    Some(arc) if arc == u16::from(shallow::Next::Here) => ELSEWHERE.to_owned(),
                    Some(_) => format!("{} shallow", F::SETTINGS),
                    None => "a part of the packet that has not come yet".to_owned(),
                })
            },
        },
    );
    undecided(control, node, Undecided::Packet, packet);
    undecided(control, node, Undecided::Load, &["handoff-full"]);
}

/// Why a fragment is handed to another worker.
const ELSEWHERE: &str = "the other parts of the packet, which come together there";

/// What decides where full reassembly sends a fragment.
fn full_decides<F: Reassembled>(record: &Record) -> Option<String> {
    let is = |next: node::Next| record.arc == Some(u16::from(next));
    match record.hop {
        // No fragment.
        _ if is(node::Next::Whole) => None,
        _ if is(node::Next::Here) => Some(ELSEWHERE.to_owned()),
        0 if is(node::Next::Kept) => Some(format!("the packet, which is whole with it on worker {}", record.worker)),
        1 if is(node::Next::Kept) => {
            Some(format!("parts that have not come yet; it is the first that worker {} has", record.worker))
        }
        parts if is(node::Next::Kept) => {
            Some(format!("parts that have not come yet; worker {} has {parts} with it", record.worker))
        }
        _ => Some(format!("{} full", F::SETTINGS)),
    }
}

fn known(dataplane: &mut Dataplane, node: &str, names: &[(&str, &str)]) -> Result<(), DataplaneError> {
    names.iter().try_for_each(|(arc, name)| dataplane.also_called((node, arc), &format!("{node}/{name}")))
}
