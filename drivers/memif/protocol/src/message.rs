//! Control messages. Every one is 128 bytes, little endian: a type of two bytes, its fields, zeros.

use std::fmt::{self, Write};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::VERSION;

/// Bytes of every message.
pub const LENGTH: usize = 128;

/// Text padded with zeros. What a peer sends may lack the final zero, and be no UTF-8.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// Copies as much of `text` as fits in front of a zero.
    pub fn new(text: &str) -> Text<N> {
        let mut fits = text.len().min(N - 1);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        let mut bytes = [0; N];
        bytes[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        Text(bytes)
    }
}
impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(N);
        // Control characters of a peer have no business in logs and tables.
        for character in String::from_utf8_lossy(&self.0[..length]).chars() {
            f.write_char(if character.is_control() { '?' } else { character })?;
        }
        Ok(())
    }
}
impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The secret by which a slave is admitted.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(transparent)]
pub struct Secret([u8; Secret::LENGTH]);

/// A secret longer than every implementation can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret has 1 to {} bytes", Secret::MAX)]
pub struct SecretError;

impl Secret {
    const LENGTH: usize = 24;
    /// Bytes that can be used: other implementations keep the last one for a zero.
    pub const MAX: usize = Secret::LENGTH - 1;
    /// No secret.
    pub const NONE: Secret = Secret([0; Secret::LENGTH]);

    /// The secret of these bytes.
    pub fn new(text: &str) -> Result<Secret, SecretError> {
        if text.is_empty() || text.len() > Secret::MAX || text.as_bytes().contains(&0) {
            return Err(SecretError);
        }
        let mut bytes = [0; Secret::LENGTH];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Secret(bytes))
    }
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.matches(&Secret::NONE)
    }
    /// Compares in a time that does not tell how much is right.
    pub fn matches(&self, other: &Secret) -> bool {
        let differ = self.0.iter().zip(&other.0).fold(0, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
        differ == 0
    }
}
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "no secret" } else { "a secret" })
    }
}
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.matches(other)
    }
}

/// The mode of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Ethernet frames.
    Ethernet,
    /// IP packets.
    Ip,
    /// Packets and frames with what a peer that injects and punts says of them.
    Punt,
}
impl Mode {
    fn from_wire(mode: u8) -> Option<Mode> {
        match mode {
            0 => Some(Mode::Ethernet),
            1 => Some(Mode::Ip),
            2 => Some(Mode::Punt),
            _ => None,
        }
    }
    fn to_wire(self) -> u8 {
        match self {
            Mode::Ethernet => 0,
            Mode::Ip => 1,
            Mode::Punt => 2,
        }
    }
}

/// The master's greeting: what it can do at most. The maxima of rings are those of indices: 0 is one ring.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Hello {
    /// Name of the master.
    pub name: Text<32>,
    /// The oldest version spoken.
    pub min_version: U16,
    /// The newest version spoken.
    pub max_version: U16,
    /// The highest index of a region.
    pub max_region: U16,
    /// The highest index of a ring from master to slave.
    pub max_m2s_ring: U16,
    /// The highest index of a ring from slave to master.
    pub max_s2m_ring: U16,
    /// The largest ring, as a power of two.
    pub max_log2_ring_size: u8,
}

/// The slave's answer: which interface it wants.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Init {
    /// The version that the slave chose.
    pub version: U16,
    /// The interface's number on this socket.
    pub id: U32,
    mode: u8,
    /// The slave's secret.
    pub secret: Secret,
    /// Name of the slave.
    pub name: Text<32>,
}
impl Init {
    /// An answer in version 2.0.
    pub fn new(id: u32, mode: Mode, secret: Secret, name: &str) -> Init {
        Init { version: VERSION.into(), id: id.into(), mode: mode.to_wire(), secret, name: Text::new(name) }
    }
    /// The mode of the interface; None if no version of the protocol defines it.
    pub fn mode(&self) -> Option<Mode> {
        Mode::from_wire(self.mode)
    }
}

