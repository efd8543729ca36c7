//! `icmp4-input`: ICMP messages for us. Echo requests are answered in place; answers, and errors about requests of ours,
//! go to whoever sent the requests on the control thread.

use std::net::Ipv4Addr;

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Flags, Frame, Node, arcs};
use quiver_wire::icmp4::Icmp4Type;
use quiver_wire::{Header, Icmp4Header, Ip4Header, IpProtocol, Sum, checksum};

arcs! {
    /// Where packets go from `icmp4-input`.
    pub enum Next {
        Reply => node "ip4-lookup",
        Heard => done "heard",
        TooShort => drop "too-short",
        BadChecksum => drop "bad-checksum",
        Unsupported => drop "unsupported-type",
        QueueFull => drop "control-queue-full",
    }
}

/// What was heard of an echo request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Who says it.
    pub from: Ipv4Addr,
    /// Whose request.
    pub identifier: u16,
    /// Which.
    pub sequence: u16,
    /// Hops that the message had left.
    pub ttl: u8,
    /// Bytes of the message, from the ICMP header on.
    pub length: usize,
    /// The engine's clock when it came, in nanoseconds.
    pub time: u64,
    /// Type and code of an error; none for the echo.
    pub error: Option<(u8, u8)>,
}

/// The node.
pub struct Icmp4Input {
    /// To the control thread.
    pub heard: Outbox<Heard>,
}

impl Node for Icmp4Input {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.next[i] = self.look(cx, frame, i).into();
        }
    }
}

impl Icmp4Input {
    /// Where a packet goes.
    fn look(&self, cx: &mut Context, frame: &mut Frame, i: usize) -> Next {
        let bytes = frame.bytes(cx.pool, i);
        let Some((ip, rest)) = Ip4Header::parse(bytes) else { return Next::TooShort };
        let at = ip.header_length();
        let Some((icmp, quoted)) = Icmp4Header::parse_at(rest, at.saturating_sub(Ip4Header::LENGTH)) else {
            return Next::TooShort;
        };
        if !is_right(frame.segments(cx.pool, i), at) {
            return Next::BadChecksum;
        }
        let length = (frame.length[i] as usize).saturating_sub(at);
        let base = Heard {
            from: ip.source(),
            identifier: icmp.identifier.get(),
            sequence: icmp.sequence.get(),
            ttl: ip.ttl,
            length,
            time: cx.now,
            error: None,
        };
        let heard = match icmp.kind {
            Icmp4Type::ECHO_REQUEST => {
                let answered = answer(frame.bytes_mut(cx.pool, i), at);
                frame.set_flag(i, Flags::LOCAL);
                return if answered.is_some() { Next::Reply } else { Next::TooShort };
            }
            Icmp4Type::ECHO_REPLY => base,
            kind if kind.is_error() => match our_request(quoted) {
                Some((identifier, sequence)) => {
                    Heard { identifier, sequence, error: Some((kind.0, icmp.code)), ..base }
                }
                None => return Next::Unsupported,
            },
            _ => return Next::Unsupported,
        };
        if self.heard.send(heard) { Next::Heard } else { Next::QueueFull }
    }
}

/// Whether the checksum over all bytes behind the IP header is right.
fn is_right<'p>(segments: impl Iterator<Item = &'p [u8]>, skip: usize) -> bool {
    let (mut sum, mut skip) = (Sum::default(), skip);
    for segment in segments {
        let (skipped, rest) = segment.split_at(skip.min(segment.len()));
        skip -= skipped.len();
        sum = sum.add_bytes(rest);
    }
    sum.is_right()
}

/// Makes an echo request its own answer (RFC 1122, 3.2.2.6): addresses swapped, a new TTL, the type changed.
fn answer(bytes: &mut [u8], at: usize) -> Option<()> {
    const TTL: u8 = 64;
    let (header, rest) = Ip4Header::parse_mut(bytes)?;
    std::mem::swap(&mut header.source, &mut header.destination);
    header.ttl = TTL;
    let options = rest.get(..at.checked_sub(Ip4Header::LENGTH)?)?;
    header.fill_checksum(options);
    let (icmp, _) = Icmp4Header::parse_at_mut(rest, at.checked_sub(Ip4Header::LENGTH)?)?;
    let word = |kind: Icmp4Type, code: u8| u16::from_be_bytes([kind.0, code]);
    let (old, new) = (word(icmp.kind, icmp.code), word(Icmp4Type::ECHO_REPLY, icmp.code));
    icmp.kind = Icmp4Type::ECHO_REPLY;
    icmp.checksum = checksum::update16(icmp.checksum.get(), old, new).into();
    Some(())
}

/// Identifier and sequence of the echo request that an error quotes.
fn our_request(quoted: &[u8]) -> Option<(u16, u16)> {
    let (ip, rest) = Ip4Header::parse(quoted)?;
    let (icmp, _) = Icmp4Header::parse_at(rest, ip.header_length().checked_sub(Ip4Header::LENGTH)?)?;
    let request = ip.protocol == IpProtocol::ICMP4 && icmp.kind == Icmp4Type::ECHO_REQUEST;
    request.then(|| (icmp.identifier.get(), icmp.sequence.get()))
}
