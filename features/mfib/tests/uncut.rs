//! Routers do not cut packets of IPv6 (RFC 8200, 5), those for groups either: senders are told, buffers or not.

use std::time::Duration;

use quiver_testkit::packet::Packet;

#[test]
fn no_packet_for_a_group_of_ip6_is_cut() {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 2001:db8::1/64
         ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
         set interface mtu 1280 pg1
         ip mroute add ff3e::1 via pg0 accept via pg1 forward",
    );
    daemon.advance(Duration::from_secs(5)).expect("it settles");
    for packet in ["udp 1 > 2 / payload 1300", "frag offset 0 more id 7 next udp / payload 1400"] {
        let text = format!("eth 02:00:00:00:00:02 > 33:33:00:00:00:01 / ip6 2001:db8::2 > ff3e::1 / {packet}");
        let bytes = text.parse::<Packet>().expect("a packet").to_bytes();
        daemon.send("pg0", &bytes).expect("it is up");
        daemon.settle().expect("it settles");
    }
    let counts = daemon.counts();
    let count = |node, arc| counts.get(&(node, arc)).copied().unwrap_or_default();
    assert_eq!(count("icmp6-error", "packet-too-big"), 2);
    assert_eq!(count("ip6-rewrite-mcast", "icmp6-error"), 2);
    assert_eq!(count("ip6-rewrite-mcast", "cannot-be-fragmented"), 0);
    assert_eq!(count("ip6-rewrite-mcast", "no-buffers"), 0);
}
