//! Neighbour Discovery (RFC 4861) over Ethernet (RFC 2464): solicitations, advertisements, redirects and their options.
use crate::icmp6::{self, Icmp6Type};
use crate::{IcmpHeader, MacAddress};
use std::net::Ipv6Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16, big_endian::U32};

/// Hop limit that every message must still have where it arrives, which proves that no router forwarded it (RFC 4861,
/// 3.1).
pub const HOP_LIMIT: u8 = 255;
/// All nodes of a link (RFC 4291, 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of a link (RFC 4291, 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// All routers of a link that hear reports of version 2 of MLD (RFC 3810, 4).
pub const ALL_MLD2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// All routers of a site (RFC 4291, 2.7.1).
pub const ALL_SITE_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 2);

/// Solicited-node multicast group of an address (RFC 4291, 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    const PREFIX: u128 = 0xff02_0000_0000_0000_0000_0001_ff00_0000;
    Ipv6Addr::from_bits(PREFIX | address.to_bits() & 0xff_ffff)
}

/// The MAC address to which frames for a group go (RFC 2464, 7).
pub fn group_mac(group: Ipv6Addr) -> MacAddress {
    let [.., a, b, c, d] = group.octets();
    MacAddress([0x33, 0x33, a, b, c, d])
}

/// The link-local address of an interface with this MAC address (RFC 4291, 2.5.6; RFC 2464, 4 and 5).
pub fn link_local(mac: MacAddress) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let identifier = u64::from_be_bytes([a ^ 0x02, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(identifier))
}

/// A neighbour solicitation or advertisement: 24 bytes, then options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NeighborMessage {
    /// Which of them. The first of the four bytes behind the checksum has an advertisement's flags.
    pub icmp: IcmpHeader<Icmp6Type>,
    /// Target address: see [`NeighborMessage::target`].
    pub target: [u8; 16],
}

impl NeighborMessage {
    /// In an advertisement's parameter: the sender is a router.
    pub const ROUTER: u32 = 1 << 31;
    /// It answers a solicitation.
    pub const SOLICITED: u32 = 1 << 30;
    /// Override: the advertisement replaces a cached link-layer address.
    pub const OVERRIDE: u32 = 1 << 29;

    /// A solicitation for `target`.
    pub fn solicitation(target: Ipv6Addr) -> NeighborMessage {
        NeighborMessage { icmp: IcmpHeader::new(Icmp6Type::NEIGHBOR_SOLICITATION, 0), target: target.octets() }
    }

    /// Says that the sender has `target`; `flags` are the constants here.
    pub fn advertisement(target: Ipv6Addr, flags: u32) -> NeighborMessage {
        let icmp = IcmpHeader::new(Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0).with_parameter(flags);
        NeighborMessage { icmp, target: target.octets() }
    }

    /// Target address.
    pub fn target(&self) -> Ipv6Addr {
        self.target.into()
    }

    /// Whether an advertisement has a flag.
    pub fn has(&self, flag: u32) -> bool {
        self.icmp.parameter() & flag != 0
    }

    /// The whole message from `source` to `destination` with an option that has a MAC address, its checksum filled in.
    pub fn with_mac(mut self, source: Ipv6Addr, destination: Ipv6Addr, option: Option<LinkLayerOption>) -> Vec<u8> {
        let option = option.as_ref().map_or(&[][..], |option| option.as_bytes());
        let length = size_of::<Self>() + option.len();
        self.icmp.checksum = U16::ZERO;
        let sum = icmp6::pseudo_header(source, destination, length).add_bytes(self.as_bytes()).add_bytes(option);
        self.icmp.checksum = sum.checksum().into();
        [self.as_bytes(), option].concat()
    }
}

