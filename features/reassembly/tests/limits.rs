//! What is kept is bounded: parts of a packet, packets, bytes.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

fn router() -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("the rooms fit");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg0 2001:db8::1/64",
    );
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon
}

/// A fragment for us: its packet's number, its place in units of eight bytes, and how many units it has.
fn send(daemon: &mut Daemon, ip6: bool, id: u32, place: usize, units: usize) {
    let (offset, length) = (place * 8, units * 8);
    let packet = match ip6 {
        false => format!("ip4 10.0.0.2 > 10.0.0.1 id {id} mf offset {offset} protocol udp / payload {length}"),
        true => {
            format!("ip6 2001:db8::2 > 2001:db8::1 / frag offset {offset} more id {id} next udp / payload {length}")
        }
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    daemon.send("pg0", &bytes).expect("it is up");
    daemon.settle().expect("it settles");
}

/// How many packets a family's node has dropped for a reason.
fn drops(daemon: &Daemon, ip6: bool, reason: &str) -> u64 {
    let node = if ip6 { "ip6-reassembly" } else { "ip4-reassembly" };
    daemon.drops().into_iter().filter(|((at, why), _)| *at == node && *why == reason).map(|(_, count)| count).sum()
}

#[test]
fn a_packet_has_64_parts_at_most() {
    for ip6 in [false, true] {
        let mut daemon = router();
        (0..65).for_each(|part| send(&mut daemon, ip6, 7, part * 2, 1));
        assert_eq!(drops(&daemon, ip6, "too-many-fragments"), 1);
        // It is given up: nothing of it is taken any more.
        send(&mut daemon, ip6, 7, 3, 1);
        assert_eq!(drops(&daemon, ip6, "overlapping-fragments"), 1);
    }
}

#[test]
fn so_many_packets_and_bytes_are_kept_and_what_has_waited_for_too_long_makes_room() {
    for ip6 in [false, true] {
        let mut daemon = router();
        (0..1025).for_each(|id| send(&mut daemon, ip6, id, 2, 1));
        assert_eq!(drops(&daemon, ip6, "reassembly-full"), 1, "1,024 packets");
        // Those that have begun go on.
        send(&mut daemon, ip6, 0, 5, 1);
        assert_eq!(drops(&daemon, ip6, "reassembly-full"), 1);
        daemon.advance(Duration::from_secs(62)).expect("it settles");
        assert_eq!(drops(&daemon, ip6, "reassembly-timeout"), 1024);
        // 4 MB, in parts of 8,000 bytes.
        let whole = (4 << 20) / 8000;
        (0..whole).for_each(|id| send(&mut daemon, ip6, id, 2, 1000));
        assert_eq!(drops(&daemon, ip6, "reassembly-full"), 1);
        send(&mut daemon, ip6, whole, 2, 1000);
        assert_eq!(drops(&daemon, ip6, "reassembly-full"), 2);
    }
}
