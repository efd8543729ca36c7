//! ICMP for IPv4 and IPv6: answers to echo requests, errors, and `ping`.
//!
//! - [`input`]: the nodes `icmp4-input` and `icmp6-input`; [`error`]: `icmp4-error` and `icmp6-error`.
//! - [`limits`]: how many errors are sent. [`family`]: what differs between the two.
//! - [`ping`]: echo requests of our own, and the command; [`stopwatch`]: how long their answers take.
#![forbid(unsafe_code)]

pub mod error;
pub mod family;
pub mod input;
pub mod limits;
pub mod ping;
pub mod stopwatch;

use std::collections::BTreeSet;

use quiver_control::Control;
use quiver_engine::channel::Outbox;
use quiver_engine::{Dataplane, DataplaneError, NodeSpec, Publisher};
use quiver_interface::{Undecided, undecided};
use quiver_ip::Ip;
use quiver_ip::node::describe;
use quiver_wire::{V4, V6};

use error::IcmpError;
use family::Icmp;
use input::{EchoAnswer, IcmpInput};
use stopwatch::Stopwatch;

/// Registers the nodes and the command. The room of IP is registered before.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let ((outbox, heard), awaited) = {
        let dataplane = control.room::<Dataplane>();
        let channel = quiver_engine::channel::channel(ping::HEARD_MAX, dataplane.bell());
        (channel, Publisher::new(dataplane.domain(), BTreeSet::new()))
    };
    let stopwatch = Stopwatch::default();
    register_family::<V4>(control, &outbox, &awaited, &stopwatch)?;
    register_family::<V6>(control, &outbox, &awaited, &stopwatch)?;
    limits::register(control);
    ping::register(control, heard, awaited, stopwatch);
    Ok(())
}

fn register_family<F: Icmp>(
    control: &Control,
    outbox: &Outbox<EchoAnswer>,
    awaited: &Publisher<BTreeSet<u16>>,
    stopwatch: &Stopwatch,
) -> Result<(), DataplaneError> {
    let (ingress, groups) = {
        let ip = control.room::<Ip<F>>();
        (ip.ingress(), ip.fib.groups.snapshot())
    };
    let limits = limits::publish::<F>(control);
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    let of_error = ingress.clone();
    let error = move |_| IcmpError::<F>::new(of_error.clone(), groups.clone(), limits.clone());
    graph.node(NodeSpec::new(F::NAMES.error, error::arcs_of::<F>(), error).describe(describe::<F>))?;
    let (outbox, awaited, stopwatch) = (outbox.clone(), awaited.snapshot(), stopwatch.clone());
    let input = move |seed| IcmpInput::<F> {
        ingress: ingress.clone(),
        awaited: awaited.clone(),
        stopwatch: stopwatch.clone(),
        heard: outbox.of(seed),
    };
    graph.node(NodeSpec::new(F::NODE, input::arcs_of::<F>(), input).describe(describe::<F>))?;
    // VPP counts these where packets come in, and where UDP finds nobody.
    let (input, nobody) = (F::NAMES.input, error::Next::arcs::<F>()[error::Next::PortUnreachable as usize].name);
    for (reason, known) in [
        (F::TOO_BIG, format!("{input}/mtu_exceeded")),
        (F::EXPIRED, format!("{input}/time_expired")),
        (nobody, format!("{}-udp-lookup/no_listener", F::NAME)),
    ] {
        dataplane.also_called((F::NAMES.error, reason), &known)?;
    }
    drop(dataplane);
    quiver_ip::claim::<F>(control, F::ICMP, F::NODE)?;
    let input = F::NODE;
    undecided(
        control,
        input,
        Undecided::Packet,
        &["too-short", "bad-checksum", "unsupported-type", "unspecified-source"],
    );
    undecided(control, input, Undecided::Load, &["control-queue-full"]);
    // Whether its sender is told or not, the packet goes no further because of what the node before found.
    let reasons: Vec<&str> = error::arcs_of::<F>().iter().filter(|arc| arc.is_drop()).map(|arc| arc.name).collect();
    undecided(control, F::NAMES.error, Undecided::NodeBefore, &reasons);
    Ok(())
}
