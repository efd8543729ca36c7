//! Multicast forwarding: routes of groups of hosts, for IPv4 and IPv6.
//!
//! - [`forward`]: the node that finds a packet's route and sends its copies; [`rewrite`]: the one that puts the header of a link
//!   before them; [`view`]: what they read; [`family`]: what differs between IPv4 and IPv6.
//! - [`objects`]: configured routes; [`table`]: what becomes of them; [`signal`]: what clients are told of packets; `numbers`:
//!   those of groups and counters.
//! - `change`: changes path by path; `command`, `show`: the command line; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod change;
mod command;
pub mod family;
pub mod forward;
mod numbers;
pub mod objects;
pub mod rewrite;
mod show;
pub mod signal;
pub mod table;
pub mod view;

pub use family::Multicast;
pub use objects::{MulticastPath, MulticastRoute, PathFlag, RouteFlag};

use quiver_control::{Control, Kind};
use quiver_engine::channel::{Outbox, channel};
use quiver_engine::{Counter, Counters, Dataplane, DataplaneError, FeatureSpec, NodeSpec, Phase};
use quiver_interface::{InterfaceId, Undecided, decides, undecided};
use quiver_ip::Ip;
use quiver_ip::deciding::way_out;
use quiver_ip::fib::TableId;
use quiver_ip::node::{describe, rewrite as ip_rewrite};
use quiver_ip::upper;
use quiver_wire::{Header, IpHeader, V4, V6};

use numbers::Counted;
use signal::{SIGNALS, Signal, Signals};
use table::Mfib;

/// Routes whose counters clients see at most: the segment may have room for less.
const ROUTES_MAX: u32 = 1 << 20;

/// Registers the room. Those of interfaces and IP are registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let (counted, outbox) = {
        let dataplane = control.room::<Dataplane>();
        let (outbox, inbox) = channel(SIGNALS, dataplane.bell());
        control.insert_room(Signals(inbox));
        (Counted::new(Counters::shown(dataplane.statistics(), "/net/mroute", ROUTES_MAX)), outbox)
    };
    register_family::<V4>(control, &counted, &outbox)?;
    register_family::<V6>(control, &counted, &outbox)?;
    command::register(control);
    show::register(control);
    api::register(control);
    Ok(())
}

fn register_family<F: Multicast>(
    control: &Control,
    counted: &Counted,
    signals: &Outbox<Signal>,
) -> Result<(), DataplaneError> {
    let mfib = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let mfib = Mfib::<F>::new(dataplane.domain(), counted.clone());
        let ip = control.room::<Ip<F>>();
        let (view, ingress, signals) = (mfib.view(), ip.ingress(), signals.clone());
        let (adjacencies, sent) = (ip.fib.adjacencies.snapshot(), ip.fib.adjacencies.counters().clone());
        let (passed, upper) = (counted.counters().clone(), upper::key(control));
        let refused = refused::<F>(&dataplane);
        let forward = move |seed: quiver_engine::Seed| forward::Forward::<F> {
            view: view.clone(),
            ingress: ingress.clone(),
            passed: passed.row(seed.worker),
            refused: refused.row(seed.worker),
            signals: signals.of(seed),
        };
        let rewrite = move |seed: quiver_engine::Seed| rewrite::Rewrite::<F> {
            adjacencies: adjacencies.clone(),
            sent: sent.row(seed.worker),
            upper,
        };
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new(F::FORWARD, forward::Next::arcs::<F>(), forward).describe(describe::<F>))?;
        graph.node(NodeSpec::new(F::REWRITE, ip_rewrite::arcs_of::<F>(), rewrite).describe(describe::<F>))?;
        graph.feature(FeatureSpec::new(F::NAMES.multicast, F::FORWARD, Phase::Forward))?;
        mfib
    };
    decides(control, F::FORWARD, |control, record| {
        let (header, _) = F::Header::parse(&record.bytes)?;
        let (source, group) = (header.source(), header.destination());
        let table = control.room::<Ip<F>>().table_of(InterfaceId(record.rx));
        let mfib = control.room::<Mfib<F>>();
        let found = mfib.find(table, source, group).map(|route| format!("{} {}", F::ROUTES, route.whose()));
        let found = found.unwrap_or_else(|| format!("no {}", F::ROUTES));
        Some(if table == TableId::DEFAULT { found } else { format!("{found} of table {}", table.0) })
    });
    undecided(control, F::FORWARD, Undecided::Packet, &["hop-limit-expired", "beyond-scope"]);
    undecided(control, F::FORWARD, Undecided::Load, &["no-buffer"]);
    way_out::<F>(control, F::REWRITE);
    control.insert_room(mfib);
    control.objects().add(Kind::new(table::apply::<F>).check(objects::check::<F>));
    table::follow::<F>(control);
    Ok(())
}

/// The packets that no route has taken, under the name by which VPP's clients look for them.
fn refused<F: Multicast>(dataplane: &Dataplane) -> Counters<Counter> {
    let counters = Counters::shown(dataplane.statistics(), &format!("/net/{}/rpf-failure", F::NAME), 1);
    counters.grow(1);
    if let Some(target) = counters.target() {
        dataplane.statistics().edit().symlink(F::REFUSED, target, 0);
    }
    counters
}
