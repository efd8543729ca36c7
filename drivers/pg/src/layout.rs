//! Where the headers of a stream's packets stand.

use crate::stream::PgStream;
use crate::tag::Tag;

/// Bytes of an Ethernet header, of a tag behind it, and of the headers of IPv4, IPv6, UDP and VXLAN.
const ETHERNET: usize = 14;
const TAG: usize = 4;
pub(crate) const IP4: usize = 20;
pub(crate) const IP6: usize = 40;
pub(crate) const UDP: usize = 8;
pub(crate) const VXLAN: usize = 8;

/// Places in a packet, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The IPv4 header of the tunnel, if there is one.
    pub tunnel: Option<usize>,
    /// The Ethernet header of what a tunnel carries; without one, the first.
    pub ethernet: usize,
    /// The header of IPv4 or IPv6, the innermost.
    pub ip: usize,
    /// Whether that is IPv6.
    pub is_ip6: bool,
    /// The header of UDP behind it, if there is one.
    pub udp: Option<usize>,
    /// Behind all headers.
    pub end: usize,
}

impl Layout {
    pub fn of(stream: &PgStream) -> Layout {
        let tags = usize::from(stream.vlan.is_some()) + usize::from(stream.inner_vlan.is_some());
        let first = ETHERNET + TAG * tags;
        let tunnel = stream.vxlan.is_some().then_some(first);
        let (ethernet, ip) = match tunnel {
            Some(at) => (at + IP4 + UDP + VXLAN, at + IP4 + UDP + VXLAN + ETHERNET),
            None => (0, first),
        };
        let is_ip6 = stream.ip6_source.is_some();
        // IPv6 packets have no next header, if none is asked for: all of them fit into the 78 bytes that suites send.
        let behind = ip + if is_ip6 { IP6 } else { IP4 };
        let udp = (!is_ip6 || stream.ip6_udp).then_some(behind);
        let end = udp.map_or(behind, |udp| udp + UDP);
        Layout { tunnel, ethernet, ip, is_ip6, udp, end }
    }
    /// Bytes of the smallest packet that a stream can have: headers, and a number if it has one.
    pub fn least(stream: &PgStream) -> u64 {
        (Layout::of(stream).end + if stream.unnumbered { 0 } else { Tag::LENGTH }) as u64
    }
}
