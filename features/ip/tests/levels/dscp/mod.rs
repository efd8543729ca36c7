//! The stage of docs/stages.md: it is the text of that page, and it is seen in chains, traces and counters.

mod stage;

use crate::ends;

use quiver_engine::stats::Reading;
use quiver_engine::{Dataplane, Level, Stage};
use quiver_interface::Interfaces;
use quiver_testkit::daemon::Setup;
use quiver_testkit::packet::Packet;

use stage::{CountDscp, WANTED};

quiver_testkit::level_tests![packets_of_one_class_are_counted, the_page_has_the_stage];

const PAGE: &str = include_str!("../../../../../docs/stages.md");

fn the_page_has_the_stage(_: Level) {
    let stage = include_str!("stage.rs");
    assert!(PAGE.contains(stage), "docs/stages.md does not have the text of stage.rs");
    assert!(stage.lines().count() < 60);
}

fn packets_of_one_class_are_counted(level: Level) {
    let rooms =
        quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, stage, quiver_runtime, quiver_pg];
    let mut daemon = ends::forwarding(rooms, Setup { level, ..Setup::default() });
    let receiving = daemon.control().room::<Interfaces>().id_of("pg0").expect("created").0;
    let name = <CountDscp as Stage>::NAME;
    daemon.control().room_mut::<Dataplane>().enable("ip4-unicast", name, receiving, true).expect("registered");
    daemon.configure("trace add pg-input 1");
    let text = "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18";
    let plain = text.parse::<Packet>().expect("a packet").to_bytes();
    let mut marked = plain.clone();
    // The class in the upper six bits of its byte, and so much less in the checksum.
    marked[15] = (WANTED << 2) as u8;
    let sum = u16::from_be_bytes([marked[24], marked[25]]) - (WANTED << 2) as u16;
    marked[24..26].copy_from_slice(&sum.to_be_bytes());
    for n in 0..100 {
        daemon.send("pg0", if n % 3 == 0 { &marked } else { &plain }).expect("it is up");
    }
    daemon.settle().expect("nothing circles");
    assert_eq!(daemon.sent().len(), 100);
    assert_eq!(daemon.counts().get(&(name, "next-feature")), Some(&100));
    for command in ["show chain", "show trace"] {
        let shown = daemon.run(command).expect("it can be shown").text;
        assert!(shown.contains(name), "{command}: {shown}");
    }
    let mut counted = vec![];
    daemon.control().room::<Dataplane>().statistics().read(|entry, reading| {
        if let ("/net/dscp", Reading::Simple(rows)) = (entry, reading) {
            counted.extend(
                rows.iter()
                    .flat_map(|row| row.iter().enumerate())
                    .filter(|(_, cell)| cell.get() > 0)
                    .map(|(class, cell)| (class as u32, cell.get())),
            );
        }
    });
    assert_eq!(counted, [(WANTED, 34)]);
    daemon.finish().expect("nothing leaks");
}
