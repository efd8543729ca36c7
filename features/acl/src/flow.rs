//! Keys of the sessions that lists begin: an interface, both ends of a flow, and which of them the interface receives from.
//!
//! A session that begins with a received packet lets received packets of the same direction pass, and sent packets of the other one, but no
//! received packets of the other one: as in VPP, where both directions of a flow at an interface are two keys.

use std::net::IpAddr;

use quiver_session::key::{End, Format, Key};
use quiver_session::record::Identity;
use quiver_wire::IpProtocol;

use crate::rule::Fields;
use quiver_ip::upper::Upper;

/// Formats of the keys, of IPv4 and IPv6: no other room's sessions have them.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    /// That of IPv4.
    pub ip4: Format,
    /// That of IPv6.
    pub ip6: Format,
}

/// The flow of a packet at an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The key of its session, and whether the packet's source is its higher end.
    pub key: (Key, bool),
    /// Whether a session may begin with the packet.
    pub begins: bool,
}

/// ICMP requests and their replies: RFC 792, RFC 950; RFC 4443, RFC 4620.
const ICMP4: [(u16, u16); 4] = [(8, 0), (13, 14), (15, 16), (17, 18)];
const ICMP6: [(u16, u16); 2] = [(128, 129), (139, 140)];

/// Source and destination port of a packet as its key has them, and whether a session may begin with it. ICMP has the type of the request,
/// and the code, at the end that answers. Protocols without ports have zeros. None of an ICMP message that is neither request nor reply.
fn ports(protocol: IpProtocol, is_ip6: bool, upper: Upper) -> Option<(u16, u16, bool)> {
    let pairs: &[_] = match protocol {
        IpProtocol::TCP | IpProtocol::UDP => return Some((upper.source, upper.destination, true)),
        IpProtocol::ICMP4 if !is_ip6 => &ICMP4,
        IpProtocol::ICMP6 if is_ip6 => &ICMP6,
        _ => return Some((0, 0, true)),
    };
    let (request, reply) = pairs.iter().find(|(request, reply)| upper.source == *request || upper.source == *reply)?;
    let answering = request << 8 | upper.destination & 0xff;
    Some(if upper.source == *reply { (answering, 0, false) } else { (0, answering, true) })
}

impl Flow {
    /// The flow of a packet that an interface receives or sends. None of a packet without sessions: a later fragment whose ports are not
    /// known, and ICMP messages other than requests and replies.
    pub fn of(fields: &Fields, interface: u32, is_sent: bool, formats: Formats) -> Option<Flow> {
        let protocol = IpProtocol(fields.protocol);
        let (from, to, format) = match (fields.source, fields.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => (from.to_bits().into(), to.to_bits().into(), formats.ip4),
            (IpAddr::V6(from), IpAddr::V6(to)) => (from.to_bits(), to.to_bits(), formats.ip6),
            _ => return None,
        };
        let (source, destination, begins) = ports(protocol, fields.source.is_ipv6(), fields.upper?)?;
        let ends = (End { address: from, port: source }, End { address: to, port: destination });
        let context = context(interface, ends.0 > ends.1, is_sent);
        Some(Flow { key: Key::new(ends, context, (protocol, format)), begins })
    }
}

/// The context of a key: the interface, and which end it receives from.
#[inline(always)]
pub fn context(interface: u32, is_from_high: bool, is_sent: bool) -> u32 {
    interface << 1 | u32::from(is_from_high != is_sent)
}

/// A session as it is listed: where it is, and the first packet as far as its key has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// Number of the interface.
    pub interface: u32,
    /// Whether the interface sent the first packet, and did not receive it.
    pub is_sent: bool,
    /// The first packet. Of TCP it has the flag SYN.
    pub fields: Fields,
}

