//! What products carry from ring to ring without a buffer: packet by packet what the nodes do with it, on every
//! instruction set, whatever comes between.

mod site;

use std::collections::BTreeMap;

use fastrand::Rng;
use quiver_engine::Level;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::levels;
use quiver_wire::checksum;
use tempfile::TempDir;

const CONNECT: &str = "set interface l2 xconnect memif1/0 memif2/0
    set interface l2 xconnect memif2/0 memif1/0";
const BRIDGE: &str = "create bridge-domain 1
    set interface l2 bridge memif1/0 1
    set interface l2 bridge memif2/0 1";
const ROUTE: &str = "set interface ip address memif1/0 10.0.0.1/24
    set interface ip address memif2/0 10.0.1.1/24
    ip neighbor memif1/0 10.0.0.2 02:00:00:00:00:02
    ip neighbor memif2/0 10.0.1.2 02:00:00:00:00:12
    ip neighbor memif2/0 10.0.1.3 02:00:00:00:00:13
    ip route add 20.0.0.0/8 via 10.0.1.2 memif2/0
    ip route add 20.1.0.0/16 via 10.0.1.2 memif2/0 via 10.0.1.3 memif2/0
    ip route add 20.2.0.0/16 via drop
    ip route add 20.3.0.0/16 via 10.0.0.2 memif1/0
    ip route add 30.0.0.0/8 via 10.0.0.2 memif1/0";
const FUNCTIONS: [&str; 3] = [CONNECT, BRIDGE, ROUTE];

/// The daemon in question, between two memif interfaces of another one, whose `pg0` and `pg1` are their other ends.
struct Path {
    daemon: Daemon,
    tester: Daemon,
    _folder: TempDir,
}

impl Path {
    fn new(setup: Setup, role: &str, function: &str) -> Path {
        let folder = tempfile::tempdir().expect("a folder");
        let tester = site::daemon_of(Setup { buffers: 8192, ..Setup::default() });
        let mut path = Path { daemon: site::daemon_of(setup), tester, _folder: folder };
        let other = if role == "master" { "slave" } else { "master" };
        for (daemon, role) in [(&mut path.daemon, role), (&mut path.tester, other)] {
            for id in [1, 2] {
                let filename = path._folder.path().join(format!("{id}.sock"));
                daemon.configure(&format!("create memif socket id {id} filename {}", filename.display()));
                daemon.configure(&format!(
                    "create interface memif id 0 socket-id {id} {role} ring-size 1024 hw-addr 02:00:00:00:aa:0{id}"
                ));
                daemon.configure(&format!("set interface state memif{id}/0 up"));
            }
        }
        path.daemon.configure(function);
        for id in [1, 2] {
            let pg = format!("pg{}", id - 1);
            path.tester.configure(&format!(
                "create packet-generator interface {pg}
                set interface state {pg} up
                set interface l2 xconnect {pg} memif{id}/0
                set interface l2 xconnect memif{id}/0 {pg}"
            ));
        }
        for _ in 0..100 {
            path.run(50);
            let states = [&mut path.daemon, &mut path.tester].map(|daemon| daemon.run("show memif").expect("a table"));
            let is_up = |reply: &quiver_control::cli::Reply| {
                reply.json.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|m| m["state"] == "connected"))
            };
            if states.iter().all(is_up) {
                return path;
            }
        }
        panic!("no connection");
    }
    fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            let step = std::time::Duration::from_millis(1);
            self.tester.advance(step).expect("it settles");
            self.daemon.advance(step).expect("it settles");
        }
    }
    /// Sends packets in bursts, each by one of the two; returns what came back, sorted.
    fn pass(
        &mut self,
        bursts: &[(usize, Vec<Vec<u8>>)],
        mut between: impl FnMut(usize, &mut Daemon),
    ) -> Vec<(String, Vec<u8>)> {
        let mut came = vec![];
        for (number, (side, packets)) in bursts.iter().enumerate() {
            between(number, &mut self.daemon);
            packets.iter().for_each(|packet| self.tester.send(&format!("pg{side}"), packet).expect("it is up"));
            self.run(3);
            came.extend(self.tester.sent());
        }
        came.sort();
        came
    }
    fn finish(self) {
        self.daemon.finish().expect("nothing has leaked");
        self.tester.finish().expect("nothing has leaked at the tester");
    }
}

