//! The peers that send and receive: memif slaves or masters without an engine.

use quiver_memif_protocol::message::Init;
use quiver_memif_protocol::receiver::packets;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{
    Channel, Established, Handshake, Listener, Mode, Progress, Receiver, Refusal, Request, Secret, Storage, Terms,
    Transmitter,
};

use super::pin::pin;
use super::role::Role;

/// Descriptors in a ring, as a power of two: room for a filling of the longest packets.
const LOG2_RING: u8 = 11;

/// One end with a ring in each direction.
pub struct Peer {
    control: Control,
    ends: Option<(Receiver, Transmitter)>,
}
enum Control {
    /// A master without a slave.
    Listens(Listener),
    Connected(Handshake),
}

impl Peer {
    /// Joins the daemon's interface of this number, which has that role, at a socket.
    pub fn join(role: Role, socket: &str, id: u32) -> Result<Peer, String> {
        let address = socket_of(role, socket, id);
        let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
        if role != Role::Master {
            let listener = Listener::bind(&address).map_err(|error| error.to_string())?;
            return Ok(Peer { control: Control::Listens(listener), ends: None });
        }
        let channel = Channel::connect(&address).map_err(|error| error.to_string())?;
        let request = Request {
            id,
            mode: Mode::Ethernet,
            secret: Secret::NONE,
            name: "bench".into(),
            interface: format!("peer{id}"),
            s2m_rings: 1,
            m2s_rings: 1,
            log2_ring_size: LOG2_RING,
        };
        let storage = Storage { buffer: 2048, shared: None };
        let handshake = Handshake::slave(channel.ok_or("nobody listens")?, request, storage);
        Ok(Peer { control: Control::Connected(handshake), ends: None })
    }
    /// Takes what the other end has said. Whether packets may pass.
    pub fn poll(&mut self) -> Result<bool, String> {
        if let Control::Listens(listener) = &self.control {
            let Some(channel) = listener.accept().map_err(|error| error.to_string())? else { return Ok(false) };
            self.control = Control::Connected(Handshake::master(channel, "bench").map_err(|error| error.to_string())?);
        }
        let Control::Connected(handshake) = &mut self.control else { return Ok(false) };
        loop {
            match handshake.advance(admit).map_err(|end| end.to_string())? {
                Progress::Quiet => break,
                Progress::Answered => {}
                Progress::Established(established) => {
                    let Established { link, layout, .. } = *established;
                    let (rx, tx) = (link.receivers(layout.as_ref()).pop(), link.transmitters(layout.as_ref()).pop());
                    self.ends = rx.zip(tx);
                    self.ends.iter_mut().for_each(|(rx, _)| {
                        rx.ring().set_interrupt(false);
                        rx.start();
                    });
                }
            }
        }
        Ok(self.ends.is_some())
    }
    /// Whether there is room for a packet.
    pub fn has_room(&mut self) -> Result<bool, String> {
        self.ends.as_mut().map_or(Ok(false), |(_, tx)| Ok(tx.begin().map_err(|broken| broken.to_string())? > 0))
    }
    /// Sends up to `count` packets of this length; returns how many there was room for.
    fn send(&mut self, bytes: usize, count: usize) -> Result<usize, String> {
        let Some((_, tx)) = &mut self.ends else { return Ok(0) };
        let mut packet = [0; 9216];
        packet[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        tx.begin().map_err(|broken| broken.to_string())?;
        let mut sent = 0;
        while sent < count {
            let put = tx.send(bytes, std::iter::once(&packet[..bytes])).map_err(|broken| broken.to_string())?;
            if put != Sent::Yes {
                break;
            }
            sent += 1;
        }
        tx.publish();
        Ok(sent)
    }
    /// Sends exactly `count` packets of this length.
    pub fn fill(&mut self, bytes: usize, count: usize) -> Result<(), String> {
        match self.send(bytes, count)? {
            sent if sent == count => Ok(()),
            sent => Err(format!("the peer could send {sent} of {count} packets")),
        }
    }
    /// Takes everything that came; returns how many packets it was.
    pub fn drain(&mut self) -> Result<usize, String> {
        let Some((rx, _)) = &mut self.ends else { return Ok(0) };
        let mut came = 0;
        loop {
            let burst = rx.receive(256).map_err(|broken| broken.to_string())?;
            if burst.is_empty() {
                return Ok(came);
            }
            let count = packets(burst).count();
            // A reader looks at each packet's first line.
            for fragment in rx.burst() {
                let _ = std::hint::black_box(rx.read_from(fragment, 0, &mut [0; 16]));
            }
            rx.release();
            came += count;
        }
    }
}

/// A master admits every slave.
fn admit(_: &Init) -> Result<Terms, Refusal> {
    Ok(Terms { mode: Mode::Ethernet, secret: Secret::NONE, interface: "peer".into() })
}

/// Where the daemon's interface of this number meets its peer. Peers that are masters listen each for themselves.
pub fn socket_of(role: Role, socket: &str, id: u32) -> String {
    if role == Role::Master { socket.to_owned() } else { format!("{socket}-{id}") }
}

/// The process at the other end: says when it is connected and waits for a line; then it sends by interface 0 as fast as it
/// can, and takes what comes by interface 1, until the daemon closes the connection.
pub fn run(role: Role, socket: &str, bytes: usize, core: usize) -> Result<(), String> {
    pin(core);
    let (mut from, mut to) = (Peer::join(role, socket, 0)?, Peer::join(role, socket, 1)?);
    while !(from.poll()? & to.poll()? & from.has_room()?) {
        std::thread::yield_now();
    }
    println!("connected");
    std::io::stdin().read_line(&mut String::new()).map_err(|error| error.to_string())?;
    let mut turns = 0u32;
    loop {
        // Control messages are rare.
        if turns.is_multiple_of(1024) {
            let _ = (from.poll()?, to.poll()?);
        }
        turns = turns.wrapping_add(1);
        to.drain()?;
        from.send(bytes, 256)?;
    }
}
