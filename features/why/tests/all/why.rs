//! Output of `why`, and that it changes no state. `rehearsal.rs` tests that it predicts the real path.

use fastrand::Rng;
use quiver_engine::Dataplane;
use quiver_scenarios::daemon;
use quiver_scenarios::state::{compare, state};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use serde_json::Value;

use crate::traced::way;

/// Routed interfaces, with a part and a table of its own, and a bridge domain with a virtual interface in it.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create packet-generator interface pg3 hw-addr 02:00:00:00:00:a3
    create packet-generator interface pg4 hw-addr 02:00:00:00:00:a4
    create sub-interfaces pg0 100
    ip table add 7
    set interface ip table pg0.100 7
    set interface state pg0 up
    set interface state pg0.100 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg0.100 10.1.0.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 2001:db8:1::1/64
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
    ip route add 20.0.0.0/8 via 10.0.1.2 pg1
    ip route add 20.1.0.0/16 via drop
    ip route add 20.2.0.0/16 via null-send-unreach
    ip route add 20.0.0.0/8 table 7 via 10.0.1.2 pg1
    ip route add 2001:db8:20::/48 via 2001:db8:1::2 pg1
    ip route add 2001:db8:21::/48 via drop
    create bridge-domain 1
    set interface l2 bridge pg2 1
    set interface l2 bridge pg3 1
";

/// Parts of interfaces: one in layer 2 whose frames lose their tags, and one of a station.
const PARTS: &str = "
    create sub-interfaces pg2 5
    create bridge-domain 2
    set interface l2 bridge pg2.5 2
    set interface l2 tag-rewrite pg2.5 pop 1
    p2p_ethernet pg1 02:00:00:00:00:99 sub-id 8
    set interface ip address pg1.8 10.9.0.1/24
    set interface state pg2.5 up
    set interface state pg1.8 up
";

fn one<'a>(r: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[r.usize(..choices.len())]
}

/// A packet of any kind: mostly good ones, and every way to be odd.
fn random(r: &mut Rng) -> (&'static str, Vec<u8>) {
    let interface = ["pg0", "pg2", "pg3"][r.usize(..3)];
    let stations =
        ["02:00:00:00:00:a0", "02:00:00:00:00:a1", "02:00:00:00:00:31", "02:00:00:00:00:32", "ff:ff:ff:ff:ff:ff"];
    let to = if r.u8(..) < 160 { stations[0] } else { one(r, &stations) };
    let from = one(r, &["02:00:00:00:00:31", "02:00:00:00:00:32", "02:00:00:00:00:33"]);
    let tag = one(r, &["", "", "", " / dot1q 100", " / dot1q 200"]);
    let hops = one(r, &["64", "64", "64", "1", "2"]);
    let text = match r.u8(..4) {
        0 | 1 => {
            let source = one(r, &["10.0.0.2", "10.1.0.2", "99.0.0.1", "127.0.0.1", "255.255.255.255"]);
            let to = one(
                r,
                &["20.0.0.1", "20.1.0.1", "20.2.0.1", "30.0.0.1", "10.0.0.1", "10.0.1.2", "224.0.0.5", "10.0.0.255"],
            );
            format!("ip4 {source} > {to} ttl {hops} / udp 1 > 2 / payload 40")
        }
        2 => {
            let source = one(r, &["2001:db8::2", "fe80::2", "::1"]);
            let to =
                one(r, &["2001:db8:20::1", "2001:db8:21::1", "2001:db8:30::1", "2001:db8::1", "ff02::1", "fe80::9"]);
            format!("ip6 {source} > {to} hlim {hops} / udp 1 > 2 / payload 40")
        }
        _ => "arp request 02:00:00:00:00:31 10.0.0.2 > 00:00:00:00:00:00 10.0.0.1 / padding 18".to_owned(),
    };
    let text = format!("eth {from} > {to}{tag} / {text}");
    let packet: Packet = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut bytes = packet.to_bytes();
    if r.u8(..) < 40 {
        let at = r.usize(..bytes.len());
        bytes[at] = r.u8(..);
    }
    if r.u8(..) < 20 {
        bytes.truncate(r.usize(15..bytes.len()));
    }
    (interface, bytes)
}

