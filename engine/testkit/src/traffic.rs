//! Traffic over sockets of the system's, for drivers whose interfaces have an end there.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// The period of the bytes that are sent: a prime, so that no packet's length hides a shift.
const PERIOD: usize = 251;
/// Time limit of a datagram.
const DATAGRAM_WITHIN: Duration = Duration::from_secs(3);

fn pattern(from: usize, bytes: usize) -> Vec<u8> {
    (from..from + bytes).map(|i| (i % PERIOD) as u8).collect()
}

/// Sends so many bytes over TCP and closes the connection.
pub fn send(to: SocketAddr, bytes: usize) -> io::Result<()> {
    TcpStream::connect(to)?.write_all(&pattern(0, bytes))
}

/// Takes one connection and returns how many bytes came until its end; an error if one is another than was sent.
pub fn receive(listener: &TcpListener) -> io::Result<usize> {
    let (mut stream, _) = listener.accept()?;
    let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Ok(received);
        }
        if buffer[..n] != pattern(received % PERIOD, n) {
            let what = format!("other bytes arrived than were sent, behind the first {received}");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        received += n;
    }
}

/// Sends a datagram from each of the sockets, one after the other; from how many of them it arrived.
pub fn flows(senders: &[UdpSocket], receiver: &UdpSocket) -> io::Result<usize> {
    receiver.set_read_timeout(Some(DATAGRAM_WITHIN))?;
    let (to, mut seen) = (receiver.local_addr()?, HashSet::new());
    for sender in senders {
        sender.send_to(b"flow", to)?;
        seen.insert(receiver.recv_from(&mut [0; 16])?.1);
    }
    Ok(seen.len())
}
