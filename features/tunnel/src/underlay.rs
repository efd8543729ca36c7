//! The differences between outer IPv4 and IPv6.

use std::net::IpAddr;

use quiver_engine::{Field, Isa, LANES, Lanes, PacketLanes, Quarters, Windows};
use quiver_ip::Family;
use quiver_ip::family::BACK;
use quiver_mfib::Multicast;
use quiver_table::{ExactView, Keys128};
use quiver_udp::Udp;
use quiver_wire::{Header, Ip4Header, Ip6Header, UdpHeader, V4, V6};

use crate::ends::Ends;
use crate::template::{Differing, Template, WORDS};

/// A family that carries tunnels.
pub trait Underlay: Multicast + Udp {
    /// Its place in pairs of names.
    const PLACE: usize;
    /// The number that stands for an address in keys of tunnels: an address of IPv4 itself, else one from a table.
    fn number(address: Self::Bits, hosts: &ExactView<'_, Keys128>) -> Option<u32>;
    /// The ECN field of an outer header.
    fn ecn(header: &Self::Header) -> u8;
    /// ECN fields of eight packets.
    fn ecn_of<I: Isa>(p: &PacketLanes<I>) -> Lanes<I>;
    /// The quarters of the window of a layer 3 stage that hold the outer headers, as far as they lie there.
    const OUTER: Quarters =
        Quarters::of(BACK as usize, if tunnel_header::<Self>() + 8 < 64 { tunnel_header::<Self>() + 8 } else { 64 });
    /// The two words behind UDP's header.
    fn tunnel_header<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> [Lanes<I>; 2];
    /// Where the words lie in which datagrams differ, counted in bytes from the IP header on.
    const WORDS: [usize; WORDS];
    /// Computes these words from the constant ones, for datagrams of `length` bytes from the IP header on.
    fn fill<I: Isa>(common: &Template<Lanes<I>>, length: Lanes<I>, datagram: &Differing<I>) -> [Lanes<I>; WORDS];
    /// The ends, if they are of this family.
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)>;
}

impl Underlay for V4 {
    const PLACE: usize = 0;
    #[inline(always)]
    fn number(address: u32, _: &ExactView<'_, Keys128>) -> Option<u32> {
        Some(address)
    }
    #[inline(always)]
    fn ecn(header: &Ip4Header) -> u8 {
        header.ecn()
    }
    #[inline(always)]
    fn ecn_of<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(SECOND) & 3
    }
    #[inline(always)]
    fn tunnel_header<I: Isa>(p: &PacketLanes<I>, _: &mut Windows<'_>) -> [Lanes<I>; 2] {
        const AT: usize = tunnel_header::<V4>();
        [p.header.get(const { Field::new(AT, 32) }), p.header.get(const { Field::new(AT + 4, 32) })]
    }
    const WORDS: [usize; WORDS] = [0, 4, 8, UDP4, UDP4 + 4];
    #[inline(always)]
    fn fill<I: Isa>(common: &Template<Lanes<I>>, length: Lanes<I>, datagram: &Differing<I>) -> [Lanes<I>; WORDS] {
        let ([first, second, third, ports, last], Differing { source_port, identification, ecn }) =
            (common.words, *datagram);
        let sum = common.sum + length + identification + ecn;
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        [
            first | ecn << 16 | length,
            second | identification << 16,
            third & 0xffff_0000 | (sum ^ 0xffff),
            ports | source_port << 16,
            last | (length - UDP4 as u32) << 16,
        ]
    }
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)> {
        match *ends {
            Ends::V4(source, destination) => Some((source, destination)),
            Ends::V6(..) => None,
        }
    }
}

impl Underlay for V6 {
    const PLACE: usize = 1;
    #[inline(always)]
    fn number(address: u128, hosts: &ExactView<'_, Keys128>) -> Option<u32> {
        hosts.get(host_key(address)?)
    }
    #[inline(always)]
    fn ecn(header: &Ip6Header) -> u8 {
        header.traffic_class() & 3
    }
    #[inline(always)]
    fn ecn_of<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(SECOND) >> 4 & 3
    }
    #[inline(always)]
    fn tunnel_header<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> [Lanes<I>; 2] {
        // It lies behind the window.
        let (offsets, mut words) = (p.offset.array(), [[0; LANES]; 2]);
        for lane in 0..LANES {
            let bytes = windows.at(lane, offsets[lane] + (tunnel_header::<V6>() - BACK as usize) as u32);
            for (word, at) in words.iter_mut().zip([0, 4]) {
                word[lane] = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            }
        }
        [p.offset.with(&words[0]), p.offset.with(&words[1])]
    }
    // The second one of UDP's header twice: IPv6 has one less.
    const WORDS: [usize; WORDS] = [0, 4, UDP6, UDP6 + 4, UDP6 + 4];
    #[inline(always)]
    fn fill<I: Isa>(common: &Template<Lanes<I>>, length: Lanes<I>, datagram: &Differing<I>) -> [Lanes<I>; WORDS] {
        let ([first, second, ports, last, _], Differing { source_port, ecn, .. }) = (common.words, *datagram);
        let length = (length - UDP6 as u32) << 16;
        [first | ecn << 20, second | length, ports | source_port << 16, last | length, last | length]
    }
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Address)> {
        match *ends {
            Ends::V6(source, destination) => Some((source, destination)),
            Ends::V4(..) => None,
        }
    }
}

const UDP4: usize = Ip4Header::LENGTH;
const UDP6: usize = Ip6Header::LENGTH;

/// The second byte of an IP header in the window of a layer 3 stage.
const SECOND: Field = Field::new(BACK as usize + 1, 8);

/// Where the tunnel's header begins in such a window.
pub(crate) const fn tunnel_header<F: Underlay>() -> usize {
    BACK as usize + F::HEADER_LENGTH + UdpHeader::LENGTH
}

/// The table key of an address. Keys with a zero lower half are reserved, and some addresses have one, so it is mixed
/// with a rare value.
#[inline(always)]
pub(crate) fn host_key(address: u128) -> Option<u128> {
    let key = address ^ 0xb5c0_fbcf_ec4d_3b2f;
    (key as u64 != 0).then_some(key)
}

/// Whether both addresses may be the ends of a tunnel: the source a host's, the destination a host's or a group's.
pub(crate) fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => V4::is_host(address),
        IpAddr::V6(address) => V6::is_host(address) && !V6::is_link_local(address),
    }
}
