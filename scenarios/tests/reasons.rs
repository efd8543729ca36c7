//! Every reason for which a node of the daemon may drop a packet is reached by some golden scenario.
//!
//! Scenarios state all drops that they cause and fail if one is missing, so their `drop` lines are the proof.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use quiver_engine::{Dataplane, To};
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_testkit::golden;

const ROOMS: Rooms = Rooms {
    register: |control| quiverd::features::register(control).map_err(|error| error.to_string()),
    answer: quiver_interface::Events::answer,
    send: quiver_pg::send,
    sent: quiver_pg::sent,
};

const LIMITS: &str = "needs thousands of packets or a control thread that is busy: scenarios/tests/limits.rs";
const OFFLOADS: &str = "needs a queue that refuses, or offloads: engine/core/tests/offload.rs";
const KERNEL: &str =
    "only the kernel can give more than there are buffers for, or a packet that is cut: no test reaches it yet";

/// Reasons that no scenario can reach: why, and the test that reaches them where one can.
const EXCEPTIONS: [(&str, &str, &str); 14] = [
    ("af-packet-input", "no-buffer", KERNEL),
    ("af-packet-input", "truncated", KERNEL),
    ("arp-input", "control-busy", LIMITS),
    ("interface-output", "bad-offload", OFFLOADS),
    ("interface-output", "no-buffer", OFFLOADS),
    ("interface-output", "tx-full", OFFLOADS),
    ("interface-output", "tx-refused", OFFLOADS),
    ("ip4-resolve", "bad-header", LIMITS),
    ("ip4-resolve", "control-busy", LIMITS),
    ("ip4-resolve", "no-adjacency", LIMITS),
    ("ip4-resolve", "too-many-neighbors", LIMITS),
    ("pg-input", "truncated", "all receive queues have this reason, and the generator never cuts a packet"),
    ("tap-input", "no-buffer", KERNEL),
    ("tap-input", "truncated", KERNEL),
];

/// The reasons of all nodes, as (node, reason).
fn catalogue() -> BTreeSet<(String, String)> {
    let daemon = Daemon::new(ROOMS, Setup::default()).expect("the daemon's rooms fit together");
    let dataplane = daemon.control().room::<Dataplane>();
    let graph = dataplane.graph();
    let drops = |node| {
        let dropped = graph.arcs(node).iter().filter(|arc| arc.to == To::Drop);
        dropped.map(move |arc| (graph.name(node).to_owned(), arc.name.to_owned()))
    };
    let mut found: BTreeSet<_> = graph.nodes().flat_map(drops).collect();
    // Packets that take this arc have been sent; it leads nowhere, which only a drop does.
    found.remove(&(quiver_engine::tx::OUTPUT.to_owned(), "sent".to_owned()));
    found
}

#[test]
fn every_reason_is_reached() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let mut reached = BTreeSet::new();
    for folder in ["engine", "features", "drivers", "scenarios"] {
        for file in golden::scenarios_below(&root.join(folder)).expect("the folder is there") {
            reached.extend(golden::reached(&fs::read_to_string(file).expect("a scenario is text")));
        }
    }
    let catalogue = catalogue();
    assert!(catalogue.len() > 20, "the catalogue has only {} reasons", catalogue.len());
    let excepted: BTreeSet<_> =
        EXCEPTIONS.iter().map(|(node, reason, _)| (node.to_string(), reason.to_string())).collect();
    let list = |title: &str, reasons: Vec<&(String, String)>| match reasons.is_empty() {
        true => String::new(),
        false => reasons.iter().fold(format!("{title}\n"), |text, (node, reason)| format!("{text}  {node} {reason}\n")),
    };
    let problems = [
        list(
            "no scenario reaches:",
            catalogue.difference(&reached).filter(|found| !excepted.contains(*found)).collect(),
        ),
        list("excepted, but there is no such reason:", excepted.difference(&catalogue).collect()),
        list("excepted, but a scenario reaches it:", excepted.intersection(&reached).collect()),
    ]
    .concat();
    assert!(problems.is_empty(), "\n{problems}");
}
