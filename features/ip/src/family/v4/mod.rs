//! IPv4: what a router accepts (RFC 1812, 5.2.2), and where its fields lie.

pub mod fields;
pub mod flow;
mod fragment;
pub(crate) mod options;

use quiver_control::ObjectError;
use quiver_engine::{
    ArcSpec, Field, Flags, Isa, LANES, Lanes, Mask, Mask8, PacketLanes, Quarters, To, Windows, arcs, unlikely,
};
use quiver_wire::{Header, InterfaceAddress, Ip4Header, IpFamily, IpProtocol, MacAddress, V4, V6};
use std::net::Ipv4Addr;

use super::{Family, FlowKey, Names, Payload, Refusal};
use crate::fault::Fault;
use crate::fib::Special;

arcs! {
    /// Where packets go from `ip4-input`.
    pub enum Next {
        Unicast => features "ip4-unicast",
        Options => node "ip4-options",
        NotEnabled => drop "ip4-not-enabled",
        BadHeader => drop "bad-header",
        BadLength => drop "bad-length",
        BadChecksum => drop "bad-checksum",
        Broadcast => drop "broadcast",
        Multicast => features "ip4-multicast",
        Martian => drop "martian-address",
    }
}

/// The sum of a header without options (RFC 1071), whose halves lie in bytes 14..34 of the window: all ones if it is right.
#[inline(always)]
fn sum<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
    let (mut words, mut high) = (p.header.word(16), p.header.word(16) >> 16);
    for at in [20, 24, 28] {
        words = words + p.header.word(at);
        high = high + (p.header.word(at) >> 16);
    }
    // PERF: the lower halves are what the upper ones leave of the words, whatever was carried out of these.
    let sum = (words - (high << 16)) + high + (p.header.word(12) & 0xffff) + (p.header.word(32) >> 16);
    // Of ten halves less than ten are carried, so that a right sum is right after one fold, and a wrong one wrong.
    (sum & 0xffff) + (sum >> 16)
}

/// Fragments that begin in the middle of a transport header, which a router may drop (RFC 1858).
#[inline(always)]
fn is_inside<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
    (p.header.get(fields::FRAGMENT) & 0x1fff).eq(1)
}

