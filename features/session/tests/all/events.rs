//! Events of sessions, as an exporter reads them from the ring, beside the counters of the tenant.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use quiver_scenarios::ROOMS;
use quiver_session::exporters::{attach, detach, report};
use quiver_session_events::export::Counts;
use quiver_session_events::protocol::{Place, Report};
use quiver_session_events::reader::{Reader, Stamped};
use quiver_session_events::{Event, Kind, Reason};
use quiver_testkit::counting::Counting;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

use crate::limits::{WAYS, datagram, establish, router};

/// A router with events.
fn with_events(words: &str, sessions: usize) -> Daemon {
    let mut daemon = router(WAYS[0].2, sessions);
    daemon.configure(&format!("sfdp events enable {words}"));
    daemon.settle().expect("it settles");
    daemon
}

/// An exporter of this name.
fn exporter(daemon: &Daemon, name: &str) -> Reader {
    let attached = attach(daemon.control(), name, Some(7)).expect("there are events");
    let mut reader = Reader::new(attached.file.into()).expect("a ring");
    if let Some(Place { instance, next }) = attached.resume {
        reader.resume(instance, &next);
    }
    reader
}

fn stamped(reader: &mut Reader) -> Vec<Stamped> {
    let mut events = vec![];
    for worker in 0..reader.workers() {
        while reader.read(worker, |stamped| events.push(*stamped)).expect("a file") > 0 {}
    }
    events
}

fn events(reader: &mut Reader) -> Vec<Event> {
    stamped(reader).iter().map(|stamped| stamped.event).collect()
}

/// Kinds and reasons.
fn kinds(events: &[Event]) -> Vec<(Kind, Reason)> {
    events.iter().map(|event| (event.kind, event.reason)).collect()
}

fn send(daemon: &mut Daemon, interface: &str, text: &str) {
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {text}");
    let frame = text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    daemon.send(interface, &frame).expect("it is up");
    daemon.settle().expect("it settles");
}

fn shown(daemon: &mut Daemon, line: &str) -> serde_json::Value {
    daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}")).json
}

