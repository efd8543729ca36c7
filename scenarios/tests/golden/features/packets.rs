//! Random packets, ordinary and odd ones.

use fastrand::Rng;
use quiver_testkit::packet::Packet;

use super::{BOTH, DROPPED, NONE};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Upper {
    Udp,
    Syn,
    Ack,
}

/// A packet, and what it was made of.
#[derive(Clone, Debug)]
pub struct Sent {
    pub ip6: bool,
    pub tag: Option<u16>,
    pub from: usize,
    pub to: usize,
    pub host: u8,
    pub upper: Upper,
    pub from_port: u16,
    pub to_port: u16,
    pub is_odd: bool,
    /// Whether it is odd by options alone, which nodes of their own look at before it goes on with its flow.
    pub has_options: bool,
    pub bytes: Vec<u8>,
}

/// Kinds of odd packets: with options, and cut off.
const OPTIONS: usize = 2;
const CUT: usize = 6;

impl Sent {
    pub fn draw(r: &mut Rng, number: u32, odd: u8) -> Sent {
        let (ip6, tag) = (r.bool(), [None, None, None, Some(7), Some(7), Some(8)][r.usize(..6).min(r.usize(..12))]);
        let (from, to) = (
            [0, 0, 0, 1, BOTH, DROPPED, NONE][r.usize(..7)],
            [1, 2, 2, 3, BOTH, DROPPED, NONE][r.usize(..7).min(r.usize(..9))],
        );
        let (host, from_port, to_port) = (r.u8(1..4), r.u16(3..6), r.u16(1..5));
        let upper = [Upper::Udp, Upper::Udp, Upper::Syn, Upper::Ack][r.usize(..4)];
        let mut sent = Sent {
            ip6,
            tag,
            from,
            to,
            host,
            upper,
            from_port,
            to_port,
            is_odd: r.u8(..100) < odd,
            has_options: false,
            bytes: vec![],
        };
        sent.make(r, number);
        sent
    }
    /// An odd packet of the same flow.
    pub fn odd(&self, r: &mut Rng, number: u32) -> Sent {
        let mut sent = Sent { is_odd: true, ..self.clone() };
        sent.make(r, number);
        sent
    }
    fn make(&mut self, r: &mut Rng, number: u32) {
        let kind = match self.is_odd {
            true if r.bool() => OPTIONS,
            true => r.usize(1..8),
            false => 0,
        };
        self.has_options = kind == OPTIONS;
        self.bytes = self.packet(r, kind);
        let end = self.bytes.len();
        if kind != CUT {
            self.bytes[end - 4..].copy_from_slice(&number.to_be_bytes());
        }
    }
    /// An ordinary packet, or an odd one of some kind.
    fn packet(&self, r: &mut Rng, kind: usize) -> Vec<u8> {
        let Sent { from, to, host, from_port, to_port, .. } = self;
        let tag = self.tag.map_or(String::new(), |tag| format!(" / dot1q {tag}"));
        let ttl = if kind == 1 { r.u8(..2) } else { 64 };
        let ip = match self.ip6 {
            false => format!("ip4 20.{from}.0.{host} > 20.{to}.0.{host} ttl {ttl}"),
            true => format!("ip6 fd20:{from}::{host} > fd20:{to}::{host} hlim {ttl}"),
        };
        let upper = match self.upper {
            Upper::Udp => format!("udp {from_port} > {to_port}"),
            Upper::Syn => format!("tcp {from_port} > {to_port} syn seq 1 ack 0 window 9 options 020405b4"),
            Upper::Ack => format!("tcp {from_port} > {to_port} ack seq 1 ack 2 window 9"),
        };
        let behind = match (kind, self.ip6) {
            (OPTIONS, false) => format!(" options 01010100 / {upper}"),
            (OPTIONS, true) => format!(" / hbh hex 010400000000 / {upper}"),
            (3, false) => format!(" id 7 offset 800 protocol {}", if self.upper == Upper::Udp { "udp" } else { "tcp" }),
            (3, true) => " / frag offset 800 id 7 next udp".into(),
            (4, false) => format!(" id 7 mf / {upper}"),
            (4, true) => format!(" / dstopt hex 010400000000 / {upper}"),
            _ => format!(" / {upper}"),
        };
        let payload = if kind == 5 { 1400 } else { [18, 4, 30][r.usize(..3)] };
        let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0{tag} / {ip}{behind} / payload {payload}");
        let mut bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
        match kind {
            CUT => bytes.truncate(r.usize(12..bytes.len())),
            7 => bytes[14 + r.usize(..24)] ^= 1 << r.u8(..8),
            _ => {}
        }
        bytes
    }
    pub fn flow(&self) -> (bool, Option<u16>, [usize; 3], Upper, u16, u16) {
        let Sent { ip6, tag, from, to, host, upper, from_port, to_port, .. } = self;
        (*ip6, *tag, [*from, *to, usize::from(*host)], *upper, *from_port, *to_port)
    }
}

pub fn is_tagged(bytes: &[u8]) -> bool {
    bytes[12..14] == [0x81, 0]
}
/// Whether what is sent is the packet, and not an error about it.
pub fn is_of(sent: &Sent, bytes: &[u8]) -> bool {
    let (behind, in_front) = (if sent.ip6 { 40 } else { 20 }, |bytes: &[u8]| if is_tagged(bytes) { 18 } else { 14 });
    let (own, other) = (in_front(&sent.bytes), in_front(bytes));
    // The ports, behind the addresses.
    bytes.len() - other == sent.bytes.len() - own
        && bytes.get(other + behind - 8..other + behind + 4) == sent.bytes.get(own + behind - 8..own + behind + 4)
}
