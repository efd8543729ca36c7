//! Checked packets have the same fate on every instruction set.

use std::collections::BTreeMap;

use fastrand::Rng;
use quiver_engine::Level;
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

quiver_testkit::level_tests![levels_agree];

/// Interface pg0 is checked. Senders behind it, behind pg1, behind both, behind neither; in a table that counts by route, perhaps.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    set interface state pg0 up
    set interface state pg1 up
    ip table add 5 counters
    ip6 table add 5 counters
    set interface ip table pg0 TABLE
    set interface ip table pg1 TABLE
    set interface ip6 table pg0 TABLE
    set interface ip6 table pg1 TABLE
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
    ip route add 20.0.0.0/16 table TABLE via 10.0.0.2 pg0
    ip route add 20.1.0.0/16 table TABLE via 10.0.1.2 pg1
    ip route add 20.2.0.0/16 table TABLE via 10.0.1.2 pg1 via 10.0.0.2 pg0
    ip route add 20.3.0.0/16 table TABLE via drop
    ip route add fd20::/32 table TABLE via 2001:db8::2 pg0
    ip route add fd20:1::/32 table TABLE via 2001:db8:1::2 pg1
    ip route add fd20:2::/32 table TABLE via 2001:db8:1::2 pg1 via 2001:db8::2 pg0
    ip route add fd20:3::/32 table TABLE via drop
";

/// Senders whose own routes lead elsewhere than those of their networks; and so many more that IPv6 lookups read hosts
/// first.
const HOSTS: &str = "
    ip route add count 4 fd20::1/128 table TABLE via 2001:db8:1::2 pg1
    ip route add count 1100 fd20:1::1/128 table TABLE via 2001:db8::2 pg0
    ip route add count 4 fd20:2::1/128 table TABLE via drop
    ip route add count 4 fd20:3::1/128 table TABLE via 2001:db8:1::2 pg1 via 2001:db8::2 pg0
";

/// A packet from one of five networks to another one, so that packets of one flow are not all alike.
fn packet(r: &mut Rng, ip6: bool) -> Vec<u8> {
    let (from, to, host) = (r.u8(..5), r.u8(1..3), r.u8(1..9));
    let ip = match ip6 {
        false => format!("ip4 20.{from}.0.{host} > 20.{to}.0.{host} ttl 64"),
        true => format!("ip6 fd20:{from}::{host} > fd20:{to}::{host} hlim 64"),
    };
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {ip} / udp 1 > 2 / payload 18");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

/// Packets sent, in the order of each flow, and drop counts.
type Outcome = (BTreeMap<Vec<u8>, Vec<Vec<u8>>>, BTreeMap<(&'static str, &'static str), u64>);

fn run(level: Level, (mode, ip6, table, hosts): (&str, bool, u32, &str)) -> Outcome {
    let mut daemon = Daemon::new(ROOMS, Setup { level, ..Setup::default() }).expect("the rooms fit");
    let is_of = |line: &&str| {
        let is_ip6 = line.contains("ip6") || line.contains("2001:") || line.contains("fd20:");
        is_ip6 == ip6 || !line.contains(" ip")
    };
    let lines: Vec<&str> = CONFIGURATION.lines().filter(is_of).chain(hosts.lines()).collect();
    daemon.configure(&lines.join("\n").replace("TABLE", &table.to_string()));
    daemon.configure(&format!("set urpf {} rx {mode} pg0", if ip6 { "ip6" } else { "ip4" }));
    daemon.settle().expect("nothing circles");
    daemon.sent();
    let mut r = Rng::with_seed(7);
    for _ in 0..8 {
        (0..r.usize(1..200)).for_each(|_| daemon.send("pg0", &packet(&mut r, ip6)).expect("it is up"));
        daemon.settle().expect("nothing circles");
    }
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    // Where hosts have routes of their own, senders of several networks pass: only their whole addresses tell flows apart.
    let source = if hosts.is_empty() { 26 } else { 22 };
    for (_, bytes) in daemon.sent() {
        flows.entry(bytes[source..54.min(bytes.len())].to_vec()).or_default().push(bytes);
    }
    let outcome = (flows, daemon.counts());
    daemon.finish().expect("nothing leaks");
    outcome
}

fn levels_agree(level: Level) {
    for mode in ["loose", "strict"] {
        for (ip6, hosts) in [(false, ""), (true, ""), (true, HOSTS)] {
            for table in [0, 5] {
                let of = (mode, ip6, table, hosts);
                let best = run(Level::best(), of);
                let node = format!("{}-rx-urpf-{mode}", if ip6 { "ip6" } else { "ip4" });
                let dropped: u64 = best
                    .1
                    .iter()
                    .filter(|((at, why), _)| *at == node && *why == "no-reverse-path")
                    .map(|(_, n)| n)
                    .sum();
                let sent: usize = best.0.values().map(Vec::len).sum();
                assert!(dropped > 100 && sent > 100, "{of:?}: {dropped} dropped, {sent} sent");
                let here = run(level, of);
                assert!(here == best, "{of:?}: {:?} and {:?}", here.1, best.1);
            }
        }
    }
}
