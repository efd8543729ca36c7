//! Commands that select and rank sessions.

use std::time::Duration;

use quiver_testkit::daemon::Daemon;
use serde_json::Value;

use crate::limits::{WAYS, datagram, router};

fn rows(daemon: &mut Daemon, line: &str) -> Vec<Value> {
    let reply = daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    reply.json.as_array().unwrap_or_else(|| panic!("{line}: {}", reply.json)).clone()
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field}: {row}")) as u64
}

/// Sends packets of random numbers and lengths to sessions of both workers.
fn traffic(daemon: &mut Daemon, random: &mut fastrand::Rng, sessions: u32) {
    for port in 1..=sessions {
        let back = random.bool();
        for _ in 0..random.u32(1..6) {
            let mut packet = datagram(false, back, port);
            if random.bool() {
                // A longer one of the same flow: IPv4's length and the checksum of the header are behind the 14 bytes of Ethernet.
                packet.resize(packet.len() + 100, 0);
                let length = u16::from_be_bytes([packet[16], packet[17]]) + 100;
                packet[16..18].copy_from_slice(&length.to_be_bytes());
                let sum = u32::from(u16::from_be_bytes([packet[24], packet[25]])) + 0xffff - 100;
                let sum = (sum & 0xffff) + (sum >> 16);
                packet[24..26].copy_from_slice(&(sum as u16).to_be_bytes());
            }
            daemon.send(if back { "pg1" } else { "pg0" }, &packet).expect("it is up");
        }
        if port % 16 == 0 {
            daemon.advance(Duration::from_millis(250)).expect("it settles");
        }
    }
    daemon.settle().expect("it settles");
}

/// The sum of both directions' counters, as `show session verbose` has them.
fn sum(row: &Value, of: &str) -> u64 {
    number(row, &format!("{of}-there")) + number(row, &format!("{of}-back"))
}

#[test]
fn the_sessions_with_most_traffic_are_the_first_of_all() {
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (_, _, way) = WAYS[0];
        let mut daemon = router(way, 1000);
        traffic(&mut daemon, &mut random, 100);
        let all = rows(&mut daemon, "show session verbose");
        assert_eq!(all.len(), 100);
        let rate =
            |row: &Value| (sum(row, "bytes") as f64 * 8.0 / row["age"].as_f64().expect("seconds").max(1.0)) as u64;
        type Value64 = Box<dyn Fn(&Value) -> u64>;
        let ways: [(&str, &str, Value64); 4] = [
            ("", "bytes", Box::new(|row| sum(row, "bytes"))),
            (" by bytes", "bytes", Box::new(|row| sum(row, "bytes"))),
            (" by packets", "packets", Box::new(|row| sum(row, "packets"))),
            (" by rate", "bits-per-second", Box::new(rate)),
        ];
        for (by, field, value) in &ways {
            let mut expected: Vec<u64> = all.iter().map(value).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            assert!(expected[0] > expected[99], "{by}: {expected:?}");
            for count in [1, 7, 100, 1000] {
                let top = rows(&mut daemon, &format!("show session top {count}{by}"));
                let values: Vec<u64> = top.iter().map(|row| number(row, field)).collect();
                assert_eq!(values, expected[..count.min(100)], "seed {seed}: {count}{by}");
                // They are sessions, each once.
                let mut ids: Vec<_> = top.iter().map(|row| row["id"].as_str().expect("a text").to_owned()).collect();
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), values.len());
                for row in &top {
                    let same = all.iter().find(|session| session["id"] == row["id"]).expect("it is a session");
                    assert_eq!((number(row, field), &row["initiator"]), (value(same), &same["initiator"]));
                }
            }
            assert_eq!(rows(&mut daemon, &format!("show session top{by}")).len(), 10);
        }
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn top_takes_filters_and_names_a_wrong_count() {
    let (_, _, way) = WAYS[0];
    let mut daemon = router(way, 1000);
    daemon.configure("sfdp tenant add 2");
    for port in 1..=5 {
        daemon.send("pg0", &datagram(false, false, port)).expect("it is up");
    }
    daemon.settle().expect("it settles");
    for (line, found) in [("tenant 1", 5), ("tenant 2", 0), ("port 3 by rate", 1), ("3 by packets tenant 1", 3)] {
        assert_eq!(rows(&mut daemon, &format!("show session top {line}")).len(), found, "{line}");
    }
    for count in ["0", "1001"] {
        let error = daemon.run(&format!("show session top {count}")).expect_err("it is no count");
        assert_eq!(error.to_string(), format!("{count} sessions cannot be shown; write 1 to 1000"));
    }
    daemon.finish().expect("nothing leaks");
}

