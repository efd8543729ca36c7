//! `icmp4-error`: tells senders why their packets go no further (RFC 792, RFC 1812 4.3).
//!
//! The node before wrote a [`Fault`] into the packet's `hop`. The message goes to `ip4-lookup`; the packet itself is
//! dropped under the name of what was wrong with it, or of why its sender is not told.

use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::{Fault, Ingress};
use quiver_wire::icmp4::{Icmp4Type, unreachable};
use quiver_wire::{Header, Icmp4Header, InterfaceAddress as Address, Ip4Header, IpProtocol, V4, checksum};
use std::net::Ipv4Addr;
use zerocopy::IntoBytes;

arcs! {
    /// Where packets go from `icmp4-error`: messages to the lookup, and what they are about out of the world.
    pub enum Next {
        Message => node "ip4-lookup",
        NetworkUnreachable => drop "network-unreachable",
        HostUnreachable => drop "host-unreachable",
        ProtocolUnreachable => drop "protocol-unreachable",
        PortUnreachable => drop "port-unreachable",
        FragmentationNeeded => drop "fragmentation-needed",
        Prohibited => drop "prohibited",
        TimeExceeded => drop "ttl-expired",
        AboutError => drop "about-icmp-error",
        AboutFragment => drop "about-later-fragment",
        NobodyToTell => drop "nobody-to-tell",
        RateLimited => drop "icmp-rate-limited",
        NoBuffers => drop "no-buffers",
    }
}

/// Bytes of a message with its IP header at most (RFC 1812, 4.3.2.3).
const MESSAGE_MAX: usize = 576;
/// Messages per second that a worker sends in the long run (RFC 1812, 4.3.2.8), and at once.
const RATE: u64 = 1000;
const BURST: u64 = 100;
const TTL: u8 = 64;
/// Precedence of errors: internetwork control (RFC 1812, 4.3.2.5).
const INTERNETWORK_CONTROL: u8 = 0xc0;

/// The node.
pub struct Icmp4Error {
    ingress: Snapshot<Ingress>,
    bucket: Bucket,
}

/// A token bucket over the engine's clock, in nanoseconds' worth of messages.
struct Bucket {
    credit: u64,
    seen: u64,
}
impl Bucket {
    const COST: u64 = 1_000_000_000 / RATE;

    fn take(&mut self, now: u64) -> bool {
        let earned = now.saturating_sub(self.seen);
        self.seen = now;
        self.credit = self.credit.saturating_add(earned).min(BURST * Bucket::COST);
        let pays = self.credit >= Bucket::COST;
        self.credit -= if pays { Bucket::COST } else { 0 };
        pays
    }
}

impl Icmp4Error {
    /// A node that knows the interfaces' addresses.
    pub fn new(ingress: Snapshot<Ingress>) -> Icmp4Error {
        Icmp4Error { ingress, bucket: Bucket { credit: BURST * Bucket::COST, seen: 0 } }
    }
}

impl Node for Icmp4Error {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let fault = Fault(frame.hop[i]);
            let told = match silence(frame.flags(i), frame.bytes(cx.pool, i)) {
                Some(reason) => Err(reason),
                None => {
                    let bytes: Vec<u8> = frame.segments(cx.pool, i).flatten().take(MESSAGE_MAX).copied().collect();
                    self.tell(cx, ingress, frame.rx[i], fault, &bytes)
                }
            };
            frame.next[i] = told.map_or_else(|reason| reason, |()| reason(fault)).into();
        }
    }
}

impl Icmp4Error {
    /// Sends the message about a packet.
    fn tell(&mut self, cx: &mut Context, ingress: &Ingress, rx: u16, fault: Fault, about: &[u8]) -> Result<(), Next> {
        let (header, _) = Ip4Header::parse(about).ok_or(Next::NobodyToTell)?;
        let to = header.source();
        // RFC 1812, 4.3.2.4: the address of the interface that it leaves by; that is where the packet came in, unless
        // the route back is another one. What we sent ourselves comes back to its own address.
        let rx = InterfaceId(rx);
        // RFC 1812, 4.3.2.7: what a whole subnet seems to have sent is no single host's.
        let of_subnet = |own: &Address<V4>| {
            own.length() < 31 && [own.prefix().address(), own.prefix().last_address()].contains(&to)
        };
        if ingress.addresses(rx).iter().any(of_subnet) {
            return Err(Next::NobodyToTell);
        }
        let own = ingress.source_for(rx, to);
        let is_ours = || ingress.interfaces.iter().any(|i| i.addresses.iter().any(|own| own.address() == to));
        let from = own.or_else(|| is_ours().then_some(to)).ok_or(Next::NobodyToTell)?;
        if !self.bucket.take(cx.now) {
            return Err(Next::RateLimited);
        }
        let bytes = message(from, to, fault, about).ok_or(Next::NobodyToTell)?;
        let mut packet = cx.pool.packet(&bytes).ok_or(Next::NoBuffers)?;
        packet.rx = rx.0;
        packet.set_local();
        cx.emit(Next::Message, packet);
        Ok(())
    }
}