/// A router advertisement: 16 bytes, then options (RFC 4861, 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RouterAdvertisement {
    /// [`Icmp6Type::ROUTER_ADVERTISEMENT`].
    pub kind: Icmp6Type,
    /// 0.
    pub code: u8,
    /// Over the message and a pseudo header.
    pub checksum: U16,
    /// The hop limit that hosts are to use; 0 says nothing.
    pub hop_limit: u8,
    /// Whether there is DHCPv6: the high two bits.
    pub flags: u8,
    /// Seconds for which it is a default router; 0 if it is none.
    pub lifetime: U16,
    /// Milliseconds for which a neighbour counts as reachable; 0 says nothing.
    pub reachable_ms: U32,
    /// Milliseconds between solicitations; 0 says nothing.
    pub retransmission_ms: U32,
}

/// A redirect: 40 bytes, then options (RFC 4861, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Redirect {
    /// [`Icmp6Type::REDIRECT`], the four bytes behind the checksum unused.
    pub icmp: IcmpHeader<Icmp6Type>,
    /// The better first hop.
    pub target: [u8; 16],
    /// Destination address.
    pub destination: [u8; 16],
}

/// Kinds of options (RFC 4861, 4.6).
pub mod option {
    /// The sender's address of the link layer.
    pub const SOURCE_LINK_LAYER: u8 = 1;
    /// The target's address of the link layer.
    pub const TARGET_LINK_LAYER: u8 = 2;
    /// A prefix that is on the link.
    pub const PREFIX: u8 = 3;
    /// The packet that is redirected.
    pub const REDIRECTED: u8 = 4;
    /// MTU of the link.
    pub const MTU: u8 = 5;
}

/// An option with a MAC address: 8 bytes (RFC 4861, 4.6.1; RFC 2464, 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LinkLayerOption {
    /// Type: source or target link-layer address.
    pub kind: u8,
    /// 1: eight bytes.
    pub length: u8,
    /// The address.
    pub mac: MacAddress,
}

impl LinkLayerOption {
    /// The option of a kind.
    pub fn new(kind: u8, mac: MacAddress) -> LinkLayerOption {
        LinkLayerOption { kind, length: 1, mac }
    }
}

/// A prefix that hosts are told of: 32 bytes (RFC 4861, 4.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PrefixOption {
    /// [`option::PREFIX`].
    pub kind: u8,
    /// 4: 32 bytes.
    pub length: u8,
    /// Bits of the prefix.
    pub prefix_length: u8,
    /// Whether it is on the link, and whether hosts may make addresses of it: the high two bits.
    pub flags: u8,
    /// Seconds for which it is on the link.
    pub valid: U32,
    /// Seconds for which addresses made of it are preferred.
    pub preferred: U32,
    /// Unused.
    pub reserved: U32,
    /// The prefix.
    pub prefix: [u8; 16],
}

/// MTU option: 8 bytes (RFC 4861, 4.6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MtuOption {
    /// [`option::MTU`].
    pub kind: u8,
    /// 1: eight bytes.
    pub length: u8,
    /// Unused.
    pub reserved: U16,
    /// Bytes of the longest packet.
    pub mtu: U32,
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NdOption<'a> {
    /// Type: a constant of [`mod@option`], or an unknown one.
    pub kind: u8,
    /// All its bytes, kind and length included.
    pub bytes: &'a [u8],
}

/// The options run out of their room, or one claims no length at all: the message is to be dropped (RFC 4861, 4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an option of neighbour discovery has a length that does not fit")]
pub struct MalformedNdOption;

/// Goes through the options of a message; the first malformed one ends the walk.
#[derive(Debug, Clone)]
pub struct NdOptions<'a>(&'a [u8]);

