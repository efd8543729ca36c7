//! Behavior where there are as many sessions as there may be.

use quiver_engine::Level;
use quiver_scenarios::ROOMS;
use quiver_session::room::Room;
use quiver_session::{SessionDefaults, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

use crate::agreement::{BRIDGE, PORTS};

quiver_testkit::level_tests![what_would_begin_a_session_in_a_full_table_is_dropped_by_name];

const ROUTER: &str = "
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
";
/// Sessions there may be.
const SESSIONS: usize = 64;

fn send(daemon: &mut Daemon, port: &str, to: &str, ends: &str, ports: &str) {
    let text = format!("eth 02:00:00:00:00:{to} / {ends} / udp {ports} / payload 18");
    let bytes = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    daemon.send(port, &bytes).expect("it is up");
    daemon.settle().expect("it settles");
}

fn what_would_begin_a_session_in_a_full_table_is_dropped_by_name(level: Level) {
    let (ip4, ip6) = (
        ["ip4 10.0.0.2 > 10.0.1.2 ttl 9", "ip4 10.0.1.2 > 10.0.0.2 ttl 9"],
        ["ip6 2001:db8::2 > 2001:db8:1::2 hlim 9", "ip6 2001:db8:1::2 > 2001:db8::2 hlim 9"],
    );
    for (node, at, [there, back]) in [
        ("acl-input-ip4", ["pg0 input", "pg0 output"], ip4),
        ("acl-output-ip4", ["pg1 output", "pg1 input"], ip4),
        ("acl-input-ip6", ["pg0 input", "pg0 output"], ip6),
        ("acl-output-ip6", ["pg1 output", "pg1 input"], ip6),
        ("acl-input-l2", ["pg0 input", "pg0 output"], ip4),
        ("acl-output-l2", ["pg1 output", "pg1 input"], ip6),
    ] {
        let mut daemon = Daemon::new(ROOMS, Setup { level, ..Setup::default() }).expect("the rooms fit");
        let defaults = SessionDefaults { sessions: SESSIONS, ..SessionDefaults::default() };
        set_session_defaults(daemon.control(), defaults);
        let is_bridge = node.ends_with("l2");
        daemon.configure(&format!("{PORTS}{}", if is_bridge { BRIDGE } else { ROUTER }));
        let [first, second] = at;
        daemon.configure(&format!(
            "set acl-plugin acl permit+reflect proto 17, permit
             set acl-plugin acl permit
             set acl-plugin interface {first} acl 0
             set acl-plugin interface {second} acl 1"
        ));
        daemon.advance(std::time::Duration::from_secs(5)).expect("it settles");
        daemon.sent();
        let (to, from) = if is_bridge { ("02 > 02:00:00:00:00:12", "12 > 02:00:00:00:00:02") } else { ROUTED };
        for port in 1..=100 {
            send(&mut daemon, "pg0", to, there, &format!("{port} > 9"));
            // Sessions with an answer stay in a full table.
            send(&mut daemon, "pg1", from, back, &format!("9 > {port}"));
        }
        let live = daemon.control().room::<Room>().sessions().expect("there are some").len();
        let dropped = |daemon: &Daemon| daemon.drops().get(&(node, "session-table-full")).copied().unwrap_or(0);
        // Answers pass by their list.
        assert_eq!((live, dropped(&daemon), daemon.sent().len()), (SESSIONS, 36, 164), "{node}");
        send(&mut daemon, "pg0", to, there, "1 > 9");
        assert_eq!((dropped(&daemon), daemon.sent().len()), (36, 1), "{node}");
        daemon.finish().expect("nothing leaks");
    }
}

/// Addresses of frames to a router, from pg0 and from pg1.
const ROUTED: (&str, &str) = ("02 > 02:00:00:00:00:a0", "12 > 02:00:00:00:00:a1");
