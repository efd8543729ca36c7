//! All instruction sets do the same packet by packet: over random and hostile traffic, from rings of memif and of the packet
//! generator, while the configuration changes.

use std::collections::BTreeMap;

use crate::site::traffic::{FUNCTIONS, bursts};
use crate::site::way::{Sent, Way, named};
use fastrand::Rng;
use quiver_engine::Level;
use quiver_testkit::daemon::Setup;

/// The first commands.
const UP: [&str; 2] = ["set interface state A up", "set interface state B up"];

/// Commands between bursts. Some are refused, for some interfaces and at some times.
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

/// Result of a run.
#[derive(PartialEq, Debug)]
struct Outcome {
    /// Packets that came back in each burst, sorted, since packets of different flows may overtake each other.
    came: Vec<Vec<Sent>>,
    counts: BTreeMap<(&'static str, &'static str), u64>,
    interfaces: serde_json::Value,
}

fn run(
    kind: &str,
    level: Level,
    (function, changes): (&str, Option<u64>),
    bursts: &[(usize, Vec<Vec<u8>>)],
) -> Outcome {
    let setup = Setup { level, buffers: 8192, ..Setup::default() };
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
        let mut back = way.pass(*side, packets);
        back.sort();
        came.push(back);
    }
    let counts = way.daemon().counts();
    let interfaces = way.daemon().run("show interface").expect("a table").json;
    way.finish();
    Outcome { came, counts, interfaces }
}

/// Compares an instruction set with the best one.
fn compare(kind: &str, level: Level, changes: bool) {
    for (number, function) in FUNCTIONS.into_iter().enumerate() {
        let seed = number as u64 + 17;
        let bursts = bursts(seed, if changes { 60 } else { 20 }, function.contains("2001:db8"));
        let seed = changes.then_some(seed);
        let best = run(kind, Level::best(), (function, seed), &bursts);
        let came = best.came.iter().map(Vec::len).sum::<usize>();
        assert!(came > if changes { 50 } else { 500 }, "{came} packets: {function}");
        let here = run(kind, level, (function, seed), &bursts);
        for (burst, (here, best)) in here.came.iter().zip(&best.came).enumerate() {
            let only = |a: &[Sent], b: &[Sent]| a.iter().find(|packet| !b.contains(packet)).cloned();
            assert!(
                here == best,
                "{kind}, burst {burst}: {:x?} here only, {:x?} by the best only: {function}",
                only(here, best),
                only(best, here)
            );
        }
        assert_eq!(here.counts, best.counts, "{kind}: {function}");
        assert_eq!(here.interfaces, best.interfaces, "{kind}: {function}");
    }
}

fn levels_agree(level: Level) {
    Way::KINDS.into_iter().for_each(|kind| compare(kind, level, false));
}

fn levels_agree_while_the_configuration_changes(level: Level) {
    Way::KINDS.into_iter().for_each(|kind| compare(kind, level, true));
}

quiver_testkit::level_tests!(levels_agree, levels_agree_while_the_configuration_changes);
