//! `icmp4-input`, `icmp6-input`: ICMP messages for us. Echo requests are answered in place; answers, and errors about
//! requests of ours, go to whoever sent the requests on the control thread; what is about neighbours goes to `nd-input`, and
//! what is about routers to `router-input`, and what is about listeners to groups to `mld-input`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use quiver_engine::channel::Outbox;
use quiver_engine::{ArcSpec, Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::Ingress;
use quiver_wire::{Header, IcmpHeader, IpHeader, Sum, checksum};

use crate::family::Icmp;
use crate::stopwatch::Stopwatch;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Icmp {
        Reply => node (F::NAMES.lookup),
        EchoAnswer => done "heard",
        TooShort => drop "too-short",
        BadChecksum => drop "bad-checksum",
        Unsupported => drop "unsupported-type",
        QueueFull => drop "control-queue-full",
        /// An echo request of nobody: there is no way to answer (RFC 4291, 2.5.2).
        Nobody => drop "unspecified-source",
        /// Answers to requests of somebody else who has an address of ours.
        Punt => features (F::NAMES.punt),
        Neighbor => node "nd-input",
        Router => node "router-input",
        Listener => node "mld-input",
    }
}

/// The arcs of a family, which may not have the last ones.
pub(crate) const fn arcs_of<F: Icmp>() -> &'static [ArcSpec] {
    Next::arcs::<F>().split_at(F::INPUT_ARCS).0
}

/// A message received for an echo request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoAnswer {
    /// The sender of the message.
    pub from: IpAddr,
    /// Identifier of the request.
    pub identifier: u16,
    /// Sequence number of the request.
    pub sequence: u16,
    /// TTL or hop limit of the message.
    pub ttl: u8,
    /// Bytes of the message, from the ICMP header on.
    pub length: usize,
    /// Time of receipt, in nanoseconds of the workers' fine clock.
    pub moment: u64,
    /// The error; None for an echo reply.
    pub error: Option<EchoError>,
}

/// An ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoError {
    /// Its type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// Text of both.
    pub words: &'static str,
}

/// The node.
pub struct IcmpInput<F: Icmp> {
    /// The interfaces' addresses, of which one answers for groups.
    pub ingress: Snapshot<Ingress<F>>,
    /// The identifiers of our requests whose answers are awaited.
    pub awaited: Snapshot<BTreeSet<u16>>,
    /// By what times of echoes are taken.
    pub stopwatch: Stopwatch,
    /// To the control thread.
    pub heard: Outbox<EchoAnswer>,
}

impl<F: Icmp> Node for IcmpInput<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.next[i] = self.look(cx, frame, i).into();
        }
    }
}

impl<F: Icmp> IcmpInput<F> {
    /// Where a packet goes.
    fn look(&self, cx: &mut Context, frame: &mut Frame, i: usize) -> Next {
        let bytes = frame.bytes(cx.pool, i);
        let Some(((ip, _), payload)) = F::Header::parse(bytes).zip(F::payload(bytes)) else { return Next::TooShort };
        let (from, to, at, ttl) = (ip.source(), ip.destination(), payload.offset, ip.hop_limit());
        let Some((icmp, quoted)) = IcmpHeader::<u8>::parse_at(bytes, at) else { return Next::TooShort };
        let length = (frame.length[i] as usize).saturating_sub(at);
        if !is_right(F::sum(from, to, length), frame.segments(cx.pool, i), at) {
            return Next::BadChecksum;
        }
        let base = EchoAnswer {
            from: from.into(),
            identifier: icmp.identifier.get(),
            sequence: icmp.sequence.get(),
            ttl,
            length,
            moment: 0,
            error: None,
        };
        let heard = match icmp.kind {
            kind if kind == F::ECHO_REQUEST && base.from.is_unspecified() => return Next::Nobody,
            kind if kind == F::ECHO_REQUEST => {
                let own = match F::is_group(to) {
                    true => self.ingress.read(cx.guard).source_for(InterfaceId(frame.rx[i]), from),
                    false => Some(to),
                };
                let answered = own.and_then(|own| answer::<F>(frame.bytes_mut(cx.pool, i), at, (to, own)));
                frame.set_flag(i, Flags::LOCAL);
                frame.clear_flag(i, Flags::LINK_GROUP);
                let is_answer = answered.is_some_and(|front| frame.advance(cx.pool, i, front as isize));
                return if is_answer { Next::Reply } else { Next::TooShort };
            }
            kind if kind == F::ECHO_REPLY => match self.awaited.read(cx.guard).contains(&base.identifier) {
                true => base,
                false => return Next::Punt,
            },
            kind if F::is_about_neighbors(kind) => return Next::Neighbor,
            kind if F::is_about_routers(kind) => return Next::Router,
            kind if F::is_about_listeners(kind) => return Next::Listener,
            kind if F::is_error(kind) => match our_request::<F>(quoted) {
                Some((identifier, sequence)) => {
                    let error = EchoError { kind, code: icmp.code, words: F::words(kind, icmp.code) };
                    EchoAnswer { identifier, sequence, error: Some(error), ..base }
                }
                None => return Next::Unsupported,
            },
            _ => return Next::Unsupported,
        };
        let heard = EchoAnswer { moment: self.stopwatch.read(cx.now), ..heard };
        if self.heard.send(heard) { Next::EchoAnswer } else { Next::QueueFull }
    }
}

/// Whether the checksum over all bytes behind the IP header is right.
fn is_right<'p>(mut sum: Sum, segments: impl Iterator<Item = &'p [u8]>, mut skip: usize) -> bool {
    for segment in segments {
        let (skipped, rest) = segment.split_at(skip.min(segment.len()));
        skip -= skipped.len();
        sum = sum.add_bytes(rest);
    }
    sum.is_right()
}

/// Makes an echo request its own answer (RFC 1122, 3.2.2.6; RFC 4443, 4.2): addresses swapped, hops anew, the type changed.
/// It was sent `to` an address for which the `own` one answers. How many bytes at its front are none of the answer's.
fn answer<F: Icmp>(bytes: &mut [u8], at: usize, (to, own): (F::Address, F::Address)) -> Option<usize> {
    let (from, _) = F::Header::parse(bytes)?;
    let from = from.source();
    let front = F::turn(bytes, at, own)?;
    let (icmp, _) = IcmpHeader::<u8>::parse_at_mut(bytes, at)?;
    let word = |kind: u8| u16::from_be_bytes([kind, icmp.code]);
    let (old, new) = (word(icmp.kind), word(F::ECHO_REPLY));
    let sum = checksum::update16(icmp.checksum.get(), old, new);
    // The sum of the pseudo header is the same, unless another address answers.
    let (old, new) = (F::sum(from, to, 0).folded(), F::sum(from, own, 0).folded());
    icmp.kind = F::ECHO_REPLY;
    icmp.checksum = checksum::update16(sum, old, new).into();
    Some(front)
}

/// Identifier and sequence of the echo request that an error quotes.
fn our_request<F: Icmp>(quoted: &[u8]) -> Option<(u16, u16)> {
    let payload = F::payload(quoted)?;
    let (icmp, _) = IcmpHeader::<u8>::parse_at(quoted, payload.offset)?;
    let request = payload.protocol == F::ICMP && icmp.kind == F::ECHO_REQUEST;
    request.then(|| (icmp.identifier.get(), icmp.sequence.get()))
}
