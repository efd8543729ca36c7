//! The control channel over a real socket: SOCK_SEQPACKET, so that messages keep their bounds. Nothing here waits.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::Address;
use crate::message::{LENGTH, Message, MessageError};

/// Files of one message that are looked at; the protocol sends one.
const FILES: usize = 4;

/// Process and user at the other end, as the system reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// Its process; 0 if it is in another namespace of processes.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// Why the channel ends.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChannelError {
    /// The peer closed it, or died.
    #[error("the peer closed the connection")]
    Closed,
    /// The peer sent what is no message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The system.
    #[error("the system refused to {0}: {1}")]
    System(&'static str, Errno),
    /// Another process listens on the path.
    #[error("another process listens on {0}")]
    InUse(PathBuf),
    /// Something other than a socket is there.
    #[error("{0} is there and is no socket")]
    NoSocket(PathBuf),
}

fn system(what: &'static str) -> impl Fn(Errno) -> ChannelError {
    move |error| ChannelError::System(what, error)
}

fn socket() -> Result<OwnedFd, ChannelError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(system("open a socket"))
}
/// The system's address. The namespace of an abstract one is that of the calling thread.
fn address(address: &Address) -> Result<SocketAddrUnix, ChannelError> {
    let made = match address {
        Address::Path(path) => SocketAddrUnix::new(path),
        Address::Abstract { name, .. } => SocketAddrUnix::new_abstract_name(name.as_bytes()),
    };
    made.map_err(system("name a socket"))
}

/// A master's socket, on which any number of slaves connect.
pub struct Listener {
    socket: OwnedFd,
    /// To be removed at the end.
    path: Option<PathBuf>,
}

impl Listener {
    /// Listens. A socket that a master left behind when it died is removed. An abstract name is bound in the calling
    /// thread's network namespace.
    pub fn bind(at: &Address) -> Result<Listener, ChannelError> {
        let (socket, name) = (socket()?, address(at)?);
        let path = match at {
            Address::Path(path) => {
                remove_dead(path, &name)?;
                Some(path.clone())
            }
            Address::Abstract { .. } => None,
        };
        rustix::net::bind(&socket, &name).map_err(system("bind the socket"))?;
        rustix::net::listen(&socket, 64).map_err(system("listen on the socket"))?;
        Ok(Listener { socket, path })
    }
    /// A slave that has connected; None if there is none.
    pub fn accept(&self) -> Result<Option<Channel>, ChannelError> {
        match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => Ok(Some(Channel { socket })),
            // One that gave up before it was accepted.
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
            Err(error) => Err(system("accept a slave")(error)),
        }
    }
}
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Somebody may have removed it before us.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes a socket file without a listener.
fn remove_dead(path: &Path, name: &SocketAddrUnix) -> Result<(), ChannelError> {
    use std::os::unix::fs::FileTypeExt;
    let kind = match std::fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        // Binding will tell what is wrong.
        Err(_) => return Ok(()),
    };
    if !kind.is_socket() {
        return Err(ChannelError::NoSocket(path.to_owned()));
    }
    match rustix::net::connect(socket()?, name) {
        Err(Errno::CONNREFUSED) => {
            let _ = std::fs::remove_file(path);
            Ok(())
        }
        _ => Err(ChannelError::InUse(path.to_owned())),
    }
}

