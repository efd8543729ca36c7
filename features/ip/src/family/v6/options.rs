//! Options of IPv6's extension headers, and what these ask of those whom a packet is for.

use std::net::Ipv6Addr;

use quiver_wire::icmp6::parameter_problem;
use quiver_wire::ip6::{Options6, Unknown, extension, walk};
use quiver_wire::{Header, Ip6Header};

use crate::family::Refusal;
use crate::fault::Fault;

/// Why options do not let a packet pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadOption {
    /// One runs out of its header.
    Malformed,
    /// One is not known; its sender is told, or not, as it says.
    Unknown(Option<Fault>),
}

/// Goes through the options in a header that begins `offset` bytes behind the fixed one, of a packet sent `to` this address.
/// There is none that we act on; what is to be done about those that are not known, they say themselves (RFC 8200, 4.2).
pub fn check(header: &[u8], offset: usize, to: Ipv6Addr) -> Result<(), BadOption> {
    for option in Options6::new(header.get(2..).ok_or(BadOption::Malformed)?) {
        let option = option.map_err(|_| BadOption::Malformed)?;
        let is_told = match option.unknown() {
            Unknown::Skip => continue,
            Unknown::Drop => false,
            Unknown::Report => true,
            Unknown::ReportUnlessGroup => !to.is_multicast(),
        };
        // Kind and length of the header are before the options.
        let pointer = Ip6Header::LENGTH + offset + 2 + option.offset;
        return Err(BadOption::Unknown(is_told.then(|| Fault::parameter(parameter_problem::OPTION, pointer))));
    }
    Ok(())
}

/// Why a packet for us is not taken, because of its extension headers: options for the destination that are not known, or a
/// route by others (RFC 8200, 4.4; RFC 5095).
pub fn refusal(packet: &[u8]) -> Option<Refusal> {
    let (header, rest) = Ip6Header::parse(packet)?;
    let mut first = None;
    walk(header.next_header, rest, |kind, offset, bytes| {
        first = first.or_else(|| match kind {
            extension::DESTINATION => match check(bytes, offset, header.destination()) {
                Err(BadOption::Unknown(Some(fault))) => Some(Refusal::Told(fault)),
                Err(_) => Some(Refusal::Silent),
                Ok(()) => None,
            },
            extension::ROUTING if bytes.get(SEGMENTS_LEFT).is_some_and(|left| *left > 0) => {
                let pointer = Ip6Header::LENGTH + offset + ROUTING_TYPE;
                Some(Refusal::Told(Fault::parameter(parameter_problem::HEADER_FIELD, pointer)))
            }
            _ => None,
        });
    })?;
    first
}

/// Where a routing header has its type, and the routers that are still to be visited (RFC 8200, 4.4).
const ROUTING_TYPE: usize = 2;
const SEGMENTS_LEFT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_becomes_of_their_packet() {
        let (host, group) = ("2001:db8::1".parse().expect("one"), "ff02::1".parse().expect("one"));
        let said = |kind: u8, to| check(&[17, 0, 1, 0, kind, 2, 0, 0], 0, to);
        let (silent, told) = (Err(BadOption::Unknown(None)), Err(BadOption::Unknown(Some(Fault::parameter(2, 44)))));
        assert_eq!(said(0x1e, host), Ok(()));
        assert_eq!(said(0x5e, host), silent);
        assert_eq!((said(0x9e, host), said(0x9e, group)), (told, told));
        assert_eq!((said(0xde, host), said(0xde, group)), (told, silent));
        for bad in [&[17][..], &[], &[17, 0, 5, 9, 0, 0, 0, 0]] {
            assert_eq!(check(bad, 0, host), Err(BadOption::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn what_is_for_us_is_taken_as_its_headers_allow() {
        let packet = |next: u8, rest: &[u8]| {
            let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
            let header = Ip6Header::new(a, b, quiver_wire::IpProtocol(next), 64, rest.len()).expect("short");
            refusal(&[zerocopy::IntoBytes::as_bytes(&header), rest].concat())
        };
        let told = |code, pointer| Some(Refusal::Told(Fault::parameter(code, pointer)));
        assert_eq!(packet(17, &[1; 8]), None);
        assert_eq!(packet(60, &[17, 0, 1, 4, 0, 0, 0, 0]), None);
        assert_eq!(packet(60, &[17, 0, 0x9e, 4, 0, 0, 0, 0]), told(2, 42));
        assert_eq!(packet(60, &[17, 0, 0x5e, 4, 0, 0, 0, 0]), Some(Refusal::Silent));
        assert_eq!(packet(60, &[17, 0, 1, 9, 0, 0, 0, 0]), Some(Refusal::Silent));
        assert_eq!(packet(43, &[17, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(packet(60, &[43, 0, 1, 4, 0, 0, 0, 0, 17, 0, 4, 1, 0, 0, 0, 0]), told(0, 50));
    }
}
