//! Every reason for which a node of the daemon may drop a packet is reached by some golden scenario.
//!
//! Scenarios state all drops that they cause and fail if one is missing, so their `drop` lines are the proof.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use quiver_engine::{Dataplane, To};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::golden;

/// Reasons that no scenario can reach, since its packets come from the generator: why, and the test that reaches them.
const EXCEPTIONS: [(&str, &str, &str, Option<&str>); 16] = [
    ("dispatch", "interface-gone", "workers of a scenario leave nothing in their rings", HANDOFF),
    ("dispatch", "too-many-passes", "no configuration lets packets circle", HANDOFF),
    ("worker-handoff", "handoff-full", "all workers of a scenario keep up", WORKERS),
    ("interface-output", "bad-offload", "the generator makes no offloads", OFFLOAD),
    ("interface-output", "no-buffer", "the generator makes no offloads to be cut", OFFLOAD),
    ("pg-input", "truncated", FOR_ALL, None),
    ("af-packet-input", "no-buffer", LINUX, Some("drivers/af-packet/tests/namespaces.rs")),
    ("af-packet-input", "truncated", LINUX, Some("drivers/af-packet/tests/namespaces.rs")),
    ("memif-input", "no-buffer", "its packets come from another process", HOSTILE),
    ("memif-input", "truncated", "its packets come from another process", HOSTILE),
    ("tap-input", "no-buffer", LINUX, Some("drivers/tap/tests/namespaces.rs")),
    ("pg-input", "receive-error", FOR_ALL, None),
    ("af-packet-input", "receive-error", FOR_ALL, None),
    ("memif-input", "receive-error", FOR_ALL, None),
    ("tap-input", "receive-error", "no Linux does so: a socket stands for it", Some("drivers/tap/src/queue.rs")),
    ("tap-input", "truncated", "no Linux does so: a socket stands for it", Some("drivers/tap/src/queue.rs")),
];
const HANDOFF: Option<&str> = Some("engine/core/tests/handoff.rs");
const WORKERS: Option<&str> = Some("scenarios/tests/workers.rs");
const HOSTILE: Option<&str> = Some("drivers/memif/tests/hostile.rs");
const OFFLOAD: Option<&str> = Some("engine/core/tests/offload.rs");
const FOR_ALL: &str = "all receive queues have this reason, and this one never meets it";
const LINUX: &str = "its packets come from Linux";

/// The reasons of all nodes, as (node, reason).
fn catalogue() -> BTreeSet<(String, String)> {
    let daemon = Daemon::new(ROOMS, Setup::default()).expect("the daemon's rooms fit together");
    let dataplane = daemon.control().room::<Dataplane>();
    let graph = dataplane.graph();
    let drops = |node| {
        let dropped = graph.arcs(node).iter().filter(|arc| arc.to == To::Drop);
        dropped.map(move |arc| (graph.name(node).to_owned(), arc.name.to_owned()))
    };
    graph.nodes().flat_map(drops).collect()
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
        EXCEPTIONS.iter().map(|(node, reason, ..)| (node.to_string(), reason.to_string())).collect();
    for (node, reason, _, test) in EXCEPTIONS {
        let Some(test) = test else { continue };
        let text = fs::read_to_string(root.join(test)).expect("the test is there");
        assert!(text.contains(&format!("\"{reason}\"")), "{test} says nothing of {reason} of {node}");
    }
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
