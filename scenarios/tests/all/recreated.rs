//! An interface goes, and another one gets its number: nothing that was of the first one may be of the second, whichever
//! room keeps it. What runs then is compared with a daemon in which the first one never was.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_engine::Dataplane;
use quiver_interface::{InterfaceId, Interfaces};
use quiver_pg::PacketGenerator;
use quiver_scenarios::state::{compare, state};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

/// Configuration beside the interface that is deleted.
const BASE: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create packet-generator interface pg3 hw-addr 02:00:00:00:00:a3
    set interface state pg0 up
    set interface state pg2 up
    set interface state pg3 up
    set interface ip address pg0 10.0.0.1/24
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip table add 7
    create bridge-domain 1
    set interface l2 bridge pg2 1
";
const MAC: &str = "02:00:00:00:00:a1";

/// Name of a case, its commands, and its packets, each with its receiving interface.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// References to an interface: commands and packets that create them, with `IT` for the interface's name.
const KINDS: [Case; 17] = [
    ("address", "set interface ip address IT 10.1.0.1/24", &[]),
    ("table", "set interface ip table IT 7\nset interface ip address IT 10.1.0.1/24", &[]),
    ("route to a next hop", "set interface ip address IT 10.1.0.1/24\nip route add 20.0.0.0/8 via 10.1.0.2 IT", &[]),
    ("route to a link", "ip route add 20.0.0.0/8 via IT", &[]),
    ("recursive route", "set interface ip address IT 10.1.0.1/24\nip route add 20.0.0.0/8 via 10.1.0.2", &[]),
    (
        "configured neighbour",
        "set interface ip address IT 10.1.0.1/24\nip neighbor IT 10.1.0.2 02:00:00:00:00:12\nip route add 20.0.0.0/8 via 10.1.0.2",
        &[],
    ),
    (
        "learned neighbour",
        "set interface ip address IT 10.1.0.1/24\nip route add 20.0.0.0/8 via 10.1.0.2",
        &[(
            "IT",
            "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / \
             arp request 02:00:00:00:00:12 10.1.0.2 > 00:00:00:00:00:00 10.1.0.1",
        )],
    ),
    (
        "packet that waits for its neighbour",
        "set interface ip address IT 10.1.0.1/24\nip route add 20.0.0.0/8 via 10.1.0.2",
        &[("pg0", ROUTED)],
    ),
    (
        "member of a bridge domain",
        "set interface l2 bridge IT 1 5",
        &[("IT", "eth 02:00:00:00:00:33 > 02:00:00:00:00:44 / payload 46"), ("pg2", BRIDGED)],
    ),
    ("configured station", "set interface l2 bridge IT 1\nl2fib add 02:00:00:00:00:33 1 IT static", &[]),
    ("cross-connect", "set interface l2 xconnect IT pg3\nset interface l2 xconnect pg3 IT", &[]),
    (
        "part of it",
        "create sub-interfaces IT 10 dot1q 10\nset interface state IT.10 up\nset interface ip address IT.10 10.1.0.1/24",
        &[],
    ),
    (
        "part of it in a bridge domain",
        "create sub-interfaces IT 10 dot1q 10\nset interface state IT.10 up\nset interface l2 bridge IT.10 1\n\
         set interface l2 tag-rewrite IT.10 pop 1",
        &[],
    ),
    ("tag rewrite", "set interface l2 bridge IT 1\nset interface l2 tag-rewrite IT push dot1q 5", &[]),
    ("settings", "set interface mtu 1200 IT\nset interface mac address IT 02:00:00:00:00:bb", &[]),
    ("receive queue", "set interface rx-placement IT queue 0 worker 0\nset interface handoff IT workers 0", &[]),
    (
        "stream and capture",
        "packet-generator new { name s interface IT limit 1 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:a1 \
         UDP: 10.1.0.2 -> 10.0.0.2 UDP: 1 -> 2 } }\npacket-generator capture IT",
        &[],
    ),
];

const ROUTED: &str =
    "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18";
