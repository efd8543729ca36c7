//! With several workers `why` says what becomes of a packet at the one that receives it and at the one that it is handed to, and
//! of fragments what the worker makes of them that has the other parts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::router::{TWO, frame, router};
use crate::traced::{compare, way};
use fastrand::Rng;

/// A part of 16 bytes of the packet of this number to a host behind the router, or to the router.
fn part(ip6: bool, is_for_us: bool, id: u32, (place, is_last): (u16, bool)) -> Vec<u8> {
    let to = [["10.2.0.2", "10.0.0.1"], ["2001:db8:2::2", "2001:db8::1"]][usize::from(ip6)][usize::from(is_for_us)];
    let offset = 16 * place;
    let payload = if place == 0 { "hex 00010002002000000001020304050607" } else { "payload 16" };
    frame(&match ip6 {
        false => {
            let more = if is_last { "" } else { " mf" };
            format!("ip4 10.0.0.2 > {to} ttl 64 id {id} offset {offset}{more} protocol udp / {payload}")
        }
        true => {
            let more = if is_last { "" } else { " more" };
            format!("ip6 2001:db8::2 > {to} / frag offset {offset}{more} id {id} next udp / {payload}")
        }
    })
}

/// Parts of many packets in any order, some of which cannot be, against the limits of what is kept: what is said of each is what
/// becomes of it. So many of 256 are for the router. How packets ended.
fn parts_come_in_any_order(workers: usize, more: &str, for_us: u8, seed: u64) -> BTreeMap<String, usize> {
    let (mut daemon, mut r) = (router(workers, &[more]), Rng::with_seed(seed));
    let mut ends = BTreeMap::<String, usize>::new();
    for n in 0..800 {
        let (ip6, is_for_us, id, interface) = (r.bool(), r.u8(..) < for_us, r.u32(..12), ["pg0", "pg1"][r.usize(..2)]);
        // By the number: a packet has so many parts, but for those that lie.
        let count = 2 + id as u16 % 2;
        let place = r.u16(..count);
        let is_last = if r.u8(..30) == 0 { r.bool() } else { place + 1 == count };
        let part = part(ip6, is_for_us, id, (place, is_last));
        let said = compare(&mut daemon, interface, &part, &format!("part {n}"));
        said.ends().for_each(|end| *ends.entry(end.to_string()).or_default() += 1);
        let handed = said.0.iter().filter(|step| step.handed_to.is_some()).count();
        *ends.entry(format!("handed over {handed} times")).or_default() += 1;
        if r.u8(..8) == 0 {
            daemon.sent();
            daemon.advance(Duration::from_millis(r.u64(..1500))).expect("time passes");
        }
    }
    ends
}

fn has(ends: &BTreeMap<String, usize>, wanted: &[&str]) {
    for end in wanted {
        assert!(ends.get(*end).is_some_and(|count| *count > 5), "{end}: {ends:?}");
    }
}

const FULL: &str = "set interface reassembly pg0 on\nset interface reassembly pg1 on";

#[test]
fn parts_are_put_together_with_those_that_a_worker_has() {
    let ends = parts_come_in_any_order(1, FULL, 64, 1);
    has(
        &ends,
        &[
            "sent by pg2",
            "taken by ip4-full-reassembly-feature",
            "taken by ip6-full-reassembly-feature",
            "dropped by ip4-full-reassembly-feature: overlapping-fragments",
            "dropped by ip6-full-reassembly-feature: overlapping-fragments",
        ],
    );
    // Only those for us, where they come.
    let ends = parts_come_in_any_order(1, "", 64, 2);
    has(&ends, &["sent by pg2", "taken by ip4-reassembly", "taken by ip6-reassembly"]);
}

#[test]
fn limits_are_those_that_the_worker_has_left() {
    let limits = "
        set ip4-full-reassembly packets 3 timeout-ms 4000
        set ip6-full-reassembly packets 8 fragments 1 timeout-ms 4000";
    let ends = parts_come_in_any_order(1, &format!("{FULL}\n{limits}"), 64, 3);
    has(
        &ends,
        &[
            "sent by pg2",
            "dropped by ip4-full-reassembly-feature: reassembly-full",
            "dropped by ip6-full-reassembly-feature: too-many-fragments",
        ],
    );
}

