//! The messages, as a client sends them, and the event.

use std::time::Duration;

use super::event::{DadState, Ip6DadEvent, WantIp6DadEvents};
use super::*;
use quiver_compat::Caller;
use quiver_scenarios::settled;
use quiver_testkit::packet::Packet;

const OWN: &str = "2001:db8::1";

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    set interface state pg0 up
    enable ip6 interface pg0";

fn enable(transmits: u8, delay: f64) -> Ip6DadEnableDisable {
    Ip6DadEnableDisable { enable: true, dad_transmits: transmits, dad_retransmit_delay: delay }
}

/// Events that the client got about the address.
fn told(caller: &mut Caller) -> Vec<(DadState, u8, u8)> {
    let own = |event: &Ip6DadEvent| event.address.to_string() == OWN;
    let all = caller.events::<Ip6DadEvent>().into_iter().filter(own);
    all.map(|event| (event.state, event.dad_count, event.dad_transmits)).collect()
}

#[test]
fn an_address_that_nobody_else_has_is_preferred_after_all_questions() {
    let mut daemon = settled(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    caller.request(&enable(2, 0.5)).expect("done");
    caller.request(&WantIp6DadEvents { enable_disable: true, pid: 1 }).expect("done");
    daemon.run(&format!("set interface ip address pg0 {OWN}/64")).expect("it is free");
    daemon.advance(Duration::from_millis(900)).expect("it settles");
    let tentative = |asked| (DadState::Tentative, asked, 2);
    assert_eq!(told(&mut caller), [tentative(0), tentative(1), tentative(2)]);
    daemon.advance(Duration::from_millis(200)).expect("it settles");
    assert_eq!(told(&mut caller), [(DadState::Preferred, 2, 2)]);
    let asked = caller.dump(&Ip6DadDump);
    assert_eq!(asked, [Ip6DadDetails { enabled: true, dad_transmits: 2, dad_retransmit_delay: 0.5 }]);
}

#[test]
fn an_address_that_another_one_has_or_wants_is_a_duplicate() {
    let advertised = format!(
        "eth 02:00:00:00:00:02 > 33:33:00:00:00:01 / ip6 {OWN} > ff02::1 hlim 255 / icmp6 neighbor-advertisement / \
         nd target {OWN} flags override target-link 02:00:00:00:00:02"
    );
    let wanted = format!(
        "eth 02:00:00:00:00:02 > 33:33:ff:00:00:01 / ip6 :: > ff02::1:ff00:1 hlim 255 / icmp6 neighbor-solicitation / \
         nd target {OWN}"
    );
    let asked = format!(
        "eth 02:00:00:00:00:02 > 33:33:ff:00:00:01 / ip6 2001:db8::2 > ff02::1:ff00:1 hlim 255 / \
         icmp6 neighbor-solicitation / nd target {OWN} source-link 02:00:00:00:00:02"
    );
    let outcomes = [(advertised, DadState::Duplicate), (wanted, DadState::Duplicate), (asked, DadState::Preferred)];
    for (packet, outcome) in outcomes {
        let mut daemon = settled(CONFIGURED);
        let mut caller = Caller::connect(daemon.control());
        caller.request(&enable(1, 1.0)).expect("done");
        caller.request(&WantIp6DadEvents { enable_disable: true, pid: 1 }).expect("done");
        daemon.run(&format!("set interface ip address pg0 {OWN}/64")).expect("it is free");
        daemon.advance(Duration::from_millis(300)).expect("it settles");
        let bytes = packet.parse::<Packet>().expect("a packet").to_bytes();
        daemon.send("pg0", &bytes).expect("it is up");
        daemon.advance(Duration::from_secs(2)).expect("it settles");
        let last = told(&mut caller).pop();
        assert_eq!(last, Some((outcome, 1, 1)), "{packet}");
        let shown = daemon.run("show ip6 dad").expect("shown").text;
        assert!(shown.contains(OWN), "{shown}");
    }
}

#[test]
fn nothing_is_told_while_it_is_off_and_numbers_that_cannot_be_are_refused() {
    let mut daemon = settled(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    caller.request(&WantIp6DadEvents { enable_disable: true, pid: 1 }).expect("done");
    for (request, retval) in [
        (enable(0, 1.0), Retval::INVALID_VALUE),
        (enable(11, 1.0), Retval::INVALID_VALUE),
        (enable(1, 0.05), Retval::INVALID_VALUE_2),
        (enable(1, f64::NAN), Retval::INVALID_VALUE_2),
    ] {
        assert_eq!(caller.request(&request).map(drop), Err(retval), "{request:?}");
    }
    caller.request(&enable(1, 1.0)).expect("done");
    caller.request(&Ip6DadEnableDisable { enable: false, ..enable(1, 1.0) }).expect("done");
    caller.request(&Ip6DadEnableDisable { enable: false, ..enable(1, 1.0) }).expect("it is off already");
    daemon.run(&format!("set interface ip address pg0 {OWN}/64")).expect("it is free");
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    assert_eq!(told(&mut caller), []);
    assert!(!caller.dump(&Ip6DadDump)[0].enabled);
}
