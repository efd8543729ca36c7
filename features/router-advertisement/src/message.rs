//! The messages that are sent, behind their IP headers.

use std::net::Ipv6Addr;

use quiver_ip::adjacency::Link;
use quiver_wire::nd::{self, LinkLayerOption, MtuOption, PrefixOption, RouterAdvertisement, option};
use quiver_wire::{Icmp6Type, IcmpHeader, Ip6Header, IpProtocol, MacAddress, icmp6};
use zerocopy::IntoBytes;

use crate::config::{AdvertisedPrefix, RouterAdvertisements};

/// In an advertisement's flags: hosts get addresses by DHCPv6 (RFC 4861, 4.2).
pub const MANAGED: u8 = 1 << 7;
/// Hosts get anything else by it.
pub const OTHER: u8 = 1 << 6;
/// In a prefix's flags: it is on the link (RFC 4861, 4.6.2).
pub const ON_LINK: u8 = 1 << 7;
/// Hosts may make themselves addresses of it.
pub const AUTONOMOUS: u8 = 1 << 6;

/// An advertisement of an interface, from `source` to `to` (RFC 4861, 6.2.3).
pub fn advertisement(
    link: &Link,
    (source, to): (Ipv6Addr, Ipv6Addr),
    config: &RouterAdvertisements,
    prefixes: &[AdvertisedPrefix],
) -> Vec<u8> {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let mut message = RouterAdvertisement {
        kind: Icmp6Type::ROUTER_ADVERTISEMENT,
        code: 0,
        checksum: 0.into(),
        hop_limit: config.hop_limit,
        flags: flag(config.managed, MANAGED) | flag(config.other, OTHER),
        lifetime: config.lifetime.into(),
        reachable_ms: 0.into(),
        retransmission_ms: 0.into(),
    };
    let mut options = vec![];
    if config.source_link_layer {
        options.extend(LinkLayerOption::new(option::SOURCE_LINK_LAYER, MacAddress(link.mac)).as_bytes());
    }
    let mtu = MtuOption { kind: option::MTU, length: 1, reserved: 0.into(), mtu: u32::from(link.mtu).into() };
    options.extend(mtu.as_bytes());
    for prefix in prefixes.iter().filter(|prefix| prefix.advertise) {
        let option = PrefixOption {
            kind: option::PREFIX,
            length: 4,
            prefix_length: prefix.prefix.length(),
            flags: flag(prefix.on_link, ON_LINK) | flag(prefix.autonomous, AUTONOMOUS),
            valid: prefix.valid.into(),
            preferred: prefix.preferred.into(),
            reserved: 0.into(),
            prefix: prefix.prefix.address().octets(),
        };
        options.extend(option.as_bytes());
    }
    let sum = icmp6::pseudo_header(source, to, size_of_val(&message) + options.len());
    message.checksum = sum.add_bytes(message.as_bytes()).add_bytes(&options).checksum().into();
    packet(source, to, &[message.as_bytes(), &options].concat())
}

/// A router solicitation from `source`; without an address it has no source link-layer option (RFC 4861, 4.1).
pub fn solicitation(link: &Link, source: Ipv6Addr) -> Vec<u8> {
    let option = LinkLayerOption::new(option::SOURCE_LINK_LAYER, MacAddress(link.mac));
    let option = if source.is_unspecified() { &[] } else { option.as_bytes() };
    let mut message = IcmpHeader::new(Icmp6Type::ROUTER_SOLICITATION, 0);
    let sum = icmp6::pseudo_header(source, nd::ALL_ROUTERS, size_of_val(&message) + option.len());
    message.checksum = sum.add_bytes(message.as_bytes()).add_bytes(option).checksum().into();
    packet(source, nd::ALL_ROUTERS, &[message.as_bytes(), option].concat())
}

/// A message behind its IP header.
fn packet(source: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Vec<u8> {
    let header = Ip6Header::new(source, to, IpProtocol::ICMP6, nd::HOP_LIMIT, message.len());
    header.map(|header| [header.as_bytes(), message].concat()).unwrap_or_default()
}
