//! Flows of a capture as connections. Packets go as they were captured, but for Ethernet and IP headers, addresses, ports and checksums.
//!
//! An end sends its next packet when it has received all of the peer's that came before it in the capture. A connection is the flow of
//! its number modulo the flows there are. There are no retransmissions: a lost packet fails its connection.

mod read;
mod run;

pub use read::read;

use quiver_wire::Sum;

use crate::load::Side;

/// Flows of a capture.
#[derive(Debug)]
pub struct Replay {
    flows: Vec<Flow>,
    /// Packets of the file that are in no flow: of another protocol or family, fragments.
    pub skipped: usize,
}

/// Packets of a flow: the client's, who sent the first one, and the server's.
#[derive(Debug, Default)]
struct Flow([Vec<Packet>; 2]);

/// A packet of a flow.
#[derive(Debug)]
struct Packet {
    /// Packets of the peer's that come before it.
    after: u32,
    /// Transport header and payload. Ports and checksum are zero.
    bytes: Box<[u8]>,
    /// The sum of these bytes.
    sum: Sum,
    /// Bytes of payload.
    payload: u32,
}

impl Replay {
    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }
    /// Packets of both ends of all flows, the clients' and the servers'.
    pub fn packets(&self) -> [usize; 2] {
        [0, 1].map(|end| self.flows.iter().map(|flow| flow.0[end].len()).sum())
    }
    /// Packets of a connection: those that an end sends, and those of its peer.
    fn of(&self, id: u32, side: Side) -> Option<(&[Packet], &[Packet])> {
        let Flow([client, server]) = self.flows.get(id as usize % self.flows.len().max(1))?;
        Some(if side == Side::Client { (client, server) } else { (server, client) })
    }
}