#[test]
fn asking_changes_nothing() {
    let (mut daemon, mut r) = (daemon(CONFIGURATION), Rng::with_seed(8));
    daemon.advance(std::time::Duration::from_secs(5)).expect("time passes");
    daemon.sent();
    let (before, counts) = (state(&mut daemon).expect("it says"), daemon.counts());
    let buffers = |daemon: &Daemon| daemon.control().room::<Dataplane>().buffers().stored();
    let stored = buffers(&daemon);
    for _ in 0..2_000 {
        let (interface, frame) = random(&mut r);
        assert!(!way(&mut daemon, interface, &frame).0.is_empty());
    }
    daemon.settle().expect("nothing circles");
    assert_eq!(buffers(&daemon), stored, "buffers that went and did not come back");
    assert_eq!(daemon.sent(), vec![], "something was sent");
    assert_eq!(daemon.counts(), counts, "something was counted");
    compare(&state(&mut daemon).expect("it says"), &before, "after questions").unwrap();
}

#[test]
fn it_names_what_decides() {
    let mut daemon = daemon(CONFIGURATION);
    daemon.configure(PARTS);
    let mut because = |line: &str, node: &str| {
        let reply = daemon.run(line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
        let nodes = reply.json["nodes"].as_array().cloned().unwrap_or_default();
        let step = nodes.iter().find(|step| step["node"] == node).cloned();
        step.unwrap_or_else(|| panic!("{}", reply.text))["decided-by"].as_str().map(str::to_owned).unwrap_or_default()
    };
    let tcp = "why tcp 10.0.0.2:1000 20.0.0.1:80 on pg0";
    assert_eq!(because(tcp, "ip4-lookup"), "routes 20.0.0.0/8");
    assert_eq!(because(tcp, "ip4-rewrite"), "neighbor 10.0.1.2 on pg1, 02:00:00:00:00:12");
    assert_eq!(because("why udp 10.0.0.2:1 20.1.2.3:2 on pg0", "ip4-lookup"), "routes 20.1.0.0/16");
    assert_eq!(because("why icmp 10.0.0.2 10.0.0.1 on pg0", "ip4-lookup"), "routes 10.0.0.1/32 (interface)");
    assert_eq!(
        because("why udp [2001:db8::2]:1 [2001:db8:21::1]:2 on pg0", "ip6-lookup"),
        "ip6-routes 2001:db8:21::/48"
    );
    // A part of an interface is asked as the whole is: its frames get their tags, and come from its station.
    let tcp = "why tcp 10.1.0.2:1000 20.0.0.1:80 on pg0.100";
    assert_eq!(because(tcp, "vlan-input"), "interface pg0");
    assert_eq!(because(tcp, "ip4-lookup"), "routes 20.0.0.0/8 of table 7");
    let bridged = "why udp 1.1.1.1:1 2.2.2.2:2 on pg2.5 to 02:00:00:00:00:32 from 02:00:00:00:00:31";
    assert_eq!(because(bridged, "l2-fwd"), "bridge-domains 2: 02:00:00:00:00:32 is unknown");
    let of_station = "why tcp 10.9.0.2:1000 20.1.0.1:80 on pg1.8 from 02:00:00:00:00:99";
    assert_eq!(because(of_station, "p2p-ethernet-input"), "p2p-ethernets pg1.8");
    assert_eq!(because(of_station, "ip4-lookup"), "routes 20.1.0.0/16");
    let bridged = "why udp 1.1.1.1:1 2.2.2.2:2 on pg2 to 02:00:00:00:00:32 from 02:00:00:00:00:31";
    assert_eq!(because(bridged, "l2-fwd"), "bridge-domains 1: 02:00:00:00:00:32 is unknown");
    let reply = daemon.run("why udp 10.0.0.2:1 20.1.2.3:2 on pg0").expect("it is answered");
    assert!(
        reply.text.starts_with("A frame of 60 bytes from pg0: dropped by ip4-lookup: route-drop."),
        "{}",
        reply.text
    );
    assert_eq!(reply.json["ends"][0]["reason"], "route-drop");
}

#[test]
fn questions_without_an_answer_say_how_to_ask() {
    let mut daemon = daemon(CONFIGURATION);
    // Which tags the frames of the first have nobody can know, and the other one's frames come from its station.
    daemon.configure("create sub-interfaces pg1 7 default\np2p_ethernet pg1 02:00:00:00:00:99 sub-id 8");
    let mut refused = |line: &str| daemon.run(line).err().unwrap_or_else(|| panic!("`{line}` was taken")).to_string();
    assert!(refused("why tcp 10.0.0.2 2001:db8::1 on pg0").contains("two families"));
    assert!(refused("why tcp 10.0.0 10.0.0.1 on pg0").contains("is no address"));
    assert!(refused("why tcp 10.0.0.2 10.0.0.1 on pg9").contains("pg9"));
    assert!(refused("why 123 on pg0").contains("hexadecimal"));
    assert!(refused("why icmp 10.1.0.2 10.1.0.1 on pg1.7").contains("as `pg1` receives it"));
    assert!(refused("why icmp 10.1.0.2 10.1.0.1 on pg1.8").contains("as `pg1` receives it"));
    assert!(refused("why icmp 2001:db8::2 2001:db8::1 on pg0").contains("say `icmp6`"));
    assert!(refused("drops seconds 0").contains("say 1 or more"));
    let without = daemon.run("why tcp 10.0.0.2 20.0.0.1:80 on pg0").expect("it can be asked");
    assert_eq!(without.json["notes"], serde_json::json!(["No port was said of 10.0.0.2: it is 0."]));
    let down = daemon.run("why icmp 10.1.0.2 10.1.0.1 on pg4").expect("it can be asked").text;
    assert!(down.starts_with("pg4 is down"), "{down}");
}

#[test]
fn losses_are_told_with_what_decided() {
    let mut daemon = daemon(CONFIGURATION);
    let lost: Packet =
        "eth 02:00:00:00:00:31 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.1.0.1 ttl 64 / udp 1 > 2 / payload 18"
            .parse()
            .expect("a packet");
    let (control, output) = (daemon.control().clone(), quiver_control::cli::Output::default());
    let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::<Value>::new()));
    let parts = output.clone();
    daemon.control().spawn("drops", async move {
        let done = control.commands().run(&control, "drops --follow", &output).await;
        panic!("it goes on until nobody listens: {done:?}");
    });
    let texts = std::rc::Rc::new(std::cell::RefCell::new(Vec::<String>::new()));
    let (heard, read) = (told.clone(), texts.clone());
    daemon.control().spawn("reader", async move {
        while let Some(part) = parts.next().await {
            heard.borrow_mut().push(part.json);
            read.borrow_mut().push(part.text);
        }
    });
    daemon.settle().expect("nothing circles");
    for _ in 0..3 {
        daemon.send("pg0", &lost.to_bytes()).expect("it has room");
    }
    daemon.advance(std::time::Duration::from_millis(1500)).expect("time passes");
    let told = told.borrow();
    let line = told.iter().find(|line| line["reason"] == "route-drop").unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!((&line["packets"], &line["node"]), (&3.into(), &"ip4-lookup".into()));
    assert_eq!(line["samples"][0]["interface"], "pg0");
    assert_eq!(line["samples"][0]["decided-by"], "routes 20.1.0.0/16");
    let bytes: String = lost.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(line["samples"][0]["bytes"], bytes.as_str());
    assert_eq!(line["samples"][0]["packet"], "10.0.0.2:1 > 20.1.0.1:2 udp");
    // The virtual clock began in 1970, and the packets were sent at its beginning: a second passed until they are told.
    assert_eq!(line["samples"][0]["time"], "1970-01-01T00:00:00.000Z");
    let texts = texts.borrow();
    assert!(
        texts.iter().any(|text| text.contains("1970-01-01T00:00:00.000Z 10.0.0.2:1 > 20.1.0.1:2 udp")),
        "{texts:?}"
    );
}

