use quiver_compat::Caller;
use quiver_compat::Retval;
use quiver_compat::types::NONE;
use quiver_testkit::daemon::Daemon;

use super::*;

type Limits = (u32, u32, u32, u32);

fn limits(caller: &mut Caller, is_ip6: bool, r#type: IpReassType) -> Limits {
    let reply = caller.request(&IpReassemblyGet { is_ip6, r#type }).expect("it is known");
    assert_eq!(reply.is_ip6, is_ip6);
    (reply.timeout_ms, reply.max_reassemblies, reply.max_reassembly_length, reply.expire_walk_interval_ms)
}

#[test]
fn limits_are_set_and_told_by_family_and_kind() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let (full, shallow) = (IpReassType::Full, IpReassType::ShallowVirtual);
    assert_eq!(limits(&mut caller, false, full), (60_000, 1024, 64, 1000));
    assert_eq!(limits(&mut caller, true, shallow), (2000, 1024, 64, 1000));
    let set = |max_reassemblies| IpReassemblySet {
        timeout_ms: 100,
        max_reassemblies,
        max_reassembly_length: 3,
        expire_walk_interval_ms: 50,
        is_ip6: true,
        r#type: shallow,
    };
    caller.request(&set(10)).expect("it is possible");
    assert_eq!(limits(&mut caller, true, shallow), (100, 10, 3, 50));
    assert_eq!(limits(&mut caller, false, shallow), (2000, 1024, 64, 1000), "of the other family");
    assert_eq!(limits(&mut caller, true, full), (60_000, 1024, 64, 1000), "of the other kind");
    assert_eq!(caller.request(&set(u32::MAX)).map(drop), Err(Retval::INVALID_VALUE));
}

#[test]
fn interfaces_and_what_is_for_us_are_turned_on_and_off_by_family() {
    let mut daemon = quiver_scenarios::daemon("create packet-generator interface pg0");
    let mut caller = Caller::connect(daemon.control());
    let set = |sw_if_index, enable_ip4, enable_ip6| IpReassemblyEnableDisable {
        sw_if_index: InterfaceIndex(sw_if_index),
        enable_ip4,
        enable_ip6,
        r#type: IpReassType::ShallowVirtual,
    };
    let named = |daemon: &mut Daemon, family: &str| {
        let shown = daemon.run(&format!("show {family}-sv-reassembly")).expect("it is shown");
        shown.text.contains("Interfaces: pg0")
    };
    caller.request(&set(1, true, false)).expect("it is there");
    assert_eq!((named(&mut daemon, "ip4"), named(&mut daemon, "ip6")), (true, false));
    caller.request(&set(1, false, true)).expect("it is there");
    assert_eq!((named(&mut daemon, "ip4"), named(&mut daemon, "ip6")), (false, true));
    assert_eq!(caller.request(&set(NONE, true, true)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));

    let local = |caller: &mut Caller| {
        let reply = caller.request(&IpLocalReassGet {}).expect("it is known");
        (reply.ip4_is_enabled, reply.ip6_is_enabled)
    };
    assert_eq!(local(&mut caller), (true, true));
    caller.request(&IpLocalReassEnableDisable { enable_ip4: false, enable_ip6: true }).expect("it is possible");
    assert_eq!(local(&mut caller), (false, true));
}
