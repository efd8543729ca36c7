//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;

fn set(interface: u32, (ipv4_mss, dir4): (u16, u8), (ipv6_mss, dir6): (u16, u8)) -> MssClampEnableDisable {
    let (ipv4_direction, ipv6_direction) = (MssClampDir(dir4), MssClampDir(dir6));
    MssClampEnableDisable { sw_if_index: InterfaceIndex(interface), ipv4_mss, ipv6_mss, ipv4_direction, ipv6_direction }
}

#[test]
fn clamps_come_change_and_go() {
    let daemon =
        quiver_scenarios::daemon("create packet-generator interface pg0\ncreate packet-generator interface pg1");
    let mut caller = Caller::connect(daemon.control());
    let get = |interface| MssClampGet { cursor: 0, sw_if_index: InterfaceIndex(interface) };
    let details = |interface, (ipv4_mss, dir4), (ipv6_mss, dir6)| MssClampDetails {
        sw_if_index: InterfaceIndex(interface),
        ipv4_mss,
        ipv6_mss,
        ipv4_direction: MssClampDir(dir4),
        ipv6_direction: MssClampDir(dir6),
    };
    caller.request(&set(1, (1424, 3), (0, 0))).expect("IPv4, both ways");
    caller.request(&set(2, (1300, 1), (1280, 2))).expect("both families");
    let (all, last) = caller.stream(&get(NONE));
    assert_eq!(all, [details(1, (1424, 3), (0, 0)), details(2, (1300, 1), (1280, 2))]);
    assert_eq!(last.expect("it ends").cursor, NONE);
    caller.request(&set(2, (0, 0), (1200, 1))).expect("IPv6 alone");
    assert_eq!(caller.stream(&get(2)).0, [details(2, (0, 0), (1200, 1))]);
    caller.request(&set(2, (0, 0), (0, 0))).expect("nothing");
    caller.request(&set(2, (0, 0), (0, 0))).expect("nothing still");
    assert_eq!(caller.stream(&get(2)).0, []);
    assert_eq!(caller.request(&set(1, (0, 1), (0, 0))).map(drop), Err(Retval::INVALID_VALUE));
    assert_eq!(caller.request(&set(9, (1, 1), (0, 0))).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.stream(&get(9)).1.map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.stream(&get(1)).0, [details(1, (1424, 3), (0, 0))]);
}
