//! Packets of streams, one by one, on the virtual clock.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_pg::PacketGenerator;
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};

const ROOMS: Rooms = quiver_scenarios::rooms![quiver_interface, crossing, quiver_pg];

/// A daemon whose interfaces pg0 and pg1 are joined.
fn joined(setup: Setup) -> Daemon {
    let mut daemon = Daemon::new(ROOMS, setup).expect("a daemon");
    for name in ["pg0", "pg1"] {
        daemon.control().put(PacketGenerator::new(name.into())).expect("there is room");
        daemon.configure(&format!("set interface state {name} up"));
    }
    daemon
}

#[test]
fn every_48_packets_of_imix_have_its_weights() {
    let mut daemon = joined(Setup::default());
    daemon.configure(
        "packet-generator new { name x source pg0 limit 480 rate 1e6 size imix }\npacket-generator enable x",
    );
    daemon.advance(Duration::from_millis(1)).expect("an end");
    let sizes: Vec<usize> = daemon.sent().into_iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(sizes.len(), 480);
    for start in 0..=480 - 48 {
        let mut counts = BTreeMap::<usize, usize>::new();
        sizes[start..start + 48].iter().for_each(|size| *counts.entry(*size).or_default() += 1);
        assert_eq!(counts, BTreeMap::from([(64, 28), (570, 16), (1518, 4)]), "from {start}");
    }
    daemon.finish().expect("nothing leaks");
}

#[test]
fn frames_of_9000_bytes_are_whole_and_numbered() {
    let mut daemon = joined(Setup::default());
    daemon
        .configure("packet-generator new { name x source pg0 limit 40 size 64,9000,2049 }\npacket-generator enable x");
    daemon.settle().expect("an end");
    let sent = daemon.sent();
    for (number, (interface, bytes)) in sent.iter().enumerate() {
        assert_eq!((interface.as_str(), bytes.len()), ("pg1", [64, 9000, 2049][number % 3]));
        assert_eq!(bytes[16..18], (bytes.len() as u16 - 14).to_be_bytes(), "the length in the header of IPv4");
        assert_eq!(bytes[bytes.len() - 8..], (number as u64).to_be_bytes());
        assert!(bytes[42..bytes.len() - 16].iter().all(|byte| *byte == 0), "nothing is left of the packet before");
    }
    let shown = daemon.run("show packet-generator x").expect("it is there").json;
    assert_eq!([&shown[0]["received"], &shown[0]["lost"]], [40, 0]);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn networks_that_were_drawn_come_in_turn_and_again() {
    let mut daemon = joined(Setup::default());
    daemon.configure(
        "packet-generator new { name x source pg0 limit 7 seed 9 size 74 ip6-source 2001:db8::1 \
         ip6-destination drawn:3:2400::5-2407:ffff:ffff:ffff::5 }\npacket-generator enable x",
    );
    daemon.settle().expect("an end");
    let ends = [0x2400_0000_0000_0000, 0x2407_ffff_ffff_ffff];
    for (number, (_, bytes)) in daemon.sent().into_iter().enumerate() {
        let network = quiver_pg::values::drawn(ends, number as u64 % 3);
        assert_eq!(bytes[38..54], (u128::from(network) << 64 | 5).to_be_bytes(), "packet {number}");
        assert_eq!(bytes[22..38], (0x2001_0db8_u128 << 96 | 1).to_be_bytes());
    }
    daemon.finish().expect("nothing leaks");
}