impl<'a> NdOptions<'a> {
    /// The options in `bytes`, which follow a message's fixed part.
    pub fn new(bytes: &'a [u8]) -> NdOptions<'a> {
        NdOptions(bytes)
    }

    /// The MAC address in the first option of a kind; none if there is no such option.
    pub fn mac(self, kind: u8) -> Result<Option<MacAddress>, MalformedNdOption> {
        let mut found = None;
        for option in self {
            let option = option?;
            if option.kind == kind && found.is_none() {
                found = LinkLayerOption::read_from_prefix(option.bytes).ok().map(|(option, _)| option.mac);
            }
        }
        Ok(found)
    }
}

impl<'a> Iterator for NdOptions<'a> {
    type Item = Result<NdOption<'a>, MalformedNdOption>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, units) = match *self.0 {
            [] => return None,
            [kind, units, ..] if units > 0 => (kind, usize::from(units)),
            _ => {
                self.0 = &[];
                return Some(Err(MalformedNdOption));
            }
        };
        let Some((bytes, rest)) = self.0.split_at_checked(units * 8) else {
            self.0 = &[];
            return Some(Err(MalformedNdOption));
        };
        self.0 = rest;
        Some(Ok(NdOption { kind, bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    const MAC: MacAddress = MacAddress([0x02, 0, 0, 0xab, 0xcd, 0xef]);

    #[test]
    fn addresses_of_groups_and_links_are_those_of_the_rfcs() {
        let own = link_local(MacAddress([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]));
        // RFC 2464, 5, has this example of an identifier.
        assert_eq!(own.to_string(), "fe80::3656:78ff:fe9a:bcde");
        let group = solicited_node("4037::1:800:200e:8c6c".parse().unwrap());
        // RFC 4291, 2.7.1, has this one.
        assert_eq!(group.to_string(), "ff02::1:ff0e:8c6c");
        assert_eq!(group_mac(group), MacAddress([0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c]));
    }

    #[test]
    fn a_solicitation_is_laid_out_as_in_rfc_4861_and_adds_up() {
        let (source, target) = ("fe80::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        let option = LinkLayerOption::new(option::SOURCE_LINK_LAYER, MAC);
        let bytes = NeighborMessage::solicitation(target).with_mac(source, solicited_node(target), Some(option));
        assert_eq!((bytes.len(), &bytes[..2], &bytes[4..8]), (32, &[135, 0][..], &[0; 4][..]));
        assert_eq!((&bytes[8..24], &bytes[24..]), (&target.octets()[..], &[1, 1, 2, 0, 0, 0xab, 0xcd, 0xef][..]));
        assert!(icmp6::pseudo_header(source, solicited_node(target), 32).add_bytes(&bytes).is_right());
        let (message, options) = NeighborMessage::parse(&bytes).unwrap();
        assert_eq!(message.target(), target);
        assert_eq!(NdOptions::new(options).mac(option::SOURCE_LINK_LAYER), Ok(Some(MAC)));
        assert_eq!(NdOptions::new(options).mac(option::TARGET_LINK_LAYER), Ok(None));
    }

    #[test]
    fn an_advertisement_has_its_flags_in_the_first_byte() {
        let flags = NeighborMessage::ROUTER | NeighborMessage::OVERRIDE;
        let message = NeighborMessage::advertisement(Ipv6Addr::LOCALHOST, flags);
        assert_eq!(message.as_bytes()[4], 0xa0);
        assert!(message.has(NeighborMessage::ROUTER) && !message.has(NeighborMessage::SOLICITED));
    }

    #[test]
    fn messages_of_routers_have_the_lengths_of_rfc_4861() {
        assert_eq!((RouterAdvertisement::LENGTH, Redirect::LENGTH, PrefixOption::LENGTH), (16, 40, 32));
        assert_eq!((NeighborMessage::LENGTH, MtuOption::LENGTH), (24, 8));
    }

    #[test]
    fn a_malformed_option_ends_the_walk() {
        for bytes in [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[1], &[1, 2, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(NdOptions::new(bytes).collect::<Vec<_>>(), [Err(MalformedNdOption)], "{bytes:?}");
        }
        assert_eq!(NdOptions::new(&[]).next(), None);
    }
}
