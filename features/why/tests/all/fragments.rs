//! `why` predicts the path of fragmented packets: of those whose ports only a worker knows, and of those that the
//! daemon fragments.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use quiver_why::way::End;

use crate::router::{TWO, frame, router};
use crate::traced::{compare, way};

/// It looks at ports of fragments, too: some are dropped by them, and some go another way.
const CONFIGURATION: &str = "
    ip neighbor pg2 10.2.0.3 02:00:00:00:00:13
    ip neighbor pg2 2001:db8:2::3 02:00:00:00:00:13
    set acl-plugin acl deny proto 17 dport 53, permit src 0.0.0.0/0, permit src ::/0
    set acl-plugin acl permit src 0.0.0.0/0 proto 17 dport 80
    set acl-plugin acl permit src ::/0 proto 17 dport 80
    abf policy add id 10 acl 1 via 10.2.0.3 pg2
    abf policy add ip6 id 11 acl 2 via 2001:db8:2::3 pg2
    set interface sv-reassembly pg0 on
    set interface sv-reassembly pg1 on
    set acl-plugin interface pg0 input acl 0
    set acl-plugin interface pg1 input acl 0
    abf attach ip4 policy 10 priority 10 pg0
    abf attach ip4 policy 10 priority 10 pg1
    abf attach ip6 policy 11 priority 10 pg0
    abf attach ip6 policy 11 priority 10 pg1
";

/// A part of the packet of this number: the first one says the port.
fn part(ip6: bool, id: u32, port: Option<u16>, (offset, is_last): (u16, bool)) -> Vec<u8> {
    let more = if is_last { "" } else { " more" };
    let ip = match ip6 {
        false => format!(
            "ip4 10.0.0.2 > 10.2.0.2 ttl 64 id {id} offset {offset}{} protocol udp",
            if is_last { "" } else { " mf" }
        ),
        true => format!("ip6 2001:db8::2 > 2001:db8:2::2 / frag offset {offset}{more} id {id} next udp"),
    };
    let payload = match port {
        Some(port) => format!("hex 0001{port:04x}002000000001020304050607"),
        None => "payload 16".to_owned(),
    };
    frame(&format!("{ip} / {payload}"))
}

/// Parts of many packets in any order, of which some are never heard of again, against the limits of what is kept.
fn parts_come_in_any_order(more: &str, seed: u64) -> BTreeMap<String, usize> {
    let (mut daemon, mut r) = (router(1, &[CONFIGURATION, more]), Rng::with_seed(seed));
    let (mut ends, mut deciders) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for n in 0..1000 {
        let (ip6, id) = (r.bool(), r.u32(..30));
        let first = r.u8(..4) == 0;
        // By the number: a packet has one port, whichever part comes.
        let port = first.then_some([53, 80, 90][id as usize % 3]);
        let place = if first { (0, false) } else { (16 * r.u16(1..4), r.u8(..3) == 0) };
        let said = compare(&mut daemon, "pg0", &part(ip6, id, port, place), &format!("part {n}"));
        said.ends().for_each(|end| *ends.entry(end.to_string()).or_default() += 1);
        for step in said.0.iter().filter(|step| step.node.starts_with("abf") || step.node.starts_with("acl")) {
            // A later part of a packet is decided about by the rule for its port.
            let decided_by = step.decided_by.clone().unwrap_or_default();
            let is_decided = match id % 3 {
                0 => decided_by == "acls 0, rules[0]",
                1 => decided_by.starts_with("acls 0, rules[") || decided_by.contains("abf-policies 1"),
                _ => decided_by.starts_with("acls 0, rules[") || decided_by.starts_with("no "),
            };
            assert!(is_decided, "part {n} of {id}: {step:?}");
            *deciders.entry(decided_by).or_default() += 1;
        }
        if r.u8(..8) == 0 {
            daemon.sent();
            daemon.advance(Duration::from_millis(r.u64(..1500))).expect("time passes");
        }
    }
    assert!(deciders.len() > 5, "{deciders:?}");
    ends
}

#[test]
fn later_parts_go_by_the_ports_that_the_first_one_said() {
    let ends = parts_come_in_any_order("", 3);
    for end in [
        "sent by pg2",
        "dropped by acl-input-ip4: denied",
        "dropped by acl-input-ip6: denied",
        "kept by ip4-sv-reassembly-feature",
        "kept by ip6-sv-reassembly-feature",
    ] {
        assert!(ends.contains_key(end), "{end}: {ends:?}");
    }
}

