//! Punted packets for programs are datagrams to sockets of the system; programs send packets as datagrams to the
//! daemon's socket.

use std::cell::OnceCell;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use nix::unistd::Gid;
use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_punt::Sockets;
use quiver_punt::program::DATAGRAM_MAX;

use crate::socket::{Name, SocketError};

/// So many datagrams are taken before workers must have seen them: programs that send faster wait, as their sockets have it.
const BURST: usize = 64;

/// The socket that all are sent by; it has no name of its own.
#[derive(Default)]
pub struct Datagrams(OnceCell<UnixDatagram>);

impl Sockets for Datagrams {
    fn send(&self, path: &str, datagram: &[u8]) -> io::Result<()> {
        let socket = match self.0.get() {
            Some(socket) => socket,
            None => {
                let socket = UnixDatagram::unbound()?;
                // A program that does not read loses packets, and does not delay others.
                socket.set_nonblocking(true)?;
                self.0.get_or_init(|| socket)
            }
        };
        socket.send_to(datagram, path).map(drop)
    }
}

/// The daemon's own socket, by which programs send packets.
pub struct Programs {
    socket: tokio::net::UnixDatagram,
    _name: Name,
}

impl Programs {
    /// Binds the socket, for quiverd's user and a group.
    pub fn bind(path: &Path, group: Option<Gid>) -> Result<Programs, SocketError> {
        let (socket, name) = Name::give(path, group, |path| tokio::net::UnixDatagram::bind(path))?;
        Ok(Programs { socket, _name: name })
    }

    /// Receives packets of programs, for ever.
    async fn take(&self, control: &Control) {
        // One byte more tells those that are too long.
        let mut datagram = vec![0; DATAGRAM_MAX + 1];
        loop {
            if let Err(error) = self.socket.readable().await {
                tracing::error!("programs can send packets no more: {error}");
                return;
            }
            for _ in 0..BURST {
                let Ok(length) = self.socket.try_recv(&mut datagram) else { break };
                quiver_punt::accept(control, &datagram[..length]);
            }
            let seen = control.room::<Dataplane>().settled();
            seen.await;
        }
    }
}

/// Serves programs, if there is a socket; without one it waits.
pub async fn serve(programs: Option<Programs>, control: &Control) {
    if let Some(programs) = programs {
        programs.take(control).await;
    }
    std::future::pending().await
}
