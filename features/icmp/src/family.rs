//! Differences between ICMP for IPv4 (RFC 792, RFC 1122, RFC 1812) and for IPv6 (RFC 4443).

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_ip::{Family, Fault, FaultKind};
use quiver_wire::icmp6::{self, Icmp6Type, parameter_problem};
use quiver_wire::{Header, Icmp4Type, IcmpHeader, Ip4Header, Ip6Header, IpProtocol, Sum, V4, V6, icmp4};
use zerocopy::IntoBytes;

/// Hops that our messages have.
pub(crate) const HOP_LIMIT: u8 = 64;
/// Hops that errors have, as VPP's: whoever is told may be as far away as the packet has come.
pub(crate) const ERROR_HOP_LIMIT: u8 = 255;

/// ICMP of a family of IP.
pub trait Icmp: Family {
    /// The node of messages for us.
    const NODE: &'static str;
    /// Asks for an echo.
    const ECHO_REQUEST: u8;
    /// Answers.
    const ECHO_REPLY: u8;
    /// Bytes of an error message with its IP header at most.
    const MESSAGE_MAX: usize;
    /// Bytes of an echo request behind the ICMP header at most.
    const ECHO_MAX: u32;
    /// The names of what is too long, and of what has come too far.
    const TOO_BIG: &'static str;
    /// See [`Icmp::TOO_BIG`].
    const EXPIRED: &'static str;
    /// The kind of object that limits the rate of errors.
    const LIMITS: &'static str;
    /// Whether an error about a packet that was sent to one of our addresses has that as its source, wherever it leaves.
    const ERRORS_FROM_DESTINATION: bool;
    /// Number of arcs of `icmp6-error` that the family has.
    const ERROR_ARCS: usize;
    /// Number of arcs of `icmp6-input` that the family has.
    const INPUT_ARCS: usize;

    /// Whether a message of this type reports an error, or must be treated like one.
    fn is_error(kind: u8) -> bool;
    /// Whether messages of this type belong to neighbor discovery.
    fn is_about_neighbors(kind: u8) -> bool;
    /// Whether messages of this type are router solicitations or advertisements.
    fn is_about_routers(kind: u8) -> bool;
    /// Whether messages of this type are about listeners of multicast groups.
    fn is_about_listeners(kind: u8) -> bool;
    /// The message about a fault: type, code, and the four bytes behind the checksum.
    fn message(fault: Fault) -> IcmpHeader<u8>;
    /// Whether an error may be sent about a multicast or broadcast packet.
    fn may_be_for_many(fault: Fault) -> bool;
    /// Whether an error may be sent about a later fragment whose payload is this protocol.
    fn may_be_later(fault: Fault, protocol: IpProtocol) -> bool;
    /// Whether an address is a multicast or broadcast address.
    fn is_group(address: Self::Address) -> bool;
    /// Whether an address can receive errors.
    fn is_sender(address: Self::Address) -> bool;
    /// Initial sum of a message's checksum.
    fn sum(from: Self::Address, to: Self::Address, length: usize) -> Sum;
    /// Builds the IP header of a message. None if the message is too long.
    fn header(from: Self::Address, to: Self::Address, hop_limit: u8, length: usize) -> Option<Self::Header>;
    /// Fills in the fields that depend on other fields of the header.
    fn seal(header: &mut Self::Header);
    /// Fills in the fields that tell an echo request from others, and those that depend on other fields.
    fn complete(header: &mut Self::Header, sequence: u16);
    /// Turns a packet around whose message begins at byte `at`: it goes to its sender, from `own`. Returns the number
    /// of leading bytes that are not part of the answer; None if the message has no whole header.
    fn turn(packet: &mut [u8], at: usize, own: Self::Address) -> Option<usize>;
    /// Text of an error.
    fn words(kind: u8, code: u8) -> &'static str;
}

