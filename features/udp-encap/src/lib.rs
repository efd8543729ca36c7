//! UDP encapsulation: routes whose packets, of either family, go on as payload of datagrams between two addresses, of either
//! family. Whoever is at the other end takes them out again.
//!
//! - [`node`]: the nodes `udp-encap-ip4` and `udp-encap-ip6`, by the family of what is put into datagrams.
//! - [`config`]: the objects of kind `udp-encaps`; `command`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
pub mod config;
pub mod node;

pub use config::UdpEncap;

use quiver_compat::types::FibPathType;
use quiver_control::{Control, Kind, Object};
use quiver_engine::{Counters, Dataplane, DataplaneError, NodeSpec, Seed};
use quiver_ip::fib::hop::Continuation;
use quiver_ip::fib::kind::{NextHopKind, Of};
use quiver_ip::node::describe;
use quiver_ip::{Family, Ip4, Ip6, IpError};
use quiver_wire::{V4, V6};

use crate::config::Encaps;
use crate::node::{Encapsulate, Next};

/// Encapsulations at most: as many as have numbers that a hop holds.
const ENCAPS_MAX: u32 = 1 << 16;

/// The nodes, by the family of what they put into datagrams.
const NODES: [&str; 2] = ["udp-encap-ip4", "udp-encap-ip6"];

static KIND: NextHopKind = NextHopKind {
    name: "udp-encap",
    help: "go on in packets of this encapsulation",
    of: Of::Number,
    nodes: NODES,
    path_type: FibPathType::UdpEncap,
};

/// Registers the room. IP is registered before.
pub fn register(control: &Control) -> Result<(), IpError> {
    let room = {
        let dataplane = control.room::<Dataplane>();
        let counters = Counters::shown(dataplane.statistics(), "/net/udp-encap", ENCAPS_MAX);
        Encaps::new(dataplane.domain(), counters)
    };
    control.insert_room(room);
    register_family::<V4>(control)?;
    register_family::<V6>(control)?;
    quiver_ip::register_kind(control, &KIND)?;
    control.objects().add(Kind::new(config::apply).check(config::check));
    command::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Family>(control: &Control) -> Result<(), DataplaneError> {
    let (encaps, counters) = {
        let room = control.room::<Encaps>();
        (room.view(), room.counters().clone())
    };
    let rows = (control.room::<Ip4>().fib.groups.snapshot(), control.room::<Ip6>().fib.groups.snapshot());
    let make = move |Seed { worker, .. }: Seed| {
        Encapsulate::<F>::new(encaps.clone(), rows.clone(), counters.row(worker), worker)
    };
    let name = NODES[usize::from(F::VERSION == 6)];
    let spec = NodeSpec::new(name, Next::ARCS, make).describe(describe::<F>);
    control.room_mut::<Dataplane>().blueprint().node(spec)?;
    quiver_interface::decides(control, name, |_, record| match Continuation::of(record.hop) {
        Some(Continuation::Kind(of_kind)) => Some(format!("{} {}", UdpEncap::KIND, of_kind.index())),
        _ => None,
    });
    Ok(())
}
