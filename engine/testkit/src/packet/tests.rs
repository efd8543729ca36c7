//! Tests of the whole module: texts read well, nothing is lost, and packets equal those that etherparse builds.
use super::*;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use quiver_wire::{Icmp4Type, MacAddress, TcpFlags};
use std::net::Ipv4Addr;

mod ip6;

const ETH: &str = "eth 02:00:00:00:00:01 > 02:00:00:00:00:02";
const IP: &str = "ip4 10.0.0.1 > 10.0.1.2 ttl 64";

/// Builds the packet of `text`, and expects its dissection to print the same.
fn same(text: &str) -> Vec<u8> {
    let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{error}")).to_bytes();
    assert_eq!(Packet::dissect(&bytes).to_string(), text);
    bytes
}

/// As [`same`], for layers behind Ethernet and IPv4.
fn same_in_ip(layers: &str) -> Vec<u8> {
    same(&format!("{ETH} / {IP}{layers}"))
}

#[test]
fn a_udp_packet_byte_by_byte() {
    let bytes = same_in_ip(" / udp 1000 > 2000 / payload 4");
    // Both checksums were added up by hand.
    let ethernet = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0";
    let ip = b"\x45\0\0\x20\0\0\0\0\x40\x11\x65\xcb\x0a\0\0\x01\x0a\0\x01\x02";
    let udp = b"\x03\xe8\x07\xd0\0\x0c\xdd\x17\0\x01\x02\x03";
    assert_eq!(bytes, [&ethernet[..], ip, udp].concat());
}

#[test]
fn every_layer_prints_as_it_is_read() {
    same(&format!("{ETH} / dot1ad 100 priority 5 drop-eligible / dot1q 4095 / {IP} / icmp echo-request id 7 seq 1"));
    same(
        "eth 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff / arp request 02:00:00:00:00:01 10.0.0.1 > 00:00:00:00:00:00 10.0.0.2 / padding 18",
    );
    same(&format!("{ETH} / arp reply 02:00:00:00:00:01 10.0.0.1 > 02:00:00:00:00:02 10.0.0.2"));
    same(&format!("{ETH} / arp 9 02:00:00:00:00:01 10.0.0.1 > 02:00:00:00:00:02 10.0.0.2 / padding hex 0102"));
    same(&format!("{ETH} type 0x9000 / hex 0a0b0c"));
    same(&format!("{ETH} type ip6 / hex 60"));
    same_in_ip(" dscp 46 ecn 1 id 7 offset 1480 df mf reserved options 94040000 protocol udp / payload 64");
    same_in_ip(" protocol gre / payload 8");
    same_in_ip(" / tcp 1000 > 80 syn,ack seq 1 ack 4294967295 window 512 urgent 3 options 020405b4 data-offset 0x63");
    same_in_ip(" / udp 53 > 53 no-checksum / payload 9");
    same_in_ip(" / udp 53 > 53 length 12 / payload 9");
    same_in_ip(" / icmp echo-reply id 0 seq 0 / payload 56");
    same_in_ip(" / icmp 13 code 9 id 1");
    same_in_ip(" / ip4 192.0.2.1 > 192.0.2.2 ttl 1 / udp 1 > 2");
}

#[test]
fn an_icmp_error_quotes_a_packet_without_its_end() {
    same_in_ip(
        " / icmp unreachable code 4 mtu 1400 / ip4 10.0.1.2 > 10.0.2.2 ttl 63 df length 1500 / udp 1 > 2 length 1480 checksum 0xbeef",
    );
    same_in_ip(" / icmp time-exceeded / ip4 10.0.1.2 > 10.0.2.2 ttl 0 protocol tcp length 40 / payload 8");
}

#[test]
fn malformed_headers_keep_their_words() {
    same_in_ip(" version 5 / udp 1 > 2 / payload 26");
    same_in_ip(" ihl 4 / udp 1 > 2 / payload 26");
    same_in_ip(" length 19 / udp 1 > 2 / payload 26");
    same_in_ip(" protocol udp / hex 000102");
    same_in_ip(" protocol tcp length 2000 / hex 0a0b0c");
}

#[test]
fn what_no_layer_has_words_for_stays_hex() {
    for bytes in [&[][..], &[1], &[0xff; 13]] {
        assert_eq!(Packet::dissect(bytes).layers, [Payload(bytes.into()).into()]);
    }
    // Options that the packet has no room for.
    let bytes = format!("{ETH} / {IP} ihl 15 / payload 8").parse::<Packet>().unwrap().to_bytes();
    let printed = Packet::dissect(&bytes).to_string();
    assert!(printed.starts_with(&format!("{ETH} type ip4 / hex 4f00001c")), "{printed}");
}