impl Icmp for V4 {
    const NODE: &'static str = "icmp4-input";
    const ECHO_REQUEST: u8 = Icmp4Type::ECHO_REQUEST.0;
    const ECHO_REPLY: u8 = Icmp4Type::ECHO_REPLY.0;
    // RFC 1812, 4.3.2.3.
    const MESSAGE_MAX: usize = 576;
    const ECHO_MAX: u32 = 65_535 - 28;
    const TOO_BIG: &'static str = "fragmentation-needed";
    const EXPIRED: &'static str = "ttl-expired";
    const LIMITS: &'static str = "icmp4-error-limits";
    // RFC 1812, 4.3.2.4.
    const ERRORS_FROM_DESTINATION: bool = false;
    const ERROR_ARCS: usize = 14;
    const INPUT_ARCS: usize = 8;

    fn is_error(kind: u8) -> bool {
        Icmp4Type(kind).is_error()
    }
    fn is_about_neighbors(_: u8) -> bool {
        false
    }
    fn is_about_routers(_: u8) -> bool {
        false
    }
    fn is_about_listeners(_: u8) -> bool {
        false
    }
    fn message(fault: Fault) -> IcmpHeader<u8> {
        use icmp4::unreachable;
        let unreachable = |code| IcmpHeader::new(Icmp4Type::UNREACHABLE.0, code);
        match fault.kind() {
            FaultKind::Network => unreachable(unreachable::NETWORK),
            FaultKind::Host | FaultKind::BeyondScope => unreachable(unreachable::HOST),
            FaultKind::Protocol => unreachable(unreachable::PROTOCOL),
            FaultKind::Port => unreachable(unreachable::PORT),
            // A route says so of a host, as VPP has it (RFC 1122, 3.2.2.1); 13 is a filter's (RFC 1812, 5.2.7.1).
            FaultKind::Prohibited => unreachable(unreachable::HOST_PROHIBITED),
            // RFC 1191, 4.
            FaultKind::TooBig => unreachable(unreachable::FRAGMENTATION_NEEDED).with_parameter(fault.word().into()),
            FaultKind::TimeExceeded => IcmpHeader::new(Icmp4Type::TIME_EXCEEDED.0, icmp4::time_exceeded::TRANSIT),
            FaultKind::Reassembly => IcmpHeader::new(Icmp4Type::TIME_EXCEEDED.0, icmp4::time_exceeded::REASSEMBLY),
            // RFC 792: the pointer is the first of the four bytes.
            FaultKind::Parameter => IcmpHeader::new(Icmp4Type::PARAMETER_PROBLEM.0, fault.code())
                .with_parameter(u32::from(fault.word()) << 24),
        }
    }
    fn may_be_for_many(_: Fault) -> bool {
        false
    }
    fn may_be_later(_: Fault, _: IpProtocol) -> bool {
        // RFC 1812, 4.3.2.7.
        false
    }
    fn is_group(address: Ipv4Addr) -> bool {
        address.is_multicast() || address.is_broadcast()
    }
    fn is_sender(address: Ipv4Addr) -> bool {
        !(address.is_unspecified() || address.is_loopback() || address.octets()[0] >= 224)
    }
    fn sum(_: Ipv4Addr, _: Ipv4Addr, _: usize) -> Sum {
        Sum::default()
    }
    fn header(from: Ipv4Addr, to: Ipv4Addr, hop_limit: u8, length: usize) -> Option<Ip4Header> {
        Ip4Header::new(from, to, IpProtocol::ICMP4, hop_limit, length)
    }
    fn seal(header: &mut Ip4Header) {
        header.fill_checksum(&[]);
    }
    fn complete(header: &mut Ip4Header, sequence: u16) {
        header.identification = sequence.into();
        header.fill_checksum(&[]);
    }
    fn turn(packet: &mut [u8], _: usize, own: Ipv4Addr) -> Option<usize> {
        let (header, rest) = Ip4Header::parse_mut(packet)?;
        let options = rest.get(..header.header_length().checked_sub(Ip4Header::LENGTH)?)?;
        header.destination = header.source;
        header.source = own.octets();
        header.ttl = HOP_LIMIT;
        header.fill_checksum(options);
        Some(0)
    }
    fn words(kind: u8, code: u8) -> &'static str {
        match (Icmp4Type(kind), code) {
            (Icmp4Type::TIME_EXCEEDED, _) => "time exceeded",
            (Icmp4Type::UNREACHABLE, icmp4::unreachable::NETWORK) => "network unreachable",
            (Icmp4Type::UNREACHABLE, icmp4::unreachable::HOST) => "host unreachable",
            (Icmp4Type::UNREACHABLE, icmp4::unreachable::FRAGMENTATION_NEEDED) => "fragmentation needed",
            (Icmp4Type::UNREACHABLE, icmp4::unreachable::PROHIBITED | icmp4::unreachable::HOST_PROHIBITED) => {
                "prohibited"
            }
            _ => "refused",
        }
    }
}

