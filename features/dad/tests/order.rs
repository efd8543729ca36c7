//! The events about an address do not depend on the order in which tasks run at the same moment.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// Detection ends a second after an address has come, and then its owner would have announced it without detection.
#[test]
fn an_address_that_nobody_has_is_announced_once() {
    for seed in 0..32 {
        let mut daemon = Daemon::new(ROOMS, Setup { seed, ..Setup::default() }).expect("the rooms fit");
        daemon.configure(
            "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
             set ip6 dad enable transmits 1 delay 1
             set interface state pg0 up
             enable ip6 interface pg0",
        );
        daemon.advance(Duration::from_secs(5)).expect("it settles");
        let sent = daemon.sent().into_iter().map(|(_, packet)| Packet::dissect(&packet).to_string());
        let announced: Vec<String> = sent.filter(|packet| packet.contains("neighbor-advertisement")).collect();
        assert_eq!(announced.len(), 1, "seed {seed}: {announced:?}");
    }
}
