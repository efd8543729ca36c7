//! Delivery of packets to programs, and its counters.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use quiver_control::{Control, ObjectError};

use crate::family::Punted;
use crate::reason::Reason;

/// Key by which a program receives a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Its protocol and port; see [`Punt`](crate::Punt).
    Port {
        /// Its family.
        ip6: bool,
        /// The protocol.
        protocol: u8,
        /// The port.
        port: u16,
    },
    /// The reason why no node takes it.
    Reason(Reason),
}

impl By {
    pub(crate) fn port<F: Punted>((protocol, port): (u8, u16)) -> By {
        By::Port { ip6: F::VERSION == 6, protocol, port }
    }
}

/// Bytes of a path of a socket (unix(7)), with the zero behind it.
const PATH_MAX: usize = 108;

/// Sockets of programs.
pub trait Sockets {
    /// Sends a datagram to the socket at a path, at once or not at all.
    fn send(&self, path: &str, datagram: &[u8]) -> io::Result<()>;
}

/// Counters of packets to a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub sent: u64,
    pub lost: u64,
}

/// Sockets and counters of the delivery to programs.
#[derive(Default)]
pub(crate) struct Delivery {
    pub sockets: Option<Rc<dyn Sockets>>,
    /// The path of the daemon's own socket, by which programs send.
    server: Option<String>,
    pub told: BTreeMap<By, Told>,
}

impl Delivery {
    pub fn told(&self, by: By) -> Told {
        self.told.get(&by).copied().unwrap_or_default()
    }
}

/// Sets the path of the daemon's own socket, whose datagrams go to [`crate::accept`].
pub fn served_at(control: &Control, path: &str) {
    control.room_mut::<Delivery>().server = Some(path.into());
}

/// The path of the daemon's own socket; empty where it has none.
pub(crate) fn server(control: &Control) -> String {
    control.room::<Delivery>().server.clone().unwrap_or_default()
}

/// Checks the path of a program's socket: it must not be the daemon's own, which would receive its own packets.
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

/// Checks the path of a socket.
pub(crate) fn check_socket(socket: Option<&str>) -> Result<(), ObjectError> {
    match socket {
        Some(path) if path.is_empty() || path.len() >= PATH_MAX || path.contains('\0') => {
            let what = format!("a path has 1 to {} bytes, none of them zero", PATH_MAX - 1);
            Err(ObjectError::field("socket", what).remedy("choose another one, such as /run/routing.sock"))
        }
        _ => Ok(()),
    }
}