impl Icmp for V6 {
    const NODE: &'static str = "icmp6-input";
    const ECHO_REQUEST: u8 = Icmp6Type::ECHO_REQUEST.0;
    const ECHO_REPLY: u8 = Icmp6Type::ECHO_REPLY.0;
    // RFC 4443, 2.4 (c).
    const MESSAGE_MAX: usize = 1280;
    const ECHO_MAX: u32 = 65_535 - 8;
    const TOO_BIG: &'static str = "packet-too-big";
    const EXPIRED: &'static str = "hop-limit-expired";
    const LIMITS: &'static str = "icmp6-error-limits";
    // RFC 4443, 2.2 (a).
    const ERRORS_FROM_DESTINATION: bool = true;
    const ERROR_ARCS: usize = 16;
    const INPUT_ARCS: usize = 11;

    fn is_error(kind: u8) -> bool {
        // RFC 4443, 2.4 (e): redirects are no errors, but never answered by one either.
        Icmp6Type(kind).is_error() || Icmp6Type(kind) == Icmp6Type::REDIRECT
    }
    fn is_about_neighbors(kind: u8) -> bool {
        (Icmp6Type::NEIGHBOR_SOLICITATION.0..=Icmp6Type::REDIRECT.0).contains(&kind)
    }
    fn is_about_listeners(kind: u8) -> bool {
        let all = [Icmp6Type::MLD_QUERY, Icmp6Type::MLD_REPORT, Icmp6Type::MLD_DONE, Icmp6Type::MLD2_REPORT];
        all.contains(&Icmp6Type(kind))
    }
    fn is_about_routers(kind: u8) -> bool {
        [Icmp6Type::ROUTER_SOLICITATION, Icmp6Type::ROUTER_ADVERTISEMENT].contains(&Icmp6Type(kind))
    }
    fn message(fault: Fault) -> IcmpHeader<u8> {
        use icmp6::unreachable;
        let unreachable = |code| IcmpHeader::new(Icmp6Type::UNREACHABLE.0, code);
        let problem = |code| IcmpHeader::new(Icmp6Type::PARAMETER_PROBLEM.0, code).with_parameter(fault.word().into());
        match fault.kind() {
            FaultKind::Network => unreachable(unreachable::NO_ROUTE),
            FaultKind::Host => unreachable(unreachable::ADDRESS),
            FaultKind::BeyondScope => unreachable(unreachable::BEYOND_SCOPE),
            FaultKind::Port => unreachable(unreachable::PORT),
            FaultKind::Prohibited => unreachable(unreachable::PROHIBITED),
            FaultKind::Protocol => problem(parameter_problem::NEXT_HEADER),
            FaultKind::Parameter => problem(fault.code()),
            FaultKind::TooBig => IcmpHeader::new(Icmp6Type::PACKET_TOO_BIG.0, 0).with_parameter(fault.word().into()),
            FaultKind::TimeExceeded => IcmpHeader::new(Icmp6Type::TIME_EXCEEDED.0, icmp6::time_exceeded::TRANSIT),
            FaultKind::Reassembly => IcmpHeader::new(Icmp6Type::TIME_EXCEEDED.0, icmp6::time_exceeded::REASSEMBLY),
        }
    }
    fn may_be_for_many(fault: Fault) -> bool {
        // RFC 4443, 2.4 (e.3).
        let is_option = fault.kind() == FaultKind::Parameter && fault.code() == parameter_problem::OPTION;
        is_option || fault.kind() == FaultKind::TooBig
    }
    fn may_be_later(fault: Fault, protocol: IpProtocol) -> bool {
        // RFC 8200, 4.5, has senders told of parts that cannot be. Whether one of ICMP is an error it does not say itself.
        fault.kind() == FaultKind::Parameter && protocol != IpProtocol::ICMP6
    }
    fn is_group(address: Ipv6Addr) -> bool {
        address.is_multicast()
    }
    fn is_sender(address: Ipv6Addr) -> bool {
        V6::is_host(address)
    }
    fn sum(from: Ipv6Addr, to: Ipv6Addr, length: usize) -> Sum {
        icmp6::pseudo_header(from, to, length)
    }
    fn header(from: Ipv6Addr, to: Ipv6Addr, hop_limit: u8, length: usize) -> Option<Ip6Header> {
        Ip6Header::new(from, to, IpProtocol::ICMP6, hop_limit, length)
    }
    fn seal(_: &mut Ip6Header) {}
    fn complete(_: &mut Ip6Header, _: u16) {}
    fn turn(packet: &mut [u8], at: usize, own: Ipv6Addr) -> Option<usize> {
        // Extension headers were for us, and an answer has none of them (RFC 8200, 8.4; RFC 8021).
        let extensions = at.checked_sub(Ip6Header::LENGTH)?;
        packet.get(..at)?;
        packet.copy_within(..Ip6Header::LENGTH, extensions);
        let (header, _) = Ip6Header::parse_at_mut(packet, extensions)?;
        header.next_header = IpProtocol::ICMP6;
        header.payload_length = header.payload_length.get().checked_sub(u16::try_from(extensions).ok()?)?.into();
        header.destination = header.source;
        header.source = own.octets();
        header.hop_limit = HOP_LIMIT;
        Some(extensions)
    }
    fn words(kind: u8, code: u8) -> &'static str {
        match (Icmp6Type(kind), code) {
            (Icmp6Type::TIME_EXCEEDED, _) => "time exceeded",
            (Icmp6Type::PACKET_TOO_BIG, _) => "packet too big",
            (Icmp6Type::UNREACHABLE, icmp6::unreachable::NO_ROUTE) => "no route",
            (Icmp6Type::UNREACHABLE, icmp6::unreachable::ADDRESS) => "address unreachable",
            (Icmp6Type::UNREACHABLE, icmp6::unreachable::PROHIBITED) => "prohibited",
            (Icmp6Type::UNREACHABLE, icmp6::unreachable::BEYOND_SCOPE) => "beyond the scope of the source",
            _ => "refused",
        }
    }
}

/// A message behind its IP header, which `finish` completes.
pub(crate) fn message<F: Icmp>(
    mut ip: F::Header,
    mut icmp: IcmpHeader<u8>,
    (from, to): (F::Address, F::Address),
    data: &[u8],
    finish: impl FnOnce(&mut F::Header),
) -> Vec<u8> {
    let length = size_of_val(&icmp) + data.len();
    icmp.checksum = F::sum(from, to, length).add_bytes(icmp.as_bytes()).add_bytes(data).checksum().into();
    finish(&mut ip);
    [ip.as_bytes(), icmp.as_bytes(), data].concat()
}
