//! Offloads at the ports: passed on by those that carry them, completed for the others.
use quiver_engine::*;
use quiver_testkit::wire::{self, Limits, OnWire, Wire};
use quiver_wire::offload::{GsoType, NEEDS_CHECKSUM};
use quiver_wire::{EthernetHeader, Header, Ip4Header, IpFamily, TcpHeader, V4, VirtioNetHeader};

/// Everything goes out by interface 1.
struct Out;
impl Node for Out {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        frame.tx.fill(1);
    }
}
arcs! {
    enum OutNext {
        Out => node "interface-output",
    }
}

struct Net {
    dataplane: Dataplane,
    worker: Worker,
    packets: Wire,
    sent: Wire,
}
fn net(carries_offload: bool, room: usize) -> Net {
    let mut dataplane = Dataplane::new(Settings { buffers: 3000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "out", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::new("out", OutNext::ARCS, |_| Out)).expect("new");
    let worker = dataplane.start().expect("it fits").remove(0);
    let (packets, sent) = (Wire::new(), Wire::new());
    dataplane.attach(0, input, vec![packets.rx()], vec![Wire::new().tx()]).expect("one each");
    let tx = sent.tx_within(Limits { carries_offload, room, longest: 5000 });
    dataplane.attach(1, input, vec![], vec![tx]).expect("one each");
    dataplane.set_up(0, true);
    dataplane.set_up(1, true);
    Net { dataplane, worker, packets, sent }
}
impl Net {
    fn run(&mut self, packets: &[(Vec<u8>, VirtioNetHeader)]) -> Vec<OnWire> {
        packets.iter().for_each(|(bytes, header)| self.packets.put_offload(&bytes[..], header));
        while self.worker.turn(0) > 0 {}
        self.sent.take_all()
    }
    fn arc(&self, name: &str) -> u64 {
        let graph = self.dataplane.graph();
        let id = graph.nodes().find(|id| graph.name(*id) == "interface-output").expect("the engine's own");
        let arc = graph.arcs(id).iter().position(|arc| arc.name == name).expect("there is such an arc");
        graph.counters(id).map(|counters| counters.arcs[arc].get()).sum()
    }
}

/// A TCP packet with `payload` bytes and its checksum left to be filled in, to be cut if a size is given.
fn tcp(payload: usize, size: Option<u16>) -> (Vec<u8>, VirtioNetHeader) {
    let mut bytes = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0".to_vec();
    let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let mut ip = Ip4Header::new(a, b, quiver_wire::IpProtocol::TCP, 64, 20 + payload).expect("short enough");
    ip.fill_checksum(&[]);
    bytes.extend_from_slice(zerocopy(&ip));
    let pseudo = V4::pseudo_header(a, b, quiver_wire::IpProtocol::TCP, 20 + payload as u32).folded().to_be_bytes();
    bytes.extend_from_slice(b"\x0f\xa0\0\x50\0\0\0\x01\0\0\0\x02\x50\x18\xff\xff");
    bytes.extend_from_slice(&pseudo);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend((0..payload).map(|i| (i * 7) as u8));
    let header = VirtioNetHeader {
        flags: NEEDS_CHECKSUM,
        gso_type: if size.is_some() { GsoType::TCP4 } else { GsoType::NONE },
        gso_size: size.unwrap_or(0).into(),
        checksum_start: 34.into(),
        checksum_offset: 16.into(),
        ..VirtioNetHeader::NONE
    };
    (bytes, header)
}
fn zerocopy(ip: &Ip4Header) -> &[u8] {
    zerocopy::IntoBytes::as_bytes(ip)
}

/// The payload of a packet whose lengths and checksums are right.
fn payload(bytes: &[u8]) -> &[u8] {
    let (_, rest) = EthernetHeader::parse(bytes).expect("long enough");
    let (ip, rest) = Ip4Header::parse(rest).expect("long enough");
    assert_eq!(usize::from(ip.total_length.get()), bytes.len() - 14);
    assert!(ip.checksum_is_right(&[]));
    let pseudo = V4::pseudo_header(ip.source(), ip.destination(), ip.protocol, rest.len() as u32);
    assert!(pseudo.add_bytes(rest).is_right());
    let (tcp, rest) = TcpHeader::parse(rest).expect("long enough");
    tcp.split(rest).expect("consistent").1
}

#[test]
fn a_port_that_carries_offloads_gets_them_untouched() {
    let mut net = net(true, usize::MAX);
    let (bytes, header) = tcp(4000, Some(1000));
    let sent = net.run(&[(bytes.clone(), header)]);
    let offload = sent[0].1.expect("it rides along");
    assert_eq!((sent.len(), &sent[0].0), (1, &bytes));
    let back = offload.to_virtio(quiver_engine::buffer::HEADROOM as u16).expect("inside the packet");
    assert_eq!(back, header);
}

#[test]
fn a_port_that_does_not_gets_whole_packets_in_order() {
    let mut net = net(false, usize::MAX);
    let buffers = net.dataplane.buffers().clone();
    let plain = (vec![9; 60], VirtioNetHeader::NONE);
    // One to be cut, one with a checksum in one buffer, one in several, one without.
    let packets = [tcp(60_000, Some(100)), tcp(500, None), tcp(4_900, None), plain.clone()];
    let sent = net.run(&packets);
    assert_eq!(sent.len(), 603);
    assert!(sent.iter().all(|(_, offload)| offload.is_none()));
    let joined: Vec<u8> = sent[..600].iter().flat_map(|(bytes, _)| payload(bytes)).copied().collect();
    assert_eq!(joined, packets[0].0[54..]);
    assert_eq!((payload(&sent[600].0), payload(&sent[601].0)), (&packets[1].0[54..], &packets[2].0[54..]));
    assert_eq!(sent[602].0, plain.0);
    assert_eq!((net.arc("sent"), net.dataplane.interface_counters(1).tx.packets), (603, 603));
    drop(net);
    assert_eq!(buffers.stored(), buffers.count() as usize, "a buffer leaked");
}

#[test]
fn what_cannot_be_sent_is_dropped_by_name() {
    let mut net = net(false, 2);
    let (bytes, header) = tcp(500, Some(100));
    let outside = VirtioNetHeader { checksum_start: 2000.into(), gso_type: GsoType::NONE, ..header };
    let contradiction = VirtioNetHeader { gso_type: GsoType::TCP6, ..header };
    let long = (vec![1; 6000], VirtioNetHeader::NONE);
    let sent = net.run(&[(bytes.clone(), outside), (bytes.clone(), contradiction), long, (bytes, header)]);
    assert_eq!(sent.len(), 1, "there is room for the first segment behind the long packet");
    let counts = ["sent", "tx-refused", "tx-full", "bad-offload", "no-buffer"].map(|name| net.arc(name));
    assert_eq!(counts, [1, 1, 4, 2, 0]);
    assert_eq!(net.dataplane.interface_counters(1).tx, Traffic { packets: 1, bytes: 154 });
    // Buffers run out in the middle of a packet.
    let mut held = vec![];
    while let Some(packet) = net.worker.pool().packet(&[0]) {
        held.push(packet);
    }
    held.truncate(held.len() - 4);
    net.run(&[tcp(500, Some(1))]);
    assert_eq!(net.arc("no-buffer"), 1);
}
