//! Packets that a driver is to complete become payload: they are completed before, and each segment has a datagram of its own.

use std::time::Duration;

use quiver_engine::Dataplane;
use quiver_interface::Interfaces;
use quiver_scenarios::all;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::offloader::{self, LIAR, OFFLOADER, forward};
use quiver_wire::{Header, Ip4Header, IpFamily, TcpHeader, UdpHeader, V4};

/// A daemon whose packets for 20.0.0.0/8 go into datagrams to 10.0.1.2, behind pg1.
fn daemon(feature: &str) -> Daemon {
    let rooms = quiver_scenarios::rooms![all, offloader];
    let mut daemon = Daemon::new(rooms, Setup::default()).expect("the rooms fit together");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
         udp encap add 10.0.1.1 10.0.1.2 1000 2000
         ip route add 20.0.0.0/8 via udp-encap 0",
    );
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
fn opened(frame: &[u8]) -> (u32, usize) {
    let (outer, rest) = Ip4Header::parse(&frame[14..]).expect("whole");
    let (udp, inside) = UdpHeader::parse(rest).expect("whole");
    assert!(outer.checksum_is_right(&[]));
    assert_eq!((udp.source_port.get(), udp.destination_port.get()), (1000, 2000));
    assert_eq!((usize::from(udp.length.get()), usize::from(outer.total_length.get())), (rest.len(), frame.len() - 14));
    let (inner, rest) = Ip4Header::parse(inside).expect("whole");
    assert!(inner.checksum_is_right(&[]));
    assert_eq!((usize::from(inner.total_length.get()), inner.ttl), (inside.len(), 64));
    let sum = V4::pseudo_header(inner.source(), inner.destination(), inner.protocol, rest.len() as u32);
    assert!(sum.add_bytes(rest).is_right(), "the checksum of what is inside");
    let (tcp, payload) = TcpHeader::parse(rest).expect("whole");
    (tcp.sequence.get(), payload.len())
}

#[test]
fn each_segment_has_a_datagram_and_none_overtakes_another() {
    let mut daemon = daemon(OFFLOADER);
    let sent = forward(&mut daemon, 1000, 2500);
    assert_eq!(
        sent.iter().map(|frame| opened(frame)).collect::<Vec<_>>(),
        [(1, 1000), (1001, 1000), (2001, 500), (9, 10)]
    );
    let sent = forward(&mut daemon, 0, 1400);
    assert_eq!(sent.iter().map(|frame| opened(frame)).collect::<Vec<_>>(), [(1, 1400), (9, 10)]);
}

#[test]
fn what_cannot_be_completed_is_dropped_by_name() {
    let mut daemon = daemon(LIAR);
    let sent = forward(&mut daemon, 1000, 2500);
    assert_eq!(sent.iter().map(|frame| opened(frame)).collect::<Vec<_>>(), [(9, 10)]);
    assert_eq!(daemon.counts().get(&("udp-encap-ip4", "not-completed")), Some(&1));
}
