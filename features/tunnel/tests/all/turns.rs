//! Tunnels that are made in one turn of control reach workers together, and datagrams find none of them up before its interface is
//! ready.

use std::net::Ipv4Addr;

use quiver_control::object::Objects;
use quiver_engine::Dataplane;
use quiver_scenarios::settled;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use quiver_tunnel::configured::{Fields, add};
use quiver_vxlan::VxlanTunnel;

/// A daemon with an underlay.
fn daemon() -> Daemon {
    settled(
        "create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg1 up
         set interface ip address pg1 10.0.1.1/24",
    )
}

/// Makes a tunnel of a network and sets it up.
fn tunnel(daemon: &Daemon, vni: u32) -> String {
    let address = |last| Ipv4Addr::new(10, 0, 1, last).into();
    let fields = Fields::between::<VxlanTunnel>(address(1), address(2), vni);
    add::<VxlanTunnel>(daemon.control(), fields, None).expect("there is room")
}

#[test]
fn a_turn_publishes_each_table_once_whatever_the_number_of_its_tunnels() {
    let published = |tunnels: u32| {
        let daemon = daemon();
        // The first one of a kind has the port claimed.
        tunnel(&daemon, 1);
        let domain = daemon.control().room::<Dataplane>().domain().clone();
        let before = domain.epoch();
        Objects::together(daemon.control(), || (2..2 + tunnels).for_each(|vni| drop(tunnel(&daemon, vni))));
        domain.epoch() - before
    };
    let one = published(1);
    assert!(one > 0);
    assert_eq!(published(10), one);
}

#[test]
fn a_datagram_finds_a_tunnel_up_when_workers_know_its_features() {
    let mut daemon = daemon();
    let control = daemon.control().clone();
    let inside = "080000000000070002000000003202000000003188b50001020304050607";
    let datagram = format!(
        "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / ip4 10.0.1.2 > 10.0.1.1 ttl 64 / udp 50000 > 4789 / hex {inside}"
    );
    let datagram = datagram.parse::<Packet>().expect("a packet").to_bytes();
    let dropped = |daemon: &mut Daemon, reason| {
        let count = |daemon: &Daemon| daemon.counts().get(&("vxlan4-input", reason)).copied().unwrap_or_default();
        let before = count(daemon);
        daemon.send("pg1", &datagram).expect("it is up");
        daemon.settle().expect("nothing circles");
        count(daemon) - before
    };
    // The first one has the port claimed.
    tunnel(&daemon, 1);
    assert_eq!(dropped(&mut daemon, "no-such-tunnel"), 1);
    Objects::together(&control, || {
        assert_eq!(tunnel(&daemon, 7), "vxlan_tunnel1");
        assert_eq!(dropped(&mut daemon, "interface-down"), 1, "nothing else of it is known");
    });
    assert_eq!(dropped(&mut daemon, "interface-down"), 0);
    daemon.configure("set interface state vxlan_tunnel1 down");
    assert_eq!(dropped(&mut daemon, "interface-down"), 1);
    // In one turn, the last of several states holds.
    Objects::together(&control, || {
        for state in ["up", "down"] {
            daemon.configure(&format!("set interface state vxlan_tunnel1 {state}"));
        }
    });
    assert_eq!(dropped(&mut daemon, "interface-down"), 1);
    Objects::together(&control, || {
        daemon.configure("set interface state vxlan_tunnel1 up");
        daemon.configure("create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 7 del");
    });
    assert_eq!(dropped(&mut daemon, "no-such-tunnel"), 1);
}
