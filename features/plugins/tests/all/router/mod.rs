//! A router between two interfaces of the packet generator, for tests.

#![allow(dead_code, reason = "each test takes what it needs")]

#[path = "lines.rs"]
mod lines;

use lines::ROUTER;
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use std::path::Path;
use std::time::Duration;

/// Up to UDP, a packet that comes in by `a` with a TTL of 9.
pub const HEADERS: &str = "eth 02:00:00:00:00:02 > 02:00:00:00:00:0a / ip4 10.0.0.2 > 10.0.1.2 ttl 9 / udp 1 > 2";
/// The packet that `b` sends for a packet with a TTL of 9, from its IP header on.
pub const FORWARDED: &str = "ip4 10.0.0.2 > 10.0.1.2 ttl 8";

/// The router, with a plugin loaded.
pub fn with(plugin: &Path) -> Daemon {
    let mut daemon = without(2);
    daemon.configure(&format!("load plugin {}", plugin.display()));
    daemon
}

/// The router, without plugins.
pub fn without(workers: usize) -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup { workers, ..Setup::default() }).expect("the rooms fit together");
    daemon.configure(ROUTER);
    // Its interfaces announce their addresses first.
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// A packet that comes in by `a`, from its IP header on.
pub fn packet(ip: &str) -> Vec<u8> {
    let text =
        format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:0a / ip4 10.0.0.2 > 10.0.1.2 {ip} / udp 1 > 2 / payload 100");
    text.parse::<Packet>().expect("a packet").to_bytes()
}

/// Sends packets with these fields of their IP headers into `a` together; returns what left by `b`, as text from its IP
/// header on.
pub fn forward(daemon: &mut Daemon, packets: &[&str]) -> Vec<String> {
    for ip in packets {
        daemon.send("a", &packet(ip)).expect("a is up");
    }
    daemon.settle().expect("packets come to an end");
    let sent = daemon.sent().into_iter().filter(|(name, _)| name == "b");
    let text = |bytes: Vec<u8>| Packet::dissect(&bytes).to_string();
    sent.map(|(_, bytes)| text(bytes).split(" / ").nth(1).expect("an IP header").to_owned()).collect()
}

/// Reply to a command, or its error.
pub fn said(daemon: &mut Daemon, line: &str) -> String {
    match daemon.run(line) {
        Ok(reply) => reply.text,
        Err(error) => format!("refused: {error}"),
    }
}
