//! The messages, as a client sends them.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use quiver_compat::Caller;
use quiver_scenarios::settled;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

const US: &str = "02:00:00:00:00:a0";

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface ip address pg0 10.0.0.1/24";

fn ask(address: [u8; 4], sw_if_index: u32, is_garp: bool, repeat: u32) -> ArpingAcd {
    let (address, sw_if_index) = (IpAddr::from(address).into(), InterfaceIndex(sw_if_index));
    ArpingAcd { address, sw_if_index, is_garp, repeat, interval: 0.5 }
}

/// Sends a request and turns the daemon until it is answered; each question gets an answer.
fn answered(
    daemon: &mut Daemon,
    caller: &mut Caller,
    request: &ArpingAcd,
    answer: &str,
) -> (Result<ArpingAcdReply, Retval>, usize) {
    let mut reply = std::pin::pin!(caller.waiting(request));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut sent = 0;
    loop {
        if let std::task::Poll::Ready(reply) = reply.as_mut().poll(&mut context) {
            // What was sent in this very moment counts, too.
            daemon.settle().expect("it settles");
            return (reply, sent + daemon.sent().len());
        }
        daemon.advance(Duration::from_millis(100)).expect("it settles");
        for _ in daemon.sent() {
            sent += 1;
            if !answer.is_empty() {
                daemon.send("pg0", &answer.parse::<Packet>().expect("a packet").to_bytes()).expect("pg0 is up");
            }
        }
    }
}

#[test]
fn answers_are_counted_and_announcements_wait_for_none() {
    let mut daemon = settled(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let answer = format!("eth 02:00:00:00:00:02 > {US} / arp reply 02:00:00:00:00:02 10.0.0.2 > {US} 10.0.0.1");
    let (reply, sent) = answered(&mut daemon, &mut caller, &ask([10, 0, 0, 2], 1, false, 3), &answer);
    let reply = reply.expect("it was asked");
    assert_eq!((reply.reply_count, reply.mac_address, sent), (3, MacAddress([2, 0, 0, 0, 0, 2]), 3));
    let (reply, sent) = answered(&mut daemon, &mut caller, &ask([10, 0, 0, 3], 1, false, 2), &answer);
    let reply = reply.expect("it was asked");
    assert_eq!((reply.reply_count, reply.mac_address, sent), (0, MacAddress::ZERO, 2), "that was another's answer");
    let (reply, sent) = answered(&mut daemon, &mut caller, &ask([10, 0, 0, 1], 1, true, 4), "");
    assert_eq!((reply.expect("it was announced").reply_count, sent), (0, 4));
}

#[test]
fn both_messages_ask_the_same() {
    let daemon = settled(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let ArpingAcd { address, is_garp, repeat, interval, .. } = ask([10, 0, 0, 1], 1, true, 1);
    let none = ArpingRequest { address, sw_if_index: InterfaceIndex(9), is_garp, repeat, interval };
    let one = ArpingRequest { sw_if_index: InterfaceIndex(1), ..none.clone() };
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for (request, count) in [(none, Err(Retval::INVALID_SW_IF_INDEX)), (one, Ok(0))] {
        // One announcement takes no time, nor does a refusal.
        let std::task::Poll::Ready(reply) = std::pin::pin!(caller.waiting(&request)).poll(&mut context) else {
            panic!("{request:?} is answered at once")
        };
        assert_eq!(reply.map(|reply| reply.reply_count), count);
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let mut daemon = settled(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let ip6 = ArpingAcd { address: IpAddr::from([0; 16]).into(), ..ask([0; 4], 1, false, 1) };
    for (request, retval) in [
        (ask([10, 0, 0, 2], 9, false, 1), Retval::INVALID_SW_IF_INDEX),
        (ask([10, 0, 0, 2], 2, false, 1), Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE),
        (ArpingAcd { interval: f64::NAN, ..ask([10, 0, 0, 2], 1, false, 1) }, Retval::INVALID_VALUE),
        (ArpingAcd { interval: 0.0, ..ask([10, 0, 0, 2], 1, false, 1) }, Retval::INVALID_VALUE),
        (ip6, Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE),
    ] {
        let (refused, sent) = answered(&mut daemon, &mut caller, &request, "");
        assert_eq!((refused.err(), sent), (Some(retval), 0), "{request:?}");
    }
}
