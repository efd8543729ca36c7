//! Random frames are encapsulated as plain code says: their bytes unchanged, the source port from their flow, the ECN
//! field from their IP header; alone and many at once, by one tunnel and by several. Decapsulation returns the same
//! frames, or none if a change on the way makes the datagram invalid.

use fastrand::Rng;
use quiver_ip::Family;
use quiver_scenarios::settled;
use quiver_testkit::daemon::Daemon;
use quiver_wire::{
    Header, Ip4Header, Ip6Header, IpFamily, IpProtocol, MacAddress, UdpHeader, V4, V6, VxlanHeader, checksum, flow,
};

/// Bytes in front of the headers of datagrams, and of those.
const ETHERNET: usize = 14;
const OUTER: [usize; 2] = [20, 40];
/// The lower byte of GENEVE's port.
const GENEVE: u8 = 6081u16.to_be_bytes()[1];

/// Two cross-connects into tunnels, over IPv4, or over IPv6 with checksums.
fn daemon(is_ip6: bool) -> Daemon {
    let (ours, theirs) = if is_ip6 { ("2001:db8:1::1", "2001:db8:1::2") } else { ("10.0.1.1", "10.0.1.2") };
    settled(&format!(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
         set interface state pg0 up
         set interface state pg1 up
         set interface state pg2 up
         set interface ip address pg1 10.0.1.1/24
         set interface ip address pg1 2001:db8:1::1/64
         ip neighbor pg1 {theirs} 02:00:00:00:00:12
         create vxlan tunnel src {ours} dst {theirs} vni 5
         create geneve tunnel local {ours} remote {theirs} vni 6
         set interface state vxlan_tunnel0 up
         set interface state geneve_tunnel0 up
         set interface l2 xconnect pg0 vxlan_tunnel0
         set interface l2 xconnect vxlan_tunnel0 pg0
         set interface l2 xconnect pg2 geneve_tunnel0
         set interface l2 xconnect geneve_tunnel0 pg2"
    ))
}

/// A frame and its ECN field.
struct Inner {
    frame: Vec<u8>,
    ecn: u8,
}

/// A frame of random kind: IPv4 with and without options, fragments, protocols with and without ports; IPv6; tags; neither; cut off.
fn random(rng: &mut Rng) -> Inner {
    let mac = |rng: &mut Rng| MacAddress([2, 0, 0, rng.u8(..), rng.u8(..), rng.u8(..)]);
    let mut frame = [mac(rng).0, mac(rng).0].concat();
    for _ in 0..rng.usize(..4) / 2 {
        frame.extend([0x81, 0, rng.u8(..16), rng.u8(..)]);
    }
    let payload: Vec<u8> = (0..rng.usize(..100)).map(|_| rng.u8(..)).collect();
    let protocol = IpProtocol([6, 17, 1, 50][rng.usize(..4)]);
    let ecn = rng.u8(..4);
    let mut inner = Inner { frame, ecn: 0 };
    match rng.u8(..8) {
        0..5 => {
            let options = [0, 0, 0, 4][rng.usize(..4)];
            let mut ip = Ip4Header::new(rng.u32(..).into(), rng.u32(..).into(), protocol, 64, payload.len() + options)
                .expect("short");
            ip.version_ihl += options as u8 / 4;
            ip.flags_fragment = [0, 0, 0x4000, 0x2000, 0x00b9][rng.usize(..5)].into();
            ip.dscp_ecn = rng.u8(..64) << 2 | ecn;
            let options = &[1; 4][..options];
            ip.checksum = checksum::of(&[zerocopy::IntoBytes::as_bytes(&ip), options].concat()).checksum().into();
            inner.ecn = ecn;
            inner.frame.extend([8, 0]);
            inner.frame.extend_from_slice(zerocopy::IntoBytes::as_bytes(&ip));
            inner.frame.extend_from_slice(options);
        }
        5 | 6 => {
            let (from, to) = (rng.u128(..).into(), rng.u128(..).into());
            let mut ip = Ip6Header::new(from, to, protocol, 64, payload.len()).expect("short");
            ip.version_class_flow = (6 << 28 | u32::from(ecn) << 20 | rng.u32(..1 << 20)).into();
            inner.ecn = ecn;
            inner.frame.extend([0x86, 0xdd]);
            inner.frame.extend_from_slice(zerocopy::IntoBytes::as_bytes(&ip));
        }
        _ => inner.frame.extend([0x88, 0xb5]),
    }
    inner.frame.extend_from_slice(&payload);
    inner
}

