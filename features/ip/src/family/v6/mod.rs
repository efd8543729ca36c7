//! IPv6 (RFC 8200): what a router accepts, and where its fields lie.

mod fields;
mod flow;
mod fragment;
pub(crate) mod hop_by_hop;
pub(crate) mod link_local;
mod options;

use std::net::Ipv6Addr;
use std::ops::RangeInclusive;

use quiver_control::ObjectError;
use quiver_engine::{ArcSpec, Field, Flags, Isa, LANES, Lanes, Mask, PacketLanes, Quarters, Windows, arcs, unlikely};
use quiver_wire::ip6::{extension, upper};
use quiver_wire::{Header, Icmp6Type, InterfaceAddress, Ip6Header, IpFamily, IpProtocol, MacAddress, V4, V6, nd};

use super::{Family, FlowKey, Names, Payload, Refusal};
use crate::fault::Fault;
use crate::fib::Special;

arcs! {
    /// Where packets go from `ip6-input`.
    pub enum Next {
        Unicast => features "ip6-unicast",
        HopByHop => node "ip6-hop-by-hop",
        NotEnabled => drop "ip6-not-enabled",
        BadHeader => drop "bad-header",
        BadLength => drop "bad-length",
        Multicast => features "ip6-multicast",
        Martian => drop "martian-address",
    }
}

/// The first bits of addresses that mean something on one link only, and how many they are: fe80::/10.
const LINK_LOCAL: u32 = 0xfe80_0000;
const LINK_LOCAL_MASK: u32 = 0xffc0_0000;
/// Types of the messages of Neighbour Discovery, which stay on their link (RFC 4861, 4).
const ABOUT_NEIGHBORS: RangeInclusive<u8> = Icmp6Type::ROUTER_SOLICITATION.0..=Icmp6Type::REDIRECT.0;

/// Sixteen addresses, given their words.
#[inline(always)]
fn addresses<I: Isa>([a, b, c, d]: [Lanes<I>; 4]) -> [u128; LANES] {
    let (a, b, c, d) = (a.array(), b.array(), c.array(), d.array());
    let mut all = [0; LANES];
    for lane in 0..LANES {
        let (high, low) =
            (u64::from(a[lane]) << 32 | u64::from(b[lane]), u64::from(c[lane]) << 32 | u64::from(d[lane]));
        all[lane] = u128::from(high) << 64 | u128::from(low);
    }
    all
}

/// The packets whose address of these words is this one.
#[inline(always)]
fn are<I: Isa>([a, b, c, d]: [Lanes<I>; 4], address: u128) -> Mask<I> {
    let word = |shift: u32| (address >> shift) as u32;
    a.eq(word(96)) & b.eq(word(64)) & c.eq(word(32)) & d.eq(word(0))
}

