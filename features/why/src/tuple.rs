//! A packet of a flow, made of what people say of one: protocol, addresses, ports.

use std::net::{IpAddr, SocketAddr};

use quiver_wire::checksum;
use quiver_wire::{EtherType, EthernetHeader, Ip4Header, Ip6Header, IpProtocol, MacAddress};
use zerocopy::IntoBytes;

/// A flow, as the command describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The IP protocol.
    pub protocol: IpProtocol,
    /// The source, with its port where the protocol has ports.
    pub source: SocketAddr,
    /// The destination.
    pub destination: SocketAddr,
    /// The TTL or hop limit.
    pub hops: u8,
}

/// Why there is no such packet.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TupleError {
    /// No address.
    #[error(
        "`{0}` is no address: write one such as 192.0.2.1 or 2001:db8::1, with a port as 192.0.2.1:80 or [2001:db8::1]:80"
    )]
    Address(String),
    /// An address of either family.
    #[error("{source_address} and {destination} are of two families; give two addresses of one")]
    TwoFamilies {
        /// The sender's.
        source_address: IpAddr,
        /// The receiver's.
        destination: IpAddr,
    },
    /// The other family's ICMP.
    #[error("`{protocol}` is the other family's; say `{other}` with {destination}, or give the frame in hexadecimal")]
    OtherFamily {
        /// The protocol.
        protocol: IpProtocol,
        /// That of the addresses' family.
        other: IpProtocol,
        /// One of them.
        destination: IpAddr,
    },
}

/// Reads an address, with a port or without.
pub fn endpoint(text: &str) -> Result<SocketAddr, TupleError> {
    let alone = || text.parse().map(|address: IpAddr| SocketAddr::new(address, 0));
    text.parse().or_else(|_| alone()).map_err(|_| TupleError::Address(text.into()))
}

/// Builds the payload behind the IP header, with a checksum of zero, and returns the checksum's offset.
fn payload(flow: &Flow) -> (Vec<u8>, Option<usize>) {
    let ports = [flow.source.port().to_be_bytes(), flow.destination.port().to_be_bytes()].concat();
    match flow.protocol {
        // A SYN with a window (RFC 9293, 3.1).
        IpProtocol::TCP => {
            ([&ports[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0xff, 0xff, 0, 0, 0, 0]].concat(), Some(16))
        }
        IpProtocol::UDP => ([&ports[..], &[0, 8, 0, 0]].concat(), Some(6)),
        // An echo request (RFC 792; RFC 4443, 4.1).
        IpProtocol::ICMP4 => (vec![8, 0, 0, 0, 0, 1, 0, 1], Some(2)),
        IpProtocol::ICMP6 => (vec![128, 0, 0, 0, 0, 1, 0, 1], Some(2)),
        _ => ([&ports[..], &[0; 4]].concat(), None),
    }
}

/// The frame of a flow's packet from one station to another.
pub fn frame(flow: &Flow, from: MacAddress, to: MacAddress) -> Result<Vec<u8>, TupleError> {
    let other = match (flow.protocol, flow.destination.ip()) {
        (IpProtocol::ICMP4, IpAddr::V6(_)) => Some(IpProtocol::ICMP6),
        (IpProtocol::ICMP6, IpAddr::V4(_)) => Some(IpProtocol::ICMP4),
        _ => None,
    };
    if let Some(other) = other {
        let (protocol, destination) = (flow.protocol, flow.destination.ip());
        return Err(TupleError::OtherFamily { protocol, other, destination });
    }
    let (mut payload, place) = payload(flow);
    let length = payload.len();
    let (ethertype, header, pseudo) = match (flow.source.ip(), flow.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = Ip4Header::new(source, destination, flow.protocol, flow.hops, length)
                .unwrap_or_else(|| unreachable!("payloads are short"));
            header.fill_checksum(&[]);
            // The checksum of ICMP does without the addresses (RFC 792).
            let pseudo = match flow.protocol {
                IpProtocol::ICMP4 => checksum::of(&[]),
                protocol => checksum::pseudo_header4(source, destination, protocol, length as u32),
            };
            (EtherType::IP4, header.as_bytes().to_vec(), pseudo)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = Ip6Header::new(source, destination, flow.protocol, flow.hops, length)
                .unwrap_or_else(|| unreachable!("payloads are short"));
            let pseudo = checksum::pseudo_header6(source, destination, flow.protocol, length as u32);
            (EtherType::IP6, header.as_bytes().to_vec(), pseudo)
        }
        (source_address, destination) => return Err(TupleError::TwoFamilies { source_address, destination }),
    };
    if let Some(place) = place {
        let sum = pseudo.add_bytes(&payload).checksum_not_zero();
        payload[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    }
    let ethernet = EthernetHeader { destination: to, source: from, ethertype };
    Ok([ethernet.as_bytes(), &header, &payload].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_testkit::packet::Packet;

    fn text(protocol: IpProtocol, source: &str, destination: &str) -> String {
        let flow =
            Flow { protocol, source: endpoint(source).unwrap(), destination: endpoint(destination).unwrap(), hops: 64 };
        let [from, to] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]].map(MacAddress);
        // What is said of a packet names only what is not right, such as a wrong checksum.
        Packet::dissect(&frame(&flow, from, to).unwrap()).to_string()
    }

    #[test]
    fn packets_are_whole() {
        let said = [
            text(IpProtocol::TCP, "192.0.2.1:1000", "198.51.100.1:80"),
            text(IpProtocol::UDP, "[2001:db8::1]:1000", "[2001:db8::2]:53"),
            text(IpProtocol::ICMP4, "192.0.2.1", "198.51.100.1"),
            text(IpProtocol::ICMP6, "2001:db8::1", "2001:db8::2"),
        ];
        for said in &said {
            assert!(!said.contains("checksum") && !said.contains("payload"), "{said}");
        }
        assert!(said[0].contains("198.51.100.1") && said[0].contains("80"), "{}", said[0]);
    }

    #[test]
    fn what_is_no_flow_is_refused() {
        assert_eq!(endpoint("192.0.2"), Err(TupleError::Address("192.0.2".into())));
        let flow = Flow {
            protocol: IpProtocol::UDP,
            source: endpoint("192.0.2.1").unwrap(),
            destination: endpoint("2001:db8::1").unwrap(),
            hops: 64,
        };
        let refused = frame(&flow, MacAddress([0; 6]), MacAddress([0; 6])).unwrap_err();
        assert!(matches!(refused, TupleError::TwoFamilies { .. }), "{refused}");
        for (protocol, address, said) in [
            (IpProtocol::ICMP4, "2001:db8::1", "`icmp` is the other family's; say `icmp6` with 2001:db8::1"),
            (IpProtocol::ICMP6, "192.0.2.1", "`icmp6` is the other family's; say `icmp` with 192.0.2.1"),
        ] {
            let flow = Flow {
                protocol,
                source: endpoint(address).unwrap(),
                destination: endpoint(address).unwrap(),
                hops: 64,
            };
            let refused = frame(&flow, MacAddress([0; 6]), MacAddress([0; 6])).unwrap_err().to_string();
            assert!(refused.starts_with(said), "{refused}");
        }
    }
}
