//! What sends and receives at the other end: slaves without an engine.

use quiver_memif_protocol::receiver::packets;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{
    Channel, Established, Handshake, Mode, Progress, Receiver, Refusal, Request, Secret, Storage, Transmitter,
};

use super::pin;

/// Descriptors in a ring, as a power of two: room for a filling of the longest packets.
const LOG2_RING: u8 = 11;

/// One slave with a ring in each direction.
pub struct Peer {
    handshake: Handshake,
    ends: Option<(Receiver, Transmitter)>,
}

impl Peer {
    /// Connects to a socket for the interface of this number.
    pub fn connect(socket: &str, id: u32) -> Result<Peer, String> {
        let address = socket.parse().map_err(|error| format!("{socket}: {error}"))?;
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
        Ok(Peer { handshake, ends: None })
    }
    /// Takes what the master has said. Whether packets may pass.
    pub fn poll(&mut self) -> Result<bool, String> {
        loop {
            // A slave is asked for nothing.
            let progress = self.handshake.advance(|_| Err(Refusal::UnknownId)).map_err(|end| end.to_string())?;
            match progress {
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

/// The process at the other end: sends by interface 0 as fast as it can, and takes what comes by interface 1, until the
/// daemon closes the connection.
pub fn run(socket: &str, bytes: usize, core: usize) -> Result<(), String> {
    pin(core);
    let (mut from, mut to) = (Peer::connect(socket, 0)?, Peer::connect(socket, 1)?);
    let mut turns = 0u32;
    loop {
        // Control messages are rare.
        if turns.is_multiple_of(1024) || from.ends.is_none() || to.ends.is_none() {
            let _ = (from.poll()?, to.poll()?);
        }
        turns = turns.wrapping_add(1);
        to.drain()?;
        from.send(bytes, 256)?;
    }
}
