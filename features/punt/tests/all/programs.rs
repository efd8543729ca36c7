//! Programs send packets: frames by an interface, packets of IP by their routes. What says what cannot be vanishes by name.

use std::time::Duration;

use quiver_punt::accept;
use quiver_punt::program::DATAGRAM_MAX;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

fn router() -> Daemon {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg0 up
         set interface state pg1 up
         create sub-interfaces pg1 100
         set interface state pg1.100 up
         ip table add 7
         ip6 table add 7
         set interface ip table pg0 7
         set interface ip6 table pg0 7
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg0 2001:db8::1/64
         set interface ip address pg1 10.0.0.1/24
         set interface ip address pg1 2001:db8::1/64",
    );
    for (interface, last) in [("pg0", 2), ("pg1", 3)] {
        daemon.configure(&format!(
            "ip neighbor {interface} 10.0.0.2 02:00:00:00:00:0{last}
             ip neighbor {interface} 2001:db8::2 02:00:00:00:00:0{last}"
        ));
    }
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

fn frame(text: &str) -> Vec<u8> {
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

fn datagram(interface: u32, action: u32, packet: &[u8]) -> Vec<u8> {
    [&interface.to_ne_bytes()[..], &action.to_ne_bytes(), packet].concat()
}

const ETHERNET: &str = "eth 02:00:00:00:00:77 > 02:00:00:00:00:88";
const IP4: &str = "ip4 10.9.9.9 > 10.0.0.2 ttl 1 / udp 9 > 1111 / payload 18";
const IP6: &str = "ip6 2001:db8::77 > 2001:db8::2 hlim 1 / udp 9 > 1111 / payload 18";

#[test]
fn packets_leave() {
    let mut daemon = router();
    let whole = |inside: &str| frame(&format!("{ETHERNET} / {inside}"));
    let (four, six) = (whole(IP4), whole(IP6));
    let tagged = |tags: &str| whole(&format!("{tags} / {IP4}"));
    let out = |last: u8, mac: u8, frame: &[u8]| {
        let macs = [[2, 0, 0, 0, 0, last], [2, 0, 0, 0, 0, mac]].concat();
        [&macs[..], &frame[12..]].concat()
    };
    // Interfaces are numbered as they were made. What is ours keeps its hops.
    for (interface, action, packet, wanted) in [
        (1, 0, &four[..], ("pg0", four.clone())),
        (2, 0, &six, ("pg1", six.clone())),
        (1, 1, &four[14..], ("pg0", out(2, 0xa0, &four))),
        (2, 1, &four[14..], ("pg1", out(3, 0xa1, &four))),
        // Number 0 is nobody's, and looks up in the default table.
        (0, 1, &four[14..], ("pg1", out(3, 0xa1, &four))),
        (1, 2, &six[14..], ("pg0", out(2, 0xa0, &six))),
        (0, 2, &six[14..], ("pg1", out(3, 0xa1, &six))),
        // A sub-interface puts its tag into the frame, if it is not there already.
        (3, 0, &four, ("pg1", frame(&format!("{ETHERNET} / dot1q 100 / {IP4}")))),
        (3, 0, &tagged("dot1q 100"), ("pg1", tagged("dot1q 100"))),
        (3, 0, &tagged("dot1q 101"), ("pg1", tagged("dot1q 100 / dot1q 101"))),
        (3, 0, &tagged("dot1q 100 / dot1q 7"), ("pg1", tagged("dot1q 100 / dot1q 7"))),
        (2, 0, &tagged("dot1q 100"), ("pg1", tagged("dot1q 100"))),
    ] {
        accept(daemon.control(), &datagram(interface, action, packet));
        daemon.settle().expect("it comes to rest");
        let sent = daemon.sent();
        assert_eq!(sent, [(wanted.0.to_owned(), wanted.1)], "interface {interface}, action {action}");
    }
    assert_eq!(daemon.drops().len(), 0, "{:?}", daemon.drops());
    daemon.finish().expect("nothing leaks");
}

#[test]
fn what_cannot_be_is_dropped_by_name() {
    let mut daemon = router();
    let (four, six) = (frame(&format!("{ETHERNET} / {IP4}")), frame(&format!("{ETHERNET} / {IP6}")));
    let ip = |at: usize, value: u8| {
        let mut packet = four[14..].to_vec();
        packet[at] = value;
        packet
    };
    let refused = [
        ("too-short", vec![]),
        ("too-short", vec![0; 7]),
        ("too-short", datagram(1, 0, &[])),
        ("too-short", datagram(1, 0, &four[..13])),
        ("too-short", datagram(1, 1, &four[14..33])),
        ("too-short", datagram(1, 2, &six[14..53])),
        ("too-long", datagram(1, 0, &vec![0; DATAGRAM_MAX])),
        ("unknown-action", datagram(1, 3, &four)),
        ("unknown-action", datagram(1, u32::MAX, &four)),
        ("no-such-interface", datagram(4, 0, &four)),
        ("no-such-interface", datagram(65_537, 0, &four)),
        ("no-such-interface", datagram(u32::MAX, 1, &four[14..])),
        // Versions and lengths, of headers and packets.
        ("bad-header", datagram(1, 1, &six[14..])),
        ("bad-header", datagram(1, 2, &[&four[14..], &[0; 20]].concat())),
        ("bad-header", datagram(1, 1, &ip(0, 0x44))),
        ("bad-header", datagram(1, 1, &ip(0, 0x4f))),
        ("bad-header", datagram(1, 1, &ip(3, 200))),
        ("bad-header", datagram(1, 1, &[&four[14..], &[0]].concat())),
        ("bad-header", datagram(1, 2, &six[14..six.len() - 1])),
    ];
    for (reason, datagram) in refused {
        let before = daemon.drops().get(&("punt-socket-rx", reason)).copied().unwrap_or_default();
        accept(daemon.control(), &datagram);
        daemon.settle().expect("it comes to rest");
        let after = daemon.drops().get(&("punt-socket-rx", reason)).copied().unwrap_or_default();
        assert_eq!(after, before + 1, "{reason}: {:02x?}", &datagram[..datagram.len().min(40)]);
    }
    // An interface that is gone is as good as none.
    daemon.configure("delete sub-interface pg1.100");
    accept(daemon.control(), &datagram(3, 0, &four));
    daemon.settle().expect("it comes to rest");
    assert_eq!(daemon.drops()[&("punt-socket-rx", "no-such-interface")], 4);
    assert_eq!(daemon.sent().len(), 0);
    daemon.finish().expect("nothing leaks");
}
