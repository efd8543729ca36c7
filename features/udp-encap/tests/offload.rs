//! Packets that a driver is to complete become payload: they are completed before, and each segment has a datagram of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use quiver_control::Control;
use quiver_engine::{
    Context, Dataplane, DataplaneError, FeatureArcSpec, FeatureSpec, Frame, Node, NodeSpec, Offload, Side, arcs,
};
use quiver_interface::Interfaces;
use quiver_ip::Ip4;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::offload::{GsoType, NEEDS_CHECKSUM};
use quiver_wire::{Header, Ip4Header, IpFamily, MacAddress, TcpHeader, UdpHeader, V4};

arcs! {
    /// Goes on.
    enum Next {
        Next => next_feature,
    }
}

/// Bytes of a segment's payload; 0 leaves only the checksum to be filled in.
#[derive(Clone, Default)]
struct SegmentSize(Arc<AtomicU16>);

/// Stands for a driver's receive queue: leaves the checksum of long TCP packets open, and lets them be cut.
struct Offloader(SegmentSize, GsoType);
impl Node for Offloader {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let segment_size = self.0.0.load(Relaxed);
        for i in 0..frame.len() {
            let bytes = frame.bytes_mut(cx.pool, i);
            let (header, _) = Ip4Header::parse(bytes).expect("the tests' packets are long enough");
            let length = u32::from(header.total_length.get()) - 20;
            if length < 1000 {
                continue;
            }
            let sum = V4::pseudo_header(header.source(), header.destination(), header.protocol, length).folded();
            bytes[36..38].copy_from_slice(&sum.to_be_bytes());
            let segmentation = if segment_size > 0 { self.1.0 } else { 0 };
            let checksum_start = frame.offset[i] + 20;
            let offload =
                Offload { flags: NEEDS_CHECKSUM, segmentation, segment_size, checksum_start, checksum_offset: 16 };
            frame.set_offload(cx.pool, i, offload);
        }
    }
}

mod offloader {
    use super::*;

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        let size = SegmentSize::default();
        control.insert_room(size.clone());
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        for (name, kind) in [("offloader", GsoType::TCP4), ("liar", GsoType::TCP6)] {
            let size = size.clone();
            graph.node(NodeSpec::new(name, Next::ARCS, move |_| Offloader(size.clone(), kind)))?;
            graph.feature(FeatureSpec { arc: "ip4-unicast", node: name, before: &[], after: &[] })?;
        }
        Ok(())
    }
}

/// The nodes that forwarding leads to and other rooms have, as ends that only count.
mod ends {
    use super::*;

    arcs! {
        /// The only arc of an end.
        enum Next {
            End => drop "end",
        }
    }

    struct End;
    impl Node for End {
        fn process(&mut self, _: &mut Context, _: &mut Frame) {}
    }

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        let families = ["ip4-resolve", "icmp4-error", "icmp4-input", "ip4-reassembly", "ip6-resolve", "icmp6-error"];
        let others = ["icmp6-input", "ip6-reassembly", "arp-input", "vlan-input", "l2-end", "l2-dvr"];
        for name in families.into_iter().chain(others) {
            graph.node(NodeSpec::new(name, Next::ARCS, |_| End))?;
        }
        graph.feature_arc(FeatureArcSpec { name: "l2-input", end: "l2-end", side: Side::Rx })?;
        Ok(())
    }
}

/// A daemon whose packets for 20.0.0.0/8 go into datagrams to 10.0.1.2, behind pg1.
fn daemon(offloader: &str) -> Daemon {
    let rooms = quiver_scenarios::rooms![
        quiver_interface,
        quiver_ethernet,
        quiver_ip,
        quiver_udp_encap,
        ends,
        offloader,
        quiver_pg
    ];
    let mut daemon = Daemon::new(rooms, Setup::default()).expect("the rooms fit together");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         udp encap add 10.0.1.1 10.0.1.2 1000 2000
         ip route add 20.0.0.0/8 via udp-encap 0",
    );
    let id = |name: &str| daemon.control().room::<Interfaces>().id_of(name).expect("created");
    let (pg0, pg1) = (id("pg0"), id("pg1"));
    let mut ip = daemon.control().room_mut::<Ip4>();
    let hop = ip.fib.adjacencies.acquire(pg1, Some([10, 0, 1, 2].into()));
    ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 0, 0x12])));
    drop(ip);
    let mut dataplane = daemon.control().room_mut::<Dataplane>();
    dataplane.enable("ip4-unicast", offloader, pg0.0, true).expect("registered");
    drop(dataplane);
    daemon
}

/// What leaves when a TCP packet with so many bytes of payload arrives that is to be cut into segments of this size, and a
/// short one of its flow behind it.
fn forward(daemon: &mut Daemon, segment_size: u16, payload: usize) -> Vec<Vec<u8>> {
    daemon.control().room::<SegmentSize>().0.store(segment_size, Relaxed);
    for (seq, payload) in [(1, payload), (9, 10)] {
        let packet = format!(
            "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 id 7 / \
             tcp 1000 > 80 ack seq {seq} ack 2 window 100 / payload {payload}"
        );
        daemon.send("pg0", &packet.parse::<Packet>().expect("a packet").to_bytes()).expect("it is up");
    }
    daemon.settle().expect("it comes to rest");
    daemon.sent().into_iter().map(|(_, bytes)| bytes).collect()
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
    let mut daemon = daemon("offloader");
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
    let mut daemon = daemon("liar");
    let sent = forward(&mut daemon, 1000, 2500);
    assert_eq!(sent.iter().map(|frame| opened(frame)).collect::<Vec<_>>(), [(9, 10)]);
    assert_eq!(daemon.counts().get(&("udp-encap-ip4", "not-completed")), Some(&1));
}
