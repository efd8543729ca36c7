//! Random sets of features meet random packets: frames by frames on every instruction set, one packet at a time, and as plain code says.

mod packets;

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use fastrand::Rng;
use quiver_engine::{Dataplane, InterfaceCounters, Level};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};

use packets::{Sent, Upper, is_of, is_tagged};

quiver_testkit::level_tests![packets_meet_the_same_fates_in_frames_and_alone];

/// Of a hundred packets so many are odd where those with options keep their places.
const FEW: u8 = 3;
const ROUNDS: u64 = 10;
const PACKETS: u32 = 500;

/// Network N is 20.N.0.0/16 and fd20:N::/32, behind the neighbor of interface N; network 4 is behind those of 1 and 2, 5 is dropped, and 6
/// has no route.
const INTERFACES: [&str; 4] = ["pg0", "pg1", "pg2", "pg2.9"];
const BOTH: usize = 4;
const DROPPED: usize = 5;
const NONE: usize = 6;

const PORTS: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create sub-interfaces pg0 7
    create sub-interfaces pg2 9
    ip table add 5 counters
    ip6 table add 5 counters
    set acl-plugin acl deny proto 17 dport 3, deny proto 6 dport 2, permit
    set acl-plugin acl deny proto 17 sport 4, permit
    set acl-plugin acl permit proto 17 dport 1
    abf policy add id 1 acl 2 via 10.0.1.2 pg1
    abf policy add ip6 id 2 acl 2 via 2001:db8:1::2 pg1
";

/// Mode of the source check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    Off,
    Loose,
    Strict,
}

/// Enabled features by interface: pg0 and pg0.7.
#[derive(Debug)]
struct Features {
    table: u32,
    checks: [Check; 2],
    input_lists: [bool; 2],
    output_list: bool,
    policies: bool,
    clamp: bool,
    mtu: bool,
}
impl Features {
    fn draw(r: &mut Rng) -> Features {
        let check = |r: &mut Rng| [Check::Off, Check::Loose, Check::Strict][r.usize(..3)];
        Features {
            table: [0, 5][r.usize(..2)],
            checks: [check(r), check(r)],
            input_lists: [r.bool(), r.bool()],
            output_list: r.bool(),
            policies: r.bool(),
            clamp: r.bool(),
            mtu: r.bool(),
        }
    }
    fn lines(&self) -> String {
        let mut lines = PORTS.to_owned();
        let mut line = |text: String| lines.extend([&text[..], "\n"]);
        for (number, name) in ["pg0", "pg1", "pg2", "pg2.9", "pg0.7"].into_iter().enumerate() {
            line(format!("set interface state {name} up"));
            if self.table != 0 {
                line(format!("set interface ip table {name} {}", self.table));
                line(format!("set interface ip6 table {name} {}", self.table));
            }
            line(format!("set interface ip address {name} 10.0.{number}.1/24"));
            line(format!("set interface ip address {name} 2001:db8:{number}::1/64"));
            line(format!("ip neighbor {name} 10.0.{number}.2 02:00:00:00:01:0{number}"));
            line(format!("ip neighbor {name} 2001:db8:{number}::2 02:00:00:00:01:0{number}"));
        }
        for family in [4, 6] {
            let net = |n: usize| if family == 4 { format!("20.{n}.0.0/16") } else { format!("fd20:{n}::/32") };
            let hop = |n: usize| if family == 4 { format!("10.0.{n}.2") } else { format!("2001:db8:{n}::2") };
            let table = self.table;
            for (n, name) in INTERFACES.into_iter().enumerate() {
                line(format!("ip route add {} table {table} via {} {name}", net(n), hop(n)));
            }
            line(format!("ip route add {} table {table} via {} pg1 via {} pg2", net(BOTH), hop(1), hop(2)));
            line(format!("ip route add {} table {table} via drop", net(DROPPED)));
        }
        for (at, name) in ["pg0", "pg0.7"].into_iter().enumerate() {
            let mode = match self.checks[at] {
                Check::Off => None,
                Check::Loose => Some("loose"),
                Check::Strict => Some("strict"),
            };
            if let Some(mode) = mode {
                line(format!("set urpf ip4 rx {mode} {name}\nset urpf ip6 rx {mode} {name}"));
            }
            if self.input_lists[at] {
                line(format!("set acl-plugin interface {name} input acl 0"));
            }
        }
        if self.output_list {
            line("set acl-plugin interface pg2 output acl 1".into());
        }
        if self.policies {
            line("abf attach ip4 policy 1 pg0\nabf attach ip6 policy 2 pg0".into());
        }
        if self.clamp {
            line("set interface tcp-mss-clamp pg2 ip4 tx ip4-mss 1000 ip6 tx ip6-mss 1000".into());
        }
        if self.mtu {
            line("set interface mtu 1280 pg2".into());
        }
        lines
    }
    /// Where an ordinary packet is sent, as plain code says: the interfaces of which one sends it, None if it is dropped. With the MSS that it
    /// announces then.
    fn fate(&self, sent: &Sent) -> Option<(Vec<&'static str>, u16)> {
        let at = match sent.tag {
            None => 0,
            Some(7) => 1,
            // There is no such sub-interface.
            Some(_) => return None,
        };
        let is_known = match self.checks[at] {
            Check::Off => true,
            Check::Loose => sent.from != DROPPED && sent.from != NONE,
            Check::Strict => at == 0 && sent.from == 0,
        };
        let (is_udp, is_denied) = match sent.upper {
            Upper::Udp => (true, sent.to_port == 3),
            Upper::Syn | Upper::Ack => (false, sent.to_port == 2),
        };
        if !is_known || self.input_lists[at] && is_denied {
            return None;
        }
        let by_policy = self.policies && at == 0 && is_udp && sent.to_port == 1;
        let ways = match sent.to {
            _ if by_policy => vec!["pg1"],
            BOTH => vec!["pg1", "pg2"],
            DROPPED | NONE => return None,
            to => vec![INTERFACES[to]],
        };
        let denied_out = self.output_list && is_udp && sent.from_port == 4;
        let ways: Vec<_> = ways.into_iter().filter(|way| *way != "pg2" || !denied_out).collect();
        let is_clamped = self.clamp && ways == ["pg2"];
        (!ways.is_empty()).then_some((ways, if is_clamped { 1000 } else { 1460 }))
    }
}

