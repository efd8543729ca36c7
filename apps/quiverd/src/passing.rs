//! Sockets by which files are passed to other processes: of packets, so that messages keep their limits.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::Path;

use nix::unistd::Gid;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use tokio::net::UnixListener;

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

/// Sends bytes, and a file with them.
pub fn send(client: BorrowedFd<'_>, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = file.map(|file| [file]);
    if let Some(files) = &files {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    rustix::net::sendmsg(client, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
