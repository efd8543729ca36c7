//! What is kept is bounded: parts of a packet, packets, bytes.

use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// Where packets are put together: for us, or for others by an interface that has them so.
#[derive(Clone, Copy, Debug)]
enum Place {
    Local,
    Received,
}

fn router(place: Place) -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("the rooms fit");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg0 2001:db8::1/64
         ip route add 10.1.0.0/16 via drop
         ip route add 2001:db8:1::/48 via drop",
    );
    if let Place::Received = place {
        daemon.configure("set interface reassembly pg0 on");
    }
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon
}

/// A fragment: its packet's number, its place in units of eight bytes, and how many units it has.
fn send(daemon: &mut Daemon, (at, ip6): (Place, bool), id: u32, place: usize, units: usize) {
    let (offset, length) = (place * 8, units * 8);
    let to = match (at, ip6) {
        (Place::Local, false) => "10.0.0.1",
        (Place::Local, true) => "2001:db8::1",
        (Place::Received, false) => "10.1.0.1",
        (Place::Received, true) => "2001:db8:1::1",
    };
    let packet = match ip6 {
        false => format!("ip4 10.0.0.2 > {to} id {id} mf offset {offset} protocol udp / payload {length}"),
        true => format!("ip6 2001:db8::2 > {to} / frag offset {offset} more id {id} next udp / payload {length}"),
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    daemon.send("pg0", &bytes).expect("it is up");
    daemon.settle().expect("it settles");
}

/// How many packets a family's node has dropped for a reason.
fn drops(daemon: &Daemon, (at, ip6): (Place, bool), reason: &str) -> u64 {
    let node = match (at, ip6) {
        (Place::Local, false) => "ip4-reassembly",
        (Place::Local, true) => "ip6-reassembly",
        (Place::Received, false) => "ip4-full-reassembly-feature",
        (Place::Received, true) => "ip6-full-reassembly-feature",
    };
    daemon.drops().into_iter().filter(|((at, why), _)| *at == node && *why == reason).map(|(_, count)| count).sum()
}

const ALL: [(Place, bool); 4] =
    [(Place::Local, false), (Place::Local, true), (Place::Received, false), (Place::Received, true)];

#[test]
fn a_packet_has_64_parts_at_most() {
    for of in ALL {
        let mut daemon = router(of.0);
        (0..65).for_each(|part| send(&mut daemon, of, 7, part * 2 + 2, 1));
        assert_eq!(drops(&daemon, of, "too-many-fragments"), 1, "{of:?}");
        // It is given up: nothing of it is taken any more.
        send(&mut daemon, of, 7, 3, 1);
        assert_eq!(drops(&daemon, of, "overlapping-fragments"), 1, "{of:?}");
    }
}

#[test]
fn so_many_packets_and_bytes_are_kept_and_what_has_waited_for_too_long_makes_room() {
    for of in ALL {
        let mut daemon = router(of.0);
        (0..1025).for_each(|id| send(&mut daemon, of, id, 2, 1));
        assert_eq!(drops(&daemon, of, "reassembly-full"), 1, "1,024 packets: {of:?}");
        // Those that have begun go on.
        send(&mut daemon, of, 0, 5, 1);
        assert_eq!(drops(&daemon, of, "reassembly-full"), 1, "{of:?}");
        daemon.advance(Duration::from_secs(62)).expect("it settles");
        assert_eq!(drops(&daemon, of, "reassembly-timeout"), 1024, "{of:?}");
        // 4 MB, in parts of 8,000 bytes.
        let whole = (4 << 20) / 8000;
        (0..whole).for_each(|id| send(&mut daemon, of, id, 2, 1000));
        assert_eq!(drops(&daemon, of, "reassembly-full"), 1, "{of:?}");
        send(&mut daemon, of, whole, 2, 1000);
        assert_eq!(drops(&daemon, of, "reassembly-full"), 2, "{of:?}");
    }
}
