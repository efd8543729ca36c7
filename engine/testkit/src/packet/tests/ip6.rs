//! The same promises for IPv6, its extension headers, ICMPv6 and Neighbour Discovery.
use super::*;
use quiver_wire::nd::{self, LinkLayerOption, NeighborMessage};
use quiver_wire::{Icmp6Type, IpProtocol};
use std::net::Ipv6Addr;

const IP6: &str = "ip6 2001:db8::1 > 2001:db8::2";
/// Where the layer behind Ethernet and IPv6 begins.
const BEHIND: usize = 54;

/// As [`same`], for layers behind Ethernet and IPv6.
fn same_in_ip6(layers: &str) -> Vec<u8> {
    same(&format!("{ETH} / {IP6}{layers}"))
}

fn built(text: &str) -> Vec<u8> {
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{error}")).to_bytes()
}

#[test]
fn a_udp_packet_byte_by_byte() {
    let bytes = same_in_ip6(" hlim 63 class 184 flow 0x12345 / udp 1000 > 2000 / payload 4");
    let ethernet = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x86\xdd";
    let ip = b"\x6b\x81\x23\x45\0\x0c\x11\x3f";
    let addresses = b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02";
    // The checksum was added up by hand.
    let udp = b"\x03\xe8\x07\xd0\0\x0c\x96\xa5\0\x01\x02\x03";
    assert_eq!(bytes, [&ethernet[..], ip, addresses, udp].concat());
}

#[test]
fn messages_byte_by_byte() {
    // The checksums were added up by hand.
    let echo = same_in_ip6(" / icmp6 echo-request id 1 seq 2");
    assert_eq!(&echo[BEHIND..], b"\x80\0\x24\x45\0\x01\0\x02");
    let text = "ip6 fe80::1 > ff02::1:ff00:2 hlim 255 / icmp6 neighbor-solicitation / nd target 2001:db8::2 source-link \
                02:00:00:00:00:01";
    let solicitation = same(&format!("{ETH} / {text}"));
    let target = b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02";
    let expected = [&b"\x87\0\x4b\x5f\0\0\0\0"[..], target, b"\x01\x01\x02\0\0\0\0\x01"].concat();
    assert_eq!(&solicitation[BEHIND..], expected);
    let advertisement =
        same_in_ip6(" / icmp6 router-advertisement / ra hops 64 flags other lifetime 1800 retrans 1 mtu 1500");
    assert_eq!(&advertisement[BEHIND..BEHIND + 2], b"\x86\0");
    assert_eq!(&advertisement[BEHIND + 4..], b"\x40\x40\x07\x08\0\0\0\0\0\0\0\x01\x05\x01\0\0\0\0\x05\xdc");
}

#[test]
fn extension_headers_byte_by_byte() {
    let bytes = same_in_ip6(
        " / hbh hex 050200000100 / routing hex 040000000000 / dstopt hex 010c000000000000000000000000 / frag offset 0 more \
         id 7 / udp 1 > 2 length 200 checksum 0xbeef / payload 8",
    );
    let length = 8 + 8 + 16 + 8 + 16;
    assert_eq!((bytes[18], bytes[19], bytes[20]), (0, length, 0));
    let options = b"\x2b\0\x05\x02\0\0\x01\0\x3c\0\x04\0\0\0\0\0\x2c\x01\x01\x0c\0\0\0\0\0\0\0\0\0\0\0\0";
    let fragment = b"\x11\0\0\x01\0\0\0\x07\0\x01\0\x02\0\xc8\xbe\xef";
    assert_eq!(&bytes[BEHIND..BEHIND + 48], [&options[..], fragment].concat());
    let wire = quiver_wire::ip6::upper(IpProtocol(bytes[20]), &bytes[BEHIND..]).unwrap();
    assert_eq!((wire.protocol, wire.offset), (IpProtocol::UDP, 40));
}