/// Bursts of any packets: for us and not, short and long, sound and broken.
fn bursts(seed: u64, count: usize) -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut random = Rng::with_seed(seed);
    let mut packet = |side: usize| {
        let mut packet = vec![0; 60];
        packet[..12].copy_from_slice(&[2, 0, 0, 0, 0xaa, side as u8 + 1, 2, 9, 9, 9, side as u8, random.u8(..4)]);
        packet[12..14].copy_from_slice(&[8, 0]);
        packet[14..24].copy_from_slice(&[0x45, 0, 0, 46, 1, 2, 0, 0, 64, 17]);
        packet[26..30].copy_from_slice(&[10, 0, side as u8, 2]);
        let first = if side == 0 { 20 } else { 30 };
        packet[30..34].copy_from_slice(&[first, random.u8(..5), random.u8(..), random.u8(..)]);
        let kind = random.u8(..60);
        if kind < 12 {
            let length = [61, 64, 128, 1000, 1514, 2048, 2049, 2100, 4000, 9000][random.usize(..10)];
            packet.resize(length, 0x5a);
            packet[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
        }
        let mut is_repaired = true;
        match kind {
            12 => packet[22] = random.u8(..3),
            13 => packet[14] = random.u8(..),
            14 => packet[16..18].copy_from_slice(&random.u16(..).to_be_bytes()),
            15 => packet[..6].fill(0xff),
            16 => packet[0] = 1,
            17 => packet[12..14].copy_from_slice(&[0x81, 0]),
            18 => packet[12..14].copy_from_slice(&random.u16(..).to_be_bytes()),
            19 => packet[30..34].copy_from_slice(&[10, 0, 0, 1]),
            20 => packet[5] ^= 7,
            21 => packet.truncate(random.usize(1..60)),
            22 => is_repaired = false,
            23 => packet[20] = 0x20,
            _ => {}
        }
        if is_repaired && packet.len() >= 34 {
            packet[24..26].fill(0);
            let sum = checksum::of(&packet[14..34]).checksum();
            packet[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    };
    let mut sizes = Rng::with_seed(!seed);
    (0..count)
        .map(|_| {
            let side = sizes.usize(..2);
            (side, (0..sizes.usize(1..300)).map(|_| packet(side)).collect())
        })
        .collect()
}

/// What was counted of packets; how many frames it took is not compared.
fn counts(daemon: &Daemon) -> BTreeMap<(&'static str, &'static str), u64> {
    daemon.counts()
}

#[test]
fn relays_agree_with_nodes() {
    let bursts = bursts(5, 40);
    for function in FUNCTIONS {
        for role in ["slave", "master"] {
            let outcome = |level: Level, fusion: bool| {
                let mut path = Path::new(Setup { level, fusion, ..Setup::default() }, role, function);
                let came = path.pass(&bursts, |_, _| ());
                let counts = counts(&path.daemon);
                let interfaces = path.daemon.run("show interface").expect("a table").json;
                path.finish();
                (came, counts, interfaces)
            };
            let (came, counted, interfaces) = outcome(Level::best(), false);
            assert!(came.len() > 2000, "{}", came.len());
            for (name, level) in levels::here() {
                let (relayed, counts, of_interfaces) = outcome(level, true);
                assert!(relayed == came, "{function} {role} {name}: {} of {}", relayed.len(), came.len());
                assert_eq!(counts, counted, "{function} {role} {name}");
                assert_eq!(of_interfaces, interfaces, "{function} {role} {name}");
            }
        }
    }
}

/// Routes, functions and products change between bursts: what passes is what the configuration says at that time.
#[test]
fn relays_agree_with_nodes_while_the_configuration_changes() {
    let bursts = bursts(6, 60);
    let changes = [
        "ip route add 20.0.0.0/8 via 10.0.1.3 memif2/0",
        "set interface state memif2/0 down",
        "set interface state memif2/0 up",
        "ip route del 20.1.0.0/16",
        "set interface l2 xconnect memif1/0 memif2/0",
        "set interface l3 memif1/0",
        "ip neighbor del memif2/0 10.0.1.3 02:00:00:00:00:13",
        "set interface mtu 500 memif2/0",
        "ip neighbor memif2/0 10.0.1.3 02:00:00:00:00:14",
        "set interface mac address memif1/0 02:00:00:00:aa:07",
        "set interface mac address memif1/0 02:00:00:00:aa:01",
        "set interface mtu 9000 memif2/0",
    ];
    let outcome = |fusion: bool| {
        let mut path = Path::new(Setup { fusion, ..Setup::default() }, "slave", ROUTE);
        let came = path.pass(&bursts, |number, daemon| {
            if number % 3 == 2 {
                let change = changes[number / 3 % changes.len()];
                // Said twice, it may be so already.
                let _ = daemon.run(change);
            }
        });
        let counts = counts(&path.daemon);
        path.finish();
        (came, counts)
    };
    let (nodes, relayed) = (outcome(false), outcome(true));
    assert!(nodes.0 == relayed.0, "{} and {} packets", nodes.0.len(), relayed.0.len());
    assert_eq!(nodes.1, relayed.1);
}

/// Packet `number` of a flow, of this length.
fn numbered(length: usize, number: u16) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[..14].copy_from_slice(&[2, 0, 0, 0, 0xaa, 1, 2, 9, 9, 9, 9, 9, 8, 0]);
    packet[14..24].copy_from_slice(&[0x45, 0, 0, 0, 1, 2, 0, 0, 64, 17]);
    packet[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
    packet[26..34].copy_from_slice(&[10, 0, 0, 2, 20, 0, 0, 1]);
    let sum = checksum::of(&packet[14..34]).checksum();
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet[42..44].copy_from_slice(&number.to_be_bytes());
    packet
}

/// The numbers of packets, in the order in which they came out again.
fn numbers(buffers: u32, function: &str, packets: &[Vec<u8>]) -> Vec<u16> {
    let mut path = Path::new(Setup { buffers, ..Setup::default() }, "slave", function);
    if function == BRIDGE {
        // Where the two are has to be learned.
        let mut answer = numbered(60, 0);
        answer[..12].copy_from_slice(&[2, 9, 9, 9, 9, 9, 2, 0, 0, 0, 0xaa, 1]);
        for (from, packet) in [("pg1", answer), ("pg0", numbered(60, 0))] {
            path.tester.send(from, &packet).expect("it is up");
            path.run(20);
        }
        path.tester.sent();
    }
    for packets in packets.chunks(250) {
        packets.iter().for_each(|packet| path.tester.send("pg0", packet).expect("it is up"));
        path.run(2);
    }
    let came = path.tester.sent();
    assert_eq!(path.daemon.drops(), BTreeMap::new(), "{function}");
    path.finish();
    // Beside what a router says of its own addresses.
    let came = came.iter().filter(|(_, packet)| packet[12..14] == [8, 0]);
    came.map(|(_, packet)| u16::from_be_bytes([packet[42], packet[43]])).collect()
}

/// A turn brings more packets than there are buffers.
#[test]
fn relays_need_no_buffers() {
    let packets: Vec<_> = (0..1000).map(|number| numbered(60, number)).collect();
    for function in FUNCTIONS {
        assert_eq!(numbers(64, function, &packets), (0..1000).collect::<Vec<_>>(), "{function}");
    }
}

/// Those that are longer than a slot are received into buffers, and so is what comes behind them.
#[test]
fn relays_keep_the_order() {
    let packets: Vec<_> = (0..1000).map(|n| numbered(if n % 100 == 99 { 3000 } else { 60 }, n)).collect();
    for function in FUNCTIONS {
        assert_eq!(numbers(2048, function, &packets), (0..1000).collect::<Vec<_>>(), "{function}");
    }
}
