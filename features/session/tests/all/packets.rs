//! Packets between a few ends, so that flows meet again and again. Each carries its number, by which it is known when it leaves.

/// A family of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    #[default]
    V4,
    V6,
}

/// A protocol that has sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Echo,
}

/// Host and port, or the identifier of an echo.
pub type End = (u8, u16);

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

/// Flags and numbers of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub flags: u8,
    pub sequence: u32,
    pub acknowledgment: u32,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub number: u32,
    pub family: Family,
    pub protocol: Protocol,
    pub source: End,
    pub destination: End,
    /// Of TCP.
    pub segment: Segment,
    /// Whether an echo is a reply.
    pub is_reply: bool,
    /// Bytes of payload; the first four are the number.
    pub payload: u32,
}

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 0xa0, 2, 0, 0, 0, 0, 2];

impl Packet {
    fn header(&self) -> u32 {
        if self.family == Family::V4 { 20 } else { 40 }
    }
    fn upper(&self) -> u32 {
        if self.protocol == Protocol::Tcp { 20 } else { 8 }
    }
    /// Bytes from the IP header on.
    pub fn length(&self) -> u64 {
        u64::from(self.header() + self.upper() + self.payload)
    }
    fn protocol_number(&self) -> u8 {
        match (self.protocol, self.family) {
            (Protocol::Tcp, _) => 6,
            (Protocol::Udp, _) => 17,
            (Protocol::Echo, Family::V4) => 1,
            (Protocol::Echo, Family::V6) => 58,
        }
    }
    /// The frame. Checksums behind the IP header are zero.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = ETHERNET.to_vec();
        let behind = (self.upper() + self.payload) as u16;
        match self.family {
            Family::V4 => {
                bytes.extend([8, 0, 0x45, 0]);
                bytes.extend((20 + behind).to_be_bytes());
                bytes.extend([0, 0, 0, 0, 64, self.protocol_number(), 0, 0]);
                for (host, _) in [self.source, self.destination] {
                    bytes.extend([10, 1, 0, host]);
                }
                let words = bytes[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
                let sum: u32 = words.sum();
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                bytes[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            Family::V6 => {
                bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                bytes.extend(behind.to_be_bytes());
                bytes.extend([self.protocol_number(), 64]);
                for (host, _) in [self.source, self.destination] {
                    bytes.extend([0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
                }
            }
        }
        match self.protocol {
            Protocol::Echo => {
                let kinds = if self.family == Family::V4 { [8, 0] } else { [128, 129] };
                bytes.extend([kinds[usize::from(self.is_reply)], 0, 0, 0]);
                bytes.extend(self.source.1.to_be_bytes());
                bytes.extend([0, 1]);
            }
            Protocol::Udp => {
                for word in [self.source.1, self.destination.1, behind, 0] {
                    bytes.extend(word.to_be_bytes());
                }
            }
            Protocol::Tcp => {
                let Segment { flags, sequence, acknowledgment } = self.segment;
                for port in [self.source.1, self.destination.1] {
                    bytes.extend(port.to_be_bytes());
                }
                for number in [sequence, acknowledgment] {
                    bytes.extend(number.to_be_bytes());
                }
                bytes.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
            }
        }
        bytes.extend(self.number.to_be_bytes());
        bytes.resize(bytes.len() + self.payload as usize - 4, 0);
        bytes
    }
}

/// The number of a frame that has left; None of other frames, such as neighbor discovery.
pub fn number_of(frame: &[u8]) -> Option<u32> {
    let (header, protocol) = match (frame.get(12..14)?, frame.get(26..29)?) {
        ([8, 0], [10, 1, 0]) => (34, *frame.get(23)?),
        ([0x86, 0xdd], _) if frame.get(22..28)? == [0x20, 1, 0x0d, 0xb8, 0, 1] => (54, *frame.get(20)?),
        _ => return None,
    };
    let at = header + if protocol == 6 { 20 } else { 8 };
    Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}