#[test]
fn wrong_checksums_are_told() {
    for (layers, at) in [
        (" bad-checksum / udp 1 > 2 / payload 26", 24),
        (" / icmp echo-request id 1 seq 2 bad-checksum / payload 56", 36),
        (" / udp 1 > 2 bad-checksum / payload 26", 40),
        (" / tcp 1 > 2 syn bad-checksum", 50),
    ] {
        let bytes = format!("{ETH} / {IP}{layers}").parse::<Packet>().unwrap().to_bytes();
        let right =
            format!("{ETH} / {IP}{}", layers.replace(" bad-checksum", "")).parse::<Packet>().unwrap().to_bytes();
        let found = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let told = Packet::dissect(&bytes).to_string();
        assert!(told.contains(&format!(" bad-checksum 0x{found:04x}")), "{told}");
        assert!(!Packet::dissect(&right).to_string().contains("checksum"));
        same(&told);
    }
    same_in_ip(" / tcp 1 > 2 syn seq 0 ack 0 window 65535 partial-checksum / payload 26");
}

#[test]
fn errors_name_layer_field_and_remedy() {
    for (text, message) in [
        ("", "layer 1 is empty: write one of eth, dot1q"),
        ("eth 02:00:00:00:00:01 > 02:00:00:00:00:02 /", "layer 2 is empty"),
        ("ether", "layer 1: `ether` is no layer: write one of eth, dot1q"),
        ("eth 1 > 2", "layer 1 (eth): `1` will not do for source: write a MAC address such as 02:00:00:00:00:01"),
        ("hex / dot1q", "layer 2 (dot1q): nothing stands for VLAN: write a number from 0 to 4095"),
        ("dot1q 4096", "`4096` will not do for VLAN: write a number from 0 to 4095"),
        ("ip4 10.0.0.1 - 10.0.0.2", "layer 1 (ip4): `-` will not do for >: write `>`"),
        ("ip4 10.0.0.1 > 10.0.0.2 tll 1", "layer 1 (ip4): `tll` is no field of it: write one of ttl, dscp"),
        ("ip4 10.0.0.1 > 10.0.0.2 offset 9", "`9` will not do for offset: write a multiple of 8"),
        ("tcp 1 > 2 sin", "`sin` will not do for flags: write names with commas between such as syn,ack"),
        ("udp 1 > 2 payload 3", "layer 1 (udp): `payload` is no field of it: write one of length, checksum"),
        ("icmp ping", "`ping` will not do for type: write echo-reply"),
        ("payload 65536", "write a number from 0 to 65535"),
        ("hex 0g", "write pairs of hexadecimal digits such as 0a0b"),
        ("hex 012", "write pairs of hexadecimal digits such as 0a0b"),
        ("padding 1 / payload 1", "layer 2: padding stands before it: make padding the last layer"),
        ("payload 1 2", "layer 1 (payload): `2` stands behind its end: begin the next layer with ` / `"),
    ] {
        let error = text.parse::<Packet>().unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

fn ip4() -> impl Strategy<Value = Ip4> {
    let flags = (any::<bool>(), any::<bool>(), prop_oneof![Just(0u16), (0u16..8192).prop_map(|units| units * 8)]);
    let options = (0usize..=10).prop_flat_map(|words| prop::collection::vec(any::<u8>(), words * 4));
    (address(), address(), any::<(u8, u16)>(), 0u8..64, 0u8..4, flags, options).prop_map(
        |(source, destination, (ttl, id), dscp, ecn, (df, mf, offset), options)| Ip4 {
            ttl,
            id,
            dscp,
            ecn,
            df,
            mf,
            offset,
            options,
            ..Ip4::new(source, destination)
        },
    )
}

fn checksum() -> impl Strategy<Value = Checksum> {
    prop_oneof![
        4 => Just(Checksum::Right),
        1 => Just(Checksum::Partial),
        1 => Just(Checksum::Absent),
        1 => Just(Checksum::Wrong(None)),
        1 => any::<u16>().prop_map(Checksum::Given),
    ]
}

fn transport() -> impl Strategy<Value = Vec<Layer>> {
    let tcp = (any::<(u16, u16, u8, u32, u32, u16, u16)>(), checksum()).prop_map(|(fields, checksum)| {
        let (source, destination, flags, seq, ack, window, urgent) = fields;
        Layer::Tcp(Tcp { seq, ack, window, urgent, checksum, ..Tcp::new(source, destination, TcpFlags(flags)) })
    });
    let udp = (any::<(u16, u16)>(), checksum())
        .prop_map(|((source, destination), checksum)| Layer::Udp(Udp { checksum, ..Udp::new(source, destination) }));
    let icmp = (any::<(u8, u8, u16, u16)>(), checksum()).prop_map(|((kind, code, id, seq), checksum)| {
        Layer::Icmp4(Icmp4 { id, seq, checksum, ..Icmp4::new(Icmp4Type(kind), code) })
    });
    prop_oneof![
        3 => prop_oneof![tcp, udp, icmp].prop_map(|layer| vec![layer]),
        2 => ip6::message(),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    let tags = prop::collection::vec((any::<(bool, bool)>(), 0u16..4096, 0u8..8), 0..3);
    let padding = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 1..9)];
    let headers = prop_oneof![ip4().prop_map(|ip| vec![ip.into()]), ip6::headers()];
    (mac(), mac(), tags, headers, transport(), prop::collection::vec(any::<u8>(), 0..40), padding).prop_map(
        |(source, destination, tags, headers, transport, payload, padding)| {
            let mut packet = Packet::from(Ethernet::new(source, destination));
            for ((service, drop_eligible), vlan, priority) in tags {
                packet = packet.then(Vlan { service, drop_eligible, priority, ..Vlan::dot1q(vlan) });
            }
            packet.layers.extend(headers.into_iter().chain(transport));
            packet = packet.then(Payload(payload));
            if padding.is_empty() { packet } else { packet.then(Padding(padding)) }
        },
    )
}

proptest! {
    #[test]
    fn printing_and_reading_change_nothing(packet in packet()) {
        prop_assert_eq!(packet.to_string().parse::<Packet>().map(|packet| packet.to_bytes()), Ok(packet.to_bytes()));
        let dissected = Packet::dissect(&packet.to_bytes());
        prop_assert_eq!(dissected.to_bytes(), packet.to_bytes());
        prop_assert_eq!(dissected.to_string().parse(), Ok(dissected));
    }

    /// Bytes that are no packet, and packets with one byte changed.
    #[test]
    fn dissecting_loses_nothing(noise in prop::collection::vec(any::<u8>(), 0..80), packet in packet(), at: prop::sample::Index, byte: u8) {
        let mut frame = packet.to_bytes();
        *at.get_mut(&mut frame) = byte;
        for bytes in [noise, frame] {
            prop_assert_eq!(Packet::dissect(&bytes).to_string().parse::<Packet>().unwrap().to_bytes(), bytes);
        }
    }

    #[test]
    fn etherparse_reads_what_was_built(source in mac(), destination in mac(), vlan in 0u16..4096, mut ip in ip4(), ports: (u16, u16), payload in prop::collection::vec(any::<u8>(), 0..40)) {
        (ip.mf, ip.offset) = (false, 0);
        let frame = Packet::from(Ethernet::new(source, destination))
            .then(Vlan::dot1q(vlan))
            .then(ip.clone())
            .then(Udp::new(ports.0, ports.1))
            .then(Payload(payload.clone()))
            .then(Padding::zeros(3))
            .to_bytes();
        let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
        prop_assert_eq!(sliced.vlan_ids().iter().map(|vlan| vlan.value()).collect::<Vec<_>>(), [vlan]);
        let Some(NetSlice::Ipv4(ip_slice)) = sliced.net else { return Err(TestCaseError::fail("no IPv4")) };
        let header = ip_slice.header().to_header();
        prop_assert_eq!((header.source, header.destination), (ip.source.octets(), ip.destination.octets()));
        prop_assert_eq!((header.time_to_live, header.identification, header.dont_fragment), (ip.ttl, ip.id, ip.df));
        prop_assert_eq!((header.dscp.value(), header.ecn.value()), (ip.dscp, ip.ecn));
        prop_assert_eq!(header.options.as_slice(), ip.options);
        prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        let Some(TransportSlice::Udp(udp)) = sliced.transport else { return Err(TestCaseError::fail("no UDP")) };
        prop_assert_eq!((udp.source_port(), udp.destination_port(), udp.payload()), (ports.0, ports.1, &payload[..]));
        let udp_header = udp.to_header();
        prop_assert_eq!(udp_header.checksum, udp_header.calc_checksum_ipv4_raw(header.source, header.destination, &payload).unwrap());
    }

    #[test]
    fn what_etherparse_builds_is_built_alike(source in mac(), destination in mac(), addresses in (address(), address()), ttl: u8, ports: (u16, u16), seq: u32, window: u16, payload in prop::collection::vec(any::<u8>(), 0..40)) {
        let ethernet = Packet::from(Ethernet::new(source, destination));
        let ip = Ip4 { df: true, ttl, ..Ip4::new(addresses.0, addresses.1) };
        let theirs = || PacketBuilder::ethernet2(source.0, destination.0).ipv4(ip.source.octets(), ip.destination.octets(), ttl);
        let mut udp = Vec::new();
        theirs().udp(ports.0, ports.1).write(&mut udp, &payload).unwrap();
        let ours = ethernet.clone().then(ip.clone()).then(Udp::new(ports.0, ports.1)).then(Payload(payload.clone()));
        prop_assert_eq!(ours.to_bytes(), udp);
        let mut tcp = Vec::new();
        theirs().tcp(ports.0, ports.1, seq, window).syn().write(&mut tcp, &payload).unwrap();
        let ours = Tcp { seq, window, ..Tcp::new(ports.0, ports.1, TcpFlags::SYN) };
        prop_assert_eq!(ethernet.clone().then(ip.clone()).then(ours).then(Payload(payload.clone())).to_bytes(), tcp);
        let mut echo = Vec::new();
        theirs().icmpv4_echo_request(ports.0, ports.1).write(&mut echo, &payload).unwrap();
        let ours = ethernet.then(ip.clone()).then(Icmp4::echo_request(ports.0, ports.1)).then(Payload(payload.clone()));
        prop_assert_eq!(ours.to_bytes(), echo);
    }
}