/// Shared memory; its file comes with the message.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct AddRegion {
    /// Its number; they come in order.
    pub index: U16,
    /// Its bytes.
    pub size: U64,
}

/// A ring in a region; its eventfd comes with the message.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct AddRing {
    flags: U16,
    /// Its number among those of its direction; they come in order.
    pub index: U16,
    /// The region that it lies in.
    pub region: U16,
    /// Where it begins there.
    pub offset: U32,
    /// Its descriptors, as a power of two.
    pub log2_ring_size: u8,
    /// Bytes between the descriptors; none in version 2.0.
    pub private_header_size: U16,
}
impl AddRing {
    const S2M: u16 = 1;

    /// A ring from slave to master, or the other way.
    pub fn new(is_s2m: bool, index: u16, region: u16, offset: u32, log2_ring_size: u8) -> AddRing {
        AddRing {
            flags: if is_s2m { AddRing::S2M } else { 0 }.into(),
            index: index.into(),
            region: region.into(),
            offset: offset.into(),
            log2_ring_size,
            private_header_size: 0.into(),
        }
    }
    /// Whether it leads from slave to master.
    pub fn is_s2m(&self) -> bool {
        self.flags.get() & AddRing::S2M != 0
    }
}

/// The end, and why.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Disconnect {
    /// A code without a meaning; peers ignore it.
    pub code: U32,
    /// For people.
    pub reason: Text<96>,
}

/// A control message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Message {
    /// The last message was taken.
    Ack,
    /// See [`Hello`].
    Hello(Hello),
    /// See [`Init`].
    Init(Init),
    /// See [`AddRegion`].
    AddRegion(AddRegion),
    /// See [`AddRing`].
    AddRing(AddRing),
    /// The slave has told everything; the name of its interface.
    Connect(Text<32>),
    /// Packets may pass; the name of the master's interface.
    Connected(Text<32>),
    /// See [`Disconnect`].
    Disconnect(Disconnect),
}

/// Bytes that are no control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Too short, or too long.
    #[error("a control message of {0} bytes; all have {LENGTH}")]
    Length(usize),
    /// A type that version 2.0 does not have.
    #[error("a control message of the unknown type {0}")]
    Type(u16),
}

fn fields<T: FromBytes + KnownLayout + Immutable>(bytes: &[u8; LENGTH - 2]) -> T {
    const { assert!(size_of::<T>() <= LENGTH - 2) };
    match T::read_from_prefix(bytes) {
        Ok((fields, _)) => fields,
        Err(_) => unreachable!("every kind of fields is shorter than a message"),
    }
}