/// The hash of a frame's flow: that of routes where it holds IPv4 without tags and options, else that of frames.
fn flow_hash(frame: &[u8]) -> u32 {
    match frame.get(12..15) {
        Some([8, 0, 0x45]) => V4::flow_hash_of(&frame[ETHERNET..]),
        _ => flow::hash(frame, false),
    }
}

/// The payload of a datagram whose headers are right, with the source port and the ECN field of the outer header.
fn opened(sent: &[u8], is_ip6: bool) -> (&[u8], u16, u8) {
    let packet = &sent[ETHERNET..];
    let (ecn, length) = match is_ip6 {
        true => {
            let (ip, rest) = Ip6Header::parse(packet).expect("whole");
            assert_eq!(usize::from(ip.payload_length.get()), rest.len());
            (ip.traffic_class() & 3, rest.len())
        }
        false => {
            let (ip, rest) = Ip4Header::parse(packet).expect("whole");
            assert!(ip.checksum_is_right(&[]), "{ip:?}");
            assert_eq!(usize::from(ip.total_length.get()), packet.len());
            (ip.ecn(), rest.len())
        }
    };
    let (udp, rest) = UdpHeader::parse(&packet[OUTER[usize::from(is_ip6)]..]).expect("whole");
    assert_eq!((usize::from(udp.length.get()), udp.checksum.get() != 0), (length, is_ip6));
    (&rest[size_of::<VxlanHeader>()..], udp.source_port.get(), ecn)
}

