//! Every product that the daemon registers does packet by packet what the nodes do: over random and hostile traffic, on every
//! instruction set, from frames and from relays, while the configuration changes. A product that nothing here is carried by
//! fails the test, so that a new one needs a function below if none has its path yet.

mod site;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use quiver_engine::{Dataplane, Level};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::checksum;
use site::path::Path;

/// Functions of the interfaces `A` and `B`.
const FUNCTIONS: [&str; 11] = [
    "set interface l2 xconnect A B
    set interface l2 xconnect B A",
    "create bridge-domain 1
    set interface l2 bridge A 1
    set interface l2 bridge B 1",
    "set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add 20.0.0.0/8 via 10.0.1.2 B
    ip route add 20.1.0.0/16 via 10.0.1.2 B via 10.0.1.3 B
    ip route add 20.2.0.0/16 via drop
    ip route add 20.3.0.0/16 via 10.0.0.2 A
    ip route add 30.0.0.0/8 via 10.0.0.2 A",
    "create sub-interfaces A 10
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    create sub-interfaces B 20
    set interface state A.10 up
    set interface state A.30 up
    set interface state B.20 up
    set interface l2 xconnect A.10 B.20
    set interface l2 xconnect B.20 A.10
    set interface l2 xconnect A.30 B
    set interface l2 xconnect B A.30
    set interface l2 tag-rewrite A.10 translate 1-1 dot1q 20
    set interface l2 tag-rewrite A.30 pop 2",
    "create bridge-domain 1
    create sub-interfaces A 10
    create sub-interfaces A 20
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    set interface state A.10 up
    set interface state A.20 up
    set interface state A.30 up
    set interface l2 bridge A.10 1
    set interface l2 bridge A.20 1
    set interface l2 bridge A.30 1
    set interface l2 bridge B 1
    set interface l2 tag-rewrite A.10 pop 1
    set interface l2 tag-rewrite A.30 translate 2-1 dot1q 7",
    "create sub-interfaces A 10
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    set interface state A.10 up
    set interface state A.30 up
    set interface ip address A.10 10.0.0.1/24
    set interface ip address A.30 10.0.3.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A.10 10.0.0.2 02:00:00:00:00:02
    ip neighbor A.30 10.0.3.2 02:00:00:00:00:32
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip route add 20.0.0.0/8 via 10.0.1.2 B
    ip route add 20.1.0.0/16 via 10.0.3.2 A.30
    ip route add 30.0.0.0/8 via 10.0.0.2 A.10
    ip route add 30.1.0.0/16 via 10.0.3.2 A.30",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::2 02:00:00:00:00:12
    ip neighbor B fe80::13 02:00:00:00:00:13
    ip route add 3020::/16 via 2001:db8:1::2 B
    ip route add 3020:1::/32 via 2001:db8:1::2 B via fe80::13 B
    ip route add 3020:2::/32 via drop
    ip route add 3020:3::/32 via 2001:db8::2 A
    ip route add 3030::/16 via 2001:db8::2 A",
    // There is a way back to the stations of A, and none to some of those of B.
    "set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add 10.0.1.4/32 via drop
    ip route add 20.0.0.0/8 via 10.0.1.3 B
    ip route add 30.0.0.0/8 via 10.0.0.2 A
    set urpf ip4 rx strict A
    set urpf ip4 rx loose B",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::3 02:00:00:00:00:13
    ip route add 2001:db8:1::4/128 via drop
    ip route add 3020::/16 via 2001:db8:1::3 B
    ip route add 3030::/16 via 2001:db8::2 A
    set urpf ip6 rx strict A
    set urpf ip6 rx loose B",
    // Tables that are walked ahead, the first of which counts by route.
    "ip table add 1 counters
    set interface ip table A 1
    set interface ip table B 1
    set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add count 20000 20.0.0.0/32 table 1 via 10.0.1.2 B
    ip route add 20.0.0.0/8 table 1 via 10.0.1.2 B
    ip route add 20.1.0.0/16 table 1 via 10.0.1.2 B via 10.0.1.3 B
    ip route add 20.3.0.0/16 table 1 via 10.0.0.2 A
    ip route add 30.0.0.0/8 table 1 via 10.0.0.2 A",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::2 02:00:00:00:00:12
    ip route add count 2000 3020:0:0:1::/128 via 2001:db8:1::2 B
    ip route add 3020::/16 via 2001:db8:1::2 B
    ip route add 3020:2::/32 via drop
    ip route add 3020:3::/32 via 2001:db8::2 A
    ip route add 3030::/16 via 2001:db8::2 A",
];

