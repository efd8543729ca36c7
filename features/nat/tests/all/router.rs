//! A router with NAT between pg0, inside, and pg1, outside.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_session::{SessionDefaults, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// A router with so many workers, and so many sessions at most. Worker 0 receives from pg0, and the last one from pg1.
pub fn router(workers: usize, sessions: usize, nat: &str) -> Daemon {
    let setup = Setup { workers, buffers: 16_384, ..Setup::default() };
    let mut daemon = Daemon::new(ROOMS, setup).expect("the rooms fit");
    set_session_defaults(daemon.control(), SessionDefaults { sessions, ..SessionDefaults::default() });
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/16
         set interface ip address pg1 192.0.2.1/24
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
         ip neighbor pg0 10.0.0.3 02:00:00:00:00:03
         ip neighbor pg0 10.0.0.4 02:00:00:00:00:04
         ip neighbor pg1 192.0.2.9 02:00:00:00:00:19
         ip neighbor pg1 192.0.2.10 02:00:00:00:00:19",
    );
    daemon.configure(&format!(
        "set interface rx-placement pg0 worker 0\nset interface rx-placement pg1 worker {}",
        workers - 1
    ));
    daemon.configure("nat44 plugin enable sessions 1000000\nnat44 add address 192.0.2.50");
    daemon.configure(nat);
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// A datagram between two ends.
pub fn datagram(ends: &str, ports: &str) -> Vec<u8> {
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 {ends} ttl 64 / udp {ports} / payload 8");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

/// Source address and port of a frame with UDP over IPv4.
pub fn source(frame: &[u8]) -> ([u8; 4], u16) {
    (frame[26..30].try_into().expect("it has an address"), u16::from_be_bytes([frame[34], frame[35]]))
}

/// Packets that a node dropped for a reason.
pub fn dropped(daemon: &Daemon, node: &'static str, reason: &'static str) -> u64 {
    daemon.drops().get(&(node, reason)).copied().unwrap_or(0)
}

/// Destination address and port of the same.
pub fn destination(frame: &[u8]) -> ([u8; 4], u16) {
    (frame[30..34].try_into().expect("it has an address"), u16::from_be_bytes([frame[36], frame[37]]))
}
