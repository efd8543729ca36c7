//! Punted packets on their way to programs: workers hold them for control, which sends each to a datagram socket, behind eight
//! bytes that say by which interface it came. Who hosts the daemon has the sockets ([`send_by`]); without a host that has any,
//! packets are lost, and counted.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_interface::Events;
use quiver_wire::{V4, V6};

use crate::Punted;
use crate::traffic::Punt;

/// Packets held for control at most.
pub const HELD: usize = 1024;

/// The workers' end.
pub type Outbox = quiver_engine::channel::Outbox<Held>;

/// A packet for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its family.
    pub ip6: bool,
    /// The protocol and port by which it was found; see [`Punt`].
    pub protocol: u8,
    /// See there.
    pub port: u16,
    /// The interface that received it.
    pub rx: u16,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// Sockets of programs.
pub trait Sockets {
    /// Sends a datagram to the socket at a path, at once or not at all.
    fn send(&self, path: &str, datagram: &[u8]) -> io::Result<()>;
}

/// What became of packets for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub sent: u64,
    pub lost: u64,
}

/// How packets are sent, and what became of them: by family, protocol and port.
#[derive(Default)]
pub(crate) struct Delivery {
    sockets: Option<Rc<dyn Sockets>>,
    told: BTreeMap<(bool, u8, u16), Told>,
}

impl Delivery {
    pub fn told<F: Punted>(&self, punt: &Punt<F>) -> Told {
        self.told.get(&(F::VERSION == 6, punt.protocol, punt.port)).copied().unwrap_or_default()
    }
}

/// Has packets for programs sent by these sockets.
pub fn send_by(control: &Control, sockets: Rc<dyn Sockets>) {
    control.room_mut::<Delivery>().sockets = Some(sockets);
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
    let path = match packet.ip6 {
        false => path_of::<V4>(control, packet),
        true => path_of::<V6>(control, packet),
    };
    let sockets = control.room::<Delivery>().sockets.clone();
    let sent = match (path, sockets) {
        (Some(path), Some(sockets)) => sockets.send(&path, &datagram(packet)).inspect_err(|error| {
            tracing::debug!("a packet for the socket {path}: {error}");
        }),
        // The program has just gone, or nobody has sockets.
        _ => Err(io::ErrorKind::NotConnected.into()),
    };
    let mut delivery = control.room_mut::<Delivery>();
    let told = delivery.told.entry((packet.ip6, packet.protocol, packet.port)).or_default();
    match sent {
        Ok(()) => told.sent += 1,
        Err(_) => told.lost += 1,
    }
}

fn path_of<F: Punted>(control: &Control, packet: &Held) -> Option<String> {
    control.objects().get::<Punt<F>>(&(packet.protocol, packet.port))?.socket.clone()
}

/// What a program receives: the number of the interface and an action, 0 for "a frame as it was received", in the machine's
/// order, as VPP's clients have them; the frame behind them.
fn datagram(packet: &Held) -> Vec<u8> {
    [&u32::from(packet.rx).to_ne_bytes()[..], &0u32.to_ne_bytes(), &packet.bytes].concat()
}