#[test]
fn sums_of_events_equal_the_counters_of_the_tenant() {
    for ip6 in [false, true] {
        let mut daemon = with_events("", 1000);
        if ip6 {
            for interface in ["pg0", "pg1"] {
                daemon.configure(&format!("set sfdp interface-input {interface} tenant 1 ip6"));
            }
            daemon.configure("set sfdp services tenant 1 sfdp-l4-lifecycle ip6-lookup forward");
            daemon.configure("set sfdp services tenant 1 sfdp-l4-lifecycle ip6-lookup reverse");
        }
        let mut reader = exporter(&daemon, "test");
        for port in 1..=300 {
            establish(&mut daemon, ip6, port);
            for _ in 0..port % 4 {
                daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up");
            }
        }
        (1001..=1200).for_each(|port| daemon.send("pg0", &datagram(ip6, false, port)).expect("it is up"));
        daemon.advance(Duration::from_secs(200)).expect("it settles");
        let (all, counters) = (events(&mut reader), shown(&mut daemon, "show sfdp tenant 1 detail"));
        let count = |kind: Kind| all.iter().filter(|event| event.kind == kind).count() as u64;
        let closed = || all.iter().filter(|event| event.kind == Kind::Closed);
        assert_eq!((count(Kind::Created), count(Kind::Established), count(Kind::Closed)), (500, 300, 500));
        assert_eq!(counters["created-sessions"], count(Kind::Created));
        assert_eq!(counters["removed-sessions"], count(Kind::Closed));
        let sum = |of: fn(&Event) -> [u64; 2]| closed().map(of).map(|both| both[0] + both[1]).sum::<u64>();
        assert_eq!(counters["incoming-packets"], sum(|event| event.packets));
        assert_eq!(counters["incoming-bytes"], sum(|event| event.bytes));
        assert_eq!(closed().map(|event| event.packets[1]).sum::<u64>(), 300, "one reply each");
        assert!(closed().all(|event| event.reason == Reason::Timeout && event.tenant == 1 && event.is_ip6 == ip6));
        let written = shown(&mut daemon, "show sfdp events");
        assert_eq!(written["written"], all.len());
        assert_eq!(reader.lost(), 0);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn a_session_tells_of_itself_in_order_with_ids_ends_and_times() {
    let mut daemon = with_events("", 1000);
    let mut reader = exporter(&daemon, "test");
    // The second worker's session: its initiator is the higher end.
    daemon.send("pg1", &datagram(false, true, 5000)).expect("it is up");
    daemon.settle().expect("it settles");
    let listed = shown(&mut daemon, "show session");
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.send("pg0", &datagram(false, false, 5000)).expect("it is up");
    daemon.advance(Duration::from_secs(130)).expect("it settles");
    let all = stamped(&mut reader);
    let kinds: Vec<_> = all.iter().map(|stamped| stamped.event.kind).collect();
    assert_eq!(kinds, [Kind::Created, Kind::Established, Kind::Closed]);
    for Stamped { event, .. } in &all {
        assert_eq!(format!("{:#x}", event.session), listed[0]["id"].as_str().expect("an id"));
        assert_eq!([event.address(0).to_string(), event.address(1).to_string()], ["10.0.1.2", "10.0.0.2"]);
        assert_eq!((event.ends.map(|end| end.port), event.protocol, event.translation), ([53, 5000], 17, None));
    }
    let [created, established, closed] = &all[..] else { panic!("{all:?}") };
    let after = |stamped: &Stamped| stamped.time - created.time;
    assert_eq!(created.begun, created.time);
    assert!((3000..3100).contains(&after(established)), "{all:?}");
    assert_eq!((closed.begun, closed.last), (created.time, established.time));
    assert!((123_000..125_000).contains(&after(closed)), "{all:?}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn ends_have_reasons() {
    let mut daemon = with_events("", 64);
    let mut reader = exporter(&daemon, "test");
    let (there, back) =
        ("ip4 10.0.0.2 > 10.0.1.2 ttl 64 / tcp 1000 > 80", "ip4 10.0.1.2 > 10.0.0.2 ttl 64 / tcp 80 > 1000");
    send(&mut daemon, "pg0", &format!("{there} syn seq 1 ack 0 window 512"));
    send(&mut daemon, "pg1", &format!("{back} syn,ack seq 1 ack 2 window 512"));
    assert_eq!(kinds(&events(&mut reader)), [(Kind::Created, Reason::None)], "no handshake yet");
    send(&mut daemon, "pg0", &format!("{there} ack seq 2 ack 2 window 512"));
    assert_eq!(kinds(&events(&mut reader)), [(Kind::Established, Reason::None)]);
    send(&mut daemon, "pg1", &format!("{back} rst seq 2 ack 2 window 512"));
    daemon.advance(Duration::from_secs(2)).expect("it settles");
    assert_eq!(kinds(&events(&mut reader)), [(Kind::Closed, Reason::Finished)]);
    // Users and changes of tenants end sessions, too.
    establish(&mut daemon, false, 1);
    events(&mut reader);
    shown(&mut daemon, "kill sfdp session all");
    daemon.settle().expect("it settles");
    assert_eq!(kinds(&events(&mut reader)), [(Kind::Closed, Reason::Cleared)]);
    establish(&mut daemon, false, 2);
    events(&mut reader);
    for interface in ["pg0", "pg1"] {
        daemon.configure(&format!("set sfdp interface-input {interface} tenant 1 disable"));
    }
    daemon.configure("sfdp tenant del 1");
    daemon.settle().expect("it settles");
    let ended = events(&mut reader);
    assert_eq!((kinds(&ended), ended[0].tenant), (vec![(Kind::Closed, Reason::Tenant)], 1));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn evictions_and_denials_are_told_and_denials_of_a_flood_are_left_out() {
    let mut daemon = with_events("", 64);
    let mut reader = exporter(&daemon, "test");
    for port in 1000..1200 {
        daemon.send("pg0", &datagram(false, false, port)).expect("it is up");
        daemon.advance(Duration::from_millis(20)).expect("it settles");
    }
    let evicted = shown(&mut daemon, "show sfdp tenant 1 detail")["evicted-sessions"].as_u64().expect("a number");
    let told = events(&mut reader);
    let of = |told: &[Event], reason: Reason| told.iter().filter(|event| event.reason == reason).count() as u64;
    assert!(evicted > 100);
    assert_eq!(of(&told, Reason::Evicted), evicted);
    daemon.advance(Duration::from_secs(30)).expect("it settles");
    events(&mut reader);

    daemon.configure("set sfdp sessions-max tenant 1 10");
    (1..=15).for_each(|port| daemon.send("pg0", &datagram(false, false, port)).expect("it is up"));
    daemon.settle().expect("it settles");
    let told = events(&mut reader);
    let denied: Vec<_> = told.iter().filter(|event| event.kind == Kind::Denied).collect();
    assert_eq!((denied.len() as u64, of(&told, Reason::Quota)), (5, 5));
    assert_eq!((denied[0].ends[0].port, denied[0].tenant, denied[0].session), (11, 1, 0));
    daemon.advance(Duration::from_secs(1)).expect("it settles");
    events(&mut reader);
    // Of a flood in a moment ten are told. The drop's counter has them all.
    let before = daemon.drops()[&("sfdp-lookup-ip4", "session-quota")];
    (100..200).for_each(|port| daemon.send("pg0", &datagram(false, false, port)).expect("it is up"));
    daemon.settle().expect("it settles");
    let dropped = daemon.drops()[&("sfdp-lookup-ip4", "session-quota")] - before;
    let (told, state) = (events(&mut reader).len() as u64, shown(&mut daemon, "show sfdp events"));
    assert!((10..50).contains(&told) && dropped == 100, "{told}");
    assert_eq!(state["denials-left-out"], dropped - told);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn where_policy_comes_first_a_refused_packet_tells_of_its_denial_and_of_nothing_else() {
    let mut daemon = with_events("", 64);
    daemon.configure("set sfdp entry tenant 1 policy-first");
    for interface in ["pg0", "pg1"] {
        daemon.configure(&format!("set sfdp interface-input {interface} tenant 1 ip6"));
    }
    daemon.settle().expect("it settles");
    let mut reader = exporter(&daemon, "test");
    // The source is the lower end, and the higher one.
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / tcp 1000 > 80 ack seq 1 ack 1");
    send(&mut daemon, "pg1", "ip4 10.0.1.2 > 10.0.0.2 ttl 64 / tcp 80 > 1000 rst seq 1");
    daemon.configure("set sfdp services tenant 1 sfdp-l4-lifecycle forward");
    send(&mut daemon, "pg0", "ip6 2001:db8::2 > 2001:db8:1::2 hlim 64 / tcp 1000 > 80 syn seq 1");
    let told = events(&mut reader);
    let denials: Vec<_> = told.iter().map(|event| (event.kind, event.reason, event.address(0).to_string())).collect();
    let of = |reason: Reason, source: &str| (Kind::Denied, reason, source.to_owned());
    let expected = [of(Reason::NoSyn, "10.0.0.2"), of(Reason::Policy, "2001:db8::2"), of(Reason::NoSyn, "10.0.1.2")];
    assert_eq!(denials, expected);
    assert!(told.iter().all(|event| (event.tenant, event.session) == (1, 0)), "{told:?}");
    // What is permitted tells of its session, once.
    daemon.configure("set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward");
    daemon.configure("set sfdp source-sessions-max tenant 1 1");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / tcp 1000 > 80 syn seq 1");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / tcp 1001 > 80 syn seq 1");
    let told = kinds(&events(&mut reader));
    assert_eq!(told, [(Kind::Created, Reason::None), (Kind::Denied, Reason::SourceQuota)]);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn packets_and_sessions_that_access_lists_refuse_tell_why() {
    let mut daemon = with_events("", 64);
    daemon.configure(
        "set sfdp entry tenant 1 policy-first
         set sfdp services tenant 1 sfdp-acl sfdp-l4-lifecycle ip4-lookup forward
         set acl-plugin acl permit proto 17 dport 53
         set sfdp acl tenant 1 0 recheck",
    );
    daemon.settle().expect("it settles");
    let mut reader = exporter(&daemon, "test");
    for port in [53, 54] {
        send(&mut daemon, "pg0", &format!("ip4 10.0.0.2 > 10.0.1.2 ttl 64 / udp 1000 > {port} / payload 8"));
    }
    daemon.configure("set acl-plugin acl index 0 deny");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 10.0.1.2 ttl 64 / udp 1000 > 53 / payload 8");
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    let told = kinds(&events(&mut reader));
    let expected = [(Kind::Created, Reason::None), (Kind::Denied, Reason::AccessList), (Kind::Closed, Reason::Policy)];
    assert_eq!(told, expected);
    assert_eq!(shown(&mut daemon, "show sfdp tenant 1 detail")["denied"]["access-list"], 1);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_reader_that_stands_still_loses_events_and_delays_nothing() {
    let mut daemon = with_events("slots 256", 4000);
    let mut slow = exporter(&daemon, "slow");
    for port in 1..=1000 {
        establish(&mut daemon, false, port);
    }
    assert_eq!(daemon.sent().len(), 2000, "every packet was forwarded: {:?}", daemon.drops());
    let kept = events(&mut slow);
    assert_eq!((kept.len() as u64, slow.lost()), (256, 2000 - 256));
    assert_eq!(kept[255].kind, Kind::Established);
    assert_eq!(kept[255].ends[0].port, 1000);
    // As it reports, users and clients of the statistics see it.
    let place = Place { instance: slow.instance(), next: slow.next().to_vec() };
    let counts = Counts { exported: 256, lost: slow.lost(), failed: 0 };
    report(daemon.control(), "slow", Report { place, counts });
    establish(&mut daemon, false, 1001);
    let state = shown(&mut daemon, "show sfdp events");
    let expected = serde_json::json!([{
        "name": "slow", "process": 7, "exported": 256, "lost": 1744, "failed": 0, "waiting": 2,
    }]);
    assert_eq!(state["exporters"], expected);
    let mut values = BTreeMap::new();
    let dataplane = daemon.control().room::<quiver_engine::Dataplane>();
    dataplane.statistics().read(|name, reading| {
        if name.starts_with("/sfdp/events/") {
            values.insert(name.to_owned(), format!("{reading:?}"));
        }
    });
    assert!(values["/sfdp/events/lost"].contains("1744"), "{values:?}");
    assert_eq!(values.len(), 4, "{values:?}");
    drop(dataplane);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn an_exporter_goes_on_where_one_of_its_name_was() {
    let mut daemon = with_events("slots 256", 4000);
    let control = daemon.control().clone();
    assert!(attach(&control, "", None).is_err());
    let mut first = exporter(&daemon, "json");
    let error = attach(&control, "json", None).expect_err("it is attached");
    assert!(error.contains("process 7") && error.contains("--name"), "{error}");
    establish(&mut daemon, false, 1);
    assert_eq!(events(&mut first).len(), 2);
    let place = Place { instance: first.instance(), next: first.next().to_vec() };
    report(&control, "json", Report { place, counts: Counts { exported: 2, ..Counts::default() } });
    // It is killed: the kernel hangs up.
    detach(&control, "json");
    establish(&mut daemon, false, 2);
    let mut second = exporter(&daemon, "json");
    let all = events(&mut second);
    assert_eq!((all.len(), all[0].ends[0].port, second.lost()), (2, 2, 0), "none twice, none missed");
    detach(&control, "json");
    // Another one begins with the oldest.
    assert_eq!(events(&mut exporter(&daemon, "other")).len(), 4);
    // While none is there, a small ring loses events. They are counted.
    (3..=300).for_each(|port| establish(&mut daemon, false, port));
    let mut third = exporter(&daemon, "json");
    assert_eq!((events(&mut third).len(), third.lost()), (256, 598 - 256));
    let state = shown(&mut daemon, "show sfdp events");
    assert_eq!(state["exporters"][0]["exported"], 2, "{state}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn names_of_exporters_are_limited() {
    let daemon = with_events("", 64);
    let control = daemon.control();
    for number in 0..16 {
        attach(control, &format!("exporter{number}"), None).expect("there is room");
    }
    assert!(attach(control, "more", None).expect_err("it is full").contains("16 exporters"));
    detach(control, "exporter3");
    attach(control, "more", None).expect("one has gone");
}

#[test]
fn events_can_be_off_and_updates_on() {
    let mut daemon = router(WAYS[0].2, 64);
    assert!(attach(daemon.control(), "test", None).expect_err("they are off").contains("sfdp events enable"));
    establish(&mut daemon, false, 1);
    assert_eq!(shown(&mut daemon, "show sfdp events")["written"], 0);
    daemon.configure("sfdp events enable update-seconds 10");
    daemon.settle().expect("it settles");
    let mut reader = exporter(&daemon, "test");
    establish(&mut daemon, false, 2);
    for _ in 0..6 {
        daemon.advance(Duration::from_secs(10)).expect("it settles");
        (1..=2).for_each(|port| daemon.send("pg0", &datagram(false, false, port)).expect("it is up"));
    }
    daemon.settle().expect("it settles");
    let updates: Vec<_> = events(&mut reader).into_iter().filter(|event| event.kind == Kind::Updated).collect();
    for port in [1, 2] {
        let packets: Vec<_> =
            updates.iter().filter(|event| event.ends[0].port == port).map(|event| event.packets[0]).collect();
        assert!((5..=8).contains(&packets.len()), "{packets:?}");
        assert!(packets.is_sorted() && packets.last() > packets.first(), "{packets:?}");
    }
    // A session from before is known by its tenant, too.
    assert!(updates.iter().all(|event| event.tenant == 1));
    // Its memory, which may be gigabytes, is given back by a helper.
    let helper = Rc::new(Counting::default());
    daemon.control().help_by(helper.clone(), helper.clone());
    daemon.configure("sfdp events disable");
    daemon.settle().expect("it settles");
    assert!(reader.has_ended().expect("a file"));
    assert_eq!(helper.take(), 1);
    establish(&mut daemon, false, 3);
    assert_eq!(events(&mut reader), []);
    for (line, field) in [("slots 100", "slots"), ("update-seconds 0", "update-seconds")] {
        let error = daemon.run(&format!("sfdp events enable {line}")).expect_err("it is out of range").to_string();
        assert!(error.contains(field), "{error}");
    }
    daemon.finish().expect("nothing leaks");
}

#[test]
fn translated_sessions_tell_of_both_sides() {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 4096, ..Setup::default() }).expect("the rooms fit");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a0
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 192.0.2.1/24
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
         ip neighbor pg1 192.0.2.9 02:00:00:00:00:19
         nat44 plugin enable sessions 100
         nat44 add address 192.0.2.50
         nat44 add static mapping udp local 10.0.0.2 53 external 192.0.2.50 5353
         set interface nat44 in pg0 out pg1
         sfdp events enable",
    );
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    let mut reader = exporter(&daemon, "test");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 192.0.2.9 ttl 64 / udp 4000 > 99");
    send(&mut daemon, "pg1", "ip4 192.0.2.9 > 192.0.2.50 ttl 64 / udp 7000 > 5353");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 192.0.2.9 ttl 64 / udp 53 > 7000");
    daemon.advance(Duration::from_secs(400)).expect("it settles");
    let all = events(&mut reader);
    for (is_outbound, inside, outside, peer) in
        [(true, 4000, "192.0.2.50:4000", "192.0.2.9:99"), (false, 53, "192.0.2.50:5353", "192.0.2.9:7000")]
    {
        let of = |event: &&Event| event.translation.is_some_and(|translation| translation.is_outbound == is_outbound);
        let told: Vec<_> = all.iter().filter(of).collect();
        let last = if is_outbound { vec![] } else { vec![Kind::Established] };
        let expected: Vec<_> = [vec![Kind::Translated], last, vec![Kind::Closed]].concat();
        assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), expected, "{all:#?}");
        for event in told {
            let side = event.inside().expect("it is translated");
            assert_eq!((event.address(side).to_string(), event.ends[side].port), ("10.0.0.2".to_owned(), inside));
            let translation = event.translation.expect("it is translated");
            let text = |end: quiver_session_events::event::Ip4End| format!("{}:{}", end.address, end.port);
            assert_eq!([text(translation.outside), text(translation.peer)], [outside, peer]);
            assert_eq!(event.tenant, u32::MAX);
        }
    }
    assert_eq!(all.iter().filter(|event| event.kind == Kind::Created).count(), 2);
    // No address is left.
    daemon.configure("nat44 add address 192.0.2.50 del");
    send(&mut daemon, "pg0", "ip4 10.0.0.2 > 192.0.2.9 ttl 64 / udp 4001 > 99");
    let told = events(&mut reader);
    assert_eq!(kinds(&told), [(Kind::Denied, Reason::OutOfPorts)], "{:?}", daemon.drops());
    assert_eq!((told[0].address(0).to_string(), told[0].ends[0].port), ("10.0.0.2".to_owned(), 4001));
    daemon.finish().expect("nothing leaks");
}
