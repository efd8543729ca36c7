//! Every way out of `ethernet-input`, on every instruction set.

use std::sync::{Arc, Mutex};

use quiver_control::Control;
use quiver_engine::{
    Context, Dataplane, FeatureArcSpec, Frame, Injected, Level, Node, NodeSpec, Settings, Side, Worker, arcs,
};
use quiver_interface::{InterfaceId, NewInterface, create, remove};
use quiver_testkit::executor::Executor;
use quiver_wire::{EtherType, MacAddress};

quiver_testkit::level_tests![
    layer_3_takes_what_is_for_us_by_its_ethertype,
    layer_2_takes_all_but_the_tags_that_are_expected,
    address_and_mode_end_with_the_interface,
];
quiver_testkit::level_program!(self);

arcs! {
    /// The end of the test.
    enum End {
        Seen => drop "seen",
    }
}

/// (node, rx, length, first bytes) of what arrived.
type Seen = Arc<Mutex<Vec<(&'static str, u32, u32, Vec<u8>)>>>;

/// Stands for the nodes behind `ethernet-input`.
struct Recorder(&'static str, Seen);
impl Node for Recorder {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let first = frame.bytes(cx.pool, i).iter().take(2).copied().collect();
            self.1.lock().unwrap().push((self.0, frame.rx[i], frame.length[i], first));
        }
    }
}

struct Bench {
    control: Control,
    worker: Worker,
    seen: Seen,
    interface: InterfaceId,
}

const OURS: MacAddress = MacAddress([2, 0xfe, 3, 4, 5, 6]);

fn bench(level: Level) -> Bench {
    let control = Executor::new(1).control();
    control.insert_room(Dataplane::new(Settings { level, buffers: 200, ..Settings::default() }).unwrap());
    quiver_interface::register(&control).unwrap();
    quiver_ethernet::register(&control).unwrap();
    let seen = Seen::default();
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        for name in ["ip4-input", "ip6-input", "arp-input", "l2-input", "vlan-input"] {
            let seen = seen.clone();
            graph.node(NodeSpec::new(name, End::ARCS, move |_| Recorder(name, seen.clone()))).unwrap();
        }
        graph.feature_arc(FeatureArcSpec { name: "l2-input", end: "l2-input", side: Side::Rx }).unwrap();
    }
    for (ethertype, node) in
        [(EtherType::IP4, "ip4-input"), (EtherType::IP6, "ip6-input"), (EtherType::ARP, "arp-input")]
    {
        quiver_ethernet::claim(&control, ethertype, node).unwrap();
    }
    let twice = quiver_ethernet::claim(&control, EtherType::IP4, "l2-input").unwrap_err().to_string();
    assert!(twice.contains("`ip4-input` and by `l2-input`"), "{twice}");
    let worker = control.room_mut::<Dataplane>().start().unwrap().remove(0);
    let interface = add(&control, "port0");
    Bench { control, worker, seen, interface }
}

fn add(control: &Control, name: &str) -> InterfaceId {
    let name = name.into();
    create(control, NewInterface { name, kind: "test", mac: OURS, mtu: 1500, parent: None, queues: None }).unwrap()
}

fn frame(destination: MacAddress, ethertype: u16, length: usize) -> Vec<u8> {
    let mut bytes = [&destination.0[..], &[2, 0, 0, 0, 0, 9], &ethertype.to_be_bytes(), b"\x45\x07"].concat();
    bytes.resize(length, 0);
    bytes
}

impl Bench {
    fn send(&mut self, packets: &[Vec<u8>]) -> Vec<(&'static str, u32, u32, Vec<u8>)> {
        let rx = self.interface.0;
        {
            let dataplane = self.control.room::<Dataplane>();
            let input = dataplane.graph().find("ethernet-input").unwrap();
            for bytes in packets {
                dataplane.inject(0, input, Injected { bytes: bytes.clone(), rx, ..Injected::default() });
            }
        }
        while self.worker.turn(0) > 0 {}
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
    fn dropped(&self, reason: &str) -> u64 {
        let dataplane = self.control.room::<Dataplane>();
        let graph = dataplane.graph();
        let node = graph.find("ethernet-input").unwrap();
        let arc = graph.arcs(node).iter().position(|arc| arc.name == reason).unwrap();
        graph.counters(node).map(|counters| counters.arcs[arc].get()).sum()
    }
}

fn layer_3_takes_what_is_for_us_by_its_ethertype(level: Level) {
    let mut bench = bench(level);
    let rx = bench.interface.0;
    let group = MacAddress([1, 0, 0x5e, 0, 0, 1]);
    let other_high = MacAddress([2, 0xff, 3, 4, 5, 6]);
    let other_low = MacAddress([2, 0xfe, 3, 4, 5, 7]);
    let seen = bench.send(&[
        frame(OURS, 0x0800, 60),
        frame(MacAddress::BROADCAST, 0x0806, 60),
        frame(group, 0x0800, 5000),
        frame(OURS, 0x8100, 60),
        frame(other_low, 0x88a8, 60),
        frame(other_high, 0x0800, 60),
        frame(other_low, 0x0800, 60),
        frame(OURS, 0x86dd, 60),
        frame(OURS, 0x0026, 60),
        frame(OURS, 0x0800, 13),
    ]);
    let inside = b"\x45\x07".to_vec();
    let mut expected = vec![
        ("ip4-input", rx, 46, inside.clone()),
        ("ip4-input", rx, 4986, inside.clone()),
        ("ip6-input", rx, 46, inside.clone()),
        ("arp-input", rx, 46, inside),
        ("vlan-input", rx, 60, vec![2, 0xfe]),
        ("vlan-input", rx, 60, vec![2, 0xfe]),
    ];
    let mut seen = seen;
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected);
    assert_eq!(["not-for-us", "unknown-ethertype", "too-short"].map(|reason| bench.dropped(reason)), [2, 1, 1]);
}

fn layer_2_takes_all_but_the_tags_that_are_expected(level: Level) {
    let mut bench = bench(level);
    let rx = bench.interface;
    quiver_ethernet::set_layer2(&bench.control, rx, true);
    assert!(quiver_ethernet::is_layer2(&bench.control, rx));
    let other = MacAddress([2, 9, 9, 9, 9, 9]);
    let packets = [frame(other, 0x0800, 60), frame(other, 0x8100, 61), frame(other, 0x0800, 13)];
    let l2 = |length| ("l2-input", rx.0, length, vec![2, 9]);
    assert_eq!(bench.send(&packets), [l2(60), l2(61)]);
    quiver_ethernet::set_tags(&bench.control, rx, true, false);
    let mut seen = bench.send(&packets);
    seen.sort();
    assert_eq!(seen, [l2(60), ("vlan-input", rx.0, 61, vec![2, 9])]);
    assert_eq!(bench.dropped("too-short"), 2);
    quiver_ethernet::set_tags(&bench.control, rx, false, true);
    let mut seen = bench.send(&packets);
    seen.sort();
    assert_eq!(seen, [l2(61), ("vlan-input", rx.0, 60, vec![2, 9])]);
}

fn address_and_mode_end_with_the_interface(level: Level) {
    let mut bench = bench(level);
    quiver_ethernet::set_layer2(&bench.control, bench.interface, true);
    remove(&bench.control, bench.interface);
    assert!(!quiver_ethernet::is_layer2(&bench.control, bench.interface));
    assert_eq!(bench.send(&[frame(OURS, 0x0800, 60)]), []);
    assert_eq!(bench.dropped("not-for-us"), 1);
}