/// Why the sender of a packet is not to be told (RFC 1812, 4.3.2.7); None if it is.
fn silence(flags: Flags, about: &[u8]) -> Option<Next> {
    if flags.has(Flags::LINK_GROUP) {
        return Some(Next::NobodyToTell);
    }
    let Some((header, rest)) = Ip4Header::parse(about) else { return Some(Next::NobodyToTell) };
    let (from, to) = (header.source(), header.destination());
    if header.fragment_offset() > 0 {
        return Some(Next::AboutFragment);
    }
    if header.protocol == IpProtocol::ICMP4 {
        let options = header.header_length().saturating_sub(Ip4Header::LENGTH);
        match Icmp4Header::parse_at(rest, options) {
            Some((icmp, _)) if !icmp.kind.is_error() => {}
            _ => return Some(Next::AboutError),
        }
    }
    if to.is_multicast() || to.is_broadcast() {
        return Some(Next::NobodyToTell);
    }
    if from.is_unspecified() || from.is_loopback() || from.octets()[0] >= 224 {
        return Some(Next::NobodyToTell);
    }
    None
}

/// The arc on which the packet is dropped whose sender was told.
fn reason(fault: Fault) -> Next {
    match (fault.kind(), fault.code()) {
        (Icmp4Type::TIME_EXCEEDED, _) => Next::TimeExceeded,
        (_, unreachable::NETWORK) => Next::NetworkUnreachable,
        (_, unreachable::PROTOCOL) => Next::ProtocolUnreachable,
        (_, unreachable::PORT) => Next::PortUnreachable,
        (_, unreachable::FRAGMENTATION_NEEDED) => Next::FragmentationNeeded,
        (_, unreachable::PROHIBITED) => Next::Prohibited,
        _ => Next::HostUnreachable,
    }
}

/// The message, from its IP header on.
fn message(from: Ipv4Addr, to: Ipv4Addr, fault: Fault, about: &[u8]) -> Option<Vec<u8>> {
    let total = usize::from(Ip4Header::parse(about)?.0.total_length.get());
    let room = MESSAGE_MAX - Ip4Header::LENGTH - Icmp4Header::LENGTH;
    let quoted = about.get(..about.len().min(total).min(room))?;
    let mut icmp = match fault.code() {
        unreachable::FRAGMENTATION_NEEDED => Icmp4Header::fragmentation_needed(fault.mtu()),
        code => Icmp4Header::new(fault.kind(), code),
    };
    icmp.checksum = checksum::of(icmp.as_bytes()).add_bytes(quoted).checksum().into();
    let mut ip = Ip4Header::new(from, to, IpProtocol::ICMP4, TTL, Icmp4Header::LENGTH + quoted.len())?;
    ip.dscp_ecn = INTERNETWORK_CONTROL;
    ip.fill_checksum(&[]);
    Some([ip.as_bytes(), icmp.as_bytes(), quoted].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_bursts_end() {
        let mut bucket = Bucket { credit: BURST * Bucket::COST, seen: 0 };
        assert_eq!((0..200).filter(|_| bucket.take(0)).count(), 100);
        assert_eq!((0..2000).filter(|i| bucket.take(i * 500_000)).count(), 999);
        // A long rest earns no more than a burst.
        assert_eq!((0..200).filter(|_| bucket.take(60_000_000_000)).count(), 100);
    }

    #[test]
    fn nobody_is_told_about_frames_for_many() {
        let mut packet = [0x11; 40];
        packet[0] = 0x45;
        packet[6..8].fill(0);
        assert_eq!(silence(Flags::NONE, &packet), None);
        assert_eq!(silence(Flags::LINK_GROUP, &packet), Some(Next::NobodyToTell));
    }

    #[test]
    fn a_message_quotes_what_fits_and_adds_up() {
        let mut about = [0x45; 1500];
        about[2..4].copy_from_slice(&1500u16.to_be_bytes());
        let bytes = message([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Fault::fragmentation_needed(1400), &about);
        let bytes = bytes.expect("fits");
        let (ip, rest) = Ip4Header::parse(&bytes).expect("a header");
        assert!(ip.checksum_is_right(&[]) && checksum::of(rest).is_right());
        assert_eq!((bytes.len(), &rest[..2], &rest[6..8]), (576, &[3, 4][..], &1400u16.to_be_bytes()[..]));
        about[2..4].copy_from_slice(&40u16.to_be_bytes());
        let bytes = message([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Fault::PORT, &about[..64]).expect("fits");
        assert_eq!(bytes.len(), 28 + 40, "padding is not quoted");
    }
}
