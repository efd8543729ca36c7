//! Outputs: a file, a pipe, a datagram socket; and what encoders have in common.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use crate::reader::Stamped;

/// Takes encoded bytes, and the number of records in them.
pub type Ready<'r> = &'r mut dyn FnMut(&[u8], u64);

/// Encodes events.
pub trait Encoder {
    /// Begins a pass at a time, in milliseconds since 1970.
    fn begin(&mut self, now: u64, ready: Ready<'_>);
    /// Encodes an event.
    fn event(&mut self, stamped: &Stamped, ready: Ready<'_>);
    /// Encodes that so many events were lost.
    fn lost(&mut self, count: u64, ready: Ready<'_>);
    /// Ends a pass: nothing stays behind.
    fn flush(&mut self, ready: Ready<'_>);
}

/// Where encoded events go.
pub enum Output {
    /// A file to whose end is written, or a pipe.
    File(File),
    /// Datagrams to a UDP port.
    Udp(UdpSocket),
    /// Datagrams to a socket of this machine, such as /dev/log.
    Unix(UnixDatagram),
}

impl Output {
    /// A file, to whose end events are appended.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn file(path: &Path) -> io::Result<Output> {
        Ok(Output::File(OpenOptions::new().append(true).create(true).open(path)?))
    }
    /// A socket for datagrams to a UDP port.
    ///
    /// # Errors
    /// If there is no route to it.
    pub fn udp(to: SocketAddr) -> io::Result<Output> {
        let own: SocketAddr = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own)?;
        socket.connect(to)?;
        Ok(Output::Udp(socket))
    }
    /// A socket for datagrams to a socket of this machine.
    ///
    /// # Errors
    /// If no process receives there.
    pub fn unix(path: &Path) -> io::Result<Output> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Output::Unix(socket))
    }
    /// Writes all bytes, or none of them to a regular file.
    ///
    /// # Errors
    /// If the system refuses some of them.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Output::File(file) => {
                // Others may have emptied it since the last write.
                let known = file.metadata()?;
                file.write_all(bytes).inspect_err(|_| {
                    // A full disk has taken a part of a line.
                    if known.is_file() {
                        let _ = file.set_len(known.len()).and_then(|()| (&*file).seek(SeekFrom::End(0)));
                    }
                })
            }
            Output::Udp(socket) => match socket.send(bytes) {
                // The answer to a datagram before this one: nothing listens there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => socket.send(bytes).map(drop),
                sent => sent.map(drop),
            },
            Output::Unix(socket) => socket.send(bytes).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_appended_to_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events");
        for text in ["a\n", "b\n"] {
            Output::file(&path).expect("a file").write(text.as_bytes()).expect("room");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "a\nb\n");
    }

    #[test]
    fn a_file_that_was_emptied_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events");
        let mut output = Output::file(&path).expect("a file");
        output.write(b"whole\n").expect("room");
        // Users may empty it at any time.
        std::fs::write(&path, "").expect("a file");
        output.write(b"next\n").expect("room");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "next\n");
    }

    #[test]
    fn a_full_device_is_an_error() {
        let mut full = Output::file(Path::new("/dev/full")).expect("a device");
        assert!(full.write(b"x").is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
    }

    #[test]
    fn datagrams_go_to_both_families_and_to_sockets_of_this_machine() {
        let mut buffer = [0; 16];
        for own in [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))] {
            let receiver = UdpSocket::bind(own).expect("a port");
            let mut output = Output::udp(receiver.local_addr().expect("a port")).expect("a socket");
            output.write(b"event").expect("room");
            assert_eq!(receiver.recv(&mut buffer).expect("a datagram"), 5);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        assert!(Output::unix(&path).is_err());
        let receiver = UnixDatagram::bind(&path).expect("a socket");
        Output::unix(&path).expect("a socket").write(b"event").expect("room");
        assert_eq!(receiver.recv(&mut buffer).expect("a datagram"), 5);
    }
}
