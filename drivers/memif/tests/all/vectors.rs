//! A daemon reports the same of the same packets at every vector size: in `show runtime`, traces, drops, counters of arcs and
//! interfaces, and the statistics segment. Only the entries in `HOW` may differ: clocks, calls of nodes, and buffers that workers
//! keep.

use std::collections::BTreeSet;

use crate::site::traffic::{FUNCTIONS, bursts};
use crate::site::way::Way;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use serde_json::Value;

/// Packets that routers drop or answer, among the packets that they forward.
const ODD: [&str; 12] = [
    "ip4 10.0.0.2 > 20.0.0.1 ttl 64",
    "ip4 10.0.0.2 > 20.0.0.1 ttl 1",
    "ip4 10.0.0.2 > 99.0.0.1 ttl 64",
    "ip4 10.0.0.2 > 20.2.0.1 ttl 64",
    "ip4 10.0.0.2 > 20.0.0.1 ttl 64 bad-checksum",
    "ip4 10.0.0.2 > 20.1.0.1 ttl 64",
    "ip6 2001:db8::2 > 3020::1",
    "ip6 2001:db8::2 > 3020::1 hlim 1",
    "ip6 2001:db8::2 > 3099::1",
    "ip6 2001:db8::2 > 3020:2::1",
    "ip6 2001:db8::2 > fe80::99",
    "ip6 2001:db8::2 > 3020:1::1",
];
/// Without tags, and with those of the sub-interfaces that some of the functions have.
const TAGS: [&str; 3] = ["", "dot1q 10 / ", "dot1ad 30 / dot1q 5 / "];

/// Drops of these packets by some function, by node and reason.
const DROPPED: [(&str, &str); 8] = [
    ("ethernet-input", "not-for-us"),
    ("vlan-input", "unknown-vlan"),
    ("ip4-input", "bad-checksum"),
    ("ip4-lookup", "route-drop"),
    ("ip6-lookup", "route-drop"),
    ("icmp4-error", "ttl-expired"),
    ("icmp4-error", "network-unreachable"),
    ("icmp6-error", "hop-limit-expired"),
];
/// Where packets that are traced come to with some function.
const TRACED: [&str; 10] = [
    "ethernet-input",
    "vlan-input",
    "ip4-lookup",
    "ip4-rewrite",
    "ip6-lookup",
    "ip6-rewrite",
    "l2-fwd",
    "vlan-output",
    "interface-output",
    "drop",
];

/// Entries of the statistics segment that depend on timing: clocks, calls, turns, and derived ones; buffers cached by
/// workers.
const HOW: [&str; 8] = [
    "/clocks",
    "/calls",
    "/sys/vector_rate",
    "/sys/loops_per_worker",
    "/buffer-pools/",
    "/quiver/workers/busy-",
    "/quiver/workers/turns",
    "/quiver/workers/preempted-ticks",
];

/// The odd packets, all at once.
fn odd() -> Vec<Vec<u8>> {
    let packets = TAGS.iter().flat_map(|tags| ODD.iter().map(move |ip| (tags, ip)));
    let text = packets
        .map(|(tags, ip)| format!("eth 02:00:00:00:00:02 > 02:00:00:00:aa:01 / {tags}{ip} / udp 1 > 2 / payload 18"));
    text.map(|text| text.parse::<Packet>().expect("a packet").to_bytes()).collect()
}

/// The daemon's answers, line by line, each with its command.
type Told = Vec<(&'static str, String)>;

/// Asks for all of it.
fn told(daemon: &mut Daemon) -> Told {
    let mut ask = |command: &'static str| daemon.run(command).expect("it can be shown");
    let rows = |of: Value| of.as_array().cloned().expect("rows");
    let mut lines = vec![];
    // Copies that a bridge made of a packet are told of in the order in which they went on.
    let trace = ask("show trace max 1000").text;
    for packet in trace.split("\n\n") {
        let mut of_packet: Vec<_> = packet.lines().map(|line| ("show trace", line.to_owned())).collect();
        of_packet.sort();
        lines.extend(of_packet);
    }
    for command in ["show errors", "show node counters", "show graph", "show interface"] {
        lines.extend(ask(command).text.lines().map(|line| (command, line.to_owned())));
    }
    let runtime = rows(ask("show runtime").json);
    lines.extend(runtime.iter().map(|row| {
        ("show runtime", format!("{} of worker {}: {} packets", row["name"], row["worker"], row["vectors"]))
    }));
    let segment = ask("show statistics segment").json;
    let entries = segment["entries"].as_object().expect("entries").iter();
    let entries = entries.filter(|(name, _)| !HOW.iter().any(|how| name.contains(how)));
    lines.extend(entries.map(|(name, entry)| ("show statistics segment", format!("{name}: {}", entry["value"]))));
    lines
}

/// The daemon's answers after random and odd packets, some of which are traced. A worker for each interface.
fn run(kind: &str, vector: usize, function: &str, seed: u64) -> Told {
    let setup = Setup { workers: 2, buffers: 8192, ..Setup::default() };
    let mut way = Way::new(kind, setup, function);
    let mut bursts = bursts(seed, 16, function.contains("2001:db8"));
    way.daemon().workers().iter_mut().for_each(|worker| worker.vector = vector);
    // Some of either side are traced, the odd ones first: chosen where packets come in, and behind that.
    let input = if kind == "frames" { "pg-input" } else { "memif-input" };
    let traces = [(9, input), (14, "ethernet-input")];
    [3, traces[0].0, traces[1].0].into_iter().for_each(|number| bursts.insert(number, (0, odd())));
    for (number, (side, packets)) in bursts.iter().enumerate() {
        if let Some((_, node)) = traces.iter().find(|(at, _)| *at == number) {
            way.daemon().configure(&format!("trace add {node} 60"));
        }
        way.pass(*side, packets);
    }
    let told = told(way.daemon());
    way.finish();
    told
}

/// Lines that one has and the other has not, the first few of them.
fn only<'t>(these: &'t Told, those: &Told) -> Vec<&'t (&'static str, String)> {
    let those: BTreeSet<_> = those.iter().collect();
    these.iter().filter(|line| !those.contains(line)).take(20).collect()
}

#[test]
fn vectors_of_all_sizes_are_shown_as_the_same() {
    let (mut dropped, mut traced) = (BTreeSet::new(), BTreeSet::new());
    for (number, function) in FUNCTIONS.into_iter().enumerate() {
        for kind in Way::KINDS {
            let run = |vector| run(kind, vector, function, number as u64 + 5);
            let full = run(256);
            for vector in [1, 7, 8] {
                let other = run(vector);
                assert!(
                    full == other,
                    "{kind}: {:#?} in full vectors only, {:#?} in vectors of {vector} only, {:#?} first differ: {function}",
                    only(&full, &other),
                    only(&other, &full),
                    full.iter().zip(&other).find(|(one, another)| one != another)
                );
            }
            for (command, line) in &full {
                let words: Vec<_> = line.split_whitespace().collect();
                match (*command, &words[..]) {
                    ("show errors", [_, node, reason, "error"]) => {
                        dropped.insert((node.to_string(), reason.to_string()));
                    }
                    ("show trace", [time, node]) if time.ends_with(':') => {
                        traced.insert(node.to_string());
                    }
                    _ => {}
                }
            }
        }
    }
    for (node, reason) in DROPPED {
        assert!(dropped.contains(&(node.to_owned(), reason.to_owned())), "{node} {reason}: {dropped:?}");
    }
    for node in TRACED {
        assert!(traced.contains(node), "{node}: {traced:?}");
    }
}
