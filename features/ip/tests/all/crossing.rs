//! Packets of IPv6 on a way by a router of IPv4 are not cut (RFC 8200, 5): senders are told, buffers or not.

use std::time::Duration;

use quiver_testkit::packet::Packet;

#[test]
fn no_packet_of_ip6_is_cut_on_a_way_by_ip4() {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 2001:db8::1/64
         set interface ip address pg1 10.0.1.1/24
         ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
         set interface mtu 1280 pg1
         ip route add 2001:db8:20::/48 via 10.0.1.2 pg1",
    );
    daemon.advance(Duration::from_secs(5)).expect("it settles");
    for packet in
        ["udp 1 > 2 / payload 1300", "frag offset 0 more id 7 next udp / payload 1400", "udp 1 > 2 / payload 18"]
    {
        let text =
            format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip6 2001:db8::2 > 2001:db8:20::9 hlim 64 / {packet}");
        daemon.send("pg0", &text.parse::<Packet>().expect("a packet").to_bytes()).expect("it is up");
        daemon.settle().expect("it settles");
    }
    let counts = daemon.counts();
    let count = |node, arc| counts.get(&(node, arc)).copied().unwrap_or_default();
    assert_eq!((count("icmp6-error", "packet-too-big"), count("ip6-via-ip4", "icmp6-error")), (2, 2));
    assert_eq!(count("ip6-via-ip4", "cannot-be-fragmented"), 0);
    assert_eq!(count("ip6-via-ip4", "no-buffers"), 0);
}
