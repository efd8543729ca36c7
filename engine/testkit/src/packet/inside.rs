//! The bytes inside of a header, and the numbers that announce them.
use super::pseudo_header::Ends;
use quiver_wire::{EtherType, IpProtocol};

/// The bytes and the first layer inside of a header.
pub(super) struct Inside<'a> {
    /// The bytes behind the header, padding left out.
    pub bytes: &'a [u8],
    /// The ethertype of the first layer there, if it has one.
    pub ethertype: Option<EtherType>,
    /// The protocol of the first layer there, if IP carries it.
    pub protocol: Option<IpProtocol>,
    /// Whether the first layer there is the inside of a message of Neighbour Discovery.
    pub is_discovery: bool,
    /// Source and destination of the IP header outside, for the pseudo header.
    pub ends: Option<Ends>,
}

impl Inside<'_> {
    /// The ethertype as given, or that of the first layer, or one for experiments (IEEE 802, 9.2.2).
    pub(super) fn ethertype(&self, given: Option<EtherType>) -> EtherType {
        given.or(self.ethertype).unwrap_or(EtherType::new(0x88b5))
    }

    /// The protocol as given, or that of the first layer, or one for experiments (RFC 3692, 2.1).
    pub(super) fn protocol(&self, given: Option<IpProtocol>) -> IpProtocol {
        given.or(self.protocol).unwrap_or(IpProtocol(253))
    }
}