/// Changes a datagram, or leaves it as it is. False if nothing comes out of it then.
fn change(datagram: &mut Vec<u8>, is_ip6: bool, rng: &mut Rng) -> bool {
    let udp = ETHERNET + OUTER[usize::from(is_ip6)];
    let (tunnel, inside) = (udp + size_of::<UdpHeader>(), udp + size_of::<UdpHeader>() + size_of::<VxlanHeader>());
    let is_geneve = datagram[udp + 3] == GENEVE;
    let set = |datagram: &mut [u8], at: usize, length: usize| {
        datagram[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
    };
    let length = datagram.len();
    let (mut is_taken, mut says) = (false, length - udp);
    match rng.u8(..10) {
        // Another network, and none.
        0 => datagram[tunnel + 4 + rng.usize(..3)] ^= 1 << rng.u8(..8),
        1 => datagram[tunnel] ^= if is_geneve { 0x40 } else { 0x08 },
        // UDP says less than its header and the tunnel's, or more than there is.
        2 => says = inside - udp - 1 - rng.usize(..8),
        3 => says += 1 + rng.usize(..8),
        // Options that nobody has to understand.
        4 if is_geneve => {
            datagram[tunnel] |= 1;
            datagram.splice(inside..inside, [0x12, 0x34, 0x05, 0]);
            (is_taken, says) = (true, says + 4);
        }
        _ => is_taken = true,
    }
    set(datagram, udp + 4, says);
    let ip = &mut datagram[ETHERNET..];
    let bytes = ip.len();
    // Neither of the two says anything of congestion.
    let ecn = [0, 2][rng.usize(..2)];
    match is_ip6 {
        true => {
            ip[1] = ip[1] & !0x30 | ecn << 4;
            set(ip, 4, bytes - OUTER[1]);
        }
        false => {
            ip[1] = ip[1] & !3 | ecn;
            set(ip, 2, bytes);
            let (header, _) = Ip4Header::parse_mut(ip).expect("whole");
            header.fill_checksum(&[]);
        }
    }
    set(datagram, udp + 6, 0);
    if rng.bool() {
        let (ip, payload) = datagram[ETHERNET..].split_at(OUTER[usize::from(is_ip6)]);
        let pseudo = match is_ip6 {
            true => {
                let (ip, _) = Ip6Header::parse(ip).expect("whole");
                V6::pseudo_header(ip.source(), ip.destination(), IpProtocol::UDP, says as u32)
            }
            false => {
                let (ip, _) = Ip4Header::parse(ip).expect("whole");
                V4::pseudo_header(ip.source(), ip.destination(), IpProtocol::UDP, says as u32)
            }
        };
        let sum = pseudo.add_bytes(&payload[..says.min(payload.len())]).checksum();
        set(datagram, udp + 6, sum.into());
    }
    // A link may add to short frames.
    let padding = if rng.u8(..4) == 0 { rng.usize(..8) } else { 0 };
    datagram.extend_from_slice(&[0xff; 8][..padding]);
    is_taken
}

#[test]
fn frames_go_in_as_plain_code_says_and_come_out_again() {
    for is_ip6 in [false, true] {
        let (mut daemon, mut rng) = (daemon(is_ip6), Rng::with_seed(7 + u64::from(is_ip6)));
        for round in 0..200 {
            // Frames of one tunnel, or of both in turns; few, and more than a frame of the engine has.
            let (count, both) = ([1, 3, 8, 21, 64, 100][round % 6], round % 4 == 3);
            let sent: Vec<_> = (0..count)
                .map(|_| {
                    let (by, inner) = (if both && rng.bool() { "pg2" } else { "pg0" }, random(&mut rng));
                    daemon.send(by, &inner.frame).expect("it is up");
                    (by, inner)
                })
                .collect();
            daemon.settle().expect("nothing circles");
            let datagrams: Vec<_> = daemon.sent().into_iter().map(|(_, bytes)| bytes).collect();
            assert_eq!(datagrams.len(), count, "round {round}");
            for by in ["pg0", "pg2"] {
                let port = if by == "pg0" { 4789u16 } else { 6081 }.to_be_bytes();
                let at = ETHERNET + OUTER[usize::from(is_ip6)] + 2;
                let datagrams = datagrams.iter().filter(|datagram| datagram[at..at + 2] == port);
                let inside = sent.iter().filter(|(interface, _)| *interface == by).map(|(_, inner)| inner);
                assert_eq!(datagrams.clone().count(), inside.clone().count(), "round {round}");
                for (datagram, inner) in datagrams.zip(inside) {
                    let hash = flow_hash(&inner.frame);
                    let source_port = 0xc000 | (hash ^ hash >> 16) as u16;
                    let wanted = (&*inner.frame, source_port, inner.ecn);
                    assert_eq!(opened(datagram, is_ip6), wanted, "round {round}");
                }
            }
            // The other end sends the same back, some of it changed.
            let mut wanted = vec![];
            for datagram in &datagrams {
                let mut back = datagram.clone();
                let udp = ETHERNET + OUTER[usize::from(is_ip6)];
                let by = if back[udp + 3] == GENEVE { "pg2" } else { "pg0" };
                let inside = back[udp + size_of::<UdpHeader>() + size_of::<VxlanHeader>()..].to_vec();
                let addresses = if is_ip6 { ETHERNET + 8..ETHERNET + 40 } else { ETHERNET + 12..ETHERNET + 20 };
                let half = addresses.len() / 2;
                back[addresses].rotate_left(half);
                back[..12].rotate_left(6);
                if change(&mut back, is_ip6, &mut rng) {
                    wanted.push((by.to_owned(), inside));
                }
                daemon.send("pg1", &back).expect("it is up");
            }
            daemon.settle().expect("nothing circles");
            let mut came = daemon.sent();
            came.sort();
            wanted.sort();
            assert_eq!(came, wanted, "round {round}");
        }
    }
}
