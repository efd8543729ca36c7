//! Packets that a driver is to complete, on a link that does not take them whole: segments that fit go on, the rest is
//! reported, fragmented with its checksum filled in, or dropped by name.

use crate::ends;

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::{Context, Dataplane, DataplaneError, FeatureSpec, Flags, Frame, Node, NodeSpec, Phase, arcs};
use quiver_interface::Interfaces;
use quiver_ip::Ip6;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::offloader::{self, OFFLOADER, set_segment_size};
use quiver_testkit::packet::Packet;
use quiver_testkit::pcap;
use quiver_wire::{EthernetHeader, Header, Ip4Header, IpFamily, MacAddress, TcpHeader, V4};

arcs! {
    /// Goes on.
    enum Next {
        Next => next_feature,
    }
}

/// Stands for a room that makes packets of IPv6.
struct Maker;
impl Node for Maker {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        (0..frame.len()).for_each(|i| frame.set_flag(i, Flags::LOCAL));
    }
}

mod maker {
    use super::*;

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new("maker", Next::ARCS, |_| Maker))?;
        graph.feature(FeatureSpec::new("ip6-unicast", "maker", Phase::Policy))?;
        Ok(())
    }
}

/// The link behind pg1 takes 1,000 bytes.
fn daemon() -> Daemon {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, offloader, quiver_pg];
    let mut daemon = ends::forwarding(rooms, Setup::default());
    daemon.configure("set interface mtu 1000 pg1");
    let pg0 = daemon.control().room::<Interfaces>().id_of("pg0").expect("created");
    let mut dataplane = daemon.control().room_mut::<Dataplane>();
    dataplane.enable("ip4-unicast", OFFLOADER, pg0.0, true).expect("registered");
    drop(dataplane);
    daemon
}

/// Lets a TCP packet arrive at pg0, with the next one that does.
fn send(daemon: &mut Daemon, fields: &str, payload: usize) {
    daemon.send("pg0", &packet(fields, payload)).expect("it is up");
}

/// A TCP packet.
fn packet(fields: &str, payload: usize) -> Vec<u8> {
    let packet = format!(
        "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 {fields} / \
         tcp 1000 > 80 ack seq 1 ack 2 window 100 / payload {payload}"
    );
    packet.parse::<Packet>().expect("a packet").to_bytes()
}

/// Returns the frames that pg1 sends for a TCP packet with 3,000 bytes of payload and this segment size.
fn forward(daemon: &mut Daemon, segment_size: u16, fields: &str) -> Vec<Vec<u8>> {
    set_segment_size(daemon.control(), segment_size);
    send(daemon, &format!("id 7 {fields}"), 3000);
    daemon.settle().expect("it comes to rest");
    daemon.sent().into_iter().map(|(_, bytes)| bytes).collect()
}

/// The IP header and what is behind it, of a frame to the neighbour that has come one hop.
fn opened(frame: &[u8]) -> (&Ip4Header, &[u8]) {
    let (ethernet, rest) = EthernetHeader::parse(frame).expect("whole");
    let (ip, rest) = Ip4Header::parse(rest).expect("whole");
    assert_eq!((ethernet.destination, ip.ttl), (MacAddress([2, 0, 0, 0, 0, 0x12]), 63));
    assert!(ip.checksum_is_right(&[]));
    assert_eq!(usize::from(ip.total_length.get()), 20 + rest.len());
    (ip, rest)
}

fn count(daemon: &Daemon, arc: &'static str) -> u64 {
    daemon.counts().get(&("ip4-rewrite", arc)).copied().unwrap_or(0)
}

