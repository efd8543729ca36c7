//! The messages, as a client sends them.

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Caller, Retval};
use quiver_scenarios::daemon;

use super::*;

#[test]
fn settings_are_changed_and_shown() {
    let daemon = daemon("");
    let mut caller = Caller::connect(daemon.control());
    let enable = |sessions, enable| Nat44EdPluginEnableDisable {
        inside_vrf: 0,
        outside_vrf: 0,
        sessions,
        session_memory: 0,
        enable,
        flags: Nat44ConfigFlags::ENDPOINT_INDEPENDENT,
    };
    caller.request(&enable(100, true)).expect("it is enabled");
    caller.request(&Nat44ForwardingEnableDisable { enable: true }).expect("it forwards");
    caller.request(&NatSetTimeouts { udp: 1, tcp_established: 2, tcp_transitory: 3, icmp: 4 }).expect("they are set");
    let shown = caller.request(&Nat44ShowRunningConfig {}).expect("there are settings");
    assert_eq!((shown.sessions, shown.forwarding_enabled), (100, true));
    let timeouts = NatTimeouts { udp: 1, tcp_established: 2, tcp_transitory: 3, icmp: 4 };
    assert_eq!((shown.timeouts, shown.flags), (timeouts, Nat44ConfigFlags::ENDPOINT_DEPENDENT));
    caller.request(&enable(0, false)).expect("it is disabled");
    let shown = caller.request(&Nat44ShowRunningConfig {}).expect("there are settings");
    assert_eq!((shown.sessions, shown.forwarding_enabled, shown.timeouts.udp), (65536, false, 300));
    assert_eq!(InterfaceIndex::default(), InterfaceIndex(0));
    _ = Retval::UNSPECIFIED;
}
