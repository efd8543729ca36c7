//! Punted packets on their way to programs: workers hold them for control, which sends each to a datagram socket, behind eight
//! bytes that say by which interface it came. Who hosts the daemon has the sockets ([`send_by`]); without a host that has any,
//! packets are lost, and counted.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use quiver_control::{Control, ObjectError};
use quiver_engine::channel::Inbox;
use quiver_interface::{Events, InterfaceId};
use quiver_vlan::outside::put_tags;
use quiver_wire::{V4, V6};

use crate::Punted;
use crate::reason::{PuntReason, Reason};
use crate::traffic::Punt;

/// Packets held for control at most.
pub const HELD: usize = 1024;

/// The workers' end.
pub type Outbox = quiver_engine::channel::Outbox<Held>;

/// By what a program has a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Its protocol and port; see [`Punt`].
    Port {
        /// Its family.
        ip6: bool,
        /// See there.
        protocol: u8,
        /// See there.
        port: u16,
    },
    /// The reason why nobody else takes it.
    Reason(Reason),
}

impl By {
    pub(crate) fn port<F: Punted>((protocol, port): (u8, u16)) -> By {
        By::Port { ip6: F::VERSION == 6, protocol, port }
    }
}

/// A packet for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// By what the program has it.
    pub by: By,
    /// The interface that received it.
    pub rx: u16,
    /// The frame, without tags.
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

/// How packets are sent, and what became of them.
#[derive(Default)]
pub(crate) struct Delivery {
    sockets: Option<Rc<dyn Sockets>>,
    /// The path of the daemon's own socket, by which programs send.
    server: Option<String>,
    told: BTreeMap<By, Told>,
}

impl Delivery {
    pub fn told(&self, by: By) -> Told {
        self.told.get(&by).copied().unwrap_or_default()
    }
}

/// Says where the daemon's own socket is, whose datagrams [`crate::accept`] is given.
pub fn served_at(control: &Control, path: &str) {
    control.room_mut::<Delivery>().server = Some(path.into());
}

/// The path of the daemon's own socket; empty where it has none.
pub(crate) fn server(control: &Control) -> String {
    control.room::<Delivery>().server.clone().unwrap_or_default()
}

/// What holds of the path of a program's socket: it is not the daemon's, which would have what it sends.
pub(crate) fn is_programs(control: &Control, socket: Option<&str>) -> Result<(), ObjectError> {
    match (socket, &control.room::<Delivery>().server) {
        (Some(path), Some(server)) if path == server => {
            let what = format!("at {path} quiverd itself receives");
            Err(ObjectError::field("socket", what).remedy("name the program's own socket"))
        }
        _ => Ok(()),
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

/// What a program receives: the number of the interface and an action, 0 for "a frame as it was received", in the machine's
/// order, as VPP's clients have them; the frame behind them, with the tags that it came with.
fn datagram(control: &Control, packet: &Held) -> Vec<u8> {
    let mut frame = packet.bytes.clone();
    put_tags(control, InterfaceId(packet.rx), &mut frame);
    [&u32::from(packet.rx).to_ne_bytes()[..], &0u32.to_ne_bytes(), &frame].concat()
}
