//! Creates and deletes the generator's interfaces: `create packet-generator interface pg0`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{InterfaceName, Interfaces, NewInterface};
use quiver_wire::MacAddress;

use crate::interface::{PacketGenerator, PgMode, header};
use crate::mac_filter;
use crate::names;
use crate::offload::Offloads;
use crate::queue::{Sink, Source};
use crate::room::{PacketGenerators, Port};
use crate::sequence::Scoreboard;

/// MTU while none is configured: whatever a test sends shall fit.
const MTU: u16 = 9000;

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).memory(|_| quiver_interface::MEMORY));
    let create = Command::new(
        "create packet-generator interface <name:text> {hw-addr <hw-addr:mac>|mode <mode:pg-mode>\
         |csum-offload-enabled|gso-enabled gso-size <gso-size:u16>}",
        "Create a packet generator interface.",
        create,
    );
    control.commands().add_kind(ArgumentKind::of::<PgMode>());
    let create = create
        .argument("csum-offload-enabled", "leave checksums of packets from files to the transmitter")
        .argument("gso-enabled", "leave segmentation of long TCP packets to the transmitter");
    control.commands().add(create.arguments_of::<PacketGenerator>());
    let delete = Command::waiting(
        "delete packet-generator interface <interface>",
        "Delete a packet generator interface.",
        delete,
    );
    control.commands().add(delete);
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut generator = PacketGenerator::new(matches.get("name")?);
    generator.hw_addr = matches.find("hw-addr")?;
    generator.mode = matches.find("mode")?.unwrap_or(generator.mode);
    generator.checksum_offload = matches.has("csum-offload-enabled");
    generator.gso_size = matches.find("gso-size")?;
    let name = generator.name.clone();
    control.put(generator)?;
    Ok(Reply::text(name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    control.delete_in_turns::<PacketGenerator>(&name.0).await?;
    Ok(Reply::done())
}

fn check(generator: &PacketGenerator) -> Result<(), ObjectError> {
    names::check(&generator.name, "pg0")?;
    if generator.gso_size == Some(0) {
        return Err(ObjectError::field("gso-size", "segments of 0 bytes are impossible").remedy("give 1 or more"));
    }
    match generator.hw_addr {
        Some(mac) if !mac.is_unicast() => Err(ObjectError::field("hw-addr", format!("{mac} is no station's address"))
            .remedy("choose one whose first octet is even, and not all zeros")),
        _ => Ok(()),
    }
}

fn apply(control: &Control, change: Change<'_, PacketGenerator>) -> Result<(), ObjectError> {
    match change {
        Change::Create(generator) => open(control, generator),
        // The only field that is not fixed.
        Change::Update { new, .. } => filter(control, new),
        Change::Delete(generator) => {
            let port = control.room_mut::<PacketGenerators>().ports.remove(&generator.name);
            if let Some(port) = port {
                if generator.mac_filter {
                    mac_filter::set(control, port.id, port.mac, false)?;
                }
                control.room_mut::<PacketGenerators>().captures.end(&generator.name);
                quiver_interface::remove(control, port.id);
                quiver_interface::forget_remarks(control, &remarks_of(&generator.name));
            }
            Ok(())
        }
    }
}

fn open(control: &Control, generator: &PacketGenerator) -> Result<(), ObjectError> {
    let (mac, mode) = (generator.hw_addr.unwrap_or_else(|| names::address_of(*b"pg", &generator.name)), generator.mode);
    let offloads = Offloads { checksums: generator.checksum_offload, segment: generator.gso_size };
    let uncut = quiver_interface::remark(control, &remarks_of(&generator.name), UNCUT);
    let (queues, capturing) = {
        let (room, dataplane) = (control.room::<PacketGenerators>(), control.room::<Dataplane>());
        let capturing = Arc::new(AtomicBool::new(room.captures.all()));
        let board: &Arc<Scoreboard> = room.streams.board();
        let name: Arc<str> = generator.name.as_str().into();
        let workers = dataplane.workers();
        let sink = |worker| -> Box<dyn TxQueue> {
            let to_control = room.to_control.clone();
            let (what, uncut) = ((mode, offloads), uncut(worker));
            let of = (worker, workers);
            Box::new(Sink::new(name.clone(), what, uncut, capturing.clone(), to_control, board.clone(), of))
        };
        let rx: Vec<Box<dyn RxQueue>> = vec![Box::new(Source::new(dataplane.buffers(), header(mode, mac)))];
        let tx = (0..workers).map(sink).collect();
        (Queues { input: room.input, rx, tx }, capturing)
    };
    let new = NewInterface {
        name: generator.name.clone(),
        kind: "packet-generator",
        mac,
        mtu: MTU,
        parent: None,
        queues: Some(queues),
    };
    let id = quiver_interface::create(control, new)?;
    if mode != PgMode::Ethernet {
        quiver_interface::set_point_to_point(control, id);
    }
    let found = {
        let dataplane = control.room::<Dataplane>();
        dataplane.queues_of(id.0).next().map(|queue| queue.id)
    };
    let queue = found.ok_or_else(|| ObjectError::whole("the interface was given no receive queue"))?;
    let port = Port { id, mode, mac, offloads, queue, capturing };
    control.room_mut::<PacketGenerators>().ports.insert(generator.name.clone(), port);
    if generator.mac_filter { filter(control, generator) } else { Ok(()) }
}

/// Switches the filter of an interface as its object says.
fn filter(control: &Control, generator: &PacketGenerator) -> Result<(), ObjectError> {
    let (id, mac) = {
        let interfaces = control.room::<Interfaces>();
        let id = interfaces.id_of(&generator.name)?;
        (id, interfaces.get(id).map_or(MacAddress::ZERO, |interface| interface.mac))
    };
    mac_filter::set(control, id, mac, generator.mac_filter)
}

/// The counter of VPP's clients for packets that an interface without GSO sent without cutting them into segments. None is dropped.
const UNCUT: &str = "gso disabled on itf  -- gso packet drop";

/// The name under which an interface remarks on what it sent.
fn remarks_of(interface: &str) -> String {
    format!("{interface}-tx")
}
