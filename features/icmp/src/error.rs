//! `icmp4-error`, `icmp6-error`: tell senders why their packets go no further (RFC 792 and RFC 1812 4.3; RFC 4443 2.4).
//!
//! The node before wrote a [`Fault`] into the packet's `hop`. The message goes to the lookup; the packet itself is
//! dropped under the name of what was wrong with it, or of why its sender is not told.

use quiver_engine::{ArcSpec, Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::fib::rows::GroupRows;
use quiver_ip::node::local::is_ours;
use quiver_ip::{Family, Fault, FaultKind, Ingress};
use quiver_wire::{Header, IcmpHeader, InterfaceAddress as Address, IpHeader};

use crate::family::{self, ERROR_HOP_LIMIT, Icmp};
use crate::limits::{Bucket, Limits};

arcs! {
    /// Where packets go from here: messages to the lookup, and what they are about out of the world.
    pub enum Next of F: Icmp {
        Message => node (F::NAMES.lookup),
        NetworkUnreachable => drop "network-unreachable",
        HostUnreachable => drop "host-unreachable",
        ProtocolUnreachable => drop "protocol-unreachable",
        PortUnreachable => drop "port-unreachable",
        TooBig => drop (F::TOO_BIG),
        Prohibited => drop "prohibited",
        Expired => drop (F::EXPIRED),
        AboutError => drop "about-icmp-error",
        AboutFragment => drop "about-later-fragment",
        NobodyToTell => drop "nobody-to-tell",
        RateLimited => drop "icmp-rate-limited",
        NoBuffers => drop "no-buffers",
        Reassembly => drop "reassembly-timeout",
        BeyondScope => drop "beyond-scope",
        Parameter => drop "parameter-problem",
    }
}

/// The arcs of a family, which may not have the last ones.
pub(crate) const fn arcs_of<F: Icmp>() -> &'static [ArcSpec] {
    Next::arcs::<F>().split_at(F::ERROR_ARCS).0
}

/// The node.
pub struct IcmpError<F: Family> {
    ingress: Snapshot<Ingress<F>>,
    groups: Snapshot<GroupRows>,
    limits: Snapshot<Limits>,
    bucket: Bucket,
}

impl<F: Icmp> IcmpError<F> {
    /// A node that knows the interfaces' addresses, where routes lead, and how much it may send.
    pub fn new(ingress: Snapshot<Ingress<F>>, groups: Snapshot<GroupRows>, limits: Snapshot<Limits>) -> IcmpError<F> {
        IcmpError { ingress, groups, limits, bucket: Bucket::default() }
    }
}

impl<F: Icmp> Node for IcmpError<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before a leaf led to it.
        let ingress = self.ingress.read(cx.guard);
        for i in 0..frame.len() {
            let fault = Fault(frame.hop[i]);
            let told = match silence::<F>(frame.flags(i), frame.bytes(cx.pool, i), fault) {
                Some(reason) => Err(reason),
                None => {
                    let bytes: Vec<u8> = frame.segments(cx.pool, i).flatten().take(F::MESSAGE_MAX).copied().collect();
                    self.tell(cx, ingress, frame.rx[i], fault, &bytes)
                }
            };
            frame.next[i] = told.map_or_else(|reason| reason, |()| reason(fault)).into();
        }
    }
}