impl Admission {
    /// The session of a key; None if it is another room's.
    pub fn of(key: &Key, identity: Identity, formats: Formats) -> Option<Admission> {
        let is_from_high = identity.is_from_high();
        let (from, to) = if is_from_high { (key.high(), key.low()) } else { (key.low(), key.high()) };
        let address = |end: End| match key.format() {
            format if format == formats.ip4 => Some(IpAddr::V4((end.address as u32).into())),
            format if format == formats.ip6 => Some(IpAddr::V6(end.address.into())),
            _ => None,
        };
        let (source, destination, protocol) = (address(from)?, address(to)?, IpProtocol(key.protocol()));
        let is_icmp = protocol == if source.is_ipv6() { IpProtocol::ICMP6 } else { IpProtocol::ICMP4 };
        let numbers = if is_icmp { (to.port >> 8, to.port & 0xff) } else { (from.port, to.port) };
        let tcp_flags = if protocol == IpProtocol::TCP { SYN } else { 0 };
        let upper = Some(Upper { source: numbers.0, destination: numbers.1, tcp_flags });
        let fields = Fields { source, destination, protocol: protocol.0, upper };
        Some(Admission { interface: key.context() >> 1, is_sent: (key.context() & 1 != 0) != is_from_high, fields })
    }
}

/// RFC 9293, 3.1.
const SYN: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_testkit::packet::Packet;
    use quiver_wire::{V4, V6};

    const FORMATS: Formats = Formats { ip4: Format::IP4, ip6: Format::IP6 };

    fn flow(text: &str, interface: u32, is_sent: bool) -> Option<Flow> {
        let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
        let fields = if text.starts_with("ip4") { Fields::of::<V4>(&bytes) } else { Fields::of::<V6>(&bytes) };
        Flow::of(&fields.unwrap_or_else(|| panic!("{text}")), interface, is_sent, FORMATS)
    }

    #[test]
    fn replies_in_the_other_direction_have_the_key_and_nothing_else_has() {
        let pairs = [
            ("ip4 10.0.0.1 > 10.0.1.1 ttl 64 / udp 1000 > 53", "ip4 10.0.1.1 > 10.0.0.1 ttl 64 / udp 53 > 1000"),
            (
                "ip4 10.0.0.1 > 10.0.1.1 ttl 64 / icmp echo-request id 1 seq 1",
                "ip4 10.0.1.1 > 10.0.0.1 ttl 64 / icmp echo-reply id 1 seq 1",
            ),
            (
                "ip6 2001:db8::1 > 2001:db8:1::1 hlim 64 / icmp6 echo-request id 1 seq 1",
                "ip6 2001:db8:1::1 > 2001:db8::1 hlim 64 / icmp6 echo-reply id 1 seq 1",
            ),
            ("ip4 10.0.0.1 > 10.0.1.1 ttl 64 protocol 89", "ip4 10.0.1.1 > 10.0.0.1 ttl 64 protocol 89"),
        ];
        for (there, back) in pairs {
            let (there, back) = (format!("{there} / payload 20"), format!("{back} / payload 20"));
            for is_sent in [false, true] {
                let (begun, reply) = (flow(&there, 3, is_sent).expect(&there), flow(&back, 3, !is_sent).expect(&back));
                assert!(begun.begins, "{there}");
                assert_eq!((begun.key.0, begun.key.1), (reply.key.0, !reply.key.1), "{there}");
                for other in [flow(&back, 3, is_sent), flow(&there, 3, !is_sent), flow(&back, 4, !is_sent)] {
                    assert_ne!(other.map(|flow| flow.key.0), Some(begun.key.0), "{there}");
                }
            }
        }
    }

    #[test]
    fn replies_begin_nothing_and_other_messages_have_no_flow() {
        let reply = flow("ip4 10.0.1.1 > 10.0.0.1 ttl 64 / icmp echo-reply id 1 seq 1 / payload 8", 3, false);
        assert_eq!(reply.map(|flow| flow.begins), Some(false));
        for none in [
            "ip4 10.0.0.1 > 10.0.1.1 ttl 64 id 7 offset 800 protocol udp / payload 8",
            "ip6 2001:db8::1 > 2001:db8:1::1 hlim 64 / frag offset 800 id 7 next udp / payload 8",
        ] {
            assert_eq!(flow(none, 3, false), None, "{none}");
        }
        let unreachable = Upper { source: 3, destination: 1, tcp_flags: 0 };
        assert_eq!(ports(IpProtocol::ICMP4, false, unreachable), None);
    }
}