/// What interfaces are at first.
const UP: [&str; 2] = ["set interface state A up", "set interface state B up"];

/// What comes between bursts. Some of it is refused, of some interfaces and at some times.
const CHANGES: [&str; 26] = [
    "set interface state B down",
    "set interface state B up",
    "set interface state A.10 down",
    "set interface state A.10 up",
    "set interface l2 tag-rewrite A.10 disable",
    "set interface l2 tag-rewrite A.10 pop 1",
    "set interface l2 tag-rewrite A.10 push dot1ad 300 40",
    "set interface l2 tag-rewrite A.10 translate 1-2 dot1ad 300 40",
    "set interface l2 tag-rewrite B push dot1q 7",
    "set interface l2 tag-rewrite B disable",
    "set interface l2 xconnect A B",
    "set interface l2 bridge A.10 1",
    "set interface l3 A",
    "set interface l3 A.10",
    "delete sub-interface A.30",
    "create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match",
    "set interface mtu 500 B",
    "set interface mtu 9000 B",
    "set interface mac address A 02:00:00:00:aa:07",
    "set interface mac address A 02:00:00:00:aa:01",
    "ip route add 20.0.0.0/8 via 10.0.1.3 B",
    "ip route del 20.1.0.0/16",
    "ip neighbor del B 10.0.1.3 02:00:00:00:00:13",
    "set interface l2 xconnect A.30 A.10",
    "ip route add 3020::/16 via 2001:db8:1::3 B",
    "ip route del 3020:1::/32",
];

/// The daemon with its two interfaces: at the end of wires, or of rings.
enum Way {
    Frames(Daemon),
    Relays(Box<Path>),
}

impl Way {
    const KINDS: [&str; 3] = ["frames", "slave", "master"];

    fn new(kind: &str, setup: Setup, function: &str) -> Way {
        if kind != "frames" {
            return Way::Relays(Box::new(Path::new(setup, kind, &named(kind, function))));
        }
        let mut daemon = site::daemon_of(setup);
        for id in [0, 1] {
            daemon.configure(&format!("create packet-generator interface pg{id} hw-addr 02:00:00:00:aa:0{}", id + 1));
            daemon.configure(&format!("set interface state pg{id} up"));
        }
        daemon.configure(&named(kind, function));
        Way::Frames(daemon)
    }
    fn daemon(&mut self) -> &mut Daemon {
        match self {
            Way::Frames(daemon) => daemon,
            Way::Relays(path) => &mut path.daemon,
        }
    }
    /// Sends packets by one of the two; returns what came back.
    fn pass(&mut self, side: usize, packets: &[Vec<u8>]) -> Vec<Sent> {
        let tester = match self {
            Way::Frames(daemon) => &mut *daemon,
            Way::Relays(path) => &mut path.tester,
        };
        // What is down takes nothing.
        for packet in packets {
            let _ = tester.send(&format!("pg{side}"), packet);
        }
        match self {
            Way::Frames(daemon) => {
                daemon.advance(std::time::Duration::from_millis(3)).expect("it settles");
                daemon.sent()
            }
            Way::Relays(path) => {
                path.run(3);
                path.tester.sent()
            }
        }
    }
    fn finish(self) {
        match self {
            Way::Frames(daemon) => daemon.finish().expect("nothing has leaked"),
            Way::Relays(path) => path.finish(),
        }
    }
}