/// Sent packets by interface and in order; the counters of all arcs; those of interfaces.
#[derive(PartialEq, Debug)]
struct Outcome {
    sent: BTreeMap<String, Vec<Vec<u8>>>,
    arcs: BTreeMap<(&'static str, &'static str), u64>,
    interfaces: Vec<InterfaceCounters>,
}

fn run(level: Level, features: &Features, bursts: &[&[Sent]]) -> Outcome {
    let mut daemon = Daemon::new(ROOMS, Setup { level, ..Setup::default() }).expect("the rooms fit");
    daemon.configure(&features.lines());
    daemon.advance(Duration::from_secs(3)).expect("nothing circles");
    daemon.sent();
    for burst in bursts {
        burst.iter().for_each(|sent| daemon.send("pg0", &sent.bytes).expect("it is up"));
        daemon.settle().expect("nothing circles");
    }
    let mut sent = BTreeMap::<String, Vec<Vec<u8>>>::new();
    daemon.sent().into_iter().for_each(|(interface, bytes)| sent.entry(interface).or_default().push(bytes));
    let arcs = daemon.counts();
    let interfaces = {
        let dataplane = daemon.control().room::<Dataplane>();
        (0..6).map(|interface| dataplane.interface_counters(interface)).collect()
    };
    daemon.finish().expect("nothing leaks");
    Outcome { sent, arcs, interfaces }
}

/// Where the MSS is behind the start of a header of TCP.
const MSS: usize = 22;

fn packets_meet_the_same_fates_in_frames_and_alone(level: Level) {
    let (mut passed, mut dropped) = (0, 0);
    for seed in 0..ROUNDS {
        match catch_unwind(AssertUnwindSafe(|| round(level, seed))) {
            Ok((some, none)) => (passed, dropped) = (passed + some, dropped + none),
            Err(panic) => {
                eprintln!("seed {seed}");
                resume_unwind(panic);
            }
        }
    }
    assert!(passed > 500 && dropped > 500, "{passed} passed, {dropped} dropped");
}

