//! Packets whose routes lead to other tables go as far by the lookup as by `ip4-lookup-again`, which does it all where some table counts by route.

use crate::ends;

use std::collections::BTreeMap;

use fastrand::Rng;
use quiver_engine::Level;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use quiver_wire::MacAddress;

use quiver_interface::Interfaces;
use quiver_ip::{Family, Ip};
use quiver_wire::{V4, V6};

quiver_testkit::level_tests![the_lookup_goes_as_far_as_the_node];

/// Routes of table 0 to tables 1 to 3, by destination and by sender; in a circle, to nothing, and as if pg2 had received them.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    IP table add 1
    IP table add 2
    IP table add 3
    set interface IP table pg2 1
    set interface ip address pg0 HOST0/LINK
    set interface ip address pg1 HOST1/LINK
    ip route add NET0/SIZE via ip4-lookup-in-table 1
    ip route add NET1/SIZE via ip4-lookup-in-table 2 src-lookup
    ip route add NET2/SIZE via ip4-lookup-in-table 0
    ip route add NET3/SIZE via rx-ip4 pg2
    ip route add NET4/SIZE via ip4-lookup-in-table 3
    ip route add NET5/SIZE via WAY2 pg1 via ip4-lookup-in-table 1
    ip route add NET0/SIZE table 1 via WAY3 pg1 via WAY4 pg1
    ip route add NET3/SIZE table 1 via WAY5 pg1
    ip route add NET5/SIZE table 1 via ip4-lookup-in-table 3
    ip route add NET5/SIZE table 3 via WAY6 pg1
    ip route add NET0/SIZE table 2 via WAY7 pg1
    ip route add NET1/SIZE table 2 via null-send-unreach
    ip route add NET2/SIZE table 2 via drop
";

fn configuration(ip6: bool) -> String {
    let mut text = CONFIGURATION.replace("IP ", if ip6 { "ip6 " } else { "ip " });
    for n in 0..8 {
        let of = |ip4: String, ip6_text: String| if ip6 { ip6_text } else { ip4 };
        text = text.replace(&format!("NET{n}"), &of(format!("20.{n}.0.0"), format!("fd20:{n}::")));
        text = text.replace(&format!("WAY{n}"), &of(format!("10.0.1.{n}"), format!("2001:db8:1::{n}")));
        text = text.replace(&format!("HOST{n}"), &of(format!("10.0.{n}.1"), format!("2001:db8:{n}::1")));
    }
    let sizes = if ip6 { ("32", "64") } else { ("16", "24") };
    let text = text.replace("SIZE", sizes.0).replace("LINK", sizes.1);
    if ip6 { text.replace("ip4-lookup", "ip6-lookup").replace("rx-ip4", "rx-ip6") } else { text }
}

fn packet(r: &mut Rng, ip6: bool) -> Vec<u8> {
    let (from, to, host, port) = (r.u8(..4), r.u8(..7), r.u8(1..9), r.u16(1..));
    let ip = match ip6 {
        false => format!("ip4 20.{from}.0.{host} > 20.{to}.0.{host} ttl {}", r.u8(1..9)),
        true => format!("ip6 fd20:{from}::{host} > fd20:{to}::{host} hlim {}", r.u8(1..9)),
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {ip} / udp {port} > 2 / payload 18");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

fn neighbors<F: Family>(daemon: &Daemon, address: impl Fn(u8) -> F::Address) {
    let out = daemon.control().room::<Interfaces>().id_of("pg1").expect("created");
    let mut ip = daemon.control().room_mut::<Ip<F>>();
    for last in 2..8 {
        let hop = ip.fib.adjacencies.acquire(out, Some(address(last)));
        ip.fib.adjacencies.set_mac(hop, Some(MacAddress([2, 0, 0, 0, 1, last])));
    }
}

type Arcs = BTreeMap<(&'static str, &'static str), u64>;

/// Returns the sent frames, the drops and the counts.
fn run(level: Level, (ip6, more): (bool, &str)) -> (Vec<Vec<u8>>, Arcs, Arcs) {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, quiver_pg];
    let mut daemon = Daemon::new(rooms, Setup { level, ..Setup::default() }).expect("the rooms fit");
    daemon.configure(&configuration(ip6));
    daemon.configure(more);
    match ip6 {
        false => neighbors::<V4>(&daemon, |last| [10, 0, 1, last].into()),
        true => neighbors::<V6>(&daemon, |last| [0x2001, 0xdb8, 1, 0, 0, 0, 0, u16::from(last)].into()),
    }
    daemon.settle().expect("nothing circles");
    let mut r = Rng::with_seed(11);
    for _ in 0..16 {
        (0..r.usize(1..200)).for_each(|_| daemon.send("pg0", &packet(&mut r, ip6)).expect("it is up"));
        daemon.settle().expect("nothing circles");
    }
    let mut sent: Vec<Vec<u8>> = daemon.sent().into_iter().map(|(_, packet)| packet).collect();
    sent.sort();
    let outcome = (sent, daemon.drops(), daemon.counts());
    daemon.finish().expect("nothing leaks");
    outcome
}

fn the_lookup_goes_as_far_as_the_node(level: Level) {
    for ip6 in [false, true] {
        let again = if ip6 { "ip6-lookup-again" } else { "ip4-lookup-again" };
        let to_rewrite = (again, if ip6 { "ip6-rewrite" } else { "ip4-rewrite" });
        let counters = if ip6 { "ip6 table add 9 counters" } else { "ip table add 9 counters" };
        let all = run(level, (ip6, counters));
        let nodes = run(level, (ip6, ""));
        assert!(all.0.len() > 500 && all.1.len() >= 3, "{:?}", all.1);
        assert!((&all.0, &all.1) == (&nodes.0, &nodes.1), "ip6 {ip6}: {:?} and {:?}", all.1, nodes.1);
        let found = |arcs: &Arcs| arcs.get(&to_rewrite).copied().unwrap_or_default();
        assert!(found(&nodes.2) * 2 < found(&all.2), "what is found at the first node does not come to the second");
    }
}