impl Message {
    /// Reads a message. Bytes behind its fields are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Message, MessageError> {
        let bytes: &[u8; LENGTH] = bytes.try_into().map_err(|_| MessageError::Length(bytes.len()))?;
        let [low, high, rest @ ..] = bytes;
        match u16::from_le_bytes([*low, *high]) {
            1 => Ok(Message::Ack),
            2 => Ok(Message::Hello(fields(rest))),
            3 => Ok(Message::Init(fields(rest))),
            4 => Ok(Message::AddRegion(fields(rest))),
            5 => Ok(Message::AddRing(fields(rest))),
            6 => Ok(Message::Connect(fields(rest))),
            7 => Ok(Message::Connected(fields(rest))),
            8 => Ok(Message::Disconnect(fields(rest))),
            other => Err(MessageError::Type(other)),
        }
    }
    /// The message's bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let (kind, fields): (u16, &[u8]) = match self {
            Message::Ack => (1, &[]),
            Message::Hello(fields) => (2, fields.as_bytes()),
            Message::Init(fields) => (3, fields.as_bytes()),
            Message::AddRegion(fields) => (4, fields.as_bytes()),
            Message::AddRing(fields) => (5, fields.as_bytes()),
            Message::Connect(fields) => (6, fields.as_bytes()),
            Message::Connected(fields) => (7, fields.as_bytes()),
            Message::Disconnect(fields) => (8, fields.as_bytes()),
        };
        let mut bytes = [0; LENGTH];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..2 + fields.len()].copy_from_slice(fields);
        bytes
    }
    /// Name of the message in the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Ack => "ACK",
            Message::Hello(_) => "HELLO",
            Message::Init(_) => "INIT",
            Message::AddRegion(_) => "ADD_REGION",
            Message::AddRing(_) => "ADD_RING",
            Message::Connect(_) => "CONNECT",
            Message::Connected(_) => "CONNECTED",
            Message::Disconnect(_) => "DISCONNECT",
        }
    }
    /// The end, with its reason.
    pub fn disconnect(reason: &str) -> Message {
        Message::Disconnect(Disconnect { code: 0.into(), reason: Text::new(reason) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn fields_lie_where_other_implementations_have_them() {
        // Offsets count from the message's first byte; its type takes two.
        assert_eq!(offset_of!(Hello, max_log2_ring_size) + 2, 44);
        assert_eq!((offset_of!(Hello, min_version) + 2, offset_of!(Hello, max_s2m_ring) + 2), (34, 42));
        assert_eq!((offset_of!(Init, id) + 2, offset_of!(Init, mode) + 2), (4, 8));
        assert_eq!((offset_of!(Init, secret) + 2, offset_of!(Init, name) + 2), (9, 33));
        assert_eq!(offset_of!(AddRegion, size) + 2, 4);
        assert_eq!((offset_of!(AddRing, offset) + 2, offset_of!(AddRing, private_header_size) + 2), (8, 13));
        assert_eq!((offset_of!(Disconnect, reason) + 2, size_of::<Disconnect>() + 2), (6, 102));
    }

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let secret = Secret::new("knock knock").expect("short enough");
        let hello = Hello {
            name: Text::new("quiver"),
            min_version: VERSION.into(),
            max_version: VERSION.into(),
            max_region: 255.into(),
            max_m2s_ring: 255.into(),
            max_s2m_ring: 3.into(),
            max_log2_ring_size: 14,
        };
        let messages = [
            Message::Ack,
            Message::Hello(hello),
            Message::Init(Init::new(7, Mode::Ip, secret, "peer")),
            Message::AddRegion(AddRegion { index: 1.into(), size: 0x1_0000_0000.into() }),
            Message::AddRing(AddRing::new(true, 2, 1, 128, 10)),
            Message::Connect(Text::new("memif0/7")),
            Message::Connected(Text::new("memif0/7")),
            Message::disconnect("secret required"),
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        let init = Message::Init(Init::new(7, Mode::Ip, secret, "peer")).encode();
        assert_eq!((init[4], init[8], &init[9..20]), (7, 1, &b"knock knock"[..]));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Message::decode(&[1; 127]), Err(MessageError::Length(127)));
        assert_eq!(Message::decode(&[9; 128]), Err(MessageError::Type(0x0909)));
        assert_eq!(Message::decode(&[0; 128]), Err(MessageError::Type(0)));
    }

    #[test]
    fn texts_end_where_they_must() {
        assert_eq!(Text::<4>::new("abcdef").to_string(), "abc");
        assert_eq!(Text::<4>::new("aéé").to_string(), "aé");
        assert_eq!(Text([b'a', 7, 0xff, b'b']).to_string(), "a?\u{fffd}b");
    }

    #[test]
    fn secrets_are_compared_whole_and_never_printed() {
        let secret = Secret::new("abc").expect("short enough");
        assert!(secret.matches(&Secret::new("abc").expect("short enough")));
        assert!(!secret.matches(&Secret::new("abcd").expect("short enough")) && !secret.is_none());
        assert_eq!(format!("{secret:?}"), "a secret");
        assert_eq!([Secret::new(""), Secret::new(&"x".repeat(24)), Secret::new("a\0b")], [Err(SecretError); 3]);
    }
}