fn baseline() -> Level {
    Level::all()[0].1.expect("every machine has it")
}

fn round(level: Level, seed: u64) -> (usize, usize) {
    let r = &mut Rng::with_seed(seed);
    let (features, odd) = (Features::draw(r), [0, FEW, 30][r.usize(..3)]);
    // Runs of packets that are all alike but for their numbers, so that frames are ordinary; and mixtures.
    let mut all = vec![];
    while all.len() < PACKETS as usize {
        let like = Sent::draw(r, 0, 0);
        for _ in 0..r.usize(1..60) {
            let number = all.len() as u32;
            let mut sent = Sent::draw(r, number, odd);
            if sent.is_odd {
                sent = like.odd(r, number);
            } else if seed.is_multiple_of(2) {
                sent = like.clone();
                let end = sent.bytes.len();
                sent.bytes[end - 4..].copy_from_slice(&number.to_be_bytes());
            }
            all.push(sent);
        }
    }
    let alone: Vec<_> = all.chunks(1).collect();
    let (mut bursts, mut rest) = (vec![], &all[..]);
    while !rest.is_empty() {
        let most = [9, 70, 257][r.usize(..3)];
        let (burst, after) = rest.split_at(r.usize(1..most).min(rest.len()));
        bursts.push(burst);
        rest = after;
    }
    let (mut here, mut reference) = (run(level, &features, &bursts), run(baseline(), &features, &alone));
    let fates = check_ordinary(&features, odd, &all, &here);
    here.sent.values_mut().chain(reference.sent.values_mut()).for_each(|sent| sent.sort());
    assert_eq!(here.arcs, reference.arcs, "{features:?}");
    assert_eq!(here.interfaces, reference.interfaces, "{features:?}");
    assert!(here.sent == reference.sent, "{features:?}: other packets than those of the packets alone");
    fates
}

/// Compares with plain code what has become of ordinary packets, and looks at the order of each flow.
fn check_ordinary(features: &Features, odd: u8, all: &[Sent], outcome: &Outcome) -> (usize, usize) {
    let mut seen = HashMap::<u32, (&str, &[u8])>::new();
    let mut last = BTreeMap::new();
    for (interface, packets) in &outcome.sent {
        for bytes in packets {
            let number = bytes.last_chunk().map_or(u32::MAX, |number| u32::from_be_bytes(*number));
            let Some(sent) = all.get(number as usize).filter(|sent| is_of(sent, bytes)) else { continue };
            // Where many are odd, frames are not split for all of them.
            if sent.is_odd && !(sent.has_options && odd <= FEW) {
                continue;
            }
            assert!(seen.insert(number, (interface, bytes)).is_none(), "{features:?}: {number} is sent twice");
            let before = last.insert(sent.flow(), number);
            assert!(before.is_none_or(|before| before < number), "{features:?}: {number} overtakes {before:?}");
        }
    }
    let mut sent_and_dropped = (0, 0);
    for (number, sent) in (0..).zip(all).filter(|(_, sent)| !sent.is_odd) {
        let found = seen.get(&number);
        match features.fate(sent) {
            None => {
                assert!(found.is_none(), "{features:?}: {sent:?} by {found:?}");
                sent_and_dropped.1 += 1;
            }
            // One of its ways is closed, and which it takes is for its hash.
            Some((ways, _)) if sent.to == BOTH && ways.len() == 1 && found.is_none() => {}
            Some((ways, mss)) => {
                let (interface, bytes) =
                    found.unwrap_or_else(|| panic!("{features:?}: {sent:?} is not sent by {ways:?}"));
                let name = if *interface == "pg2" && is_tagged(bytes) { "pg2.9" } else { interface };
                assert!(ways.contains(&name), "{features:?}: {sent:?} by {name}");
                if sent.upper == Upper::Syn && sent.to != BOTH {
                    let tcp = if is_tagged(bytes) { 18 } else { 14 } + if sent.ip6 { 40 } else { 20 };
                    assert_eq!(
                        u16::from_be_bytes([bytes[tcp + MSS], bytes[tcp + MSS + 1]]),
                        mss,
                        "{features:?}: {sent:?}"
                    );
                }
                sent_and_dropped.0 += 1;
            }
        }
    }
    sent_and_dropped
}
