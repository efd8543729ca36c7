//! Reassembly: packets that come in fragments are put together again (RFC 791 3.2, RFC 8200 4.5), or their fragments go on with
//! a note of their ports.
//!
//! - [`assembly`]: the parts of one packet. [`family`]: what differs between IPv4 and IPv6. `keeper`: the node around what is kept; `owner`: which worker has the parts.
//! - [`node`]: the nodes that put packets together, at each [`place`]; [`shallow`]: those that know ports.
//! - [`config`]: what is configured, and the limits; `patience`: the tasks that end waiting for parts that do not come, by a clock
//!   and as long as any wait (`counted`).
//! - `enabled`: what interfaces enable of them; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
pub mod assembly;
mod command;
pub mod config;
mod counted;
mod enabled;
pub mod family;
mod keeper;
pub mod node;
mod owner;
mod patience;
pub mod place;
pub mod shallow;

pub use config::{Kinds, ReassemblySettings};
pub use enabled::need_shallow;

use std::sync::Arc;

use quiver_control::{Control, Kind};
use quiver_engine::channel::channel;
use quiver_engine::{ArcSpec, Counter, Dataplane, DataplaneError, NodeSpec, Row, Settings};
use quiver_interface::{FeatureSettings, Undecided, decides, feature, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_ip::upper;
use quiver_wire::{IpFamily, V4, V6};

use config::Reassemblies;
use counted::Counted;
use enabled::{FULL_KNOWN, TOO_MANY, full_decides};
use family::Reassembled;
use keeper::{Keeper, Parts};
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
    feature::add_objects::<config::Reassembly<F>>(control, FeatureSettings::new(control));
    control.objects().add(Kind::new(config::apply_settings::<F>).check(config::check_settings::<F>));
    register_place::<Local<F>>(control)?;
    register_place::<Received<F>>(control)?;
    register_shallow::<F>(control)
}

fn register_place<P: Place>(control: &Control) -> Result<(), DataplaneError> {
    let room = control.room::<Reassemblies<P::Family>>();
    let counted = if P::IS_LOCAL { room.local.clone() } else { room.received.clone() };
    drop(room);
    let arcs = node::arcs_of::<P>();
    keep(control, "reassembly", (P::NODE, arcs), (Kinds::Full, counted), |_, too_many| Reassembly::<P>::new(too_many))?;
    if P::IS_LOCAL {
        let mut dataplane = control.room_mut::<Dataplane>();
        for (arc, known) in FULL_KNOWN {
            dataplane.also_called((P::NODE, arc), &format!("{}/{known}", P::NODE))?;
        }
        drop(dataplane);
        decides(control, P::NODE, |_, record| full_decides::<P::Family>(record));
    } else {
        feature::place::<config::Reassembly<P::Family>>(control, P::NODE)?;
    }
    undecided(control, P::NODE, Undecided::Packet, &["overlapping-fragments"]);
    undecided(control, P::NODE, Undecided::Load, &["handoff-full", "no-buffers"]);
    if P::Family::VERSION == 4 {
        // Senders of IPv6 are told of these.
        undecided(control, P::NODE, Undecided::Packet, &["bad-fragment-length", "reassembled-too-long"]);
    }
    Ok(())
}

/// The part of the buffers that fragments may hold while they wait, in all.
const BUFFERS_PART: usize = 4;

fn register_shallow<F: Reassembled>(control: &Control) -> Result<(), DataplaneError> {
    let counted = control.room::<Reassemblies<F>>().shallow.clone();
    let (arcs, upper) = (shallow::Next::arcs::<F>(), upper::key(control));
    keep(control, "shallow reassembly", (F::SHALLOW, arcs), (Kinds::Shallow, counted), move |settings, too_many| {
        let most = (settings.buffers_limit as usize / BUFFERS_PART / settings.workers).max(1);
        Shallow::<F>::new(most, upper, too_many)
    })?;
    feature::place::<config::Reassembly<F>>(control, F::SHALLOW)?;
    undecided(control, F::SHALLOW, Undecided::Packet, &["bad-fragment-length", "overlapping-fragments"]);
    undecided(control, F::SHALLOW, Undecided::Load, &["handoff-full"]);
    Ok(())
}

/// Adds the node of a kind of reassembly, and the task that ends what waits there for too long.
fn keep<P: Parts>(
    control: &Control,
    task: &'static str,
    (name, arcs): (&'static str, &'static [ArcSpec]),
    (kind, counted): (Kinds, Counted),
    parts: impl Fn(&Settings, Arc<Row<Counter>>) -> P + 'static,
) -> Result<(), DataplaneError> {
    let limits = control.room::<Reassemblies<P::Family>>().snapshot(kind);
    let ingress = control.room::<Ip<P::Family>>().ingress();
    let mut dataplane = control.room_mut::<Dataplane>();
    let settings = *dataplane.settings();
    let (reason, known) = TOO_MANY;
    let known = format!("{name}/{known}");
    let too_many = dataplane.count_known_as(&known);
    let (by_worker, (waits, waiting)) = (too_many.clone(), channel(settings.workers, dataplane.bell()));
    let make = move |seed| {
        let (reads, waits) = ((ingress.clone(), limits.clone()), waits.of(seed));
        Keeper::new(reads, settings.workers, waits, counted.gauge(), parts(&settings, by_worker.row(seed.worker)))
    };
    let spec = NodeSpec::new(name, arcs, make).describe(describe::<P::Family>);
    let node = dataplane.blueprint().node_of::<Keeper<P>>(spec)?;
    dataplane.also_counted((name, reason), &known, &too_many)?;
    drop(dataplane);
    control.spawn(task, patience::end::<P>(control.clone(), node.id, kind, waiting));
    Ok(())
}
