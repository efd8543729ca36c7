//! `ip6-hop-by-hop`: the checks of `ip6-input` for packets with options for every hop (RFC 8200, 4.3), packet by packet.
//!
//! There is none that we act on; what is to be done about those that are not known, they say themselves (RFC 8200, 4.2).

use std::net::Ipv6Addr;

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_wire::icmp6::parameter_problem;
use quiver_wire::ip6::{Options6, Unknown};
use quiver_wire::{Header, Ip6Header};

use crate::fault::Fault;

arcs! {
    /// Where packets go from `ip6-hop-by-hop`.
    pub enum Next {
        Unicast => features "ip6-unicast",
        Multicast => features "ip6-multicast",
        Martian => drop "martian-address",
        BadOption => drop "bad-option",
        UnknownOption => drop "unknown-option",
        Reported => node "icmp6-error",
    }
}

/// The node.
pub struct Ip6HopByHop;

impl Node for Ip6HopByHop {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i);
            // `ip6-input` has seen to it that there is a header, and that its length is not too large.
            let Some((header, rest)) = Ip6Header::parse(bytes) else {
                frame.next[i] = Next::BadOption.into();
                continue;
            };
            let next = match options(rest, header.destination()) {
                Ok(()) => way(header),
                Err((next, fault)) => {
                    frame.hop[i] = fault.0;
                    next
                }
            };
            let total = Ip6Header::LENGTH as u32 + u32::from(header.payload_length.get());
            frame.next[i] = next.into();
            frame.truncate(i, total);
        }
    }
}

/// Where a packet goes whose options are in order.
fn way(header: &Ip6Header) -> Next {
    let (from, to) = (header.source(), header.destination());
    match () {
        () if from.is_multicast() || from.is_loopback() => Next::Martian,
        () if to.is_multicast() => Next::Multicast,
        () if from.is_unspecified() || to.is_unspecified() || to.is_loopback() => Next::Martian,
        () => Next::Unicast,
    }
}

/// Goes through the options at the beginning of what follows the fixed header.
fn options(rest: &[u8], to: Ipv6Addr) -> Result<(), (Next, Fault)> {
    let bad = || (Next::BadOption, Fault(0));
    let length = rest.get(1).map(|words| (usize::from(*words) + 1) * 8).ok_or_else(bad)?;
    let options = rest.get(2..length).ok_or_else(bad)?;
    for option in Options6::new(options) {
        let option = option.map_err(|_| bad())?;
        let is_told = match option.unknown() {
            Unknown::Skip => continue,
            Unknown::Drop => false,
            Unknown::Report => true,
            Unknown::ReportUnlessGroup => !to.is_multicast(),
        };
        // Kind and length of the header are before the options.
        let pointer = Ip6Header::LENGTH + 2 + option.offset;
        return Err(match is_told {
            true => (Next::Reported, Fault::parameter(parameter_problem::OPTION, pointer)),
            false => (Next::UnknownOption, Fault(0)),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_becomes_of_their_packet() {
        let (host, group) = ("2001:db8::1".parse().expect("one"), "ff02::1".parse().expect("one"));
        let said = |kind: u8, to| options(&[17, 0, 1, 0, kind, 2, 0, 0], to).map_err(|(next, _)| next);
        assert_eq!(said(0x1e, host), Ok(()));
        assert_eq!(said(0x5e, host), Err(Next::UnknownOption));
        assert_eq!((said(0x9e, host), said(0x9e, group)), (Err(Next::Reported), Err(Next::Reported)));
        assert_eq!((said(0xde, host), said(0xde, group)), (Err(Next::Reported), Err(Next::UnknownOption)));
        let (_, fault) = options(&[17, 0, 1, 0, 0x9e, 2, 0, 0], host).expect_err("unknown");
        assert_eq!(fault, Fault::parameter(2, 44));
        for bad in [&[17, 1, 1, 4, 0, 0, 0, 0][..], &[17], &[], &[17, 0, 5, 9, 0, 0, 0, 0]] {
            assert_eq!(options(bad, host).map_err(|(next, _)| next), Err(Next::BadOption), "{bad:?}");
        }
    }
}
