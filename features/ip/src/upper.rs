//! What stands behind the IP header and tells conversations apart: ports, or ICMP's type and code.
//!
//! Later fragments of a packet have none of it. A room that remembers what the first one said (shallow reassembly) notes it at
//! the others' buffers ([`Upper::to_note`]), and whoever asks for ports looks there ([`Upper::of_row`]).

use quiver_engine::{Frame, Pool};
use quiver_wire::IpProtocol;

use crate::family::{Family, Payload};

/// What is known of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upper {
    /// Its port, or ICMP's type.
    pub source: u16,
    /// The other port, or ICMP's code.
    pub destination: u16,
    /// The flags of TCP.
    pub tcp_flags: u8,
}

/// Where TCP has its flags.
const TCP_FLAGS: usize = 13;

impl Upper {
    /// What a packet says, from its IP header on: zeros of protocols that have no such thing. None of later fragments, and of
    /// packets that are cut off.
    pub fn of<F: Family>(packet: &[u8]) -> Option<Upper> {
        Upper::read(packet, &F::payload(packet)?)
    }
    /// The same where the payload is known.
    pub fn read(packet: &[u8], payload: &Payload) -> Option<Upper> {
        if payload.fragment.is_some_and(|place| place > 0) {
            return None;
        }
        let bytes = packet.get(payload.offset..)?;
        match payload.protocol {
            IpProtocol::TCP | IpProtocol::UDP => {
                let &[a, b, c, d] = bytes.first_chunk()?;
                let has_flags = payload.protocol == IpProtocol::TCP;
                let tcp_flags = if has_flags { *bytes.get(TCP_FLAGS)? } else { 0 };
                let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                Some(Upper { source, destination, tcp_flags })
            }
            IpProtocol::ICMP4 | IpProtocol::ICMP6 => {
                let &[kind, code] = bytes.first_chunk()?;
                Some(Upper { source: kind.into(), destination: code.into(), tcp_flags: 0 })
            }
            _ => Some(Upper::default()),
        }
    }
    /// What was noted of a row, which does not say so itself.
    pub fn of_row(pool: &Pool, frame: &Frame, i: usize) -> Option<Upper> {
        frame.note(pool, i).map(Upper::of_note)
    }
    /// What a note says.
    pub fn of_note(note: u64) -> Upper {
        let [a, b, c, d, tcp_flags, ..] = note.to_be_bytes();
        Upper { source: u16::from_be_bytes([a, b]), destination: u16::from_be_bytes([c, d]), tcp_flags }
    }
    /// The note that says it.
    pub fn to_note(self) -> u64 {
        let ([a, b], [c, d]) = (self.source.to_be_bytes(), self.destination.to_be_bytes());
        u64::from_be_bytes([a, b, c, d, self.tcp_flags, 0, 0, 0])
    }
}
