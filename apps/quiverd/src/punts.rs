//! Punted packets for programs are datagrams to sockets of the system's.

use std::cell::OnceCell;
use std::io;
use std::os::unix::net::UnixDatagram;

use quiver_punt::Sockets;

/// The socket that all are sent by; it has no name of its own.
#[derive(Default)]
pub struct Datagrams(OnceCell<UnixDatagram>);

impl Sockets for Datagrams {
    fn send(&self, path: &str, datagram: &[u8]) -> io::Result<()> {
        let socket = match self.0.get() {
            Some(socket) => socket,
            None => {
                let socket = UnixDatagram::unbound()?;
                // A program that does not read loses packets, and holds nobody up.
                socket.set_nonblocking(true)?;
                self.0.get_or_init(|| socket)
            }
        };
        socket.send_to(datagram, path).map(drop)
    }
}
