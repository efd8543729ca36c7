//! The messages, as a client sends them.

use std::time::Duration;

use super::*;
use quiver_compat::Caller;
use quiver_scenarios::daemon;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0
    set interface state pg0 up
    set interface ip address pg0 10.0.0.1/24
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02";

fn ping(address: &str, repeat: u32, interval: f64) -> WantPingFinishedEvents {
    let address = address.parse::<IpAddr>().expect("an address").into();
    WantPingFinishedEvents { address, repeat, interval }
}

#[test]
fn the_client_is_told_once_when_it_is_over() {
    let (mut daemon, repeat) = (daemon(CONFIGURED), 3);
    let (mut caller, mut other) = (Caller::connect(daemon.control()), Caller::connect(daemon.control()));
    for (address, reply_count) in [("10.0.0.1", repeat), ("10.0.0.2", 0)] {
        caller.request(&ping(address, repeat, 0.25)).expect("it begins");
        daemon.advance(Duration::from_millis(400)).expect("it settles");
        assert_eq!(caller.events::<PingFinishedEvent>(), [], "the third one is still to be sent");
        daemon.advance(Duration::from_millis(351)).expect("it settles");
        let told = PingFinishedEvent { request_count: repeat, reply_count };
        assert_eq!((caller.events(), other.events::<PingFinishedEvent>()), (vec![told], vec![]), "{address}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    for (request, retval) in [
        (ping("99.0.0.1", 1, 1.0), Retval::INVALID_VALUE),
        (ping("10.0.0.2", 1, f64::INFINITY), Retval::INVALID_VALUE),
        (ping("2001:db8::1", 1, 1.0), Retval::INVALID_VALUE),
    ] {
        assert_eq!(caller.request(&request).map(drop), Err(retval), "{request:?}");
    }
}