/// The interfaces' names in place of `A` and `B`.
fn named(kind: &str, text: &str) -> String {
    let (a, b) = if kind == "frames" { ("pg0", "pg1") } else { ("memif1/0", "memif2/0") };
    let word = |word: &str| match word.split_at_checked(1) {
        Some(("A", rest)) if rest.is_empty() || rest.starts_with('.') => format!("{a}{rest}"),
        Some(("B", rest)) if rest.is_empty() || rest.starts_with('.') => format!("{b}{rest}"),
        _ => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace)
        .map(|piece| {
            let bare = piece.trim_end();
            word(bare) + &piece[bare.len()..]
        })
        .collect()
}

/// Bursts of any packets: for us and not, with tags and without, short and long, sound and broken.
fn bursts(seed: u64, count: usize, ip6: bool) -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut sizes = Rng::with_seed(!seed);
    let mut random = Rng::with_seed(seed);
    let make = |random: &mut Rng, side: u8| match ip6 && random.u8(..4) > 0 {
        true => packet6(random, side),
        false => packet(random, side),
    };
    let burst = |_| {
        let side = sizes.usize(..2);
        (side, (0..sizes.usize(1..300)).map(|_| make(&mut random, side as u8)).collect())
    };
    (0..count).map(burst).collect()
}

/// The last byte of a sender's address: that of the usual one, or of another.
fn sender(random: &mut Rng) -> u8 {
    if random.u8(..4) == 0 { 4 } else { 2 }
}