impl Family for V4 {
    type Other = V6;
    const NAMES: &'static Names = &Names {
        input: "ip4-input",
        lookup: "ip4-lookup",
        again: "ip4-lookup-again",
        crossing: "ip4-via-ip6",
        rewrite: "ip4-rewrite",
        resolve: "ip4-resolve",
        error: "icmp4-error",
        reassembly: "ip4-reassembly",
        unicast: "ip4-unicast",
        multicast: "ip4-multicast",
        local: "ip4-local",
        punt: "ip4-punt",
        output: "ip4-output",
        not_enabled: "ip4-not-enabled",
        command: "ip",
        vrf: "ipv4-VRF",
        protocol: "ipv4",
        flow_hash: "src dst sport dport proto",
        tables: "ip-tables",
        interface_tables: "interface-tables",
        addresses: "interface-addresses",
        routes: "routes",
        source_routes: "source-routes",
        path_mtus: "path-mtus",
        special_prefixes: "special-prefixes",
    };
    const INPUT: &'static [ArcSpec] = Next::ARCS;
    const HEADER: Quarters = Quarters::of(12, 38);
    const HOPS: Field = fields::HOPS;
    const ON_LINK: ArcSpec = ArcSpec { name: "directed-broadcast", to: To::Drop };
    // RFC 1812, 5.3.7, and groups, which nobody here is in. No link brings packets for loopback addresses.
    const SPECIAL: &'static [(&'static str, Special)] = &[
        ("0.0.0.0/8", Special::Drop),
        ("224.0.0.0/4", Special::Drop),
        ("240.0.0.0/4", Special::Drop),
        ("255.255.255.255/32", Special::Broadcast),
    ];
    const HAS_BROADCASTS: bool = true;
    const MTU_MIN: u16 = 68;
    const LINK_MTU_MIN: u16 = 0;
    const REPORTED_OLDER: bool = false;
    const UNREACHABLE: Fault = Fault::HOST;
    const NOTHING: Option<IpProtocol> = None;
    const LOCAL_ARCS: usize = 5;
    // RFC 1112, 4, and RFC 1812, 5.3.12: all systems, and all routers.
    const GROUPS: &'static [Ipv4Addr] = &[Ipv4Addr::new(224, 0, 0, 1), Ipv4Addr::new(224, 0, 0, 2)];

    #[inline(always)]
    fn is_odd<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let total = p.header.get(fields::TOTAL_LENGTH);
        let (from, to) = (p.header.get(fields::SOURCE) >> 24, p.header.get(fields::DESTINATION) >> 24);
        // RFC 1812, 5.3.7: this network, loopback, groups and what is reserved.
        let special = (from - 1).gt(222) | (to - 1).gt(222) | from.eq(127) | to.eq(127);
        let wrong = total.lt(20) | total.gt(p.length) | sum(p).ne(0xffff);
        p.header.get(fields::VERSION_IHL).ne(0x45) | wrong | is_inside(p) | special
    }
    #[inline(always)]
    fn check<I: Isa>(p: &mut PacketLanes<I>, enabled: Mask<I>, ordinary: bool) {
        let (odd, total) = (Self::is_odd(p), p.header.get(fields::TOTAL_LENGTH));
        if (p.live & (odd | !enabled)).any() {
            unlikely();
            let (version_ihl, destination) = (p.header.get(fields::VERSION_IHL), p.header.get(fields::DESTINATION));
            let (from, to) = (p.header.get(fields::SOURCE) >> 24, destination >> 24);
            let options = version_ihl.gt(0x45) & version_ihl.lt(0x50);
            p.leave(!enabled, Next::NotEnabled);
            p.leave(p.length.lt(20) | (version_ihl.ne(0x45) & !options), Next::BadHeader);
            p.leave(total.lt(20) | total.gt(p.length), Next::BadLength);
            p.leave(options | is_inside(p), Next::Options);
            p.leave(sum(p).ne(0xffff), Next::BadChecksum);
            p.leave(destination.eq(!0), Next::Broadcast);
            p.leave(to.gt(223) & to.lt(240), Next::Multicast);
            let martian = from.eq(0) | from.eq(127) | from.gt(223) | to.eq(0) | to.eq(127) | to.gt(239);
            p.leave(martian, if ordinary { Next::Options } else { Next::Martian });
        }
        // The length of a chain lies in its buffers too; no link that pads makes one.
        p.length = p.length.replace(p.live.without(p.flagged(Flags::CHAINED)), total);
    }
    #[inline(always)]
    fn destinations<I: Isa>(p: &PacketLanes<I>) -> [u32; LANES] {
        p.header.get(fields::DESTINATION).array()
    }
    #[inline(always)]
    fn sources<I: Isa>(p: &PacketLanes<I>) -> [u32; LANES] {
        p.header.get(fields::SOURCE).array()
    }
    #[inline(always)]
    fn are_from<I: Isa>(p: &PacketLanes<I>, sender: u32) -> Mask<I> {
        p.header.get(fields::SOURCE).eq(sender)
    }
    #[inline(always)]
    fn are_for<I: Isa>(p: &PacketLanes<I>, destination: u32) -> Mask<I> {
        p.header.get(fields::DESTINATION).eq(destination)
    }
    #[inline(always)]
    fn destination_in(window: &[u8; 64]) -> u32 {
        u32::from_be_bytes([window[30], window[31], window[32], window[33]])
    }
    #[inline(always)]
    fn source_in(window: &[u8; 64]) -> u32 {
        u32::from_be_bytes([window[26], window[27], window[28], window[29]])
    }
    #[inline(always)]
    fn flow_hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        flow::hash(p)
    }
    fn flow_hash_of(packet: &[u8]) -> u32 {
        flow::hash_of(packet)
    }
    fn flow_key<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> FlowKey<Lanes<I>> {
        flow::key(p, windows)
    }
    fn flow_key_of(packet: &[u8]) -> Option<FlowKey<u32>> {
        flow::key_of(packet)
    }
    #[inline(always)]
    fn length<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::TOTAL_LENGTH)
    }
    #[inline(always)]
    fn hop_limit<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::HOPS) >> 24
    }
    #[inline(always)]
    fn take_hops<I: Isa>(word: Lanes<I>, hops: Lanes<I>) -> Lanes<I> {
        // RFC 1624: the TTL is the high byte of its word, so the sum grows by 0x0100, end-around.
        let sum = (word & 0xffff) + (hops << 8);
        let sum = (sum + ((sum + hops) >> 16)) & 0xffff;
        (word - (hops << 24)) & 0xffff_0000 | sum
    }
    #[inline(always)]
    fn of_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        p.live.with(Mask8(0))
    }
    #[inline(always)]
    fn for_hosts<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        let to = p.header.get(fields::DESTINATION);
        !(to.eq(0) | to.eq(!0) | (to >> 28).eq(0xe))
    }
    #[inline(always)]
    fn stays_on_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        p.live.with(Mask8(0))
    }
    #[inline(always)]
    fn is_plain<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        p.header.get(fields::VERSION_IHL).eq(u32::from(Ip4Header::VERSION_IHL))
            & (p.header.get(fields::FRAGMENT) & 0x1fff).eq(0)
    }
    #[inline(always)]
    fn is_whole<I: Isa>(p: &PacketLanes<I>) -> Mask<I> {
        (p.header.get(fields::FRAGMENT) & 0x3fff).eq(0)
    }
    #[inline(always)]
    fn protocol<I: Isa>(p: &PacketLanes<I>) -> Lanes<I> {
        p.header.get(fields::PROTOCOL)
    }
    const PORTS: Field = fields::PORTS;
    fn take_hop(header: &mut Ip4Header) {
        header.decrement_ttl();
    }

    fn payload(packet: &[u8]) -> Option<Payload> {
        let (header, _) = Ip4Header::parse(packet)?;
        let fragment = header.is_fragment().then(|| header.fragment_offset());
        let offset = header.header_length();
        let is_whole = (Ip4Header::LENGTH..=packet.len()).contains(&offset);
        is_whole.then_some(Payload { protocol: header.protocol, offset, pointer: V4::PROTOCOL_OFFSET, fragment })
    }
    fn refusal(_: &[u8]) -> Option<Refusal> {
        None
    }
    fn needs_way_back(header: &Ip4Header, _: &Payload) -> bool {
        // Whoever asks everybody on the link for an address has none yet.
        !header.destination().is_broadcast()
    }
    fn is_discovery(_: &[u8]) -> bool {
        false
    }
    fn may_fragment(packet: &[u8], _: bool) -> bool {
        Ip4Header::parse(packet).is_some_and(|(header, _)| !header.dont_fragment())
    }
    fn cut(packet: &[u8], mtu: usize, forwarded: bool, give: impl FnMut([&[u8]; 3])) -> Option<()> {
        fragment::cut(packet, mtu, forwarded, give)
    }
    fn describe(header: &Ip4Header) -> String {
        format!(
            "{} -> {} {} ttl {} length {} id {}{}",
            header.source(),
            header.destination(),
            header.protocol,
            header.ttl,
            header.total_length,
            header.identification,
            if header.is_fragment() { " fragment" } else { "" },
        )
    }

    fn is_host(address: Ipv4Addr) -> bool {
        !(address.is_unspecified() || address.is_multicast() || address.is_broadcast())
    }
    fn check_address(address: &InterfaceAddress<V4>) -> Result<(), ObjectError> {
        let (own, prefix) = (address.address(), address.prefix());
        let reserved = own.is_unspecified() || own.is_multicast() || own.is_broadcast();
        // RFC 3021: both addresses of a /31 are stations'.
        let of_subnet = prefix.length() < 31 && (own == prefix.address() || own == prefix.last_address());
        match (reserved, of_subnet) {
            (true, _) => Err(ObjectError::field("address", format!("{own} is no address of a station"))
                .remedy("choose one that is a single host's")),
            (_, true) => {
                Err(ObjectError::field("address", format!("{own} is the network or broadcast address of {prefix}"))
                    .remedy("choose one between its first and its last"))
            }
            _ => Ok(()),
        }
    }
    fn link_local(_: MacAddress) -> Option<Ipv4Addr> {
        None
    }
    fn is_link_local(_: Ipv4Addr) -> bool {
        false
    }
    fn own_group(_: Ipv4Addr) -> Option<Ipv4Addr> {
        None
    }
    fn group_mac(group: Ipv4Addr) -> MacAddress {
        // RFC 1112, 6.4: the low 23 bits of the group.
        let [_, a, b, c] = group.octets();
        MacAddress([0x01, 0x00, 0x5e, a & 0x7f, b, c])
    }
}
