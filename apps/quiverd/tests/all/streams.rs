//! Streams of packets from files: however long the file is, the control thread serves others meanwhile.

use std::path::Path;
use std::process::Stdio;

use nix::sys::stat::Mode;
use quiver_testkit::pcap;
use serde_json::{Value, json};

use crate::quiverd::Daemon;

/// As many as a file may have; in bytes a little less than it may have.
const PACKETS: usize = 65_536;
const LENGTH: usize = 950;

fn start(folder: &Path) -> Daemon {
    Daemon::start_in(folder, |command| {
        command.args(["--buffers", "1000", "--no-state"]).stderr(Stdio::null());
    })
}

fn apply(daemon: &Daemon, file: &Path, limit: u32) -> Value {
    let text = format!(
        "packet-generators: [{{name: pg0}}]\npg-streams: [{{name: x, interface: pg0, limit: {limit}, pcap: {}}}]\n",
        file.display()
    );
    daemon.ask(&json!({"apply": {"name": "f.yaml", "text": text, "json": true}}))
}

#[test]
fn a_long_file_of_packets_takes_no_long_turn() {
    let folder = tempfile::tempdir().unwrap();
    let [short, long] = ["short.pcap", "long.pcap"].map(|name| folder.path().join(name));
    pcap::write(&short, [[1; 60]]).unwrap();
    pcap::write(&long, std::iter::repeat_n([1; LENGTH], PACKETS)).unwrap();
    let daemon = start(folder.path());
    let run = |line: &str| daemon.run(line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
    // The turns of the first changes are not those of files: the stand-in for rehearsals is made then.
    assert!(apply(&daemon, &short, 1)["done"].is_object());
    run("create packet-generator interface pg1");
    assert!(apply(&daemon, &short, 2)["done"].is_object());
    run("packet-generator delete x");
    run("clear control turns");
    run(&format!("packet-generator new pcap {} source pg0 name x", long.display()));
    assert_eq!(run("show packet-generator x")[0]["limit"], PACKETS);
    run("packet-generator enable x");
    run("packet-generator disable x");
    run("packet-generator delete x");
    // Made, changed and gone: read twice, rehearsed and freed.
    for file in [&long, &short, &long] {
        let done = apply(&daemon, file, 7);
        assert!(done["done"].is_object(), "{done}");
    }
    run("packet-generator delete x");
    let turns = run("show control turns");
    let turns = turns.as_array().unwrap();
    let long: Vec<_> = turns.iter().filter(|task| task["over-5-ms"] != 0).collect();
    assert!(long.is_empty(), "{long:#?}");
    let counted = turns.iter().filter_map(|task| task["turns"].as_u64()).sum::<u64>();
    assert!(counted > 20, "turns are counted: {turns:?}");
    daemon.stop();
}

#[test]
fn files_that_cannot_be_sent_are_refused_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let names = ["fifo.pcap", "none.pcap", "half.pcap", "cooked.pcap", "whole.pcap"];
    let [fifo, none, half, cooked, whole] = names.map(path);
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    pcap::write(&whole, [[1; 60], [2; 60]]).unwrap();
    let mut bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&half, &bytes[..bytes.len() - 30]).unwrap();
    // LINKTYPE_LINUX_SLL2, as of `tcpdump -i any`.
    bytes[20..24].copy_from_slice(&276_u32.to_be_bytes());
    std::fs::write(&cooked, &bytes).unwrap();
    let daemon = start(folder.path());
    assert!(apply(&daemon, &whole, 1)["done"].is_object());
    let before = daemon.run("show configuration").unwrap();
    for (file, words) in [
        (&fifo, "fifo.pcap is a FIFO, not a regular file; name a regular file"),
        (&none, "none.pcap: No such file or directory"),
        (&half, "half.pcap: packet 2: "),
        (&cooked, "cooked.pcap: its packets are of link type LINUX_SLL2 (276)"),
    ] {
        let refused = apply(&daemon, file, 1);
        let told = refused["error"]["what"].as_str().unwrap_or_default();
        assert!(
            told.starts_with("f.yaml:2:") && told.contains("pg-streams x: pcap: ") && told.contains(words),
            "{refused}"
        );
        let told = daemon.run(&format!("packet-generator new pcap {} source pg0 name y", file.display())).unwrap_err();
        assert!(told.starts_with("pg-streams y: pcap: ") && told.contains(words), "{told}");
    }
    assert_eq!(daemon.run("show configuration").unwrap(), before);
    // What runs needs its file no more.
    std::fs::remove_file(&whole).unwrap();
    assert!(apply(&daemon, &whole, 2)["done"].is_object());
    assert_eq!(daemon.run("show packet-generator x").unwrap()[0]["limit"], 2);
    daemon.stop();
}