#[test]
fn every_layer_prints_as_it_is_read() {
    same_in_ip6(" next 59");
    same_in_ip6(" next gre / payload 8");
    same_in_ip6(" / tcp 1000 > 80 syn seq 1 ack 0 window 512 options 020405b4");
    same_in_ip6(" / udp 53 > 53 no-checksum / payload 9");
    same_in_ip6(" / ip6 2001:db8::3 > 2001:db8::4 hlim 1 / ip4 10.0.0.1 > 10.0.0.2 ttl 9 / udp 1 > 2");
    same(&format!("{ETH} / {IP} / {IP6} / icmp6 echo-reply id 0 seq 0 / payload 56"));
    same(&format!("{ETH} / {IP6} / {IP} / icmp echo-reply id 0 seq 0 / padding 6"));
    same_in_ip6(" / udp 1 > 2 / payload 4 / padding 18");
    same_in_ip6(" / hbh hex 010400000000 / icmp6 echo-request id 1 seq 1");
    same_in_ip6(" / hbh hex 010400000000 next 59 / padding 4");
    same_in_ip6(" / frag offset 1480 id 4294967295 next udp / payload 64");
    same_in_ip6(" / frag offset 65528 more id 0 next 60 / payload 64");
    same_in_ip6(" / frag offset 0 id 7 / udp 1 > 2 / payload 9");
    // Checksums cannot be judged on the way to the last destination, and can be there.
    same_in_ip6(" / routing hex 040100000000 / udp 1 > 2 checksum 0xbeef");
    same_in_ip6(" / routing hex 040000000000 / udp 1 > 2 bad-checksum 0xbeef");
    for message in ["mld-query", "mld-report", "mld-done", "mld2-report", "router-solicitation", "200 code 1"] {
        same_in_ip6(&format!(" / icmp6 {message}"));
        same_in_ip6(&format!(" / icmp6 {message} id 1 seq 2 / hex 0a0b0c"));
    }
}

#[test]
fn neighbour_discovery_prints_as_it_is_read() {
    let [a, b] = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"];
    same_in_ip6(&format!(" / icmp6 router-solicitation / nd source-link {a}"));
    same_in_ip6(" / icmp6 neighbor-solicitation / nd target fe80::1");
    same_in_ip6(&format!(
        " / icmp6 neighbor-advertisement / nd target fe80::1 flags router,solicited,override target-link {b}"
    ));
    same_in_ip6(&format!(
        " / icmp6 redirect / nd target fe80::1 destination 2001:db8::9 target-link {b} / hex 0401000000000000"
    ));
    same_in_ip6(" / icmp6 router-advertisement / ra hops 0 lifetime 0");
    same_in_ip6(&format!(
        " / icmp6 router-advertisement / ra hops 64 flags managed,other lifetime 1800 reachable 30000 retrans 1000 \
         source-link {a} mtu 1500 prefix 2001:db8::/64 flags onlink,auto valid 2592000 preferred 604800 prefix \
         2001:db8::1/127 flags none valid 0 preferred 4294967295"
    ));
    // The forms of RFC 4861 that the text leaves out.
    assert_eq!(
        built(&format!("{ETH} / {IP6} / icmp6 router-advertisement / ra")),
        built(&format!("{ETH} / {IP6} / icmp6 router-advertisement / ra hops 64 flags none lifetime 1800"))
    );
}

#[test]
fn discovery_is_built_as_the_wire_crate_builds_it() {
    let [source, target]: [Ipv6Addr; 2] = ["fe80::1", "fe80::2"].map(|address| address.parse().unwrap());
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    let flags = NeighborMessage::SOLICITED | NeighborMessage::OVERRIDE;
    let message = NeighborMessage::advertisement(target, flags);
    let option = LinkLayerOption::new(nd::option::TARGET_LINK_LAYER, mac);
    let built = Packet::from(Ip6::new(source, target).hop_limit(nd::HOP_LIMIT))
        .then(Icmp6::new(Icmp6Type::NEIGHBOR_ADVERTISEMENT, 0))
        .then(Nd::target(target).flags(flags).option(NdOption::TargetLink(mac)));
    assert_eq!(&built.to_bytes()[40..], message.with_mac(source, target, Some(option)));
}

#[test]
fn an_icmp_error_quotes_a_packet_without_its_end() {
    let quoted = "ip6 2001:db8::2 > 2001:db8::3 hlim 1 length 1400 / udp 1 > 2 length 1400 checksum 0xbeef";
    for message in [
        "unreachable code 4",
        "packet-too-big mtu 4294967295",
        "time-exceeded code 1",
        "parameter-problem code 1 pointer 40",
        "100 id 1 seq 2",
    ] {
        same_in_ip6(&format!(" / icmp6 {message} / {quoted}"));
    }
    let bytes = same_in_ip6(" / icmp6 packet-too-big mtu 66000 / hex 60");
    assert_eq!(&bytes[BEHIND + 4..BEHIND + 8], 66_000u32.to_be_bytes());
}