impl<F: Icmp> IcmpError<F> {
    /// Sends the message about a packet.
    fn tell(
        &mut self,
        cx: &mut Context,
        ingress: &Ingress<F>,
        rx: u32,
        fault: Fault,
        about: &[u8],
    ) -> Result<(), Next> {
        let (header, _) = F::Header::parse(about).ok_or(Next::NobodyToTell)?;
        let (to, asked) = (header.source(), header.destination());
        // RFC 1812, 4.3.2.4: the address of the interface that it leaves by; that is where the packet came in, unless
        // the route back is another one. What we sent ourselves comes back to its own address.
        let rx = InterfaceId(rx);
        // RFC 1812, 4.3.2.7: what a whole subnet seems to have sent is no single host's.
        let of_subnet = |own: &Address<F>| {
            let whole = [own.prefix().address(), own.prefix().last_address()];
            F::HAS_BROADCASTS && own.length() < F::ADDRESS_BITS - 1 && whole.contains(&to)
        };
        if ingress.addresses(rx).iter().any(of_subnet) {
            return Err(Next::NobodyToTell);
        }
        // RFC 4443, 2.2 (a): the address that the packet was sent to, if that is one of ours.
        let groups = self.groups.read(cx.guard);
        let is_asked =
            F::ERRORS_FROM_DESTINATION && !F::is_group(asked) && is_ours(ingress, groups, cx.guard, rx, asked);
        let own = if is_asked { Some(asked) } else { ingress.source_beyond(rx, to) };
        let is_ours = || ingress.interfaces.iter().any(|interface| interface.own().any(|own| own == to));
        let from = own.or_else(|| is_ours().then_some(to)).ok_or(Next::NobodyToTell)?;
        if !self.bucket.take(cx.now, *self.limits.read(cx.guard)) {
            return Err(Next::RateLimited);
        }
        let bytes = message::<F>(from, to, fault, about).ok_or(Next::NobodyToTell)?;
        let mut packet = cx.pool.packet(&bytes).ok_or(Next::NoBuffers)?;
        packet.rx = rx.0;
        packet.set_local();
        cx.emit(Next::Message, packet);
        Ok(())
    }
}

/// Why the sender of a packet is not to be told (RFC 1812, 4.3.2.7; RFC 4443, 2.4 (e)); None if it is.
fn silence<F: Icmp>(flags: Flags, about: &[u8], fault: Fault) -> Option<Next> {
    let for_many = F::may_be_for_many(fault);
    if flags.has(Flags::LINK_GROUP) && !for_many {
        return Some(Next::NobodyToTell);
    }
    let Some((header, _)) = F::Header::parse(about) else { return Some(Next::NobodyToTell) };
    let (from, to) = (header.source(), header.destination());
    // Where the headers cannot be walked to their end, nobody can say that it is no error.
    let Some(payload) = F::payload(about) else { return Some(Next::NobodyToTell) };
    let is_later = payload.fragment.is_some_and(|offset| offset > 0);
    if is_later && !F::may_be_later(fault, payload.protocol) {
        return Some(Next::AboutFragment);
    }
    let is_error = || IcmpHeader::<u8>::parse_at(about, payload.offset).is_none_or(|(icmp, _)| F::is_error(icmp.kind));
    if !is_later && payload.protocol == F::ICMP && is_error() {
        return Some(Next::AboutError);
    }
    // RFC 8200, 4.7: where nothing follows, there is nothing that we might not know.
    let is_nothing = fault.kind() == FaultKind::Protocol && Some(payload.protocol) == F::NOTHING;
    let nobody = (F::is_group(to) && !for_many) || !F::is_sender(from) || is_nothing;
    nobody.then_some(Next::NobodyToTell)
}

/// The arc on which the packet is dropped whose sender was told.
fn reason(fault: Fault) -> Next {
    match fault.kind() {
        FaultKind::Network => Next::NetworkUnreachable,
        FaultKind::Host => Next::HostUnreachable,
        FaultKind::Protocol => Next::ProtocolUnreachable,
        FaultKind::Port => Next::PortUnreachable,
        FaultKind::Prohibited => Next::Prohibited,
        FaultKind::TimeExceeded => Next::Expired,
        FaultKind::TooBig => Next::TooBig,
        FaultKind::BeyondScope => Next::BeyondScope,
        FaultKind::Parameter => Next::Parameter,
        FaultKind::Reassembly => Next::Reassembly,
    }
}