#[test]
fn limits_are_told_as_they_are_met() {
    let limits = "
        set ip4-sv-reassembly fragments 2 packets 8
        set ip6-sv-reassembly fragments 1 packets 8
        set ip reassembly extended ip4 on";
    let ends = parts_come_in_any_order(limits, 4);
    for end in
        ["sent by pg2", "dropped by ip4-sv-reassembly-feature: too-many-fragments", "kept by ip4-sv-reassembly-feature"]
    {
        assert!(ends.contains_key(end), "{end}: {ends:?}");
    }
}

#[test]
fn the_worker_that_has_the_parts_is_asked_whichever_receives_them() {
    let mut daemon = router(2, &[CONFIGURATION, TWO]);
    for (id, port) in (0..12).zip([53, 80, 90].into_iter().cycle()) {
        for ip6 in [false, true] {
            let later = part(ip6, id, None, (16, true));
            let before = way(&mut daemon, "pg1", &later);
            assert!(before.ends().all(|end| matches!(end, End::Kept(_))), "{}", before.table().to_text());
            daemon.send("pg0", &part(ip6, id, Some(port), (0, false))).expect("it has room");
            daemon.settle().expect("nothing circles");
            let (said, drops) = (way(&mut daemon, "pg1", &later), daemon.drops());
            daemon.sent();
            daemon.send("pg1", &later).expect("it has room");
            daemon.settle().expect("nothing circles");
            let (sent, is_lost) = (daemon.sent(), daemon.drops() != drops);
            assert_eq!((sent.len(), is_lost), if port == 53 { (0, true) } else { (1, false) });
            let end = said.ends().map(End::to_string).collect::<Vec<_>>();
            let lost = format!("dropped by acl-input-ip{}: denied", if ip6 { 6 } else { 4 });
            assert_eq!(end, [if is_lost { lost } else { "sent by pg2".to_owned() }]);
        }
    }
}

/// Packets that are cut on the way out: one that lies in one buffer, and one that takes two.
const CUT: [(usize, usize); 2] = [(1014, 2), (3372, 6)];

#[test]
fn each_fragment_that_we_make_is_followed() {
    let mut daemon = router(1, &["set interface mtu packet 600 pg2"]);
    for (payload, fragments) in CUT {
        let whole = frame(&format!("ip4 10.0.0.2 > 10.2.0.2 ttl 64 / udp 1 > 54 / payload {payload}"));
        let said = compare(&mut daemon, "pg0", &whole, "the whole packet");
        assert_eq!(said.summary(), format!("sent by pg2 ({fragments} packets)"), "{}", said.table().to_text());
        assert_eq!(daemon.sent().len(), fragments);
    }
}

#[test]
fn rules_on_the_way_out_meet_fragments_as_they_meet_the_packet() {
    let lists = "
        set interface mtu packet 600 pg2
        set acl-plugin acl permit proto 17 dport 53, deny
        set acl-plugin acl deny proto 17 dport 54, permit";
    let mut daemon = router(1, &[lists]);
    for (list, port, rule, is_sent) in [(0, 53, 0, true), (0, 54, 1, false), (1, 53, 1, true), (1, 54, 0, false)] {
        daemon.configure(&format!("set acl-plugin interface pg2 output acl {list}"));
        for (payload, fragments) in CUT {
            let whole = frame(&format!("ip4 10.0.0.2 > 10.2.0.2 ttl 64 / udp 1 > {port} / payload {payload}"));
            let said = compare(&mut daemon, "pg0", &whole, "the whole packet");
            let end = if is_sent { "sent by pg2" } else { "dropped by acl-output-ip4: denied" };
            assert_eq!(said.summary(), format!("{end} ({fragments} packets)"), "{}", said.table().to_text());
            let decided = said.0.iter().filter(|step| step.node == "acl-output-ip4").map(|step| step.because());
            assert_eq!(decided.collect::<Vec<_>>(), vec![format!("acls {list}, rules[{rule}]"); fragments]);
            assert_eq!(daemon.sent().len(), if is_sent { fragments } else { 0 });
        }
        daemon.configure(&format!("set acl-plugin interface pg2 output acl {list} del"));
    }
}