#[test]
fn segments_that_fit_go_on_whatever_the_whole_is() {
    let mut daemon = daemon();
    // The generator shows what a port that cuts would be given.
    let sent = forward(&mut daemon, 960, "df");
    let [frame] = &sent[..] else { panic!("one packet until the port cuts it: {}", sent.len()) };
    let (ip, rest) = opened(frame);
    let sum = V4::pseudo_header(ip.source(), ip.destination(), ip.protocol, rest.len() as u32);
    assert!(sum.add_bytes(rest).is_right(), "it has a checksum");
    let (tcp, rest) = TcpHeader::parse(rest).expect("whole");
    assert_eq!(tcp.split(rest).expect("whole").1, (0..3000).map(|i| i as u8).collect::<Vec<_>>());
    assert_eq!(count(&daemon, "ip4-output"), 1);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn segments_that_do_not_fit_are_reported_or_dropped() {
    let mut daemon = daemon();
    assert_eq!(forward(&mut daemon, 961, "df"), [[0; 0]; 0]);
    assert_eq!((count(&daemon, "icmp4-error"), count(&daemon, "cannot-be-fragmented")), (1, 0));
    assert_eq!(forward(&mut daemon, 961, ""), [[0; 0]; 0]);
    assert_eq!((count(&daemon, "icmp4-error"), count(&daemon, "cannot-be-fragmented")), (1, 1));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn fragments_have_the_checksum_that_the_driver_left_out() {
    let mut daemon = daemon();
    let sent = forward(&mut daemon, 0, "");
    let whole: Vec<u8> = sent.iter().flat_map(|frame| opened(frame).1.to_vec()).collect();
    assert_eq!((sent.len(), whole.len()), (4, 3020));
    assert!(sent.iter().all(|frame| opened(frame).0.total_length.get() <= 1000));
    let (ip, _) = opened(&sent[0]);
    let sum = V4::pseudo_header(ip.source(), ip.destination(), ip.protocol, whole.len() as u32);
    assert!(sum.add_bytes(&whole).is_right());
    daemon.finish().expect("nothing leaks");
}

#[test]
fn fragments_are_not_overtaken_by_what_came_after_them() {
    let mut daemon = daemon();
    for (number, payload) in [(1, 30), (2, 3000), (3, 30), (4, 1500), (5, 40)] {
        send(&mut daemon, &format!("id {number}"), payload);
    }
    daemon.settle().expect("it comes to rest");
    let numbers: Vec<_> = daemon.sent().iter().map(|(_, frame)| opened(frame).0.identification.get()).collect();
    assert_eq!(numbers, [1, 2, 2, 2, 2, 3, 4, 4, 5]);
    assert_eq!(count(&daemon, "ip4-output"), 9);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn no_packet_overtakes_one_with_an_offload_or_its_fragments() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("flow.pcap");
    // In one vector, groups of eight packets and more behind the long one. Segments count on from the number of the whole.
    let flow = (1..=200).map(|number| packet(&format!("id {number}0"), if number == 20 { 3000 } else { 30 }));
    pcap::write(&file, flow).expect("there is room");
    // A packet of segments goes on as one; one that has none is cut into four fragments.
    for (segment_size, count) in [(960, 200), (0, 203)] {
        let mut daemon = daemon();
        set_segment_size(daemon.control(), segment_size);
        daemon.configure(&format!(
            "packet-generator new {{ name flow interface pg0 limit 200 rate 1e9 pcap {} }}
             packet-generator enable-stream flow",
            file.display()
        ));
        daemon.advance(Duration::from_millis(1)).expect("it comes to rest");
        let sent = daemon.sent();
        assert_eq!(sent.len(), count, "segments of {segment_size}");
        let number = |frame: &[u8]| opened(frame).0.identification.get() / 10;
        let mut numbers: Vec<_> = sent.iter().map(|(_, frame)| number(frame)).collect();
        numbers.dedup();
        assert_eq!(numbers, (1..=200).collect::<Vec<_>>(), "segments of {segment_size}");
        assert!(daemon.control().room::<Dataplane>().worker_counters(0).is_some_and(|c| c.busy_turns.get() < 10));
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn what_each_fragment_of_ours_would_need_is_not_cut() {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, maker, quiver_pg];
    let mut daemon = ends::forwarding(rooms, Setup::default());
    daemon.configure(
        "set interface ip address pg0 2001:db8::1/64
         set interface ip address pg1 2001:db8:1::1/64
         set interface mtu 1280 pg1
         ip route add 2001:db8:20::/48 via 2001:db8:1::2 pg1",
    );
    let id = |name| daemon.control().room::<Interfaces>().id_of(name).expect("created");
    let (pg0, pg1) = (id("pg0"), id("pg1"));
    {
        let mut ip = daemon.control().room_mut::<Ip6>();
        let hop = ip.fib.adjacencies.acquire(pg1, Some("2001:db8:1::2".parse().expect("an address")));
        ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 0, 0x12])));
        let mut dataplane = daemon.control().room_mut::<Dataplane>();
        dataplane.enable("ip6-unicast", "maker", pg0.0, true).expect("registered");
    }
    for options in ["", "dstopt hex 010400000000 / "] {
        let packet = format!(
            "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:20::9 / {options}udp 1 > 2 / payload 2000"
        );
        daemon.send("pg0", &packet.parse::<Packet>().expect("a packet").to_bytes()).expect("it is up");
    }
    daemon.settle().expect("it comes to rest");
    assert_eq!(daemon.sent().len(), 2, "fragments of the one without options");
    assert_eq!(daemon.counts().get(&("ip6-rewrite", "cannot-be-fragmented")), Some(&1));
    daemon.finish().expect("nothing leaks");
}
