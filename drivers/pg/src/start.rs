//! Starts and stops streams: their generators on the workers.

use std::sync::Arc;

use quiver_control::{Change, Control, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::queues::RxQueueSettings;
use quiver_interface::settings::AdminState;
use quiver_interface::{Events, InterfaceName, InterfaceSettings};

use crate::generator::{Generator, Packets, Recorded};
use crate::interface::{PgMode, header};
use crate::output::{self, Output};
use crate::queue::Source;
use crate::recording::Recording;
use crate::room::{PacketGenerators, collect};
use crate::running::{Run, sent_from};
use crate::stream::PgStream;
use crate::template::Template;
use crate::values::Values;

/// Tasks that wake each other one after the other at most when a packet has come to control: the one that hears of it, and
/// the one that is told.
const TASKS_IN_LINE: usize = 4;

/// Enables the node that picks out packets to be sent on an interface while a stream sends there.
fn look(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    let (id, on) = {
        let room = control.room::<PacketGenerators>();
        let Some(port) = room.ports.get(&interface.0) else { return Ok(()) };
        (port.id, room.streams.streams.values().any(|stream| stream.sent_from.as_ref() == Some(&interface.0)))
    };
    output::look(control, id, on)
}

pub(crate) fn apply(control: &Control, change: Change<'_, PgStream>) -> Result<(), ObjectError> {
    match change {
        Change::Create(new) => {
            check(control, new)?;
            Output::of(control, new)?;
            control.room_mut::<PacketGenerators>().streams.add(new)?;
            look(control, &new.interface)?;
            start(control, new);
        }
        Change::Update { old, new } => {
            // What can fail comes first: if it does, the old one goes on.
            check(control, new)?;
            Output::of(control, new)?;
            stop(control, old);
            if let Some(stream) = control.room_mut::<PacketGenerators>().streams.streams.get_mut(&new.name) {
                stream.sent_from = sent_from(new);
            }
            look(control, &old.interface)?;
            look(control, &new.interface)?;
            start(control, new);
        }
        Change::Delete(old) => {
            stop(control, old);
            control.room_mut::<PacketGenerators>().streams.streams.remove(&old.name);
            look(control, &old.interface)?;
        }
    }
    Ok(())
}

/// The packets of a stream's file.
pub(crate) fn recording(control: &Control, stream: &PgStream) -> Option<Arc<Recording>> {
    control.content(stream)
}

/// Checks that there are the worker and the interface of a stream, and that this one can receive its packets.
fn check(control: &Control, stream: &PgStream) -> Result<(), ObjectError> {
    let workers = control.room::<Dataplane>().workers();
    if let Some(worker) = stream.worker.filter(|worker| usize::from(*worker) >= workers) {
        return Err(ObjectError::field("worker", format!("there is no worker {worker}"))
            .remedy(format!("name one of 0 to {}", workers.saturating_sub(1))));
    }
    let mode = {
        let room = control.room::<PacketGenerators>();
        let port = room.ports.get(&stream.interface.0).ok_or_else(|| {
            let what = format!("{} is no interface of the packet generator", stream.interface);
            ObjectError::field("interface", what).remedy("name one of `create packet-generator interface`")
        })?;
        let is_ip6 = stream.ip6_source.is_some() && stream.vxlan.is_none();
        let only = match port.mode {
            PgMode::Ip4 if is_ip6 => Some("IPv4"),
            PgMode::Ip6 if !is_ip6 && stream.pcap.is_none() => Some("IPv6"),
            _ => None,
        };
        if let Some(family) = only {
            let what = format!("{} has packets of {family} only", stream.interface);
            return Err(ObjectError::field("ip6-source", what).remedy("use an interface of mode ethernet"));
        }
        port.mode
    };
    let Some(path) = stream.pcap.as_deref() else { return Ok(()) };
    let unread = || {
        ObjectError::field("pcap", format!("{path} was not read"))
            .remedy("set it by `packet-generator new` or a configuration file")
    };
    recording(control, stream).ok_or_else(unread)?.check(mode)
}

/// Makes a worker generate the packets of a stream, if it is enabled.
fn start(control: &Control, stream: &PgStream) {
    // Its interfaces are there: it refers to them.
    let output = Output::of(control, stream).ok().flatten();
    let recording = recording(control, stream);
    let (queue, generator) = {
        let mut room = control.room_mut::<PacketGenerators>();
        let PacketGenerators { ports, streams, to_control, bell, .. } = &mut *room;
        let (Some(port), Some(kept)) = (ports.get(&stream.interface.0), streams.streams.get(&stream.name)) else {
            return;
        };
        if !stream.enabled {
            return;
        }
        let packets = match (recording, port.mode) {
            (Some(recording), mode) => {
                Packets::Recorded(Recorded::new(recording, header(mode, port.mac), port.offloads))
            }
            (None, PgMode::Ethernet) => Packets::Made(Template::new(stream).into()),
            (None, PgMode::Ip4 | PgMode::Ip6) => {
                let destination_mac = Values::One(port.mac);
                let untagged = PgStream { destination_mac, vlan: None, inner_vlan: None, ..stream.clone() };
                Packets::Made(Template::new(&untagged).into())
            }
        };
        let slot = kept.slot;
        if let Some(score) = streams.score_of(slot).filter(|_| stream.latency || stream.gaps) {
            score.time(control.room::<Dataplane>().workers());
        }
        let run = streams.begin(slot);
        if let Some(kept) = streams.streams.get_mut(&stream.name) {
            kept.run = Run::On(run, stream.limit);
        }
        let board = streams.board().clone();
        (port.queue, Generator::new(stream, (packets, output), (slot, run), board, to_control.clone(), bell.clone()))
    };
    control.room::<Dataplane>().post_to_queue(queue, move |worker| {
        generator.set_clock(worker.fine_clock());
        if let Some(source) = worker.queue_mut::<Source>(queue) {
            source.start(generator);
        }
    });
}

fn stop(control: &Control, stream: &PgStream) {
    let mut room = control.room_mut::<PacketGenerators>();
    let PacketGenerators { ports, streams, .. } = &mut *room;
    let Some(kept) = streams.streams.get_mut(&stream.name) else { return };
    let (slot, was) = (kept.slot, std::mem::replace(&mut kept.run, Run::Stopped));
    let Some(port) = ports.get(&stream.interface.0).filter(|_| was != Run::Stopped) else { return };
    let (queue, dataplane) = (port.queue, control.room::<Dataplane>());
    let domain = dataplane.domain().clone();
    dataplane.post_to_queue(queue, move |worker| {
        if let Some(generator) = worker.queue_mut::<Source>(queue).and_then(|source| source.stop(slot)) {
            domain.retire(generator);
        }
    });
}

/// Starts or stops a stream, as commands and messages do. One that has come to its end starts again; its interface is up
/// then, since packets that never come would be no stream.
pub(crate) fn switch(control: &Control, stream: &PgStream, enabled: bool) -> Result<(), ObjectError> {
    if enabled {
        control.edit(InterfaceSettings::new(stream.interface.clone()), |settings| settings.state = AdminState::Up)?;
        if stream.worker.is_some() {
            let queue = RxQueueSettings::new(stream.interface.clone(), 0);
            control.edit(queue, |settings| settings.worker = stream.worker)?;
        }
        let is_over = stream.enabled && !control.room::<PacketGenerators>().streams.is_on(&stream.name);
        if is_over {
            stop(control, stream);
            start(control, stream);
        }
    }
    control.put(PgStream { enabled, ..stream.clone() })
}

/// A task that sees streams to their end: the last packet was made, all that came of it has left the graph, and captures
/// have what was sent.
pub(crate) async fn see_off(control: Control) {
    let signal = control.room::<Events>().signal.clone();
    loop {
        let rung = signal.changed();
        let made = control.room::<PacketGenerators>().streams.made();
        if made.is_empty() {
            rung.await;
            continue;
        }
        through(&control).await;
        while collect(&control) {}
        let streams = &mut control.room_mut::<PacketGenerators>().streams.streams;
        for (name, run) in made {
            streams
                .get_mut(&name)
                .into_iter()
                .filter(|stream| stream.run == run)
                .for_each(|stream| stream.run = Run::Over);
        }
    }
}

/// Waits until the packets that have been received are through, and whatever control does because of them is, too.
async fn through(control: &Control) {
    let drained = control.room::<Dataplane>().drained();
    drained.await;
    Events::answer(control);
    for _ in 0..TASKS_IN_LINE {
        control.yield_now().await;
    }
    let drained = control.room::<Dataplane>().drained();
    drained.await;
}
