//! Packets that a driver is to complete go into tunnels as whole ones: they are completed before, and each segment has a datagram of
//! its own.

use std::time::Duration;

use quiver_engine::Dataplane;
use quiver_interface::Interfaces;
use quiver_scenarios::all;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::offloader::{self, LIAR, OFFLOADER, forward};
use quiver_wire::{EtherType, EthernetHeader, Header, Ip4Header, IpFamily, TcpHeader, UdpHeader, V4};

/// Ways into a tunnel: the command that makes it, its name, the node, and bytes in front of what is inside.
const TUNNELS: [(&str, &str, &str, usize); 5] = [
    ("vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 5", "vxlan_tunnel0", "vxlan4-encap", 14 + 20 + 8 + 8),
    ("vxlan tunnel src 2001:db8:1::1 dst 2001:db8:1::2 vni 5", "vxlan_tunnel0", "vxlan6-encap", 14 + 40 + 8 + 8),
    ("geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 5", "geneve_tunnel0", "geneve4-encap", 14 + 20 + 8 + 8),
    (
        "geneve tunnel local 2001:db8:1::1 remote 2001:db8:1::2 vni 5",
        "geneve_tunnel0",
        "geneve6-encap",
        14 + 40 + 8 + 8,
    ),
    ("geneve tunnel local 10.0.1.1 remote 10.0.1.2 vni 5 l3-mode", "geneve_tunnel0", "geneve4-encap", 14 + 20 + 8 + 8),
];

/// A daemon whose packets for 20.0.0.0/8 go into a tunnel.
fn daemon(feature: &str, create: &str, name: &str) -> Daemon {
    let rooms = quiver_scenarios::rooms![all, offloader];
    let mut daemon = Daemon::new(rooms, Setup::default()).expect("the rooms fit together");
    let way = if create.ends_with("l3-mode") { name.to_owned() } else { format!("172.16.0.2 {name}") };
    daemon.configure(&format!(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         set interface ip address pg1 2001:db8:1::1/64
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
         ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
         create {create}
         set interface ip address {name} 172.16.0.1/24
         ip neighbor {name} 172.16.0.2 02:00:00:00:00:16
         ip route add 20.0.0.0/8 via {way}",
    ));
    let pg0 = daemon.control().room::<Interfaces>().id_of("pg0").expect("created");
    let mut dataplane = daemon.control().room_mut::<Dataplane>();
    dataplane.enable("ip4-unicast", feature, pg0.0, true).expect("registered");
    drop(dataplane);
    // What interfaces say of themselves when they come up.
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// The sequence number and payload of the TCP packet inside a datagram whose headers and checksums are right.
fn opened(frame: &[u8], before: usize, is_layer3: bool) -> (u32, usize) {
    let (_, rest) = UdpHeader::parse_at(frame, before - 16).expect("whole");
    let (udp, _) = UdpHeader::parse_at(frame, before - 16).expect("whole");
    assert_eq!(usize::from(udp.length.get()), rest.len() + 8);
    let inside = &frame[before..];
    let packet = match is_layer3 {
        true => inside,
        false => {
            let (link, packet) = EthernetHeader::parse(inside).expect("whole");
            assert_eq!(link.ethertype, EtherType::IP4);
            packet
        }
    };
    let (inner, rest) = Ip4Header::parse(packet).expect("whole");
    assert!(inner.checksum_is_right(&[]));
    assert_eq!((usize::from(inner.total_length.get()), inner.ttl), (packet.len(), 63));
    let sum = V4::pseudo_header(inner.source(), inner.destination(), inner.protocol, rest.len() as u32);
    assert!(sum.add_bytes(rest).is_right(), "the checksum of what is inside");
    let (tcp, payload) = TcpHeader::parse(rest).expect("whole");
    (tcp.sequence.get(), payload.len())
}

#[test]
fn each_segment_has_a_datagram_and_none_overtakes_another() {
    for (create, name, _, before) in TUNNELS {
        let mut daemon = daemon(OFFLOADER, create, name);
        let opened = |sent: Vec<Vec<u8>>| {
            sent.iter().map(|frame| opened(frame, before, create.ends_with("l3-mode"))).collect::<Vec<_>>()
        };
        let sent = forward(&mut daemon, 1000, 2500);
        assert_eq!(opened(sent), [(1, 1000), (1001, 1000), (2001, 500), (9, 10)], "{create}");
        let sent = forward(&mut daemon, 0, 1300);
        assert_eq!(opened(sent), [(1, 1300), (9, 10)], "{create}");
    }
}

#[test]
fn what_cannot_be_completed_is_dropped_by_name() {
    for (create, name, node, before) in TUNNELS {
        let mut daemon = daemon(LIAR, create, name);
        let sent = forward(&mut daemon, 1000, 2500);
        let is_layer3 = create.ends_with("l3-mode");
        assert_eq!(
            sent.iter().map(|frame| opened(frame, before, is_layer3)).collect::<Vec<_>>(),
            [(9, 10)],
            "{create}"
        );
        assert_eq!(daemon.counts().get(&(node, "not-completed")), Some(&1), "{create}");
    }
}