#[test]
fn malformed_headers_keep_their_words() {
    same_in_ip6(" version 5 / udp 1 > 2 / payload 26");
    same_in_ip6(" next udp / payload 4 / padding hex 01");
    same_in_ip6(" / ip6 ::1 > ::2 length 4 / udp 1 > 2 / payload 26");
    same_in_ip6(" length 2000 / udp 1 > 2 / payload 26");
    same_in_ip6(" next 0 / hex 11");
    same_in_ip6(" next 43 / hex 1101040000000000");
    same_in_ip6(" next icmp6 / hex 80000000");
    // Bits that are unused, of a fragment, a solicitation, an advertisement and options.
    same_in_ip6(" next 44 / hex 1101000000000007");
    same_in_ip6(" next 44 / hex 1100000200000007");
    let target = "20010db8000000000000000000000002";
    same_in_ip6(&format!(" / icmp6 neighbor-solicitation id 0 seq 1 / hex {target}"));
    same_in_ip6(" / icmp6 router-advertisement id 16416 seq 1800 / payload 8");
    same_in_ip6(" / icmp6 router-solicitation / hex 0100");
    for option in ["0102020000000001", "0501000100000500", "0e01", "0000000000000000"] {
        same_in_ip6(&format!(" / icmp6 neighbor-solicitation / nd target fe80::1 mtu 1 / hex {option}"));
    }
    for prefix in ["030481c0", "030440e0"] {
        let option = format!("{prefix}{}", "0".repeat(56));
        same_in_ip6(&format!(" / icmp6 router-advertisement / ra hops 64 lifetime 1800 / hex {option}"));
    }
}

#[test]
fn wrong_checksums_are_told() {
    for (layers, at) in [
        (" / icmp6 echo-request id 1 seq 2 bad-checksum / payload 56", 2),
        (" / icmp6 neighbor-solicitation bad-checksum / nd target fe80::1", 2),
        (" / hbh hex 010400000000 / udp 1 > 2 bad-checksum / payload 26", 14),
        (" / tcp 1 > 2 syn bad-checksum", 16),
    ] {
        let bytes = built(&format!("{ETH} / {IP6}{layers}"));
        let right = built(&format!("{ETH} / {IP6}{}", layers.replace(" bad-checksum", "")));
        let found = u16::from_be_bytes([bytes[BEHIND + at], bytes[BEHIND + at + 1]]);
        let told = Packet::dissect(&bytes).to_string();
        assert!(told.contains(&format!(" bad-checksum 0x{found:04x}")), "{told}");
        assert!(!Packet::dissect(&right).to_string().contains("checksum"));
        same(&told);
    }
    same_in_ip6(" / udp 1 > 2 partial-checksum / payload 26");
    same_in_ip6(" / icmp6 echo-reply id 0 seq 1 partial-checksum / payload 26");
}

