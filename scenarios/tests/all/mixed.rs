//! Packets of several tables in one frame: each finds the route of its own, whatever was looked at ahead.

use quiver_testkit::packet::Packet;

/// The same destinations are behind pg2 in the table of pg0, which has few routes, and behind pg3 in that of pg1, which has
/// so many that they are looked at ahead.
const ROUTER: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create packet-generator interface pg3 hw-addr 02:00:00:00:00:a3
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    ip6 table add 1
    ip6 table add 2
    set interface ip6 table pg0 1
    set interface ip6 table pg1 2
    set interface ip address pg0 2001:db8:a0::1/64
    set interface ip address pg1 2001:db8:a1::1/64
    set interface ip address pg2 2001:db8:a2::1/64
    set interface ip address pg3 2001:db8:a3::1/64
    ip neighbor pg2 2001:db8:a2::2 02:00:00:00:00:12
    ip neighbor pg3 2001:db8:a3::2 02:00:00:00:00:13
    ip route add 2001:db8:5::/48 table 1 via 2001:db8:a2::2 pg2
    ip route add count 64 2001:db8:5:7::/128 table 2 via 2001:db8:a3::2 pg3
    ip route add count 1100 2001:db8:9::/64 table 2 via 2001:db8:a3::2 pg3
";

fn packet(mac: &str, n: usize) -> Vec<u8> {
    let text = format!(
        "eth 02:00:00:00:00:02 > {mac} / ip6 2001:db8:ff::1 > 2001:db8:5:7::{:x} / udp 1 > 2 / payload 18",
        n % 64
    );
    text.parse::<Packet>().expect("it is a packet").to_bytes()
}

#[test]
fn packets_of_two_tables_in_one_frame_go_by_their_own() {
    {
        let mut daemon = quiver_scenarios::daemon(ROUTER);
        // What interfaces say of themselves when they come up.
        daemon.settle().expect("nothing circles");
        daemon.sent();
        // In one turn, those of the small table first, of both in turns, and the other way round.
        for (few, many, turns) in [(32, 64, 1), (16, 16, 5), (1, 40, 6), (64, 64, 2)] {
            for turn in 0..turns {
                (0..few).for_each(|n| daemon.send("pg0", &packet("02:00:00:00:00:a0", turn + n)).expect("it is up"));
                (0..many).for_each(|n| daemon.send("pg1", &packet("02:00:00:00:00:a1", turn + n)).expect("it is up"));
            }
            daemon.settle().expect("nothing circles");
            let sent = daemon.sent();
            let by = |name: &str| sent.iter().filter(|(port, _)| port == name).count();
            assert_eq!((by("pg2"), by("pg3")), (few * turns, many * turns), "{:?}", daemon.counts());
        }
        daemon.finish().expect("nothing leaks");
    }
}
