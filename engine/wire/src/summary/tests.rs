use super::*;
use etherparse::PacketBuilder;
use zerocopy::IntoBytes;

/// A frame of another's making with a payload.
fn frame<B: FnOnce(&mut Vec<u8>)>(build: B) -> Vec<u8> {
    let mut frame = vec![];
    build(&mut frame);
    frame
}
fn ethernet() -> etherparse::PacketBuilderStep<etherparse::Ethernet2Header> {
    PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
}
const A: [u8; 4] = [10, 1, 0, 2];
const B: [u8; 4] = [20, 1, 2, 3];
const C: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

fn echo() -> Vec<u8> {
    frame(|to| ethernet().ipv4(A, B, 64).icmpv4_echo_request(1, 2).write(to, &[7; 8]).unwrap())
}

#[test]
fn packets_are_told_by_addresses_ports_and_names() {
    let tcp = frame(|to| ethernet().ipv4(A, B, 64).tcp(1000, 80, 1, 100).syn().write(to, &[]).unwrap());
    let udp = frame(|to| ethernet().ipv6(C, C, 64).udp(53, 1000).write(to, &[1]).unwrap());
    let tagged = frame(|to| {
        ethernet().single_vlan(100.try_into().unwrap()).ipv4(A, B, 64).icmpv4_echo_reply(1, 2).write(to, &[]).unwrap()
    });
    let vxlan = [VxlanHeader::new(crate::Vni::new(7).unwrap()).as_bytes(), &echo()].concat();
    let vxlan = frame(|to| ethernet().ipv4(A, B, 64).udp(49152, 4789).write(to, &vxlan).unwrap());
    let six = frame(|to| ethernet().ipv6(C, C, 64).icmpv6_echo_request(1, 2).write(to, &[]).unwrap());
    for (frame, line) in [
        (echo(), "10.1.0.2 > 20.1.2.3 icmp echo request"),
        (tcp, "10.1.0.2:1000 > 20.1.2.3:80 tcp syn"),
        (udp, "[2001:db8::1]:53 > [2001:db8::1]:1000 udp"),
        (tagged, "vlan 100 10.1.0.2 > 20.1.2.3 icmp echo reply"),
        (vxlan, "10.1.0.2:49152 > 20.1.2.3:4789 vxlan 7 (10.1.0.2 > 20.1.2.3 icmp echo request)"),
        (six, "2001:db8::1 > 2001:db8::1 icmp6 echo request"),
    ] {
        assert_eq!(of(&frame), line);
    }
}

#[test]
fn errors_quote_parts_have_places_and_neighbors_ask() {
    let quoted = echo().split_off(14);
    let error = frame(|to| {
        let unreachable =
            etherparse::Icmpv4Type::DestinationUnreachable(etherparse::icmpv4::DestUnreachableHeader::Port);
        ethernet().ipv4(B, A, 64).icmpv4(unreachable).write(to, &quoted).unwrap();
    });
    assert_eq!(of(&error), "20.1.2.3 > 10.1.0.2 icmp port unreachable (10.1.0.2 > 20.1.2.3 icmp echo request)");
    let mut later = echo();
    later[20..22].copy_from_slice(&[0, 185]);
    assert_eq!(of(&later), "10.1.0.2 > 20.1.2.3 icmp, fragment at 1480");
    later[20..22].copy_from_slice(&[0x20, 0]);
    assert_eq!(of(&later), "10.1.0.2 > 20.1.2.3 icmp echo request, fragment at 0");
    let [a, b] = [A, B].map(std::net::Ipv4Addr::from);
    let request = ArpPacket::request(crate::MacAddress([2; 6]), a, b);
    let arp = |arp: ArpPacket| of(&[&[2; 12][..], b"\x08\x06", arp.as_bytes()].concat());
    assert_eq!(arp(request), "arp who has 20.1.2.3 tell 10.1.0.2");
    assert_eq!(arp(request.reply(crate::MacAddress([4; 6]))), "arp 20.1.2.3 is at 04:04:04:04:04:04");
    let target: std::net::Ipv6Addr = "fe80::7".parse().unwrap();
    let message = NeighborMessage::solicitation(target);
    let packet = Ip6Header::new(C.into(), target, IpProtocol::ICMP6, 255, 24).unwrap();
    let line = of_packet(&[packet.as_bytes(), message.as_bytes()].concat());
    assert_eq!(line, "2001:db8::1 > fe80::7 icmp6 neighbor solicitation of fe80::7");
}

#[test]
fn what_ends_too_early_says_so_and_what_has_no_name_has_a_number() {
    let echo = echo();
    for (length, line) in [
        (0, "0 bytes, cut short"),
        (14, "ip, cut short"),
        (20, "ip4, cut short"),
        (36, "10.1.0.2 > 20.1.2.3 icmp, cut short"),
    ] {
        assert_eq!(of(&echo[..length]), line);
    }
    let mut other = echo.clone();
    other[23] = 89;
    assert_eq!(of(&other), "10.1.0.2 > 20.1.2.3 protocol 89");
    other[14] = 0x44;
    assert_eq!(of(&other), "10.1.0.2 > 20.1.2.3 ip4 header of 16 bytes");
    other[14] = 0x74;
    assert_eq!(of(&other), "ip version 7");
    other[12..14].copy_from_slice(&[0x88, 0xcc]);
    assert_eq!(of(&other), "02:00:00:00:00:01 > 02:00:00:00:00:02 lldp");
    other[12..14].copy_from_slice(&[0, 38]);
    assert_eq!(of(&other), "02:00:00:00:00:01 > 02:00:00:00:00:02 802.3 length 38");
}