#[test]
fn errors_name_layer_field_and_remedy() {
    for (text, message) in [
        ("ip6 10.0.0.1 > ::1", "layer 1 (ip6): `10.0.0.1` will not do for source: write an IPv6 address such as"),
        ("ip6 ::1 > ::2 ttl 1", "layer 1 (ip6): `ttl` is no field of it: write one of hlim, class, flow"),
        ("ip6 ::1 > ::2 flow 0x100000", "`0x100000` will not do for flow: write a number from 0 to 1048575"),
        ("ip6 ::1 > ::2 next hbh", "`hbh` will not do for next: write a name such as udp or a number from 0 to 255"),
        ("hbh 0502", "layer 1 (hbh): `0502` will not do for hex: write `hex`"),
        ("dstopt hex 0502", "layer 1 (dstopt): `0502` will not do for bytes: write 6, 14, 22 or more pairs"),
        ("routing hex 040000000000 left 1", "layer 1 (routing): `left` is no field of it: write one of next"),
        ("frag offset 4", "layer 1 (frag): `4` will not do for offset: write a multiple of 8 from 0 to 65528"),
        ("frag last", "layer 1 (frag): `last` is no field of it: write one of offset, more, id, next"),
        ("icmp6 ping", "layer 1 (icmp6): `ping` will not do for type: write unreachable, packet-too-big"),
        ("icmp6 redirect ttl", "`ttl` is no field of it: write one of code, id, seq, mtu, pointer, checksum"),
        (
            "nd target fe80::1 flags managed",
            "`managed` will not do for flags: write some of router, solicited, override",
        ),
        (
            "nd destination ::1",
            "layer 1 (nd): `destination` is no field of it: write one of target, flags, source-link",
        ),
        ("ra ttl 1", "layer 1 (ra): `ttl` is no field of it: write one of hops, flags, lifetime"),
        ("ra prefix 2001:db8::", "`2001:db8::` will not do for prefix: write an IPv6 prefix such as 2001:db8::/64"),
        ("ra prefix 2001:db8::/64 valid 1", "`valid` will not do for flags: write `flags`"),
    ] {
        let error = text.parse::<Packet>().unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

fn address6() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}

fn ip6() -> impl Strategy<Value = Ip6> {
    (address6(), address6(), any::<(u8, u8)>(), 0u32..0x10_0000).prop_map(
        |(source, destination, (hop_limit, class), flow)| Ip6 {
            hop_limit,
            class,
            flow,
            ..Ip6::new(source, destination)
        },
    )
}

fn extension() -> impl Strategy<Value = Layer> {
    const KINDS: [ExtensionKind; 3] = [ExtensionKind::HopByHop, ExtensionKind::Routing, ExtensionKind::Destination];
    let body = (0usize..4).prop_flat_map(|units| prop::collection::vec(any::<u8>(), units * 8 + 6));
    let fragment = (prop_oneof![Just(0u16), 0u16..8192], any::<(bool, u32)>());
    prop_oneof![
        3 => (prop::sample::select(&KINDS[..]), body).prop_map(|(kind, body)| Extension6::new(kind, body).into()),
        1 => fragment.prop_map(|(offset, (more, id))| Fragment6::new(offset * 8, more, id).into()),
    ]
}

/// An IPv6 header and up to three extension headers.
pub(super) fn headers() -> impl Strategy<Value = Vec<Layer>> {
    (ip6(), prop::collection::vec(extension(), 0..4))
        .prop_map(|(ip, extensions)| std::iter::once(ip.into()).chain(extensions).collect())
}

fn option() -> impl Strategy<Value = NdOption> {
    let prefix = (address6(), 0u8..=128, 0u8..4, any::<(u32, u32)>()).prop_map(
        |(address, length, flags, (valid, preferred))| NdOption::Prefix {
            prefix: quiver_wire::InterfaceAddress::new(address, length).unwrap(),
            flags: flags << 6,
            valid,
            preferred,
        },
    );
    let link = (any::<bool>(), mac())
        .prop_map(|(source, mac)| if source { NdOption::SourceLink(mac) } else { NdOption::TargetLink(mac) });
    prop_oneof![prefix, link, any::<u32>().prop_map(NdOption::Mtu)]
}

/// An ICMPv6 message, with the layers of Neighbour Discovery that its type may have.
pub(super) fn message() -> impl Strategy<Value = Vec<Layer>> {
    let subject = prop_oneof![
        Just((Icmp6Type::ROUTER_SOLICITATION, NdSubject::Nobody)),
        address6().prop_map(|target| (Icmp6Type::NEIGHBOR_ADVERTISEMENT, NdSubject::Target(target))),
        (address6(), address6())
            .prop_map(|(target, destination)| (Icmp6Type::REDIRECT, NdSubject::Redirect { target, destination })),
    ];
    let options = || prop::collection::vec(option(), 0..4);
    let nd = (subject, 0u32..8, options()).prop_map(|((kind, subject), flags, options)| {
        vec![Icmp6::new(kind, 0).into(), Nd { subject, flags: flags << 29, options }.into()]
    });
    let ra = (any::<(u8, u16, u32, u32)>(), 0u8..4, options()).prop_map(|(fields, flags, options)| {
        let (hops, lifetime, reachable_ms, retransmission_ms) = fields;
        let ra = Ra { hops, flags: flags << 6, lifetime, reachable_ms, retransmission_ms, options };
        vec![Icmp6::new(Icmp6Type::ROUTER_ADVERTISEMENT, 0).into(), ra.into()]
    });
    let plain = (any::<(u8, u8, u32)>(), checksum()).prop_map(|((kind, code, parameter), checksum)| {
        vec![Icmp6 { parameter, checksum, ..Icmp6::new(Icmp6Type(kind), code) }.into()]
    });
    prop_oneof![nd, ra, plain]
}

proptest! {
    /// Bytes behind the ethertype of IPv6: whatever they are, there is a header, and what is behind it is no worse for it.
    #[test]
    fn dissecting_loses_nothing(
        next in prop::sample::select(&[0u8, 4, 6, 17, 41, 43, 44, 58, 59, 60][..]),
        length in prop_oneof![any::<u16>(), 0u16..100],
        kind in prop_oneof![any::<u8>(), 133u8..138, 1u8..5],
        extension in prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 6)],
        noise in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..6], 32..140),
    ) {
        let mut frame = built(&format!("{ETH} / {IP6} next {next}"));
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame[22..BEHIND].copy_from_slice(&noise[..32]);
        if !extension.is_empty() {
            frame[20] = 60;
            frame.extend([next, 0]);
            frame.extend(extension);
        }
        frame.push(kind);
        frame.extend(&noise[32..]);
        let packet = Packet::dissect(&frame);
        prop_assert!(matches!(packet.layers[1], Layer::Ip6(_)), "{packet}");
        let printed = packet.to_string().parse::<Packet>().unwrap();
        prop_assert_eq!(printed.to_bytes(), frame);
        prop_assert_eq!(printed, packet);
    }

    #[test]
    fn etherparse_reads_what_was_built(ip in ip6(), ports: (u16, u16), payload in prop::collection::vec(any::<u8>(), 0..40)) {
        let frame = Packet::from(Ethernet::new(MacAddress::ZERO, MacAddress::ZERO))
            .then(ip.clone())
            .then(Extension6::new(ExtensionKind::HopByHop, [1, 4, 0, 0, 0, 0]))
            .then(Fragment6::new(0, false, 7))
            .then(Udp::new(ports.0, ports.1))
            .then(Payload(payload.clone()))
            .then(Padding::zeros(3))
            .to_bytes();
        let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(NetSlice::Ipv6(slice)) = sliced.net else { return Err(TestCaseError::fail("no IPv6")) };
        let header = slice.header().to_header();
        prop_assert_eq!((header.source, header.destination), (ip.source.octets(), ip.destination.octets()));
        prop_assert_eq!((header.hop_limit, header.traffic_class, header.flow_label.value()), (ip.hop_limit, ip.class, ip.flow));
        prop_assert_eq!(slice.extensions().clone().into_iter().count(), 2);
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { return Err(TestCaseError::fail("no UDP")) };
        prop_assert_eq!((udp.source_port(), udp.destination_port(), udp.payload()), (ports.0, ports.1, &payload[..]));
        let udp_header = udp.to_header();
        prop_assert_eq!(udp_header.checksum, udp_header.calc_checksum_ipv6_raw(header.source, header.destination, &payload).unwrap());
    }

    #[test]
    fn what_etherparse_builds_is_built_alike(addresses in (address6(), address6()), hop_limit: u8, ports: (u16, u16), seq: u32, window: u16, payload in prop::collection::vec(any::<u8>(), 0..40)) {
        let ours = Packet::from(Ethernet::new(MacAddress::ZERO, MacAddress::ZERO))
            .then(Ip6::new(addresses.0, addresses.1).hop_limit(hop_limit));
        let theirs = || PacketBuilder::ethernet2([0; 6], [0; 6]).ipv6(addresses.0.octets(), addresses.1.octets(), hop_limit);
        let mut udp = Vec::new();
        theirs().udp(ports.0, ports.1).write(&mut udp, &payload).unwrap();
        prop_assert_eq!(ours.clone().then(Udp::new(ports.0, ports.1)).then(Payload(payload.clone())).to_bytes(), udp);
        let mut tcp = Vec::new();
        theirs().tcp(ports.0, ports.1, seq, window).syn().write(&mut tcp, &payload).unwrap();
        let syn = Tcp { seq, window, ..Tcp::new(ports.0, ports.1, TcpFlags::SYN) };
        prop_assert_eq!(ours.clone().then(syn).then(Payload(payload.clone())).to_bytes(), tcp);
        let mut echo = Vec::new();
        theirs().icmpv6_echo_reply(ports.0, ports.1).write(&mut echo, &payload).unwrap();
        prop_assert_eq!(ours.then(Icmp6::echo_reply(ports.0, ports.1)).then(Payload(payload)).to_bytes(), echo);
    }
}