impl Family for V6 {
    type Other = V4;
    const NAMES: &'static Names = &Names {
        input: "ip6-input",
        lookup: "ip6-lookup",
        again: "ip6-lookup-again",
        crossing: "ip6-via-ip4",
        rewrite: "ip6-rewrite",
        resolve: "ip6-resolve",
        error: "icmp6-error",
        reassembly: "ip6-reassembly",
        unicast: "ip6-unicast",
        multicast: "ip6-multicast",
        local: "ip6-local",
        punt: "ip6-punt",
        output: "ip6-output",
        not_enabled: "ip6-not-enabled",
        command: "ip6",
        vrf: "ipv6-VRF",
        protocol: "ipv6",
        flow_hash: "src dst sport dport proto flowlabel",
        tables: "ip6-tables",
        interface_tables: "interface-ip6-tables",
        addresses: "interface-ip6-addresses",
        routes: "ip6-routes",
        source_routes: "ip6-source-routes",
        path_mtus: "ip6-path-mtus",
        special_prefixes: "ip6-special-prefixes",
    };
    const INPUT: &'static [ArcSpec] = Next::ARCS;
    const HEADER: Quarters = Quarters::of(12, 58);
    const HOPS: Field = fields::HOPS;
    const ON_LINK: ArcSpec = ArcSpec::to_node("ip6-link-local");
    // No link brings packets for the unspecified or the loopback address, and those for groups are not looked up here.
    const SPECIAL: &'static [(&'static str, Special)] = &[("fe80::/10", Special::LinkLocal)];
    const HAS_BROADCASTS: bool = false;
    const MTU_MIN: u16 = 1280;
    const LINK_MTU_MIN: u16 = Self::MTU_MIN;
    const REPORTED_OLDER: bool = true;
    // RFC 4443, 3.1: an entry that rejects is as good as none.
    const UNREACHABLE: Fault = Fault::NETWORK;
    const NOTHING: Option<IpProtocol> = Some(extension::NO_NEXT);
    const LOCAL_ARCS: usize = 7;
    // RFC 4291, 2.8, and RFC 3810, 4: multicast routers hear who listens.
    const GROUPS: &'static [Ipv6Addr] = &[nd::ALL_NODES, nd::ALL_ROUTERS, nd::ALL_MLD2_ROUTERS, nd::ALL_SITE_ROUTERS];

    #[inline(always)]
    fn is_odd<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let ([a, b, c, _], [e, f, g, _]) = (fields::source(p), fields::destination(p));
        let (from_none, to_none) = ((a | b | c).eq(0), (e | f | g).eq(0));
        let version = p.header.get(fields::VERSION) >> 4;
        let wrong = version.ne(6) | p.length.lt(40) | Self::length(p).gt(p.length);
        let hop_by_hop = p.header.get(fields::NEXT_HEADER).eq(u32::from(extension::HOP_BY_HOP.0));
        let groups = (a >> 24).eq(0xff) | (e >> 24).eq(0xff);
        // None of the addresses of special use begins with anything but zeros.
        wrong | hop_by_hop | groups | from_none | to_none
    }
    #[inline(always)]
    fn check<I: Isa>(p: &mut PacketLanes<I>, enabled: Mask<I>, _: bool) {
        let (odd, total) = (Self::is_odd(p), Self::length(p));
        if (p.live & (odd | !enabled)).any() {
            unlikely();
            let ([a, b, c, d], [e, f, g, h]) = (fields::source(p), fields::destination(p));
            let (from_none, to_none) = ((a | b | c).eq(0), (e | f | g).eq(0));
            let hop_by_hop = p.header.get(fields::NEXT_HEADER).eq(u32::from(extension::HOP_BY_HOP.0));
            p.leave(!enabled, Next::NotEnabled);
            p.leave(p.length.lt(40) | (p.header.get(fields::VERSION) >> 4).ne(6), Next::BadHeader);
            p.leave(total.gt(p.length), Next::BadLength);
            p.leave(hop_by_hop, Next::HopByHop);
            // RFC 4291, 2.5.3 and 2.7: neither loopback nor a group sends anything.
            p.leave((a >> 24).eq(0xff) | (from_none & d.eq(1)), Next::Martian);
            // Who has no address yet may speak to groups (RFC 4291, 2.5.2).
            p.leave((e >> 24).eq(0xff), Next::Multicast);
            p.leave((from_none & d.eq(0)) | (to_none & h.lt(2)), Next::Martian);
        }
        // The length of a chain lies in its buffers too; no link that pads makes one.
        p.length = p.length.replace(p.live.without(p.flagged(Flags::CHAINED)), total);
    }
    #[inline(always)]
    fn destinations<I: Isa>(p: &PacketLanes<I>) -> [u128; LANES] {
        addresses(fields::destination(p))
    }
    #[inline(always)]
    fn sources<I: Isa>(p: &PacketLanes<I>) -> [u128; LANES] {
        addresses(fields::source(p))
    }
    #[inline(always)]
    fn are_from<I: Isa>(p: &PacketLanes<I>, sender: u128) -> Mask<I> {
        are(fields::source(p), sender)
    }
    #[inline(always)]
    fn are_for<I: Isa>(p: &PacketLanes<I>, destination: u128) -> Mask<I> {
        are(fields::destination(p), destination)
    }
    #[inline(always)]
    fn destination_in(window: &[u8; 64]) -> u128 {
        window[38..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
    }
    #[inline(always)]
    fn source_in(window: &[u8; 64]) -> u128 {
        window[22..].first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
    }
    #[inline(always)]
    fn flow_hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        flow::hash(p)
    }
    fn flow_hash_of(packet: &[u8]) -> u32 {
        flow::hash_of(packet)
    }
    fn flow_key<I: Isa>(p: &PacketLanes<I>, _: &mut Windows<'_>) -> FlowKey<Lanes<I>> {
        flow::key(p)
    }
    fn flow_key_of(packet: &[u8]) -> Option<FlowKey<u32>> {
        flow::key_of(packet)
    }
    #[inline(always)]
    fn length<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::PAYLOAD_LENGTH) + V6::LENGTH_BIAS as u32
    }
    #[inline(always)]
    fn hop_limit<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::HOP_LIMIT)
    }
    #[inline(always)]
    fn take_hops<I: Isa>(word: Lanes<I>, hops: Lanes<I>) -> Lanes<I> {
        // The limit is the low byte.
        word - hops
    }
    #[inline(always)]
    fn of_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let [first, ..] = fields::source(p);
        (first & LINK_LOCAL_MASK).eq(LINK_LOCAL)
    }
    #[inline(always)]
    fn for_hosts<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let [a, b, c, d] = fields::destination(p);
        !((a >> 24).eq(0xff) | ((a | b | c).eq(0) & d.lt(2)))
    }
    #[inline(always)]
    fn stays_on_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let [first, ..] = fields::destination(p);
        let kind = p.header.get(fields::ICMP_TYPE);
        let is_icmp =
            p.header.get(fields::NEXT_HEADER).eq(u32::from(V6::ICMP.0)) & p.length.gt(V6::HEADER_LENGTH as u32);
        let about_neighbors =
            kind.gt(u32::from(*ABOUT_NEIGHBORS.start()) - 1) & kind.lt(u32::from(*ABOUT_NEIGHBORS.end()) + 1);
        let is_near = Self::hop_limit(p).eq(u32::from(nd::HOP_LIMIT));
        Self::of_link(p) | (first & LINK_LOCAL_MASK).eq(LINK_LOCAL) | (is_icmp & about_neighbors & is_near)
    }
    #[inline(always)]
    fn is_plain<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let next = p.header.get(fields::NEXT_HEADER);
        let is = |kind: IpProtocol| next.eq(u32::from(kind.0));
        // Others may be extension headers.
        (p.header.get(fields::VERSION) >> 4).eq(u32::from(V6::VERSION))
            & (is(IpProtocol::TCP) | is(IpProtocol::UDP) | is(IpProtocol::ICMP6))
    }
    #[inline(always)]
    fn is_whole<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        // Fragments have an extension header.
        Self::is_plain(p)
    }
    #[inline(always)]
    fn protocol<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::NEXT_HEADER)
    }
    const PORTS: Field = fields::PORTS;
    fn take_hop(header: &mut Ip6Header) {
        header.hop_limit = header.hop_limit.wrapping_sub(1);
    }

    fn payload(packet: &[u8]) -> Option<Payload> {
        let (header, rest) = Ip6Header::parse(packet)?;
        let found = upper(header.next_header, rest)?;
        // RFC 6946: the only fragment of a packet is the whole packet.
        let part = found.fragment.filter(|fragment| fragment.more || fragment.offset > 0);
        let fragment = part.map(|part| part.offset);
        let offset = Ip6Header::LENGTH + found.offset;
        Some(Payload { protocol: found.protocol, offset, pointer: found.pointer, fragment })
    }
    fn refusal(packet: &[u8]) -> Option<Refusal> {
        options::refusal(packet)
    }
    fn needs_way_back(header: &Ip6Header, payload: &Payload) -> bool {
        // Their addresses have no route, and before it has an address a host speaks by ICMP (RFC 4862, 5.4.2).
        !header.source().is_unicast_link_local() && payload.protocol != V6::ICMP
    }
    fn is_discovery(packet: &[u8]) -> bool {
        // Few packets have come no hop, and to walk the headers of the others would be in vain.
        let near = Ip6Header::parse(packet).filter(|(header, _)| header.hop_limit == nd::HOP_LIMIT);
        let icmp = near.and_then(|_| V6::payload(packet)).filter(|payload| payload.protocol == V6::ICMP);
        let kind = icmp.and_then(|icmp| packet.get(icmp.offset).copied());
        kind.is_some_and(|kind| ABOUT_NEIGHBORS.contains(&kind))
    }
    fn may_fragment(_: &[u8], forwarded: bool) -> bool {
        !forwarded
    }
    fn cut(packet: &[u8], mtu: usize, _: bool, give: impl FnMut([&[u8]; 3])) -> Option<()> {
        fragment::cut(packet, mtu, give)
    }
    fn describe(header: &Ip6Header) -> String {
        format!(
            "{} -> {} {} hop-limit {} length {} flow {:#07x}",
            header.source(),
            header.destination(),
            header.next_header,
            header.hop_limit,
            header.payload_length,
            header.flow_label(),
        )
    }

    fn is_host(address: Ipv6Addr) -> bool {
        !(address.is_unspecified() || address.is_multicast() || address.is_loopback())
    }
    fn check_address(address: &InterfaceAddress<V6>) -> Result<(), ObjectError> {
        let own = address.address();
        if !V6::is_host(own) {
            return Err(ObjectError::field("address", format!("{own} is no address of a station"))
                .remedy("choose one that is no group's and not ::1"));
        }
        if V6::is_link_local(own) {
            return Err(ObjectError::field("address", format!("{own} is a link-local address"))
                .remedy("give it as link-local of the interface's ip6-interfaces object, or choose another one"));
        }
        Ok(())
    }
    fn link_local(mac: MacAddress) -> Option<Ipv6Addr> {
        Some(nd::link_local(mac))
    }
    fn is_link_local(address: Ipv6Addr) -> bool {
        address.is_unicast_link_local()
    }
    fn own_group(address: Ipv6Addr) -> Option<Ipv6Addr> {
        Some(nd::solicited_node(address))
    }
    fn group_mac(group: Ipv6Addr) -> MacAddress {
        nd::group_mac(group)
    }
}