const BRIDGED: &str = "eth 02:00:00:00:00:55 > 02:00:00:00:00:33 / payload 46";
/// Packets that would find what is left of the old interface.
const PROBES: [(&str, &str); 8] = [
    ("pg0", ROUTED),
    ("pg0", "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.1.0.2 ttl 64 / udp 1 > 2 / payload 18"),
    ("pg0", "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.1.0.1 ttl 64 / udp 1 > 2 / payload 18"),
    ("pg2", BRIDGED),
    ("pg3", "eth 02:00:00:00:00:66 > 02:00:00:00:00:77 / payload 46"),
    ("IT", "eth 02:00:00:00:00:33 > 02:00:00:00:00:44 / payload 46"),
    ("IT", "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / ip4 10.1.0.2 > 10.0.0.2 ttl 64 / udp 1 > 2 / payload 18"),
    (
        "IT",
        "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / dot1q 10 / ip4 10.1.0.2 > 10.0.0.2 ttl 64 / udp 1 > 2 / payload 18",
    ),
];

fn create(daemon: &mut Daemon, name: &str) -> InterfaceId {
    daemon.configure(&format!("create packet-generator interface {name} hw-addr {MAC}\nset interface state {name} up"));
    id(daemon, name)
}

fn id(daemon: &Daemon, name: &str) -> InterfaceId {
    daemon.control().room::<Interfaces>().id_of(name).expect("it was created")
}

fn send(daemon: &mut Daemon, name: &str, packets: &[(&str, &str)]) {
    for (interface, packet) in packets {
        let bytes = packet.parse::<Packet>().expect("a packet").to_bytes();
        daemon.send(if *interface == "IT" { name } else { interface }, &bytes).expect("it is there");
        daemon.settle().expect("it comes to rest");
    }
}

/// Results of the probes and of waiting packets: sent packets by interface, and drops by reason.
fn probed(daemon: &mut Daemon, name: &str) -> (Vec<String>, BTreeMap<String, u64>) {
    daemon.settle().expect("it comes to rest");
    let before = daemon.drops();
    daemon.sent();
    send(daemon, name, &PROBES);
    daemon.advance(Duration::from_secs(10)).expect("it comes to rest");
    let sent = daemon.sent().into_iter().map(|(by, bytes)| format!("{by} {}", Packet::dissect(&bytes))).collect();
    let dropped = daemon
        .drops()
        .into_iter()
        .map(|(reason, count)| (format!("{reason:?}"), count - before.get(&reason).unwrap_or(&0)));
    (sent, dropped.filter(|(_, count)| *count > 0).collect())
}

#[test]
fn nothing_of_an_interface_is_of_the_next_one_with_its_number() {
    for (kind, commands, packets) in KINDS {
        // The next one has the same name, or another.
        for next in ["pg1", "pg9"] {
            let mut used = quiver_scenarios::daemon(BASE);
            let number = create(&mut used, "pg1");
            used.configure(&commands.replace("IT", "pg1"));
            send(&mut used, "pg1", packets);
            used.configure("delete packet-generator interface pg1");
            used.settle().expect("it comes to rest");
            assert_eq!(create(&mut used, next), number, "{kind}: the number is used again");

            let mut fresh = quiver_scenarios::daemon(BASE);
            create(&mut fresh, next);
            // What does not name the interface is there all the same.
            fresh.configure(&commands.lines().filter(|line| !line.contains("IT")).collect::<Vec<_>>().join("\n"));
            let others = packets.iter().filter(|(interface, _)| *interface != "IT").copied().collect::<Vec<_>>();
            send(&mut fresh, next, &others);

            let states = [&mut used, &mut fresh].map(|daemon| state(daemon).expect("it comes to rest"));
            compare(&states[0], &states[1], &format!("{kind}, then {next}")).unwrap_or_else(|error| panic!("{error}"));
            let counted = used.control().room::<Dataplane>().interface_counters(number.0);
            assert_eq!(counted.rx.packets, 0, "{kind}: {next} has received nothing yet");
            assert_eq!(probed(&mut used, next), probed(&mut fresh, next), "{kind}, then {next}");
            used.finish().expect("nothing leaks");
        }
    }
}

/// Deletes pg1 and makes it anew while control hears nothing of what workers say.
fn replace_unheard(daemon: &mut Daemon, again: &str) {
    let number = id(daemon, "pg1");
    daemon.stall(Duration::from_millis(1));
    let control = daemon.control().clone();
    control.delete_with_users::<PacketGenerator>(&"pg1".to_owned()).expect("it is there");
    // The workers let go of it, and control is told so, of nothing else.
    for _ in 0..3 {
        daemon.stall(Duration::from_millis(1));
        control.room::<Dataplane>().reclaim();
    }
    control.put(PacketGenerator { hw_addr: MAC.parse().ok(), ..PacketGenerator::new("pg1".to_owned()) }).expect("free");
    assert_eq!(id(daemon, "pg1"), number, "the number is used again");
    daemon.configure(again);
    daemon.settle().expect("it comes to rest");
}

