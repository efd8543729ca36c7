//! `ip6-hop-by-hop`: the checks of `ip6-input` for packets with options for every hop (RFC 8200, 4.3), packet by packet.
//!
//! There is none that we act on; what is to be done about those that are not known, they say themselves (RFC 8200, 4.2).

use quiver_engine::{Context, Frame, Node, arcs};
use quiver_wire::{Header, Ip6Header};

use super::options::{BadOption, check};
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
            // Behind what the packet says that it has is the link's padding.
            let payload = rest.get(..header.payload_length.get().into()).unwrap_or(rest);
            let next = match options(payload).and_then(|options| check(options, 0, header.destination())) {
                Ok(()) => way(header),
                Err(BadOption::Malformed) => Next::BadOption,
                Err(BadOption::Unknown(None)) => Next::UnknownOption,
                Err(BadOption::Unknown(Some(Fault(fault)))) => {
                    frame.hop[i] = fault;
                    Next::Reported
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

/// The header with the options, at the beginning of what follows the fixed one.
fn options(rest: &[u8]) -> Result<&[u8], BadOption> {
    let length = rest.get(1).map(|words| (usize::from(*words) + 1) * 8);
    length.and_then(|length| rest.get(..length)).ok_or(BadOption::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_length_that_it_says() {
        let header = [17, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(options(&header), Ok(&header[..16]));
        for bad in [&header[..15], &[17], &[]] {
            assert_eq!(options(bad), Err(BadOption::Malformed), "{bad:?}");
        }
    }
}