#[test]
fn sessions_are_selected_by_each_of_their_properties() {
    let (_, _, way) = WAYS[0];
    let mut daemon = router(way, 1000);
    daemon.configure("set sfdp interface-input pg0 tenant 1 ip6\nset sfdp tcp-check fsol-non-syn security");
    let send = |daemon: &mut Daemon, interface: &str, text: &str| {
        let packet = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {text}");
        let packet = packet.parse::<quiver_testkit::packet::Packet>().unwrap_or_else(|error| panic!("{text}: {error}"));
        daemon.send(interface, &packet.to_bytes()).expect("it is up");
        daemon.settle().expect("it settles");
    };
    for (interface, text) in [
        ("pg0", "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / udp 1 > 53 / payload 8"),
        ("pg1", "ip4 10.0.1.2 > 10.0.0.2 ttl 64 / udp 53 > 1 / payload 8"),
    ] {
        send(&mut daemon, interface, text);
    }
    daemon.advance(Duration::from_secs(4)).expect("it settles");
    for text in [
        "ip4 10.0.0.3 > 10.0.1.2 ttl 64 / tcp 1 > 80 syn seq 1",
        "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / tcp 2 > 80 ack seq 1 ack 1",
        "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / icmp echo-request id 5 seq 1 / payload 8",
        "ip6 2001:db8::2 > 2001:db8:1::2 hlim 64 / udp 7 > 53 / payload 8",
    ] {
        send(&mut daemon, "pg0", text);
    }
    let initiators = |daemon: &mut Daemon, filter: &str| {
        let rows = rows(daemon, &format!("show session {filter}"));
        let texts = rows.iter().map(|row| row["initiator"].as_str().expect("a text").to_owned());
        texts.collect::<Vec<_>>()
    };
    let [udp, syn, blocked, echo, ip6] = ["10.0.0.2:1", "10.0.0.3:1", "10.0.0.2:2", "10.0.0.2:5", "[2001:db8::2]:7"];
    for (filter, expected) in [
        ("", &[udp, syn, blocked, echo, ip6][..]),
        ("tenant 1", &[udp, syn, blocked, echo, ip6]),
        ("address 10.0.0.3", &[syn]),
        ("address 2001:db8:1::2", &[ip6]),
        ("port 53", &[udp, ip6]),
        ("port 53 address 10.0.1.2", &[udp]),
        ("protocol tcp", &[syn, blocked]),
        ("protocol TCP state blocked", &[blocked]),
        ("protocol 17", &[udp, ip6]),
        ("protocol icmp", &[echo]),
        ("protocol icmp6", &[]),
        ("state established", &[udp]),
        ("state embryonic", &[syn, echo, ip6]),
        ("state blocked", &[blocked]),
        ("state time-wait", &[]),
        ("older 4", &[udp]),
        ("older 5", &[]),
        ("younger 4", &[syn, blocked, echo, ip6]),
        ("younger 5 protocol udp", &[udp, ip6]),
        ("max 2", &[udp, syn]),
        ("max 1 protocol udp state embryonic", &[ip6]),
    ] {
        assert_eq!(initiators(&mut daemon, filter), expected, "{filter}");
    }
    let error = daemon.run("show session protocol ospfv9").expect_err("there is no such protocol");
    let text = "'ospfv9' is no protocol; write tcp, udp, icmp, icmp6 or a number from 0 to 255";
    assert_eq!(error.to_string(), text);
    let row = rows(&mut daemon, "show session protocol udp state established verbose")[0].clone();
    assert_eq!((number(&row, "age"), number(&row, "packets-there"), number(&row, "bytes-back")), (4, 1, 36), "{row}");
    daemon.finish().expect("nothing leaks");
}
