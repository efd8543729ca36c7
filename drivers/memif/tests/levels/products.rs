//! Every product that the daemon registers does packet by packet what the nodes do: over random and hostile traffic, on every
//! instruction set, from frames and from relays, while the configuration changes. A product that nothing here is carried by
//! fails the test, so that a new one needs a function below if none has its path yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::site::way::{Sent, Way, named};
use crate::site::{
    self,
    traffic::{FUNCTIONS, bursts},
};
use fastrand::Rng;
use quiver_engine::{Dataplane, Level};
use quiver_testkit::daemon::Setup;

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
