//! A change of a check takes two steps: the configuration holds at once, and workers learn later which nodes their
//! packets meet. In between, only the configuration decides about drops.

use quiver_engine::Dataplane;
use quiver_interface::Interfaces;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

/// Senders that only tables 7 and 8 know are behind pg0 by the one and behind pg1 by the other. Neither knows the neighbours.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
    ip table add 7
    ip6 table add 7
    ip table add 8
    ip6 table add 8
    ip route add 55.0.0.0/8 table 7 via 10.0.0.2 pg0
    ip route add 55.0.0.0/8 table 8 via 10.0.1.2 pg1
    ip route add fd55::/16 table 7 via 2001:db8::2 pg0
    ip route add fd55::/16 table 8 via 2001:db8:1::2 pg1
";

/// Which packets are checked, and where.
#[derive(Clone, Copy, Debug)]
struct Check {
    family: &'static str,
    direction: &'static str,
}

impl Check {
    fn interface(self) -> &'static str {
        if self.direction == "rx" { "pg0" } else { "pg1" }
    }
    /// A router that wants senders strictly to be as table 7 knows them.
    fn router(self) -> Daemon {
        let mut daemon = quiver_scenarios::daemon(CONFIGURATION);
        self.set(&mut daemon, "strict", "table 7");
        daemon
    }
    fn set(self, daemon: &mut Daemon, mode: &str, table: &str) {
        let Check { family, direction, .. } = self;
        daemon.configure(&format!("set urpf {family} {direction} {mode} {} {table}", self.interface()));
        daemon.settle().expect("nothing circles");
        daemon.sent();
    }
    /// Enables or disables the node of strict checks alone, as a worker sees it whose wiring is older or newer than the
    /// configuration.
    fn wire(self, daemon: &Daemon, on: bool) {
        let id = daemon.control().room::<Interfaces>().id_of(self.interface()).expect("it was created");
        let arc = format!("{}-{}", self.family, if self.direction == "rx" { "unicast" } else { "output" });
        let node = format!("{}-{}-urpf-strict", self.family, self.direction);
        daemon.control().room_mut::<Dataplane>().enable(&arc, &node, id.0, on).expect("the room has it");
    }
    /// Sends packets of the neighbor, and packets from sources with a route, on pg1. Returns their numbers, and the
    /// number of drops.
    fn sent(self, daemon: &mut Daemon) -> ([usize; 2], u64) {
        let drops = |daemon: &Daemon| daemon.drops().values().sum::<u64>();
        let before = drops(daemon);
        let of = match self.family {
            "ip4" => ["10.0.0.2", "55.0.0.9"].map(|from| format!("ip4 {from} > 10.0.1.2 ttl 64")),
            _ => ["2001:db8::2", "fd55::9"].map(|from| format!("ip6 {from} > 2001:db8:1::2 hlim 64")),
        };
        let sent = of.map(|ip| {
            let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {ip} / udp 1 > 2 / payload 18");
            let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
            daemon.send("pg0", &bytes).expect("it is up");
            daemon.settle().expect("nothing circles");
            daemon.sent().iter().filter(|(interface, _)| interface == "pg1").count()
        });
        (sent, drops(daemon) - before)
    }
}

fn all() -> impl Iterator<Item = Check> {
    ["ip4", "ip6"].into_iter().flat_map(|family| ["rx", "tx"].map(|direction| Check { family, direction }))
}

#[test]
fn nothing_is_dropped_by_a_check_that_is_off() {
    for check in all() {
        let mut daemon = check.router();
        assert_eq!(check.sent(&mut daemon), ([0, 1], 1), "by table 7: {check:?}");
        check.set(&mut daemon, "off", "");
        check.wire(&daemon, true);
        assert_eq!(check.sent(&mut daemon), ([1, 1], 0), "at the node all the same: {check:?}");
        let (table, prefix) = if check.family == "ip4" { ("ip", "55.0.0.0/8") } else { ("ip6", "fd55::/16") };
        daemon.configure(&format!("ip route del {prefix} table 7\n{table} table del 7"));
        assert_eq!(check.sent(&mut daemon), ([1, 1], 0), "and without its table: {check:?}");
        check.wire(&daemon, false);
        assert_eq!(check.sent(&mut daemon), ([1, 1], 0), "not at the node any more: {check:?}");
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_check_that_has_changed_is_the_new_one_whichever_node_packets_meet() {
    for check in all() {
        let mut daemon = check.router();
        // Who is on the wrong side by table 8 is good enough now, and whom it does not know is as bad as before.
        check.set(&mut daemon, "loose", "table 8");
        check.wire(&daemon, true);
        assert_eq!(check.sent(&mut daemon), ([0, 1], 1), "at both nodes: {check:?}");
        check.set(&mut daemon, "strict", "table 8");
        assert_eq!(check.sent(&mut daemon), ([0, 0], 2), "strictly: {check:?}");
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_check_that_begins_lets_no_packet_pass_once_workers_have_it() {
    for check in all() {
        let mut daemon = check.router();
        check.set(&mut daemon, "off", "");
        // As if the node were there first: it has nothing to ask, and then it has.
        check.wire(&daemon, true);
        assert_eq!(check.sent(&mut daemon), ([1, 1], 0), "{check:?}");
        check.set(&mut daemon, "strict", "table 7");
        assert_eq!(check.sent(&mut daemon), ([0, 1], 1), "{check:?}");
        daemon.finish().expect("nothing leaks");
    }
}
