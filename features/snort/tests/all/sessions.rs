//! The service `sfdp-inspect` in the chains of session tenants, with an inspector.

use quiver_snort::Verdict;
use quiver_testkit::daemon::Daemon;

use crate::inspector::{Inspector, Offered, datagram, drops, router, send, shown};

/// Tenants of both families, whose chains inspect packets before they follow sessions.
pub const CHAINS: &str = "
    sfdp tenant add 4
    sfdp tenant add 6
    set sfdp services tenant 4 sfdp-inspect sfdp-l4-lifecycle ip4-lookup forward
    set sfdp services tenant 4 sfdp-inspect sfdp-l4-lifecycle ip4-lookup reverse
    set sfdp services tenant 6 sfdp-inspect sfdp-l4-lifecycle ip6-lookup forward
    set sfdp services tenant 6 sfdp-inspect sfdp-l4-lifecycle ip6-lookup reverse
    set sfdp interface-input pg0 tenant 4
    set sfdp interface-input pg1 tenant 4
    set sfdp interface-input pg0 tenant 6 ip6
    set sfdp interface-input pg1 tenant 6 ip6
    set sfdp inspect tenant 4 instance ids
    set sfdp inspect tenant 6 instance ids";

/// Flags of libdaq: before routing, first of its flow, from the responder.
const FIRST: u32 = 0x1004;
const REPLY: u32 = 0x2004;

fn receive(daemon: &mut Daemon, (ip6, back, port): (bool, bool, u16)) -> Vec<u8> {
    let (interface, packet) = datagram(ip6, back, port, "payload 8");
    daemon.send(interface, &packet).expect("it is up");
    daemon.settle().expect("it settles");
    packet
}

/// The only packet that the inspector was offered since the last call.
fn only(inspector: &mut Inspector) -> Offered {
    let mut offered = inspector.offered();
    assert_eq!(offered.len(), 1, "{offered:?}");
    offered.remove(0)
}

fn judge(daemon: &mut Daemon, inspector: &Inspector, offered: &Offered, verdict: Verdict) -> usize {
    inspector.judge(offered, verdict);
    daemon.settle().expect("it settles");
    daemon.sent().len()
}

fn sessions(daemon: &mut Daemon) -> String {
    daemon.run("show session").expect("it is a command").text
}