#[test]
fn a_fragment_is_seen_at_both_workers() {
    let shallow = "set interface sv-reassembly pg0 on\nset interface sv-reassembly pg1 on";
    // What waits for the first part goes on in front of it, but not in a rehearsal: who puts it together behind that has more.
    for (more, for_us, seed) in [(FULL, 64, 4), (shallow, 0, 5)] {
        let ends = parts_come_in_any_order(2, &format!("{TWO}\n{more}"), for_us, seed);
        has(&ends, &["sent by pg2", "handed over 0 times", "handed over 1 times"]);
    }
}

#[test]
fn as_long_as_workers_hand_nothing_over_each_has_what_it_received() {
    let mut daemon = router(2, &[TWO]);
    for (id, ip6) in (0..10).zip([false, true].into_iter().cycle()) {
        let [first, last] = [(0, false), (1, true)].map(|place| part(ip6, true, id, place));
        let waits =
            |way: quiver_why::way::PacketPath| way.0.last().is_some_and(|step| step.node.ends_with("-reassembly"));
        assert!(waits(way(&mut daemon, "pg1", &last)));
        daemon.send("pg1", &first).expect("it has room");
        daemon.settle().expect("nothing circles");
        assert!(waits(way(&mut daemon, "pg0", &last)), "the other worker has no part");
        let said = compare(&mut daemon, "pg1", &last, "the last part");
        assert!(said.0.iter().all(|step| step.worker == 1 && step.handed_to.is_none()), "{}", said.table().to_text());
        assert!(!waits(said));
    }
}

#[test]
fn flows_are_followed_to_the_worker_that_they_are_spread_to() {
    let mut daemon = router(2, &[TWO, "set interface handoff pg0 workers 0-1"]);
    let mut seen = [0; 2];
    for port in 1000..1050 {
        let packet = frame(&format!("ip4 10.0.0.2 > 10.2.0.2 ttl 64 / udp {port} > 80 / payload 18"));
        let said = compare(&mut daemon, "pg0", &packet, &format!("port {port}"));
        let handed: Vec<_> = said.0.iter().filter_map(|step| Some((step.node, step.handed_to?))).collect();
        let worker = said.0.last().map_or(0, |step| step.worker);
        assert_eq!(handed, if worker == 0 { vec![] } else { vec![("worker-handoff", 1)] });
        seen[worker] += 1;
    }
    assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
}

#[test]
fn it_says_in_words_who_has_the_parts() {
    let mut daemon = router(2, &[TWO, FULL]);
    let mut ask = |interface: &str, frame: &[u8], send: bool| {
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        let said = daemon.run(&format!("why {hex} on {interface}")).expect("it is answered");
        if send {
            daemon.send(interface, frame).expect("it has room");
            daemon.settle().expect("nothing circles");
        }
        said
    };
    let parts = [(0, false), (2, true), (1, false)].map(|place| part(false, false, 7, place));
    let first = ask("pg0", &parts[0], true);
    let owner = first.json["nodes"].as_array().and_then(|nodes| nodes.last()).map(|step| step["worker"].clone());
    let owner = owner.and_then(|worker| worker.as_u64()).expect("a worker");
    let because = |said: &str, words: &str| assert!(said.contains(words), "{words}: {said}");
    because(&first.text, &format!("parts that have not come yet; it is the first that worker {owner} has"));
    let second = ask("pg0", &parts[1], true);
    because(&second.text, &format!("parts that have not come yet; worker {owner} has 2 with it"));
    let other = if owner == 0 { "pg1" } else { "pg0" };
    let last = ask(other, &parts[2], false);
    because(&last.text, &format!("the packet, which is whole with it on worker {owner}"));
    because(&last.text, &format!("  worker {owner}  "));
    because(&last.text, "the other parts of the packet, which come together there");
    because(&last.text, "sent by pg2");
}
