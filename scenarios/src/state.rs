//! State of a daemon in the output of its rooms' commands, to compare a running state with an expected one.

use quiver_testkit::daemon::{Daemon, DaemonError};

/// Commands that show a room's state.
const SHOWN: [&str; 41] = [
    "show interface",
    "show interface address",
    "show interface handoff",
    "show interface rx-placement",
    "show hardware-interfaces",
    "show mode",
    "show bridge-domain detail",
    "show l2fib verbose",
    "show ip table",
    "show ip fib",
    "show ip fib table 7",
    "show ip fib table 8",
    "show ip neighbors",
    "show ip6 table",
    "show ip6 fib",
    "show ip6 fib table 7",
    "show ip6 fib table 8",
    "show ip6 neighbors",
    "show ip mfib",
    "show ip6 mfib",
    "show ip6 mld",
    "show interface secondary-mac-address",
    "show l3xc",
    "show urpf",
    "show interface tcp-mss-clamp",
    "show policer",
    "show punt socket registrations",
    "show ip punt redirect",
    "show ip6 punt redirect",
    "show ip punt policer",
    "show ip6 punt policer",
    "show acl-plugin acl",
    "show abf policy",
    "show abf attach",
    "show adjacency",
    "show tap",
    "show af-packet",
    "show packet-generator",
    "show memif",
    "show memif sockets",
    "show plugins",
];

/// Names of counters, which go on.
const COUNTERS: [&str; 12] =
    ["rx", "tx", "packets", "bytes", "drops", "punt", "ip4", "ip6", "rx-no-buf", "rx-miss", "rx-error", "tx-error"];

/// Output of all commands, a line for each fact. Leaves out counters, and the numbers and the order of interfaces and
/// next hops (with their shares of a group's buckets), which depend on the order of creation.
pub fn state(daemon: &mut Daemon) -> Result<Vec<String>, DaemonError> {
    daemon.settle()?;
    let is_fact = |word: &&str| word.parse::<f64>().is_err() && !word.starts_with('[') && !COUNTERS.contains(word);
    let mut lines = vec![daemon.control().save().text];
    for command in SHOWN {
        // A table may be gone.
        let text = daemon.run(command).map_or_else(|error| error.to_string(), |reply| reply.text);
        for line in text.lines() {
            let mut words: Vec<_> = line.split([' ', ',']).filter(|word| !word.is_empty()).filter(is_fact).collect();
            words.sort_unstable();
            if !words.is_empty() {
                lines.push(format!("{command}: {}", words.join(" ")));
            }
        }
    }
    features(daemon, &mut lines);
    Ok(lines)
}

/// Adds a line for each feature and each interface on which it is enabled: the answer lists some interfaces in each of its rows.
fn features(daemon: &mut Daemon, lines: &mut Vec<String>) {
    const COMMAND: &str = "show features";
    let rows = daemon.run(COMMAND).map(|reply| reply.json).unwrap_or_default();
    for row in rows.as_array().into_iter().flatten() {
        let text = |column: &str| row[column].as_str().unwrap_or_default();
        for interface in text("enabled-on").split(", ") {
            lines.push(format!("{COMMAND}: {} {} {interface}", text("arc"), text("feature")));
        }
    }
}

/// An error that says what is in one state and not in the other; `when` begins it.
pub fn compare(now: &[String], before: &[String], when: &str) -> Result<(), String> {
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).cloned().collect::<Vec<_>>().join("\n")
    };
    let (gone, come) = (only(before, now), only(now, before));
    match gone.is_empty() && come.is_empty() {
        true => Ok(()),
        false => Err(format!("{when}: not as before\ngone:\n{gone}\ncome:\n{come}")),
    }
}
