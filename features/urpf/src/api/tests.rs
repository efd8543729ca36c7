//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;
use quiver_scenarios::daemon;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0
    create packet-generator interface pg1
    ip table add 7
    set interface ip table pg0 7";

fn wanted(interface: u32, af: AddressFamily, is_input: bool, mode: UrpfMode, table_id: u32) -> UrpfUpdateV2 {
    UrpfUpdateV2 { is_input, mode, af, sw_if_index: InterfaceIndex(interface), table_id }
}

#[test]
fn checks_come_change_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let (ip4, ip6, all) =
        (AddressFamily::Ip4, AddressFamily::Ip6, UrpfInterfaceDump { sw_if_index: InterfaceIndex(NONE) });
    caller.request(&wanted(2, ip6, false, UrpfMode::Loose, NONE)).expect("IPv6 on the way out");
    caller.request(&wanted(1, ip4, true, UrpfMode::Strict, NONE)).expect("the interface's own table");
    let of_pg0 = |mode, table_id| UrpfInterfaceDetails {
        sw_if_index: InterfaceIndex(1),
        is_input: true,
        mode,
        af: ip4,
        table_id,
    };
    let of_pg1 = UrpfInterfaceDetails {
        sw_if_index: InterfaceIndex(2),
        is_input: false,
        mode: UrpfMode::Loose,
        af: ip6,
        table_id: 0,
    };
    assert_eq!(caller.dump(&all), [of_pg0(UrpfMode::Strict, 7), of_pg1.clone()]);
    let old = UrpfUpdate { is_input: true, mode: UrpfMode::Loose, af: ip4, sw_if_index: InterfaceIndex(1) };
    caller.request(&old).expect("the older message");
    assert_eq!(caller.dump(&UrpfInterfaceDump { sw_if_index: InterfaceIndex(1) }), [of_pg0(UrpfMode::Loose, 0)]);
    caller.request(&wanted(1, ip4, true, UrpfMode::Loose, 7)).expect("another table");
    assert_eq!(caller.dump(&all), [of_pg0(UrpfMode::Loose, 7), of_pg1]);
    caller.request(&wanted(1, ip4, true, UrpfMode::Off, 0)).expect("it is there");
    caller.request(&wanted(1, ip4, true, UrpfMode::Off, 0)).expect("it is off");
    caller.request(&wanted(2, ip6, false, UrpfMode::Off, 0)).expect("it is there");
    assert_eq!(caller.dump(&all), []);
    for (refused, retval) in [
        (wanted(9, ip4, true, UrpfMode::Loose, NONE), Retval::INVALID_SW_IF_INDEX),
        (wanted(1, ip6, true, UrpfMode::Loose, 7), Retval::INVALID_VALUE),
    ] {
        assert_eq!(caller.request(&refused).map(drop), Err(retval));
    }
}
