//! The feature arcs of IPv4: what a feature sees on each of them, and that it sees what others left.

use crate::ends;

use std::sync::{Arc, Mutex};

use quiver_control::Control;
use quiver_engine::{Context, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Phase, arcs};
use quiver_interface::Interfaces;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::IpProtocol;

arcs! {
    /// Goes on.
    enum Next {
        Next => next_feature,
    }
}

/// The first bytes of what a node saw, with the node's name.
type Seen = Arc<Mutex<Vec<(&'static str, Vec<u8>)>>>;

/// A feature that notes what it sees.
struct Spy(&'static str, Seen);
impl Node for Spy {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i).iter().take(34).copied().collect();
            self.1.lock().expect("nobody panicked").push((self.0, bytes));
        }
    }
}

/// A spy on each arc, registered as rooms and plugins register their features.
const SPIES: [(&str, &str); 5] = [
    ("ip4-unicast", "unicast-spy"),
    ("ip4-multicast", "multicast-spy"),
    ("ip4-local", "local-spy"),
    ("ip4-punt", "punt-spy"),
    ("ip4-output", "output-spy"),
];

mod spies {
    use super::*;

    pub fn register(control: &Control) -> Result<(), DataplaneError> {
        let seen = Seen::default();
        let mut dataplane = control.room_mut::<Dataplane>();
        for (arc, node) in SPIES {
            let seen = seen.clone();
            dataplane.blueprint().node(NodeSpec::new(node, Next::ARCS, move |_| Spy(node, seen.clone())))?;
            dataplane.blueprint().feature(FeatureSpec::new(arc, node, Phase::Policy))?;
        }
        control.insert_room(seen);
        Ok(())
    }
}

/// With a spy on each arc.
fn daemon() -> Daemon {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, spies, quiver_pg];
    let daemon = ends::forwarding(rooms, Setup::default());
    quiver_ip::punt::<quiver_wire::V4>(daemon.control(), IpProtocol(89)).expect("nobody else takes it");
    daemon
}

fn enable(daemon: &Daemon, arc: &str, node: &str, interface: &str, on: bool) {
    let id = daemon.control().room::<Interfaces>().id_of(interface).expect("created");
    daemon.control().room_mut::<Dataplane>().enable(arc, node, id.0, on).expect("registered");
}

/// Returns the spies that a packet received by pg0 passes: each node's name and the first bytes that it saw.
fn seen(daemon: &mut Daemon, packet: &str) -> Vec<(&'static str, Vec<u8>)> {
    let packet = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    daemon.send("pg0", &packet.parse::<Packet>().expect("a packet").to_bytes()).expect("it is up");
    daemon.settle().expect("it comes to rest");
    let seen = daemon.control().room::<Seen>();
    std::mem::take(&mut *seen.lock().expect("nobody panicked"))
}

fn names(daemon: &mut Daemon, packet: &str) -> Vec<&'static str> {
    seen(daemon, packet).into_iter().map(|(name, _)| name).collect()
}

const FORWARDED: &str = "ip4 10.0.0.2 > 20.0.0.9 ttl 64 / udp 1 > 2 / payload 18";

#[test]
fn features_see_the_packets_of_their_arcs() {
    let mut daemon = daemon();
    assert_eq!(names(&mut daemon, FORWARDED), [""; 0], "nothing is enabled");
    for (arc, node) in &SPIES[..4] {
        enable(&daemon, arc, node, "pg0", true);
    }
    assert_eq!(names(&mut daemon, FORWARDED), ["unicast-spy"]);
    for (packet, spies) in [
        ("ip4 10.0.0.2 > 224.0.0.5 ttl 1 / payload 18", vec!["multicast-spy"]),
        ("ip4 10.0.0.2 > 224.0.0.5 ttl 1 options 94040000 / payload 18", vec!["multicast-spy"]),
        ("ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 1 > 2 / payload 18", vec!["unicast-spy", "local-spy"]),
        ("ip4 10.0.0.2 > 10.0.0.1 ttl 64 protocol 89 / payload 18", vec!["unicast-spy", "local-spy", "punt-spy"]),
    ] {
        let found = seen(&mut daemon, packet);
        assert!(found.iter().all(|(_, bytes)| bytes[0] >> 4 == 4), "from the IP header on: {packet}");
        assert_eq!(found.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), spies, "{packet}");
    }
    let punted = daemon.control().room::<Dataplane>().punted().receive().expect("control has it");
    assert_eq!((punted.bytes[0], punted.bytes[9]), (0x45, 89));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn on_the_way_out_features_see_whole_frames_of_the_interface_that_sends() {
    let mut daemon = daemon();
    enable(&daemon, "ip4-output", "output-spy", "pg0", true);
    assert_eq!(names(&mut daemon, FORWARDED), [""; 0], "pg1 sends it");
    enable(&daemon, "ip4-output", "output-spy", "pg1", true);
    let found = seen(&mut daemon, FORWARDED);
    let [("output-spy", bytes)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&bytes[..6], &bytes[12..15], bytes[22]), (&[2, 0, 0, 0, 0, 0x12][..], &[8, 0, 0x45][..], 63));
    // Fragments and what was too long come by, too.
    daemon.configure("set interface mtu 100 pg1");
    let long = FORWARDED.replace("payload 18", "payload 200");
    assert_eq!(names(&mut daemon, &long), ["output-spy"; 3]);
    daemon.finish().expect("nothing leaks");
}

/// Dispatch remembers where the packets of a node went last.
#[test]
fn features_are_met_as_long_as_they_are_enabled() {
    let mut daemon = daemon();
    for (arc, node, interface) in [
        ("ip4-output", "output-spy", "pg1"),
        ("ip4-unicast", "unicast-spy", "pg0"),
        ("ip4-unicast", "unicast-spy", "pg1"),
    ] {
        assert_eq!(names(&mut daemon, FORWARDED), [""; 0], "{arc} before");
        enable(&daemon, arc, node, interface, true);
        let met = if arc == "ip4-unicast" && interface == "pg1" { vec![] } else { vec![node] };
        assert_eq!(names(&mut daemon, FORWARDED), met, "{arc} on {interface}");
        enable(&daemon, arc, node, interface, false);
    }
    assert_eq!(names(&mut daemon, FORWARDED), [""; 0]);
    daemon.finish().expect("nothing leaks");
}
