//! A real inspector, features/snort/examples/inspector.py, beside a real quiverd: drops, flows that pass it by, and `kill -9`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::quiverd::{Daemon, said, wait};

const INSPECTOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../features/snort/examples/inspector.py");

/// A router between pg0 and pg1, whose packets of both directions instance `ids` inspects at pg0.
struct Site {
    daemon: Daemon,
    folder: tempfile::TempDir,
    streams: usize,
}

/// An inspector, killed when dropped.
struct Inspector {
    process: Child,
    log: PathBuf,
}

impl Inspector {
    /// As `kill -9` does it.
    fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it is a child");
    }
    /// Verdicts by destination port, in the order of the packets.
    fn verdicts(&self) -> Vec<(u64, String)> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            (line["port"].as_u64().expect("a port"), line["verdict"].as_str().expect("a name").to_owned())
        };
        log.lines().map(line).collect()
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Site {
    fn new(on_disconnect: &str) -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = Daemon::start_in(folder.path(), |command| {
            command.arg("--snort-socket").arg(folder.path().join("snort.sock"));
            command.arg("--captures").arg(folder.path()).args(["--workers", "1", "--buffers", "4096"]);
        });
        let site = Site { daemon, folder, streams: 0 };
        for (number, net) in ["10.0.0", "10.0.1"].into_iter().enumerate() {
            site.run(&format!("create packet-generator interface pg{number} hw-addr 02:00:00:00:00:a0"));
            site.run(&format!("set interface state pg{number} up"));
            site.run(&format!("set interface ip address pg{number} {net}.1/24"));
            site.run(&format!("ip neighbor pg{number} {net}.2 02:00:00:00:00:02"));
        }
        site.run(&format!("snort create-instance name ids queue-size 64 on-disconnect {on_disconnect}"));
        site.run("snort attach instance ids interface pg0 inout");
        site
    }
    fn run(&self, line: &str) -> Value {
        self.daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
    fn inspector(&self, arguments: &[&str]) -> Inspector {
        let (log, out) = (self.folder.path().join("verdicts"), self.folder.path().join("out"));
        let _ = std::fs::remove_file(&log);
        let file = std::fs::File::create(&out).expect("a file");
        let mut command = Command::new("python3");
        command.arg(INSPECTOR).arg("--socket").arg(self.folder.path().join("snort.sock"));
        command.args(["--instance", "ids", "--log"]).arg(&log).args(arguments);
        let process = command.stdin(Stdio::null()).stdout(file).spawn();
        let inspector = Inspector { process: process.expect("install python3"), log };
        assert_eq!(said(&out, "inspecting "), "ids");
        inspector
    }
    /// Sends a datagram of each port from pg0, or to it.
    fn send(&mut self, back: bool, ports: &str, count: u32) {
        self.streams += 1;
        let (name, of) = (format!("s{}", self.streams), if back { "pg1" } else { "pg0" });
        let (ends, ports) = match back {
            true => ("10.0.1.2 -> 10.0.0.2", format!("{ports} -> 1000")),
            false => ("10.0.0.2 -> 10.0.1.2", format!("1000 -> {ports}")),
        };
        let data = format!("IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 UDP: {ends} UDP: {ports}");
        self.run(&format!("packet-generator new {{ name {name} interface {of} limit {count} data {{ {data} }} }}"));
        self.run(&format!("packet-generator enable {name}"));
    }
    fn pair(&self, part: &str, name: &str) -> u64 {
        self.run("show snort instances")[0]["queue-pairs"][0][part][name].as_u64().expect("a number")
    }
    fn waiting(&self) -> u64 {
        self.run("show snort instances")[0]["queue-pairs"][0]["waiting"].as_u64().expect("a number")
    }
    /// Captures what pg1 sends, while something is done.
    fn captured(&mut self, name: &str, what: impl FnOnce(&mut Site)) -> Vec<u16> {
        let path = self.folder.path().join(name);
        self.run(&format!("pcap trace tx max 1000 intfc pg1 file {name}"));
        what(self);
        self.run("pcap trace off");
        ports(&path)
    }
}

