//! As much of BGP as learns routes of one neighbour: RFC 4271, with IPv6 as RFC 4760 has it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};

/// A network.
pub type Network = (IpAddr, u8);

/// Change of a network: its next hop, or None if it is withdrawn.
pub type Change = (Network, Option<IpAddr>);

/// Length of a message's header in bytes, and the longest message (RFC 4271, 4.1).
const HEADER: usize = 19;
const LONGEST: usize = 4096;
const OPEN: u8 = 1;
const UPDATE: u8 = 2;
const NOTIFICATION: u8 = 3;
const KEEPALIVE: u8 = 4;
/// Attributes (RFC 4271, 5; RFC 4760, 3 and 4), of which long ones say so.
const NEXT_HOP: u8 = 3;
const REACHED: u8 = 14;
const UNREACHED: u8 = 15;
const IS_LONG: u8 = 0x10;
/// Unicast IPv6.
const IP6_UNICAST: [u8; 3] = [0, 2, 1];

/// A session with a neighbour.
pub struct Neighbour {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Neighbour {
    /// Answers a neighbour that has connected, as a router of this system with this name.
    pub fn greet(mut stream: TcpStream, system: u16, name: Ipv4Addr) -> io::Result<Neighbour> {
        // Unicast of both families (RFC 5492, 4; RFC 4760, 8).
        let capabilities = [1, 4, 0, 1, 0, 1, 1, 4, 0, 2, 0, 1];
        let mut open = vec![4];
        open.extend(system.to_be_bytes());
        // No hold time: then nobody has to say that he is alive (RFC 4271, 4.2).
        open.extend([0, 0]);
        open.extend(name.octets());
        open.extend([2 + capabilities.len() as u8, 2, capabilities.len() as u8]);
        open.extend(capabilities);
        stream.write_all(&message(OPEN, &open))?;
        stream.write_all(&message(KEEPALIVE, &[]))?;
        Ok(Neighbour { stream, bytes: vec![] })
    }
    /// Waits for what the neighbour says next. None once it has gone.
    pub fn hear(&mut self) -> io::Result<Option<Vec<Change>>> {
        let mut read = vec![0; 1 << 16];
        let length = match self.stream.read(&mut read) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            length => length?,
        };
        self.bytes.extend(&read[..length]);
        let (mut changes, mut at) = (vec![], 0);
        while let Some(header) = self.bytes.get(at..at + HEADER) {
            let length = usize::from(u16::from_be_bytes([header[16], header[17]]));
            if !(HEADER..=LONGEST).contains(&length) {
                return Err(malformed(&format!("a message of {length} bytes")));
            }
            let Some(body) = self.bytes.get(at + HEADER..at + length) else { break };
            match header[18] {
                UPDATE => update(body, &mut changes).ok_or_else(|| malformed("an update that ends too soon"))?,
                NOTIFICATION => return Ok(None),
                // An OPEN and the KEEPALIVE that confirms ours.
                _ => {}
            }
            at += length;
        }
        self.bytes.drain(..at);
        Ok(Some(changes))
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the neighbour sends {what}"))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (HEADER + body.len()) as u16;
    [&[0xff; 16][..], &length.to_be_bytes(), &[kind], body].concat()
}

/// Parses an update (RFC 4271, 4.3).
fn update(body: &[u8], changes: &mut Vec<Change>) -> Option<()> {
    let (withdrawn, body) = counted(body)?;
    let (mut attributes, reached) = counted(body)?;
    networks(withdrawn, false, |network| changes.push((network, None)))?;
    let mut next_hop = None;
    while let [flags, kind, rest @ ..] = attributes {
        let value;
        (value, attributes) = match flags & IS_LONG {
            0 => rest.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)))?,
            _ => counted(rest)?,
        };
        match *kind {
            NEXT_HOP => next_hop = value.try_into().ok().map(|bytes: [u8; 4]| IpAddr::from(bytes)),
            REACHED if value.starts_with(&IP6_UNICAST) => {
                let (hops, rest) = value.get(4..)?.split_at_checked(usize::from(*value.get(3)?))?;
                // The global address comes first, and a link-local one may follow (RFC 2545, 3).
                let hop = IpAddr::from(*hops.first_chunk::<16>()?);
                networks(rest.get(1..)?, true, |network| changes.push((network, Some(hop))))?;
            }
            UNREACHED if value.starts_with(&IP6_UNICAST) => {
                networks(value.get(3..)?, true, |network| changes.push((network, None)))?;
            }
            _ => {}
        }
    }
    networks(reached, false, |network| changes.push((network, next_hop)))
}

/// Bytes that a number of two bytes counts, and what is behind them.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Networks, of each its length in bits and as many bytes as those need.
fn networks(mut bytes: &[u8], is_ip6: bool, mut each: impl FnMut(Network)) -> Option<()> {
    while let [length, rest @ ..] = bytes {
        let given;
        (given, bytes) = rest.split_at_checked(usize::from(*length).div_ceil(8))?;
        let mut address = [0; 16];
        address.get_mut(..given.len())?.copy_from_slice(given);
        let [a, b, c, d, ..] = address;
        each((if is_ip6 { Ipv6Addr::from(address).into() } else { Ipv4Addr::new(a, b, c, d).into() }, *length));
    }
    Some(())
}