#[test]
fn what_workers_said_of_an_interface_is_not_said_of_the_next_one() {
    let layer3 = "set interface state pg1 up\nset interface ip address pg1 10.1.0.1/24";
    let layer2 = "set interface state pg1 up\nset interface l2 bridge pg1 1";

    // A packet waits for a neighbour, which control has not heard when the interface goes.
    let mut daemon = quiver_scenarios::daemon(BASE);
    create(&mut daemon, "pg1");
    daemon.configure(layer3);
    daemon.settle().expect("it comes to rest");
    let waiting = ROUTED.replace("20.0.0.9", "10.1.0.2").parse::<Packet>().expect("a packet").to_bytes();
    daemon.send("pg0", &waiting).expect("it is there");
    replace_unheard(&mut daemon, layer3);
    let drops = daemon.drops();
    assert_eq!(drops.get(&("ip4-resolve", "interface-gone")), Some(&1), "{drops:?}");
    let answer = "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / \
                  arp request 02:00:00:00:00:12 10.1.0.2 > 00:00:00:00:00:00 10.1.0.1";
    send(&mut daemon, "pg1", &[("IT", answer)]);
    let udp = daemon.sent().iter().filter(|(_, bytes)| Packet::dissect(bytes).to_string().contains("udp")).count();
    assert_eq!(udp, 0, "the packet was to leave by another interface");

    // A neighbour has spoken, and a station was seen.
    let mut daemon = quiver_scenarios::daemon(BASE);
    create(&mut daemon, "pg1");
    daemon.configure(layer3);
    daemon.settle().expect("it comes to rest");
    daemon.send("pg1", &answer.parse::<Packet>().expect("a packet").to_bytes()).expect("it is there");
    replace_unheard(&mut daemon, layer3);
    let shown = daemon.run("show ip neighbors").expect("a command").text;
    assert!(!shown.contains("10.1.0.2"), "{shown}");

    let mut daemon = quiver_scenarios::daemon(BASE);
    create(&mut daemon, "pg1");
    daemon.configure(layer2);
    daemon.settle().expect("it comes to rest");
    let frame = "eth 02:00:00:00:00:33 > 02:00:00:00:00:44 / payload 46";
    daemon.send("pg1", &frame.parse::<Packet>().expect("a packet").to_bytes()).expect("it is there");
    replace_unheard(&mut daemon, layer2);
    let shown = daemon.run("show l2fib verbose").expect("a command").text;
    assert!(!shown.contains("02:00:00:00:00:33"), "{shown}");
}

#[test]
fn a_packet_that_came_in_by_an_interface_that_is_no_more_is_not_the_next_one_s() {
    let mut daemon = quiver_scenarios::daemon(BASE);
    create(&mut daemon, "pg1");
    daemon.configure("set interface ip address pg1 10.1.0.1/24\nip route add 20.0.0.0/8 via 10.0.0.77");
    let packet = "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / ip4 10.1.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18";
    send(&mut daemon, "pg1", &[("IT", packet)]);
    daemon.configure("delete packet-generator interface pg1");
    create(&mut daemon, "pg1");
    // Its neighbor is silent: the sender of the packet gets an ICMP error from an address of the interface.
    daemon.advance(Duration::from_secs(10)).expect("it comes to rest");
    let drops = daemon.drops();
    assert_eq!(drops.get(&("ip4-resolve", "interface-gone")), Some(&1), "{drops:?}");
    assert!(!drops.keys().any(|(node, _)| *node == "icmp4-error"), "{drops:?}");
}

#[test]
fn a_capture_of_an_interface_ends_with_it() {
    let mut daemon = quiver_scenarios::daemon(BASE);
    create(&mut daemon, "pg1");
    daemon.run("pcap trace rx intfc pg1 file recreated.pcap").expect("a command");
    daemon.configure("delete packet-generator interface pg1");
    create(&mut daemon, "pg1");
    send(&mut daemon, "pg1", &PROBES);
    daemon.advance(Duration::from_secs(1)).expect("it comes to rest");
    let status = daemon.run("pcap trace status").expect("a command").json[0]["state"].clone();
    assert_eq!(status, "interface-gone");
    let written = daemon.run("pcap trace off").expect("a command").json[0]["packets"].clone();
    assert_eq!(written, 0);
}