/// Output of `drops` for packets lost within a second, part by part, and at the end.
fn losses(daemon: &mut Daemon, interface: &str, frame: &[u8]) -> (Vec<Value>, Value) {
    let (control, output) = (daemon.control().clone(), quiver_control::cli::Output::default());
    let (parts, told) = (output.clone(), std::rc::Rc::new(std::cell::RefCell::new((vec![], Value::Null))));
    let (heard, ended) = (told.clone(), told.clone());
    daemon.control().spawn("drops", async move {
        let end = control.commands().run(&control, "drops", &output).await.expect("it ends");
        ended.borrow_mut().1 = end.json;
    });
    daemon.control().spawn("reader", async move {
        while let Some(part) = parts.next().await {
            heard.borrow_mut().0.push(part.json);
        }
    });
    daemon.settle().expect("nothing circles");
    daemon.send(interface, frame).expect("it has room");
    daemon.advance(std::time::Duration::from_millis(1500)).expect("time passes");
    let told = told.borrow();
    told.clone()
}

#[test]
fn losses_end_with_how_many_there_were() {
    let mut daemon = daemon(CONFIGURATION);
    let frame = |to: &str| {
        let text =
            format!("eth 02:00:00:00:00:31 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > {to} ttl 64 / udp 1 > 2 / payload 18");
        text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
    };
    let (told, end) = losses(&mut daemon, "pg0", &frame("20.1.0.1"));
    assert_eq!((told.len(), end), (1, serde_json::json!({"lost": 1})));
    let (told, end) = losses(&mut daemon, "pg0", &frame("20.0.0.1"));
    assert_eq!((told, end), (vec![], serde_json::json!({"lost": 0})));
}