#[test]
fn packets_of_sessions_pass_the_rest_of_their_chain_or_are_dropped_by_verdict() {
    let mut daemon = router("bypass-seconds 0", CHAINS);
    let mut inspector = Inspector::new(&mut daemon);
    for ip6 in [false, true] {
        for (port, verdict) in (1000..).zip(Verdict::ALL) {
            let passes = usize::from(!matches!(verdict, Verdict::Block | Verdict::Blacklist));
            for (back, flags) in [(false, FIRST), (true, REPLY)] {
                let packet = receive(&mut daemon, (ip6, back, port));
                assert_eq!(daemon.sent(), [], "it waits for its verdict");
                let offered = only(&mut inspector);
                assert_eq!(offered.bytes, packet[14..], "{ip6} {back}");
                assert_eq!((offered.flags, offered.interface), (flags, 1 + u32::from(back)), "{ip6} {verdict:?}");
                let is_before = sessions(&mut daemon).contains("established");
                assert_eq!(judge(&mut daemon, &inspector, &offered, verdict), passes, "{ip6} {back} {verdict:?}");
                // The service behind follows what has passed.
                let is_behind = sessions(&mut daemon).contains("established");
                assert_eq!((is_before, is_behind), (false, back && passes == 1), "{ip6} {verdict:?}");
            }
            daemon.run("clear session all").expect("it is a command");
        }
    }
    assert_eq!(drops(&daemon, "snort-deq", "verdict-drop"), 8);
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_session_keeps_the_decision_about_it_as_long_as_its_inspector_is_attached() {
    for (verdict, passes) in [(Verdict::Whitelist, true), (Verdict::Ignore, true), (Verdict::Blacklist, false)] {
        let mut daemon = router("", CHAINS);
        let mut inspector = Inspector::new(&mut daemon);
        for (ip6, port) in [(false, 7), (true, 7), (false, 8)] {
            receive(&mut daemon, (ip6, false, port));
            let offered = only(&mut inspector);
            let given = if port == 7 { verdict } else { Verdict::Pass };
            judge(&mut daemon, &inspector, &offered, given);
        }
        // Packets of both directions need no inspection; those of another session do.
        for ip6 in [false, true] {
            for back in [false, true] {
                receive(&mut daemon, (ip6, back, 7));
                assert_eq!((daemon.sent().len(), inspector.offered().len()), (usize::from(passes), 0), "{verdict:?}");
            }
        }
        receive(&mut daemon, (false, true, 8));
        assert_eq!(only(&mut inspector).flags, REPLY);
        let name = if passes { "bypassed" } else { "denied by flow" };
        assert_eq!(shown(&mut daemon, "counts", name), 4);
        assert_eq!(drops(&daemon, "sfdp-inspect", "denied-flow"), if passes { 0 } else { 4 });
        let id =
            sessions(&mut daemon).lines().nth(1).and_then(|line| line.split_whitespace().next().map(str::to_owned));
        let detail =
            daemon.run(&format!("show session detail {}", id.expect("there is a session"))).expect("it is there");
        let kept = if passes { "inspection: passes uninspected" } else { "inspection: denied" };
        assert!(detail.text.contains(kept), "{}", detail.text);
        // Another inspector decides by itself.
        inspector.die(&mut daemon);
        daemon.sent();
        let mut inspector = Inspector::new(&mut daemon);
        receive(&mut daemon, (false, false, 7));
        let offered = only(&mut inspector);
        assert_eq!(judge(&mut daemon, &inspector, &offered, Verdict::Pass), 1);
        inspector.die(&mut daemon);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn packets_of_sessions_that_an_inspector_holds_when_it_dies_pass_or_are_dropped() {
    for (mode, passes) in [("drop", 0), ("pass", 1)] {
        let mut daemon = router(&format!("on-disconnect {mode}"), CHAINS);
        let mut inspector = Inspector::new(&mut daemon);
        send(&mut daemon, 1..=12);
        let offered = inspector.offered();
        assert_eq!(judge(&mut daemon, &inspector, &offered[3], Verdict::Pass), 1);
        assert_eq!(judge(&mut daemon, &inspector, &offered[7], Verdict::Block), 0);
        inspector.die(&mut daemon);
        assert_eq!(daemon.sent().len(), 10 * passes, "{mode}");
        assert_eq!(drops(&daemon, "snort-deq", "inspector-lost"), 10 - 10 * passes as u64);
        assert_eq!(drops(&daemon, "snort-deq", "verdict-drop"), 1);
        assert_eq!(shown(&mut daemon, "counts", "lost with inspector"), 10);
        // Without one, the session that is there and new ones are treated alike.
        send(&mut daemon, [1, 13]);
        assert_eq!(daemon.sent().len(), 2 * passes, "{mode}");
        assert_eq!(drops(&daemon, "sfdp-inspect", "no-inspector"), 2 - 2 * passes as u64);
        assert_eq!(shown(&mut daemon, "counts", "passed without inspector"), 2 * passes as u64);
        daemon.finish().expect("nothing leaks");
    }
}

#[test]
fn verdicts_that_come_when_the_session_has_ended_are_late() {
    let mut daemon = router("", CHAINS);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, [1, 2, 3]);
    let offered = inspector.offered();
    daemon.run("clear session all").expect("it is a command");
    assert_eq!(judge(&mut daemon, &inspector, &offered[0], Verdict::Pass), 0);
    assert_eq!(judge(&mut daemon, &inspector, &offered[1], Verdict::Block), 0);
    // Another session may have its record meanwhile.
    send(&mut daemon, [4]);
    let later = only(&mut inspector);
    assert_eq!(judge(&mut daemon, &inspector, &offered[2], Verdict::Blacklist), 0);
    assert_eq!(judge(&mut daemon, &inspector, &later, Verdict::Pass), 1);
    assert_eq!(drops(&daemon, "snort-deq", "session-gone"), 3);
    assert_eq!(drops(&daemon, "snort-deq", "verdict-drop"), 0);
    assert_eq!(shown(&mut daemon, "counts", "late"), 3);
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn packets_of_sessions_without_a_slot_are_dropped_and_counted_apart() {
    let mut daemon = router("", CHAINS);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, 1..=20);
    assert_eq!(drops(&daemon, "sfdp-inspect", "inspector-full"), 4);
    assert_eq!(shown(&mut daemon, "counts", "no slot"), 4);
    let offered = inspector.offered();
    offered.iter().for_each(|offered| inspector.judge(offered, Verdict::Pass));
    daemon.settle().expect("it settles");
    assert_eq!((offered.len(), daemon.sent().len()), (16, 16));
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn where_a_chain_ends_with_inspection_packets_are_dropped_behind_it() {
    let mut daemon = router("", CHAINS);
    daemon.configure("set sfdp services tenant 4 sfdp-inspect forward");
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, [1]);
    let offered = only(&mut inspector);
    assert_eq!(judge(&mut daemon, &inspector, &offered, Verdict::Pass), 0);
    assert_eq!(drops(&daemon, "sfdp-inspect-next", "sfdp-drop"), 1);
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn why_says_that_the_inspector_has_the_packet() {
    let mut daemon = router("", CHAINS);
    let inspector = Inspector::new(&mut daemon);
    let why = daemon.run("why udp 10.0.0.2:1 10.0.1.2:53 on pg0").expect("it is a command").text;
    assert!(why.contains("sfdp-inspect") && why.contains("inspected") && why.contains("snort-tenants 4"), "{why}");
    inspector.die(&mut daemon);
    let why = daemon.run("why udp 10.0.0.2:1 10.0.1.2:53 on pg0").expect("it is a command").text;
    assert!(why.contains("no-inspector") && why.contains("snort-tenants 4"), "{why}");
    daemon.finish().expect("nothing leaks");
}
