//! Each profile's packets, counted in what went over the line.

use quiver_testkit::packet::{Layer, Packet};

use crate::pair::{CLEAN, Pair, numbers};

const FAMILIES: [&str; 2] = ["", "clients 2001:db8:1:: servers 2001:db8:2::"];
const COUNTS: [&str; 5] = ["attempted", "established", "closed", "failed", "open"];

/// Control bits of the packets, from the first on: `s` is SYN, `f` FIN, `.` only ACK, `p` data, `u` UDP.
fn kinds(packets: &[quiver_scenarios::line::Sent]) -> String {
    let kind = |sent: &quiver_scenarios::line::Sent| {
        let packet = Packet::dissect(&sent.bytes);
        assert!(!format!("{packet}").contains("bad-"), "{packet}");
        packet.layers.iter().find_map(|layer| match layer {
            Layer::Tcp(tcp) => Some(match tcp.flags.0 & 7 {
                2 => 's',
                1 => 'f',
                0 if tcp.flags.0 & 8 != 0 => 'p',
                0 => '.',
                _ => '?',
            }),
            Layer::Udp(_) => Some('u'),
            _ => None,
        })
    };
    packets.iter().map(|sent| kind(sent).expect("TCP or UDP")).collect()
}

#[test]
fn each_profile_has_its_packets_in_both_families() {
    for family in FAMILIES {
        for (profile, there, back) in [
            ("tcp-cps", "s.f.", "s.f"),
            ("udp-cps", "u", "u"),
            ("tcp-tput", "s.pppppf.", "spppppf"),
            ("udp-tput", "uuuuu", "uuuuu"),
        ] {
            let mut pair = Pair::new([CLEAN; 2]);
            pair.start(&format!("profile {profile} hosts 1 ports 1 {family}"), "connections 1");
            pair.pass(5);
            let [client, server] = pair.shown();
            assert_eq!(numbers(&client, COUNTS), [1, 1, 1, 0, 0], "{profile} {family}");
            assert_eq!(numbers(&server, COUNTS), [1, 1, 1, 0, 0], "{profile} {family}");
            let log = pair.log();
            assert_eq!(log.each_ref().map(|packets| kinds(packets)), [there, back], "{profile} {family}");
            pair.finish();
        }
    }
}

#[test]
fn many_connections_have_as_many_packets_each() {
    for (profile, packets) in [("tcp-cps", [4, 3]), ("udp-cps", [1, 1]), ("tcp-tput", [9, 7]), ("udp-tput", [5, 5])] {
        for order in ["sequential", "random"] {
            let mut pair = Pair::new([CLEAN; 2]);
            pair.start(
                &format!("profile {profile} hosts 50 ports 20"),
                &format!("connections 1000 order {order} rate 1e6"),
            );
            pair.pass(20);
            let [client, server] = pair.shown();
            assert_eq!(numbers(&client, COUNTS), [1000, 1000, 1000, 0, 0], "{profile}");
            assert_eq!(numbers(&server, COUNTS), [1000, 1000, 1000, 0, 0], "{profile}");
            let names = ["packets-sent", "packets-received", "unexpected", "duplicates", "retransmitted", "unsent"];
            let [there, back] = packets.map(|packets| packets * 1000);
            assert_eq!(numbers(&client, names), [there, back, 0, 0, 0, 0]);
            assert_eq!(numbers(&server, names), [back, there, 0, 0, 0, 0]);
            let log = pair.log();
            assert_eq!(log.each_ref().map(|packets| packets.len() as u64), [there, back]);
            let mut seen: Vec<_> = log[0].iter().map(|sent| sent.bytes[26..36].to_vec()).collect();
            let in_order = seen.iter().filter(|tuple| tuple[..4] == [192, 168, 0, 0]).count();
            assert_eq!(in_order as u64, 20 * packets[0], "each client has its 20 connections");
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 1000, "each connection is opened once");
            pair.finish();
        }
    }
}

#[test]
fn a_rate_and_a_ramp_are_kept() {
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start("profile tcp-cps", "rate 10000 ramp 0.1");
    pair.pass(100);
    let [client, _] = pair.shown();
    let [attempted] = numbers(&client, ["attempted"]);
    assert!((499..=502).contains(&attempted), "half of 1000 while it rises: {attempted}");
    pair.pass(100);
    pair.daemon.configure("connections stop client");
    pair.pass(10);
    let [client, _] = pair.shown();
    let [attempted, closed, unsent, open] = numbers(&client, ["attempted", "closed", "unsent", "open"]);
    assert!((1499..=1503).contains(&attempted), "{attempted}");
    assert_eq!((closed, unsent, open), (attempted, 0, 0));
    pair.finish();
}

#[test]
fn times_are_those_of_the_line() {
    let mut pair = Pair::new([|_| vec![1_000_000], |_| vec![2_000_000]]);
    pair.start("profile tcp-tput", "rate 1000 connections 50");
    pair.pass(200);
    let [client, _] = pair.shown();
    let near = |time: &str, planted: u64| {
        let median = client[time]["p50"].as_u64().expect(time);
        assert!(median.abs_diff(planted) < planted / 100 + 2_000, "{time}: {median}, not {planted}");
        assert_eq!(client[time]["connections"], 50, "{time}");
    };
    // Handshake, data, and FIN take a round each; data five.
    near("connect", 3_000_000);
    near("first-byte", 6_000_000);
    near("completion", 21_000_000);
    pair.finish();
}