#[test]
fn losses_of_parts_are_told_as_those_of_the_whole() {
    let mut daemon = daemon(CONFIGURATION);
    daemon.configure(PARTS);
    let mut decided = |interface: &str, text: &str, node: &str| {
        let frame = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
        let (told, _) = losses(&mut daemon, interface, &frame);
        let line = told.iter().find(|line| line["node"] == node).unwrap_or_else(|| panic!("{node}: {told:?}"));
        let sample = &line["samples"][0];
        [&sample["interface"], &sample["decided-by"]].map(|text| text.as_str().unwrap_or_default().to_owned())
    };
    let of_vlan = "eth 02:00:00:00:00:31 > 02:00:00:00:00:a0 / dot1q 100 / ip4 10.1.0.2 > 30.0.0.1 ttl 64 / udp 1 > 2";
    assert_eq!(decided("pg0", of_vlan, "icmp4-error"), ["pg0.100", "no route of table 7"]);
    // A bridge domain with one member has nobody to flood to.
    let bridged = "eth 02:00:00:00:00:31 > 02:00:00:00:00:32 / dot1q 5 / ip4 1.1.1.1 > 2.2.2.2 ttl 64 / udp 1 > 2";
    assert_eq!(decided("pg2", bridged, "l2-flood"), ["pg2.5", "bridge-domains 2"]);
    let of_station = "eth 02:00:00:00:00:99 > 02:00:00:00:00:a1 / ip4 10.9.0.2 > 20.1.0.1 ttl 64 / udp 1 > 2";
    assert_eq!(decided("pg1", of_station, "ip4-lookup"), ["pg1.8", "routes 20.1.0.0/16"]);
}