/// One end of a control channel. It is closed when dropped.
pub struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Connects to a master; None if there is none yet. An abstract name is looked for in the calling thread's network
    /// namespace.
    pub fn connect(at: &Address) -> Result<Option<Channel>, ChannelError> {
        let (socket, name) = (socket()?, address(at)?);
        match rustix::net::connect(&socket, &name) {
            Ok(()) => Ok(Some(Channel { socket })),
            Err(Errno::CONNREFUSED | Errno::NOENT | Errno::AGAIN) => Ok(None),
            Err(error) => Err(system("connect to the master")(error)),
        }
    }
    /// Two ends that are connected with each other.
    pub fn pair() -> Result<(Channel, Channel), ChannelError> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (one, other) = pair.map_err(system("open two sockets"))?;
        Ok((Channel { socket: one }, Channel { socket: other }))
    }
    /// Credentials of the peer.
    pub fn credentials(&self) -> Option<Credentials> {
        let peer = nix::sys::socket::getsockopt(&self.socket, nix::sys::socket::sockopt::PeerCredentials).ok()?;
        Some(Credentials { pid: peer.pid(), uid: peer.uid(), gid: peer.gid() })
    }
    /// Sends a message, with a file where one belongs to it. A peer that does not read is as good as gone.
    pub fn send(&self, message: &Message, file: Option<BorrowedFd<'_>>) -> Result<(), ChannelError> {
        let bytes = message.encode();
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&files));
        }
        let sent = rustix::net::sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL);
        match sent {
            Ok(_) => Ok(()),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(ChannelError::Closed),
            Err(error) => Err(system("send a control message")(error)),
        }
    }
    /// The next message and the file that came with it; None if there is none. Further files are closed.
    pub fn receive(&self) -> Result<Option<(Message, Option<OwnedFd>)>, ChannelError> {
        // One byte more, so that a longer message is seen to be one.
        let mut bytes = [0; LENGTH + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES), ScmCredentials(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::net::recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let length = match received {
            Ok(received) => received.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(Errno::CONNRESET) => return Err(ChannelError::Closed),
            Err(error) => return Err(system("receive a control message")(error)),
        };
        let mut file = None;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                // All are taken, so that those not wanted are closed.
                files.for_each(|given| file = file.take().or(Some(given)));
            }
        }
        match length {
            0 => Err(ChannelError::Closed),
            _ => Ok(Some((Message::decode(&bytes[..length])?, file))),
        }
    }
}
impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_files_pass() {
        let (one, other) = Channel::pair().expect("sockets");
        assert!(matches!(other.receive(), Ok(None)));
        let file = std::fs::File::open("/dev/null").expect("it is there");
        one.send(&Message::Ack, Some(file.as_fd())).expect("sent");
        one.send(&Message::disconnect("enough"), None).expect("sent");
        assert!(matches!(other.receive(), Ok(Some((Message::Ack, Some(_))))));
        assert!(matches!(other.receive(), Ok(Some((Message::Disconnect(_), None)))));
        assert_eq!(other.credentials().map(|peer| peer.pid), i32::try_from(std::process::id()).ok());
        drop(one);
        assert!(matches!(other.receive(), Err(ChannelError::Closed)));
        assert!(matches!(other.send(&Message::Ack, None), Err(ChannelError::Closed)));
    }

    #[test]
    fn what_is_no_message_ends_the_channel() {
        let (one, other) = Channel::pair().expect("sockets");
        for length in [1, 127, 129, 500] {
            rustix::io::write(&one.socket, &vec![1; length]).expect("sent");
            assert!(matches!(other.receive(), Err(ChannelError::Message(_))), "{length}");
        }
    }

    #[test]
    fn a_dead_masters_socket_is_taken_over_and_a_living_ones_is_not() {
        let folder = std::env::temp_dir().join(format!("quiver-memif-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("socket");
        let at = Address::Path(path.clone());
        assert!(matches!(Channel::connect(&at), Ok(None)), "nobody is there");
        let mut listener = Listener::bind(&at).expect("bound");
        assert!(matches!(Listener::bind(&at), Err(ChannelError::InUse(_))));
        // As if it had been killed: the file stays.
        listener.path = None;
        drop(listener);
        assert!(path.exists() && matches!(Channel::connect(&at), Ok(None)));
        let listener = Listener::bind(&at).expect("taken over");
        assert!(matches!(listener.accept(), Ok(None)));
        let slave = Channel::connect(&at).expect("no error").expect("somebody listens");
        let master = listener.accept().expect("no error").expect("somebody came");
        slave.send(&Message::Ack, None).expect("sent");
        assert!(matches!(master.receive(), Ok(Some((Message::Ack, None)))));
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "text").expect("written");
        assert!(matches!(Listener::bind(&at), Err(ChannelError::NoSocket(_))));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
