//! Limits of state: fragments of a packet, packets, bytes.

use std::time::Duration;

use quiver_engine::Dataplane;
use quiver_engine::stats::Reading;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

/// Where packets are put together: for us, or for others by an interface that has them so.
#[derive(Clone, Copy, Debug)]
enum Place {
    Local,
    Received,
}

fn router(place: Place) -> Daemon {
    let mut daemon = quiver_scenarios::daemon(
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
fn send(daemon: &mut Daemon, of: (Place, bool), id: u32, place: usize, units: usize) {
    hand(daemon, of, id, Part { place, units, more: true, headers: 0 });
    daemon.settle().expect("it settles");
}

/// A part of a packet.
struct Part {
    place: usize,
    units: usize,
    more: bool,
    /// Bytes of options in front of its payload: of an extension header, with that itself.
    headers: usize,
}

fn hand(daemon: &mut Daemon, (at, ip6): (Place, bool), id: u32, part: Part) {
    let (offset, length) = (part.place * 8, part.units * 8);
    let to = match (at, ip6) {
        (Place::Local, false) => "10.0.0.1",
        (Place::Local, true) => "2001:db8::1",
        (Place::Received, false) => "10.1.0.1",
        (Place::Received, true) => "2001:db8:1::1",
    };
    let packet = match ip6 {
        false => {
            let options = match part.headers {
                0 => String::new(),
                bytes => format!(" options {}", "01".repeat(bytes)),
            };
            let more = if part.more { " mf" } else { "" };
            format!("ip4 10.0.0.2 > {to} id {id}{more} offset {offset}{options} protocol udp / payload {length}")
        }
        true => {
            let options = match part.headers {
                0 => String::new(),
                bytes => format!(" / dstopt hex {}", "00".repeat(bytes - 2)),
            };
            let more = if part.more { " more" } else { "" };
            format!("ip6 2001:db8::2 > {to}{options} / frag offset {offset}{more} id {id} next udp / payload {length}")
        }
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    daemon.send("pg0", &bytes).expect("it is up");
}

/// A family's node at a place.
fn node((at, ip6): (Place, bool)) -> &'static str {
    match (at, ip6) {
        (Place::Local, false) => "ip4-reassembly",
        (Place::Local, true) => "ip6-reassembly",
        (Place::Received, false) => "ip4-full-reassembly-feature",
        (Place::Received, true) => "ip6-full-reassembly-feature",
    }
}

/// Packets that a family's node has dropped for a reason.
fn drops(daemon: &Daemon, of: (Place, bool), reason: &str) -> u64 {
    let node = node(of);
    daemon.drops().into_iter().filter(|((at, why), _)| *at == node && *why == reason).map(|(_, count)| count).sum()
}

/// The number that VPP's clients find below a name of theirs.
fn known(daemon: &Daemon, node: &str, name: &str) -> u64 {
    let (segment, mut found) = (daemon.control().room::<Dataplane>().statistics().clone(), 0);
    let name = format!("/err/{node}/{name}");
    segment.read(|of, reading| {
        if let Reading::Symlink { sum, .. } = reading
            && of == name
        {
            found = sum;
        }
    });
    found
}

const ALL: [(Place, bool); 4] =
    [(Place::Local, false), (Place::Local, true), (Place::Received, false), (Place::Received, true)];

#[test]
fn a_packet_has_64_parts_at_most() {
    for of in ALL {
        let mut daemon = router(of.0);
        (0..65).for_each(|part| send(&mut daemon, of, 7, part * 2 + 2, 1));
        assert_eq!(drops(&daemon, of, "too-many-fragments"), 1, "{of:?}");
        // It is given up: nothing of it is taken any more, for the same reason.
        send(&mut daemon, of, 7, 65 * 2 + 2, 1);
        assert_eq!(drops(&daemon, of, "too-many-fragments"), 2, "{of:?}");
        // So it is where parts overlapped first.
        send(&mut daemon, of, 8, 2, 2);
        send(&mut daemon, of, 8, 3, 2);
        (0..65).for_each(|part| send(&mut daemon, of, 8, part * 2 + 8, 1));
        let counted = ["too-many-fragments", "overlapping-fragments"].map(|reason| drops(&daemon, of, reason));
        assert_eq!(counted, [2, 66], "{of:?}");
        // VPP's clients look for the number of packets, which is none of dropped parts.
        assert_eq!(known(&daemon, node(of), "reass_fragment_chain_too_long"), 1, "{of:?}");
        quiver_statistics::refresh(daemon.control());
        let metrics = quiver_statistics::metrics::metrics(&quiver_statistics::segment(daemon.control()));
        let dropped = metrics.into_iter().find(|metric| metric.name == "drops");
        let dropped: u64 = dropped.iter().flat_map(|metric| &metric.points).map(|point| point.value).sum();
        assert_eq!(dropped, 2 + 66, "{of:?}");
    }
}

#[test]
fn of_shallow_reassembly_vpps_clients_know_packets_too() {
    for family in ["ip4", "ip6"] {
        let mut daemon = router(Place::Received);
        daemon.configure("set interface reassembly pg0 off\nset interface sv-reassembly pg0 on");
        daemon.configure(&format!("set {family}-sv-reassembly fragments 2"));
        // Two wait for the first one, of either packet; two and one find no room.
        for (id, parts) in [(7, 4), (8, 3)] {
            (0..parts).for_each(|part| send(&mut daemon, (Place::Received, family == "ip6"), id, part * 2 + 2, 1));
        }
        let node = format!("{family}-sv-reassembly-feature");
        let dropped = daemon.drops().into_iter().filter(|((at, why), _)| *at == node && *why == "too-many-fragments");
        assert_eq!(dropped.map(|(_, count)| count).sum::<u64>(), 3, "{family}");
        assert_eq!(known(&daemon, &node, "reass_fragment_chain_too_long"), 2, "{family}");
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
        // 3 MB, in parts of 8,000 bytes with the headers in front of them.
        let each = 8000 + if of.1 { 40 + 8 } else { 20 };
        let whole = FOR_NEW as u32 / each;
        (0..whole).for_each(|id| send(&mut daemon, of, id, 2, 1000));
        assert_eq!(drops(&daemon, of, "reassembly-full"), 1, "{of:?}");
        send(&mut daemon, of, whole, 2, 1000);
        assert_eq!(drops(&daemon, of, "reassembly-full"), 2, "{of:?}");
        // Those that have begun go on, to 4 MB.
        let more = ((4 << 20) - whole * each) / 8000;
        assert!(more < whole, "each of them has one part more");
        (0..more).for_each(|id| send(&mut daemon, of, id, 2000, 1000));
        assert_eq!(drops(&daemon, of, "reassembly-full"), 2, "{of:?}");
        send(&mut daemon, of, more, 2000, 1000);
        assert_eq!(drops(&daemon, of, "reassembly-full"), 3, "{of:?}");
    }
}

/// Bytes that are kept at most of packets that are new.
const FOR_NEW: usize = 3 << 20;

#[test]
fn headers_in_front_of_parts_are_kept_and_count_until_they_are_not() {
    for of in ALL {
        let mut daemon = router(of.0);
        daemon.configure("set ip4-full-reassembly packets 8192\nset ip6-full-reassembly packets 8192");
        // What is kept of a packet's first part that has come: 1,000 bytes, and what is in front of them.
        let (options, front) = if of.1 { (1024, 40 + 1024 + 8) } else { (40, 20 + 40) };
        let each = 1000 + front;
        let fit = FOR_NEW / each;
        let all = |daemon: &mut Daemon, from: u32, parts: &[(usize, usize, bool, usize)]| {
            for id in from..from + fit as u32 {
                for &(place, units, more, headers) in parts {
                    hand(daemon, of, id, Part { place, units, more, headers });
                }
                if id % 32 == 0 {
                    daemon.settle().expect("it settles");
                }
            }
            daemon.settle().expect("it settles");
        };
        // As many as fit, and one more.
        let fill = |daemon: &mut Daemon, from: u32, time: &str| {
            let before = drops(daemon, of, "reassembly-full");
            all(daemon, from, &[(2, 125, true, options)]);
            assert_eq!(drops(daemon, of, "reassembly-full"), before, "{time}: {of:?}");
            hand(daemon, of, from + 9999, Part { place: 2, units: 125, more: true, headers: options });
            daemon.settle().expect("it settles");
            assert_eq!(drops(daemon, of, "reassembly-full"), before + 1, "{time}, more than {fit}: {of:?}");
        };
        fill(&mut daemon, 0, "at first");
        daemon.advance(Duration::from_secs(62)).expect("it settles");
        fill(&mut daemon, 0, "when their time is over");
        // The parts that are missing fit in. The first one's front is the shorter one.
        all(&mut daemon, 0, &[(0, 2, true, 0), (127, 1, false, options)]);
        assert_eq!(drops(&daemon, of, "reassembly-full"), 2, "{of:?}");
        fill(&mut daemon, 0, "when all are whole");
        // Of those that are given up nothing is kept but that they are.
        all(&mut daemon, 0, &[(3, 1, true, options)]);
        assert_eq!(drops(&daemon, of, "overlapping-fragments"), fit as u64, "{of:?}");
        fill(&mut daemon, 20_000, "when all are given up");
        daemon.advance(Duration::from_secs(62)).expect("it settles");
        fill(&mut daemon, 0, "when all are gone");
        daemon.finish().expect("nothing leaks");
    }
}
