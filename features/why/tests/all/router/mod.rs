//! A router with two interfaces that receive, and one to hosts that it knows.

use std::time::Duration;

use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.1.0.1/24
    set interface ip address pg2 10.2.0.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    set interface ip address pg2 2001:db8:2::1/64
    ip neighbor pg2 10.2.0.2 02:00:00:00:00:12
    ip neighbor pg2 2001:db8:2::2 02:00:00:00:00:12
";

/// Each of two workers polls one of the interfaces that receive.
pub const TWO: &str = "set interface rx-placement pg0 worker 0\nset interface rx-placement pg1 worker 1\n";

/// The router, with more configured.
pub fn router(workers: usize, more: &[&str]) -> Daemon {
    let mut daemon =
        Daemon::new(quiver_scenarios::ROOMS, Setup { workers, buffers: 8192, ..Setup::default() }).expect("they fit");
    daemon.configure(CONFIGURATION);
    more.iter().for_each(|more| daemon.configure(more));
    daemon.advance(Duration::from_secs(5)).expect("time passes");
    daemon.sent();
    daemon
}

/// A packet on its way to the router.
pub fn frame(packet: &str) -> Vec<u8> {
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}
