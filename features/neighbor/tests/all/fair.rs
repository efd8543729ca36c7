//! Scans of one link's addresses, which get no reply, do not delay the resolution of neighbors on another link.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

const MILLISECOND: Duration = Duration::from_millis(1);

/// A router with a scan from pg0 through pg1: 30,000 addresses in a second, over and over.
fn scanned() -> Daemon {
    let setup = Setup { buffers: 32_768, ..Setup::default() };
    let mut daemon = Daemon::new(ROOMS, setup).expect("the daemon's rooms fit together");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
         set interface state pg0 up
         set interface state pg1 up
         set interface state pg2 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.1.0.1/16
         set interface ip address pg2 10.2.0.1/16
         packet-generator new { name scan interface pg0 limit 400000 rate 30000 data { \
         IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 UDP: 10.0.0.2 -> 10.1.1.0-10.1.250.255 UDP: 1 -> 2 } }
         packet-generator enable scan",
    );
    // Long enough for everything that the scan can fill to be full.
    daemon.advance(Duration::from_secs(4)).expect("it comes to rest");
    daemon.sent();
    daemon
}

fn send(daemon: &mut Daemon, interface: &str, packet: &str) {
    let packet: Packet = packet.parse().expect("it is a packet");
    daemon.send(interface, &packet.to_bytes()).expect("it is up");
}

/// Packets that pg2 has sent since the last call.
fn sent(daemon: &mut Daemon) -> Vec<String> {
    let sent = daemon.sent().into_iter().filter(|(interface, _)| interface == "pg2");
    sent.map(|(_, bytes)| Packet::dissect(&bytes).to_string()).collect()
}

/// Sends a packet to a neighbour behind pg2. Its question comes at once.
fn ask_for(daemon: &mut Daemon, host: u8) {
    send(
        daemon,
        "pg0",
        &format!(
            "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.2.0.{host} ttl 64 / udp 1 > 2 / payload 18"
        ),
    );
    daemon.advance(MILLISECOND).expect("it comes to rest");
    let question = format!("00:00:00:00:00:00 10.2.0.{host}");
    let sent = sent(daemon);
    assert!(sent.len() == 1 && sent[0].contains(&question), "{sent:?}");
}

#[test]
fn a_neighbour_is_found_while_another_link_is_scanned() {
    let mut daemon = scanned();
    for host in 2..200 {
        ask_for(&mut daemon, host);
        let reply = format!(
            "eth 02:00:00:00:00:{host:02x} > 02:00:00:00:00:a2 / \
             arp reply 02:00:00:00:00:{host:02x} 10.2.0.{host} > 02:00:00:00:00:a2 10.2.0.1"
        );
        send(&mut daemon, "pg2", &reply);
        daemon.advance(MILLISECOND).expect("it comes to rest");
        let sent = sent(&mut daemon);
        assert!(sent.len() == 1 && sent[0].contains(&format!("> 10.2.0.{host} ttl 63")), "{sent:?}");
    }
    let dropped = daemon.drops()[&("ip4-resolve", "too-many-wait")];
    assert!(dropped > 10_000, "the scan has filled what it can: {dropped} packets found no room");
    assert_eq!(daemon.drops().get(&("ip4-resolve", "control-busy")), None);
}

#[test]
fn a_neighbour_is_asked_again_while_another_link_is_scanned() {
    let mut daemon = scanned();
    ask_for(&mut daemon, 2);
    // Who is due is found once a second.
    daemon.advance(Duration::from_millis(4200)).expect("it comes to rest");
    let sent = sent(&mut daemon);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent.iter().all(|question| question.contains("00:00:00:00:00:00 10.2.0.2")), "{sent:?}");
}