/// Destination ports of the packets of a capture.
fn ports(path: &Path) -> Vec<u16> {
    // Without packets there may be no file.
    let bytes = std::fs::read(path).unwrap_or_default();
    let (mut rest, mut ports) = (bytes.get(24..).unwrap_or_default(), vec![]);
    while let Some(header) = rest.first_chunk::<16>() {
        let length = u32::from_ne_bytes(*header[8..].first_chunk().expect("four bytes")) as usize;
        let packet = &rest[16..16 + length];
        ports.push(u16::from_be_bytes([packet[36], packet[37]]));
        rest = &rest[16 + length..];
    }
    ports.sort_unstable();
    ports
}

#[test]
fn an_inspector_drops_packets_and_lets_flows_pass_it_by() {
    let mut site = Site::new("drop");
    let before = site.captured("before.pcap", |site| {
        site.send(false, "10 - 19", 10);
        wait("all are dropped without an inspector", || {
            let dropped = site.run("show errors").to_string();
            dropped.contains("no-inspector")
        });
    });
    assert!(before.is_empty(), "{before:?}");
    let inspector = site.inspector(&["--block", "13", "--blacklist", "14", "--whitelist", "15", "--ignore", "16"]);
    let after = site.captured("after.pcap", |site| {
        site.send(false, "10 - 19", 10);
        wait("all are judged", || site.pair("verdicts", "pass") == 6 && site.waiting() == 0);
    });
    assert_eq!(after, [10, 11, 12, 15, 16, 17, 18, 19], "captures before and after differ by the drops alone");
    let again = site.captured("again.pcap", |site| {
        site.send(false, "10 - 19", 10);
        wait("all are judged, or pass by", || site.pair("verdicts", "pass") == 12 && site.waiting() == 0);
    });
    assert_eq!(again, after);
    // Of three flows the inspector has seen one packet each, of the others two.
    let verdicts = inspector.verdicts();
    assert_eq!(verdicts.len(), 17, "{verdicts:?}");
    for (port, verdict) in [(13, "block"), (14, "blacklist"), (15, "whitelist"), (16, "ignore")] {
        let count = verdicts.iter().filter(|(of, name)| (*of, name.as_str()) == (port, verdict)).count();
        assert_eq!(count, if port == 13 { 2 } else { 1 }, "{verdicts:?}");
    }
    assert_eq!((site.pair("counts", "bypassed"), site.pair("counts", "denied by flow")), (2, 1));
    // Its alerts are what arrived: as many as quiverd has counted.
    let counted: u64 =
        ["pass", "block", "blacklist", "whitelist", "ignore"].iter().map(|name| site.pair("verdicts", name)).sum();
    assert_eq!(counted, verdicts.len() as u64);
    // Packets to pg0 are inspected on their way out.
    site.send(true, "40", 1);
    wait("it is judged", || site.pair("verdicts", "pass") == 13);
    assert_eq!(inspector.verdicts().last(), Some(&(1000, "pass".to_owned())));
    site.daemon.stop();
}

#[test]
fn a_killed_inspector_leaves_packets_dropped_or_passed_and_another_takes_over() {
    for (mode, passes) in [("drop", false), ("pass", true)] {
        let mut site = Site::new(mode);
        // It gives no verdict about ports 10 and 11.
        let inspector = site.inspector(&["--hold", "10", "--hold", "11"]);
        let sent = site.captured("killed.pcap", |site| {
            site.send(false, "10 - 19", 10);
            wait("two are held", || site.pair("verdicts", "pass") == 8 && site.waiting() == 2);
            inspector.kill();
            wait("they are taken back", || site.pair("counts", "lost with inspector") == 2);
            site.send(false, "20 - 29", 10);
            wait("all are through", || {
                let errors = site.run("show errors").to_string();
                if passes {
                    site.pair("counts", "passed without inspector") == 10
                } else {
                    errors.contains("no-inspector")
                }
            });
        });
        let expected: Vec<u16> = if passes { (10..30).collect() } else { (12..20).collect() };
        assert_eq!(sent, expected, "{mode}");
        let second = site.inspector(&["--block", "31"]);
        let sent = site.captured("second.pcap", |site| {
            site.send(false, "30 - 39", 10);
            wait("all are judged", || site.pair("verdicts", "block") == 1 && site.waiting() == 0);
        });
        assert_eq!(sent, [30, 32, 33, 34, 35, 36, 37, 38, 39], "{mode}");
        assert_eq!(site.run("show snort clients").as_array().map(Vec::len), Some(1));
        drop(second);
        site.daemon.stop();
    }
}
