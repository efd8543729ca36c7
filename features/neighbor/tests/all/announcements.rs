//! Announcements of very many addresses: each is announced twice, two seconds apart, and never are there many at once.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_testkit::packet::Packet;

/// Number of addresses added at once, and the largest number of announcements in a tenth of a second.
const ADDRESSES: usize = 1000;
const MOST: usize = 100;

#[test]
fn a_daemon_may_be_told_to_announce_nothing() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.sent();
    quiver_neighbor::set_announcing(daemon.control(), false);
    daemon.configure("create packet-generator interface pg0\nset interface state pg0 up");
    daemon.configure("set interface ip address pg0 10.0.0.1/16");
    daemon.advance(Duration::from_secs(5)).expect("it comes to rest");
    assert_eq!(daemon.sent(), []);
    quiver_neighbor::set_announcing(daemon.control(), true);
    daemon.configure("set interface ip address pg0 10.0.0.2/16");
    daemon.advance(Duration::from_secs(1)).expect("it comes to rest");
    assert_eq!(daemon.sent().len(), 1);
}

#[test]
fn a_thousand_addresses_are_announced_twice_and_slowly() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.sent();
    daemon.configure("create packet-generator interface pg0");
    for n in 0..ADDRESSES {
        daemon.configure(&format!("set interface ip address pg0 10.0.{}.{}/16", n / 250, 1 + n % 250));
    }
    daemon.settle().expect("it comes to rest");
    assert_eq!(daemon.sent(), [], "nobody hears an interface that is down");
    daemon.configure("set interface state pg0 up");
    let mut heard: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for tenth in 0..60 {
        daemon.settle().expect("it comes to rest");
        let sent = daemon.sent();
        assert!(sent.len() <= MOST, "{} in one tenth of a second", sent.len());
        for (_, bytes) in sent {
            heard.entry(Packet::dissect(&bytes).to_string()).or_default().push(tenth);
        }
        daemon.advance(Duration::from_millis(100)).expect("it comes to rest");
    }
    assert_eq!(heard.len(), ADDRESSES);
    for (packet, tenths) in heard {
        assert!(packet.contains("> ff:ff:ff:ff:ff:ff / arp request"), "{packet}");
        assert!(matches!(tenths[..], [first, second] if (19..=21).contains(&(second - first))), "{packet}: {tenths:?}");
    }
}
