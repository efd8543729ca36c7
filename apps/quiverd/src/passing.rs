//! Sockets by which files are passed to other processes: of packets, so that messages keep their limits.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use nix::unistd::Gid;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use tokio::net::{UnixListener, UnixStream};

use crate::socket::{Name, SocketError};

/// Clients that may wait to be accepted.
const BACKLOG: i32 = 64;

/// Binds a socket of packets, for quiverd's user and a group.
pub fn bind(path: &Path, group: Option<Gid>) -> Result<(UnixListener, Name), SocketError> {
    Name::give(path, group, |path| {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        // To accept clients is the same whether they send streams or packets.
        UnixListener::from_std(socket.into())
    })
}

/// Files that go with a packet at most.
const FILES_MAX: usize = 2;

/// Sends bytes, and up to two files with them.
pub fn send(client: BorrowedFd<'_>, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    rustix::net::sendmsg(client, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next packet of a client; None if it has hung up.
pub async fn packet<'b>(client: &UnixStream, buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
    loop {
        client.readable().await?;
        match client.try_read(buffer) {
            Ok(0) => return Ok(None),
            Ok(length) => return Ok(Some(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Accepts clients for ever; `begin` says whether there is room for one more. A client that is refused may try again.
pub async fn accept(socket: &UnixListener, what: &str, begin: impl Fn(UnixStream) -> bool) {
    loop {
        match socket.accept().await {
            Ok((client, _)) => {
                if !begin(client) {
                    tracing::warn!("{what} was refused: too many are connected; stop one");
                }
            }
            Err(error) => {
                // Out of file descriptors, most likely.
                tracing::warn!("{what} could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