/// The message, from its IP header on.
fn message<F: Icmp>(from: F::Address, to: F::Address, fault: Fault, about: &[u8]) -> Option<Vec<u8>> {
    let icmp = F::message(fault);
    let total = F::Header::parse(about)?.0.packet_length();
    let room = F::MESSAGE_MAX - F::HEADER_LENGTH - size_of_val(&icmp);
    let quoted = about.get(..about.len().min(total).min(room))?;
    let ip = F::header(from, to, ERROR_HOP_LIMIT, size_of_val(&icmp) + quoted.len())?;
    Some(family::message::<F>(ip, icmp, (from, to), quoted, F::seal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::{Icmp6Type, Ip4Header, Ip6Header, V4, V6, checksum, icmp6};
    use zerocopy::IntoBytes;

    #[test]
    fn nobody_is_told_about_frames_for_many() {
        let mut packet = [0x11; 40];
        packet[0] = 0x45;
        packet[6..8].fill(0);
        assert_eq!(silence::<V4>(Flags::NONE, &packet, Fault::NETWORK), None);
        assert_eq!(silence::<V4>(Flags::LINK_GROUP, &packet, Fault::NETWORK), Some(Next::NobodyToTell));
    }

    #[test]
    fn of_ip6_some_faults_are_told_about_groups_too() {
        let to = |to: &str, next: u8, data: &[u8]| {
            let (a, b) = ("2001:db8::1".parse().expect("one"), to.parse().expect("one"));
            let header = Ip6Header::new(a, b, quiver_wire::IpProtocol(next), 64, data.len()).expect("short");
            [header.as_bytes(), data].concat()
        };
        let (host, group) = (to("2001:db8::2", 17, &[0; 8]), to("ff0e::1", 17, &[0; 8]));
        let silent = |packet: &[u8], fault| silence::<V6>(Flags::LINK_GROUP, packet, fault);
        assert_eq!(silence::<V6>(Flags::NONE, &host, Fault::NETWORK), None);
        assert_eq!(silence::<V6>(Flags::NONE, &group, Fault::NETWORK), Some(Next::NobodyToTell));
        assert_eq!(silent(&host, Fault::NETWORK), Some(Next::NobodyToTell));
        assert_eq!((silent(&group, Fault::too_big(1280)), silent(&group, Fault::parameter(2, 40))), (None, None));
        assert_eq!(silent(&group, Fault::parameter(0, 40)), Some(Next::NobodyToTell));
        // Errors and redirects are never answered, nor what hides behind headers that do not end.
        for kind in [1, 4, 127, 137] {
            assert_eq!(
                silence::<V6>(Flags::NONE, &to("2001:db8::2", 58, &[kind; 8]), Fault::HOST),
                Some(Next::AboutError)
            );
        }
        assert_eq!(silence::<V6>(Flags::NONE, &to("2001:db8::2", 60, &[58; 8]), Fault::HOST), Some(Next::NobodyToTell));
        assert_eq!(silence::<V6>(Flags::NONE, &to("2001:db8::2", 58, &[128; 8]), Fault::HOST), None);
    }

    #[test]
    fn a_message_quotes_what_fits_and_adds_up() {
        let mut about = [0x45; 1500];
        about[2..4].copy_from_slice(&1500u16.to_be_bytes());
        let ends = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let bytes = message::<V4>(ends.0, ends.1, Fault::too_big(1400), &about).expect("fits");
        let (ip, rest) = Ip4Header::parse(&bytes).expect("a header");
        assert!(ip.checksum_is_right(&[]) && checksum::of(rest).is_right());
        assert_eq!((bytes.len(), &rest[..2], &rest[6..8]), (576, &[3, 4][..], &1400u16.to_be_bytes()[..]));
        about[2..4].copy_from_slice(&40u16.to_be_bytes());
        let bytes = message::<V4>(ends.0, ends.1, Fault::PORT, &about[..64]).expect("fits");
        assert_eq!(bytes.len(), 28 + 40, "padding is not quoted");
    }

    #[test]
    fn of_ip6_it_quotes_more_and_covers_its_pseudo_header() {
        let ends = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let header = Ip6Header::new(ends.1, ends.0, quiver_wire::IpProtocol::UDP, 64, 1460).expect("short");
        let about = [header.as_bytes(), &[7; 1460]].concat();
        let bytes = message::<V6>(ends.0, ends.1, Fault::too_big(1400), &about).expect("fits");
        let (_, rest) = Ip6Header::parse(&bytes).expect("a header");
        assert!(icmp6::pseudo_header(ends.0, ends.1, rest.len()).add_bytes(rest).is_right());
        assert_eq!(
            (bytes.len(), rest[0], &rest[4..8]),
            (1280, Icmp6Type::PACKET_TOO_BIG.0, &1400u32.to_be_bytes()[..])
        );
    }
}