fn packet(random: &mut Rng, side: u8) -> Vec<u8> {
    const TAGS: [&[[u8; 4]]; 10] = [
        &[],
        &[],
        &[[0x81, 0, 0, 10]],
        &[[0x81, 0, 0, 10]],
        &[[0x81, 0, 0, 20]],
        &[[0x88, 0xa8, 0, 30], [0x81, 0, 0, 5]],
        &[[0x88, 0xa8, 0, 30], [0x81, 0, 0, 5]],
        &[[0x81, 0, 0, 0]],
        &[[0x81, 0, 0, 10], [0x81, 0, 0, 20]],
        &[[0x81, 0, 0, 10], [0x88, 0xa8, 0, 20], [0x81, 0, 0, 20]],
    ];
    // Most packets of a burst have the same tags.
    let choice = if random.u8(..4) == 0 { random.usize(..TAGS.len()) } else { [0, 2, 5][random.usize(..3)] };
    let (from, to) = ([2, 9, 9, 9, side << 4 | choice as u8, random.u8(..4)], random.u8(..8));
    // To us, or to a station of the other side's.
    let other = [2, 9, 9, 9, (side ^ 1) << 4 | [0, 2, 5, 0][random.usize(..4)], random.u8(..4)];
    let to = if to < 5 { [2, 0, 0, 0, 0xaa, side + 1] } else { other };
    let mut packet = [&to[..], &from].concat();
    for tag in TAGS[choice] {
        let priority = if random.u8(..4) == 0 { random.u8(..) << 4 } else { 0x20 };
        packet.extend([tag[0], tag[1], tag[2] | priority, tag[3]]);
    }
    packet.extend([8, 0]);
    let ip = packet.len();
    packet.extend([0x45, 0, 0, 46, 1, 2, 0, 0, 64, 17, 0, 0, 10, 0, side, sender(random)]);
    packet.extend([if side == 0 { 20 } else { 30 }, random.u8(..5), random.u8(..4), random.u8(..)]);
    packet.resize(ip + 46, 0x11);
    let kind = random.u8(..120);
    if kind < 12 {
        let length = [61, 64, 128, 1000, 1514, 2040, 2048, 2049, 2100, 4000, 9000][random.usize(..11)];
        packet.resize(length.max(ip + 20), 0x5a);
        let length = (packet.len() - ip) as u16;
        packet[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
    }
    let mut is_repaired = true;
    match kind {
        12 => packet[ip + 8] = random.u8(..3),
        13 => packet[ip] = random.u8(..),
        14 => packet[ip + 2..ip + 4].copy_from_slice(&random.u16(..).to_be_bytes()),
        15 => packet[..6].fill(0xff),
        16 => packet[0] = 1,
        17 => packet[12..14].copy_from_slice(&[0x81, 0]),
        18 => packet[12..14].copy_from_slice(&random.u16(..).to_be_bytes()),
        19 => packet[ip + 16..ip + 20].copy_from_slice(&[10, 0, 0, 1]),
        20 => packet[5] ^= 7,
        21 | 22 => packet.truncate(random.usize(1..60)),
        23 => is_repaired = false,
        24 => packet[ip + 6] = 0x20,
        _ => {}
    }
    if is_repaired && packet.len() >= ip + 20 {
        packet[ip + 10..ip + 12].fill(0);
        let sum = checksum::of(&packet[ip..ip + 20]).checksum();
        packet[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// The same of IPv6.
fn packet6(random: &mut Rng, side: u8) -> Vec<u8> {
    let to = if random.u8(..8) < 7 { [2, 0, 0, 0, 0xaa, side + 1] } else { [2, 9, 9, 9, 9, random.u8(..4)] };
    let mut packet = [&to[..], &[2, 9, 9, 9, side, random.u8(..4)], &[0x86, 0xdd]].concat();
    packet.extend([0x60, 0, random.u8(..2), random.u8(..), 0, 16, 17, 64]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, side, 0, 0, 0, 0, 0, 0, 0, 0, 0, sender(random)]);
    packet.extend([0x30, if side == 0 { 0x20 } else { 0x30 }, 0, random.u8(..5), 0, 0, 0, random.u8(..4)]);
    packet.extend([0, 0, 0, 0, 0, 0, 0, random.u8(1..)]);
    packet.resize(54 + 16, 0x11);
    let kind = random.u8(..120);
    if kind < 12 {
        let length = [71, 80, 128, 1000, 1514, 2040, 2048, 2049, 2100, 4000, 9000][random.usize(..11)];
        packet.resize(length, 0x5a);
        let length = (packet.len() - 54) as u16;
        packet[18..20].copy_from_slice(&length.to_be_bytes());
    }
    match kind {
        12 | 13 => packet[21] = random.u8(..3),
        14 => packet[14] = random.u8(..),
        15 => packet[18..20].copy_from_slice(&random.u16(..).to_be_bytes()),
        16 => packet[20] = [0, 6, 43, 44, 58, 59, 60][random.usize(..7)],
        17 => packet[22..24].copy_from_slice(&[0xfe, 0x80]),
        18 => packet[38..40].copy_from_slice(&[[0xfe, 0x80], [0xff, 2], [0, 0]][random.usize(..3)]),
        19 => packet[22..38].fill(0),
        20 => packet[38..54].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0, side, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        21 => packet[22] = 0xff,
        22 => packet[0] = 0x33,
        23 | 24 => packet.truncate(random.usize(1..70)),
        _ => {}
    }
    packet
}

/// An interface and what left by it.
type Sent = (String, Vec<u8>);

/// What a run leaves behind.
#[derive(PartialEq, Debug)]
struct Outcome {
    /// What came back in each burst, sorted: packets of different flows may overtake each other.
    came: Vec<Vec<Sent>>,
    counts: BTreeMap<(&'static str, &'static str), u64>,
    interfaces: serde_json::Value,
}

/// One run; notes the products that carried packets.
fn run(
    kind: &str,
    setup: Setup,
    (function, changes): (&str, Option<u64>),
    bursts: &[(usize, Vec<Vec<u8>>)],
    carriers: &mut BTreeMap<&'static str, u64>,
) -> Outcome {
    let mut way = Way::new(kind, setup, function);
    let mut random = Rng::with_seed(changes.unwrap_or_default());
    let mut came = vec![];
    for (number, (side, packets)) in bursts.iter().enumerate() {
        let mut change = |line: &str| drop(way.daemon().run(&named(kind, line.trim())));
        match (changes.is_some(), number % 4) {
            (true, 1) => change(CHANGES[random.usize(..CHANGES.len())]),
            // As it was, as far as what has changed lets it.
            (true, 3) => function.lines().chain(UP).for_each(change),
            _ => {}
        }
        let served = |way: &mut Way| -> Vec<_> {
            let dataplane = way.daemon().control().room::<Dataplane>();
            dataplane.queues().iter().map(|queue| (queue.product.clone().ok(), queue.carried.get())).collect()
        };
        let before = served(&mut way);
        let mut back = way.pass(*side, packets);
        back.sort();
        came.push(back);
        for ((product, before), (_, after)) in before.into_iter().zip(served(&mut way)) {
            assert!(product.is_some() || before == after);
            *carriers.entry(product.unwrap_or_default()).or_default() += after - before;
        }
    }
    let counts = way.daemon().counts();
    let interfaces = way.daemon().run("show interface").expect("a table").json;
    way.finish();
    Outcome { came, counts, interfaces }
}

/// Compares the nodes with the products of a kind on one instruction set.
fn compare(kind: &str, level: Level, changes: bool) {
    let mut carriers = BTreeMap::new();
    for (number, function) in FUNCTIONS.into_iter().enumerate() {
        let seed = number as u64 + 17;
        let bursts = bursts(seed, if changes { 60 } else { 20 }, function.contains("2001:db8"));
        let seed = changes.then_some(seed);
        let setup = |level: Level, fusion: bool| Setup { level, fusion, buffers: 8192, ..Setup::default() };
        let nodes = run(kind, setup(Level::best(), false), (function, seed), &bursts, &mut BTreeMap::from([("", 0)]));
        let came = nodes.came.iter().map(Vec::len).sum::<usize>();
        assert!(came > if changes { 50 } else { 500 }, "{came} packets: {function}");
        let fused = run(kind, setup(level, true), (function, seed), &bursts, &mut carriers);
        for (burst, (fused, nodes)) in fused.came.iter().zip(&nodes.came).enumerate() {
            let only = |a: &[Sent], b: &[Sent]| a.iter().find(|packet| !b.contains(packet)).cloned();
            assert!(
                fused == nodes,
                "{kind}, burst {burst}: {:x?} by products only, {:x?} by nodes only: {function}",
                only(fused, nodes),
                only(nodes, fused)
            );
        }
        assert_eq!(fused.counts, nodes.counts, "{kind}: {function}");
        assert_eq!(fused.interfaces, nodes.interfaces, "{kind}: {function}");
    }
    let daemon = site::daemon(1, false);
    let registered: BTreeSet<_> =
        daemon.control().room::<Dataplane>().products().iter().map(|product| product.name).collect();
    // What changes is made for is not always there.
    let enough = if changes { 0 } else { 100 };
    let met: BTreeSet<_> = carriers
        .iter()
        .filter(|(name, packets)| !name.is_empty() && **packets > enough)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(met, registered, "{kind}: packets by product: {carriers:?}");
}

fn products_agree_with_nodes(level: Level) {
    Way::KINDS.into_iter().for_each(|kind| compare(kind, level, false));
}

fn products_agree_with_nodes_while_the_configuration_changes(level: Level) {
    Way::KINDS.into_iter().for_each(|kind| compare(kind, level, true));
}

quiver_testkit::level_tests!(products_agree_with_nodes, products_agree_with_nodes_while_the_configuration_changes);
