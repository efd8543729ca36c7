//! Punted packets on their way to programs: workers hold them for control, which sends each to a datagram socket, behind eight
//! bytes that say by which interface it came. Who hosts the daemon has the sockets ([`send_by`](crate::send_by)); without a host that has any,
//! packets are lost, and counted.

use std::io;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_interface::{Events, InterfaceId};
use quiver_vlan::outside::put_tags;
use quiver_wire::{V4, V6};

use crate::delivery::{By, Delivery};
use crate::family::Punted;
use crate::reason::PuntReason;
use crate::traffic::Punt;

/// Packets held for control at most.
pub const HELD: usize = 1024;

/// The workers' end.
pub type Outbox = quiver_engine::channel::Outbox<Held>;

/// A packet for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// By what the program has it.
    pub by: By,
    /// The interface that received it.
    pub rx: u32,
    /// The frame, without tags.
    pub bytes: Vec<u8>,
}

pub(crate) fn register(control: &Control, held: Inbox<Held>) {
    control.spawn(
        "punt-sockets",
        Events::listen(control.clone(), move |control| {
            held.waiting().for_each(|packet| deliver(control, &packet));
            !held.is_empty()
        }),
    );
}

fn deliver(control: &Control, packet: &Held) {
    let path = match packet.by {
        By::Port { ip6: false, protocol, port } => path_of::<V4>(control, (protocol, port)),
        By::Port { ip6: true, protocol, port } => path_of::<V6>(control, (protocol, port)),
        By::Reason(reason) => control.objects().get::<PuntReason>(&reason).and_then(|punt| punt.socket.clone()),
    };
    let sockets = control.room::<Delivery>().sockets.clone();
    let sent = match (path, sockets) {
        (Some(path), Some(sockets)) => sockets.send(&path, &datagram(control, packet)).inspect_err(|error| {
            tracing::debug!("a packet for the socket {path}: {error}");
        }),
        // The program has just gone, or nobody has sockets.
        _ => Err(io::ErrorKind::NotConnected.into()),
    };
    let mut delivery = control.room_mut::<Delivery>();
    let told = delivery.told.entry(packet.by).or_default();
    match sent {
        Ok(()) => told.sent += 1,
        Err(_) => told.lost += 1,
    }
}

fn path_of<F: Punted>(control: &Control, key: (u8, u16)) -> Option<String> {
    control.objects().get::<Punt<F>>(&key)?.socket.clone()
}

/// Builds the datagram for a program: the number of the interface, the action 0 for "a frame as it was received", and
/// the frame with its original tags. Both numbers are in the machine's byte order, as VPP's clients expect.
fn datagram(control: &Control, packet: &Held) -> Vec<u8> {
    let mut frame = packet.bytes.clone();
    put_tags(control, InterfaceId(packet.rx), &mut frame);
    [&packet.rx.to_ne_bytes()[..], &0u32.to_ne_bytes(), &frame].concat()
}
