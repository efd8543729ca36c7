//! Packets by verdict, without an inspector, and with one that goes.

use std::time::Duration;

use quiver_snort::clients::{connect, is_connected};
use quiver_snort::{SnortInstance, Verdict};

use crate::inspector::{BOTH, Inspector, ask, datagram, drops, request, router, send, shown};
use crate::sessions::CHAINS;

#[test]
fn packets_of_both_families_and_directions_pass_or_are_dropped_by_verdict() {
    let mut daemon = router("bypass-seconds 0", BOTH);
    let mut inspector = Inspector::new(&mut daemon);
    for ip6 in [false, true] {
        for back in [false, true] {
            for verdict in Verdict::ALL {
                let (interface, packet) = datagram(ip6, back, 1000, "payload 8");
                daemon.send(interface, &packet).expect("it is up");
                daemon.settle().expect("it settles");
                assert_eq!(daemon.sent(), [], "it waits for its verdict");
                let offered = inspector.offered();
                let [offered] = &offered[..] else { panic!("{offered:?}") };
                // What goes out has one hop less, and a checksum that says so.
                let skipped = if ip6 { 8 } else { 12 };
                assert_eq!(offered.bytes[skipped..], packet[14 + skipped..], "{ip6} {back}");
                let flags = if back { 0 } else { 4 };
                assert_eq!((offered.flags, offered.interface), (flags, 1), "{ip6} {back}");
                inspector.judge(offered, verdict);
                daemon.settle().expect("it settles");
                let (sent, passes) = (daemon.sent(), !matches!(verdict, Verdict::Block | Verdict::Blacklist));
                assert_eq!(sent.len(), usize::from(passes), "{ip6} {back} {verdict:?}: {:?}", daemon.drops());
                if let [(interface, bytes)] = &sent[..] {
                    assert_eq!(interface, if back { "pg0" } else { "pg1" });
                    assert_eq!(bytes[14 + skipped..], packet[14 + skipped..]);
                }
            }
        }
    }
    for verdict in Verdict::ALL {
        assert_eq!(shown(&mut daemon, "verdicts", &verdict.name().to_lowercase()), 4);
    }
    assert_eq!(drops(&daemon, "snort-deq", "verdict-drop"), 8);
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn replaced_bytes_are_sent_also_of_packets_in_several_buffers() {
    // Packets of interfaces, and of sessions, which keep their marks.
    for inspected in [BOTH, CHAINS] {
        let mut daemon = router("", inspected);
        let mut inspector = Inspector::new(&mut daemon);
        for length in [8, 5000] {
            for back in [false, true] {
                let (interface, packet) = datagram(false, back, 1000, &format!("payload {length}"));
                daemon.send(interface, &packet).expect("it is up");
                daemon.settle().expect("it settles");
                let offered = inspector.offered();
                assert_eq!(offered[0].bytes[28..], packet[42..], "{length} {back}");
                // Only the verdict that says so takes over bytes.
                let view = inspector.region.view();
                let end = inspector.place(offered[0].number) + offered[0].bytes.len() - 4;
                assert!(view.write(end, b"evil"));
                inspector.judge(&offered[0], if back { Verdict::Pass } else { Verdict::Replace });
                daemon.settle().expect("it settles");
                let sent = daemon.sent();
                assert_eq!((sent.len(), sent[0].1.len()), (1, packet.len()), "{:?}", daemon.drops());
                assert_eq!(sent[0].1.ends_with(b"evil"), !back, "{length} {back}");
                assert_eq!(sent[0].1[42..packet.len() - 4], packet[42..packet.len() - 4]);
            }
        }
        inspector.die(&mut daemon);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn without_an_inspector_packets_pass_or_are_dropped_as_the_instance_says() {
    for (mode, passes) in [("drop", 0), ("pass", 5)] {
        let mut daemon = router(&format!("on-disconnect {mode}"), BOTH);
        let before = shown(&mut daemon, "counts", "passed without inspector");
        send(&mut daemon, 1..=5);
        assert_eq!(daemon.sent().len(), passes, "{mode}");
        assert_eq!(drops(&daemon, "snort-ip4-input", "no-inspector"), 5 - passes as u64);
        assert_eq!(shown(&mut daemon, "counts", "passed without inspector") - before, passes as u64);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn packets_that_an_inspector_holds_when_it_dies_pass_or_are_dropped() {
    for (mode, passes) in [("drop", 0), ("pass", 10)] {
        let mut daemon = router(&format!("on-disconnect {mode}"), BOTH);
        let mut inspector = Inspector::new(&mut daemon);
        send(&mut daemon, 1..=12);
        let offered = inspector.offered();
        inspector.judge(&offered[3], Verdict::Pass);
        inspector.judge(&offered[7], Verdict::Block);
        daemon.settle().expect("it settles");
        assert_eq!(daemon.sent().len(), 1);
        inspector.die(&mut daemon);
        assert_eq!(daemon.sent().len(), passes, "{mode}");
        assert_eq!(drops(&daemon, "snort-deq", "inspector-lost"), 10 - passes as u64);
        assert_eq!(drops(&daemon, "snort-deq", "verdict-drop"), 1);
        assert_eq!(shown(&mut daemon, "counts", "lost with inspector"), 10);
        // Another one has the queue pair, with all slots and empty rings.
        let mut inspector = Inspector::new(&mut daemon);
        assert!(inspector.offered().is_empty());
        send(&mut daemon, 1..=16);
        let offered = inspector.offered();
        assert_eq!(offered.len(), 16);
        offered.iter().for_each(|offered| inspector.judge(offered, Verdict::Pass));
        daemon.settle().expect("it settles");
        assert_eq!(daemon.sent().len(), 16);
        inspector.die(&mut daemon);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn packets_without_a_slot_are_dropped_and_counted_apart() {
    let mut daemon = router("", BOTH);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, 1..=20);
    assert_eq!(drops(&daemon, "snort-ip4-input", "inspector-full"), 4);
    assert_eq!(shown(&mut daemon, "counts", "no slot"), 4);
    let offered = inspector.offered();
    assert_eq!(offered.len(), 16);
    offered.iter().rev().for_each(|offered| inspector.judge(offered, Verdict::Pass));
    daemon.settle().expect("it settles");
    let ports: Vec<u8> = daemon.sent().iter().map(|(_, bytes)| bytes[35]).collect();
    assert_eq!(ports, (1..=16).rev().collect::<Vec<u8>>(), "in the order of the verdicts");
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn flows_pass_the_inspector_by_after_a_verdict_about_them() {
    for (verdict, passes) in [(Verdict::Whitelist, true), (Verdict::Ignore, true), (Verdict::Blacklist, false)] {
        let mut daemon = router("bypass-seconds 60", BOTH);
        let mut inspector = Inspector::new(&mut daemon);
        send(&mut daemon, [7, 8]);
        let offered = inspector.offered();
        inspector.judge(&offered[0], verdict);
        inspector.judge(&offered[1], Verdict::Pass);
        daemon.settle().expect("it settles");
        daemon.sent();
        // Both directions of one flow pass by; the other flow does not.
        send(&mut daemon, [7, 8]);
        let (interface, packet) = datagram(false, true, 7, "payload 8");
        daemon.send(interface, &packet).expect("it is up");
        daemon.settle().expect("it settles");
        assert_eq!(daemon.sent().len(), if passes { 2 } else { 0 }, "{verdict:?}");
        let offered = inspector.offered();
        assert_eq!((offered.len(), offered[0].bytes[21]), (1, 8), "{verdict:?}");
        inspector.judge(&offered[0], Verdict::Pass);
        let name = if passes { "bypassed" } else { "denied by flow" };
        assert_eq!(shown(&mut daemon, "counts", name), 2);
        let denied = ["snort-ip4-input", "snort-ip4-output"].map(|node| drops(&daemon, node, "denied-flow"));
        assert_eq!(denied, if passes { [0, 0] } else { [1, 1] });
        // It is forgotten when it is not met for long, and with the inspector.
        daemon.advance(Duration::from_secs(130)).expect("it settles");
        daemon.sent();
        send(&mut daemon, [9]);
        daemon.advance(Duration::from_secs(130)).expect("it settles");
        send(&mut daemon, [7]);
        let offered = inspector.offered();
        let datagrams = offered.iter().filter(|offered| offered.bytes[0] == 0x45 && offered.bytes[9] == 17);
        assert_eq!(datagrams.count(), 2, "{verdict:?}: {offered:?}");
        inspector.die(&mut daemon);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn verdicts_that_come_when_the_interface_has_gone_are_late() {
    let mut daemon = router("", BOTH);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, [1, 2]);
    let offered = inspector.offered();
    daemon.run("snort detach instance ids interface pg0 inout").expect("it is attached");
    inspector.judge(&offered[0], Verdict::Pass);
    daemon.settle().expect("it settles");
    assert_eq!(daemon.sent().len(), 1, "what was inspected goes on where it was");
    daemon.run("delete packet-generator interface pg0").expect("it is there");
    daemon.settle().expect("it settles");
    inspector.judge(&offered[1], Verdict::Pass);
    daemon.settle().expect("it settles");
    assert_eq!((daemon.sent().len(), drops(&daemon, "snort-deq", "interface-gone")), (0, 1));
    assert_eq!(shown(&mut daemon, "counts", "late"), 1);
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_changed_or_deleted_instance_takes_its_packets_back() {
    let mut daemon = router("on-disconnect pass", BOTH);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, 1..=5);
    let error = daemon.run("snort delete instance ids").expect_err("an inspector has it").to_string();
    assert!(
        error.contains("instance 'ids' has a connected client; run `snort disconnect instance ids` first"),
        "{error}"
    );
    // Fields that leave the memory as it is leave the inspector, too.
    let instance = SnortInstance { queue_size: 16, drop_bitmap: 0, ..SnortInstance::new("ids".into()) };
    daemon.control().put(instance.clone()).expect("it can be changed");
    let offered = inspector.offered();
    inspector.judge(&offered[0], Verdict::Block);
    daemon.settle().expect("it settles");
    assert_eq!(daemon.sent().len(), 1, "no verdict drops");
    daemon.control().put(SnortInstance { queue_size: 32, ..instance }).expect("it can be changed");
    daemon.settle().expect("it settles");
    assert!(!is_connected(daemon.control(), inspector.client), "the memory is another one");
    assert_eq!(drops(&daemon, "snort-deq", "inspector-lost"), 4);
    daemon.run("snort delete instance ids").expect("nobody has it");
    assert_eq!(daemon.run("show snort interfaces").expect("it is a command").text, "");
    send(&mut daemon, [1]);
    assert_eq!(daemon.sent().len(), 1, "without an instance all pass");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn clients_are_refused_what_they_may_not_have() {
    let mut daemon = router("", BOTH);
    let first = connect(daemon.control()).expect("there is room");
    let error = |daemon: &mut quiver_testkit::daemon::Daemon, client, bytes| ask(daemon, client, bytes).0;
    assert_eq!(error(&mut daemon, first, request(3, b"ids")), 6, "it has not introduced itself");
    let inspector = Inspector::new(&mut daemon);
    for (bytes, fault) in [
        (request(3, b"other"), 6),
        (request(2, &[1]), 4),
        (request(4, &[9, 0, 0, 0]), 6),
        (request(4, &[0, 0, 1, 0]), 5),
        (request(4, &[0, 0, 0, 0]), 7),
        (request(1, &[0, 0, 0, 0, 0, 0, 0, 0, 9]), 9),
        (request(7, &[]), 4),
        (vec![1, 2, 3], 4),
        (vec![], 4),
    ] {
        assert_eq!(error(&mut daemon, inspector.client, bytes.clone()), fault, "{bytes:?}");
    }
    // An instance that comes later is not in the memories that the client has mapped.
    daemon.configure("snort create-instance name later queue-size 8");
    assert_eq!(error(&mut daemon, inspector.client, request(3, b"later")), 6);
    daemon.run("snort disconnect client 1").expect("it is connected");
    assert!(!is_connected(daemon.control(), inspector.client));
    let error = daemon.run("snort disconnect client 1").expect_err("it is gone").to_string();
    assert!(error.contains("unknown client '1'"), "{error}");
    daemon.settle().expect("it settles");
    daemon.finish().expect("nothing leaks");
}
