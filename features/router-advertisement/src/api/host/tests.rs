//! The messages of hosts, by a client, against what is sent and what is heard.

use std::time::Duration;

use quiver_compat::Caller;
use quiver_interface::InterfaceId;
use quiver_ip::Ip6;
use quiver_ip::fib::{Source, TableId};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use quiver_wire::{Prefix as WirePrefix, V6};

use super::super::event::Ip6RaPrefixInfo;
use super::*;

const PG0: InterfaceIndex = InterfaceIndex(1);
const RA: &str =
    "eth 02:00:00:00:00:01 > 33:33:00:00:00:01 / ip6 fe80::1 > ff02::1 hlim 255 / icmp6 router-advertisement";

fn house() -> (Daemon, Caller) {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         enable ip6 interface pg0",
    );
    daemon.advance(Duration::from_secs(2)).expect("it settles");
    daemon.sent();
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

/// A router says this.
fn say(daemon: &mut Daemon, words: &str) {
    let packet: Packet = format!("{RA} / ra {words}").parse().expect("a packet");
    daemon.send("pg0", &packet.to_bytes()).expect("pg0 is up");
    daemon.settle().expect("it settles");
}

/// Number of solicitations sent within some seconds.
fn asked(daemon: &mut Daemon, seconds: u64) -> usize {
    daemon.advance(Duration::from_secs(seconds)).expect("it settles");
    let sent = daemon.sent().into_iter().map(|(_, bytes)| Packet::dissect(&bytes).to_string());
    let question =
        "ip6 fe80::ff:fe00:a0 > ff02::2 hlim 255 / icmp6 router-solicitation / nd source-link 02:00:00:00:00:a0";
    sent.filter(|packet| packet.contains(question)).count()
}

fn ask(irt: u32, mrt: u32, mrc: u32, mrd: u32) -> Ip6ndSendRouterSolicitation {
    Ip6ndSendRouterSolicitation { irt, mrt, mrc, mrd, sw_if_index: PG0, stop: false }
}

#[test]
fn routers_are_asked_for_as_often_as_is_said() {
    let (mut daemon, mut caller) = house();
    caller.request(&ask(1, 120, 2, 0)).expect("it asks");
    assert_eq!((asked(&mut daemon, 0), asked(&mut daemon, 2), asked(&mut daemon, 60)), (1, 1, 0));
    caller.request(&ask(1, 2, 0, 10)).expect("it asks");
    let all = asked(&mut daemon, 60);
    assert!((5..=7).contains(&all), "after one second, then after two, for ten: {all}");
    caller.request(&ask(10, 0, 0, 0)).expect("it asks");
    assert_eq!(asked(&mut daemon, 1), 1);
    caller.request(&Ip6ndSendRouterSolicitation { stop: true, ..ask(0, 0, 0, 0) }).expect("it stops");
    assert_eq!(asked(&mut daemon, 60), 0);
    caller.request(&ask(10, 0, 0, 0)).expect("it asks");
    say(&mut daemon, "lifetime 9");
    assert_eq!(asked(&mut daemon, 60), 1, "there is a router");
    let of = |sw_if_index| Ip6ndSendRouterSolicitation { sw_if_index, ..ask(1, 1, 1, 1) };
    assert_eq!(caller.request(&ask(0, 1, 1, 1)).err(), Some(Retval::INVALID_VALUE));
    assert_eq!(caller.request(&of(InterfaceIndex(2))).err(), Some(Retval::IP6_NOT_ENABLED));
    assert_eq!(caller.request(&of(InterfaceIndex(9))).err(), Some(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn clients_are_told_what_routers_say() {
    let (mut daemon, mut caller) = house();
    let want = |enable| WantIp6RaEvents { enable, pid: 1 };
    assert_eq!(caller.request(&want(false)).err(), Some(Retval::INVALID_REGISTRATION));
    caller.request(&want(true)).expect("it is told");
    assert_eq!(caller.request(&want(true)).err(), Some(Retval::INVALID_REGISTRATION));
    say(
        &mut daemon,
        "hops 7 flags other lifetime 1800 reachable 3 retrans 4 prefix 1::2/50 flags onlink,auto valid 200 preferred 500",
    );
    let prefix: WirePrefix<V6> = "1::/50".parse().expect("a prefix");
    let info = Ip6RaPrefixInfo { prefix: prefix.into(), flags: 0xc0, valid_time: 200, preferred_time: 500 };
    let event = Ip6RaEvent {
        sw_if_index: PG0,
        router_addr: "fe80::1".parse().expect("an address"),
        current_hop_limit: 7,
        flags: 0x40,
        router_lifetime_in_sec: 1800,
        neighbor_reachable_time_in_msec: 3,
        time_in_msec_between_retransmitted_neighbor_solicitations: 4,
        prefixes: vec![info],
    };
    assert_eq!(caller.events::<Ip6RaEvent>(), [event]);
    caller.request(&want(false)).expect("it is not told any more");
    say(&mut daemon, "lifetime 0");
    assert_eq!(caller.events::<Ip6RaEvent>(), []);
}

#[test]
fn addresses_and_default_routes_are_learned_and_end() {
    let (mut daemon, mut caller) = house();
    let learn = |enable| Ip6NdAddressAutoconfig { sw_if_index: PG0, enable, install_default_routes: true };
    let known = |daemon: &Daemon| {
        let ip = daemon.control().room::<Ip6>();
        let table = ip.fib.table(TableId::DEFAULT).expect("it is there");
        let routed = table.get(&WirePrefix::ALL).and_then(|entry| entry.of(Source::Router)).is_some();
        (ip.addresses(InterfaceId(1)).iter().map(ToString::to_string).collect::<Vec<_>>(), routed)
    };
    caller.request(&learn(true)).expect("it learns");
    assert_eq!(asked(&mut daemon, 0), 1);
    let own = "prefix 1::/64 flags onlink,auto valid 2 preferred 2";
    let others = "prefix 7::/64 flags onlink valid 1500 preferred 1000 prefix 8::/20 flags auto valid 9 preferred 9";
    say(&mut daemon, &format!("lifetime 1800 {own} {others}"));
    assert_eq!(known(&daemon), (vec!["1::ff:fe00:a0/64".to_owned()], true));
    say(&mut daemon, "lifetime 0");
    assert!(!known(&daemon).1);
    say(&mut daemon, "lifetime 1");
    assert!(known(&daemon).1);
    daemon.advance(Duration::from_millis(1100)).expect("it settles");
    assert_eq!(known(&daemon), (vec!["1::ff:fe00:a0/64".to_owned()], false), "the address lives longer");
    daemon.advance(Duration::from_secs(1)).expect("it settles");
    assert_eq!(known(&daemon), (vec![], false));
    say(&mut daemon, "lifetime 9 prefix 9::/64 flags auto valid 4294967295 preferred 1");
    assert_eq!(known(&daemon), (vec!["9::ff:fe00:a0/128".to_owned()], true));
    caller.request(&learn(false)).expect("it learns no more");
    assert_eq!(known(&daemon), (vec![], false));
    caller.request(&learn(false)).expect("nothing is to be done");
}
