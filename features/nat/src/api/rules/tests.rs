use quiver_compat::Caller;
use quiver_ip::fib::TableId;

use super::*;

#[test]
fn interfaces_and_addresses_come_and_go() {
    let mut daemon = quiver_scenarios::daemon("");
    for line in ["create packet-generator interface pg0", "create packet-generator interface pg1", "ip table add 7"] {
        daemon.run(line).expect("it is a command");
    }
    let mut caller = Caller::connect(daemon.control());
    let caller = &mut caller;

    let set = |caller: &mut Caller, interface, flags, is_add| {
        let sw_if_index = InterfaceIndex(interface);
        caller.request(&Nat44InterfaceAddDelFeature { is_add, flags, sw_if_index }).map(drop)
    };
    assert_eq!(set(caller, 1, ConfigFlags::INSIDE, true), Ok(()));
    assert_eq!(set(caller, 2, ConfigFlags::OUTSIDE, true), Ok(()));
    assert_eq!(set(caller, 9, ConfigFlags::INSIDE, true), Err(Retval::INVALID_SW_IF_INDEX));
    let of = |interface, flags| Nat44InterfaceDetails { flags, sw_if_index: InterfaceIndex(interface) };
    assert_eq!(caller.dump(&Nat44InterfaceDump {}), [of(1, ConfigFlags::INSIDE), of(2, ConfigFlags::OUTSIDE)]);
    assert_eq!(set(caller, 1, ConfigFlags::INSIDE, false), Ok(()));
    assert_eq!(caller.dump(&Nat44InterfaceDump {}), [of(2, ConfigFlags::OUTSIDE)]);

    let output = |caller: &mut Caller, is_add| {
        caller.request(&Nat44EdAddDelOutputInterface { is_add, sw_if_index: InterfaceIndex(1) }).map(drop)
    };
    let listed = |caller: &mut Caller| caller.stream(&Nat44EdOutputInterfaceGet { cursor: 0 });
    assert_eq!(output(caller, true), Ok(()));
    let (interfaces, end) = listed(caller);
    assert_eq!(interfaces, [Nat44EdOutputInterfaceDetails { sw_if_index: InterfaceIndex(1) }]);
    assert_eq!(end.expect("an end").cursor, NONE);
    assert_eq!(output(caller, false), Ok(()));
    assert_eq!(listed(caller).0, []);

    let (first, last) = (Ipv4Addr::new(192, 0, 2, 10), Ipv4Addr::new(192, 0, 2, 11));
    let range = |caller: &mut Caller, vrf_id, is_add| {
        let flags = ConfigFlags::NONE;
        let request = Nat44AddDelAddressRange { first_ip_address: first, last_ip_address: last, vrf_id, is_add, flags };
        caller.request(&request).map(drop)
    };
    assert_eq!(range(caller, 7, true), Ok(()));
    assert_eq!(range(caller, 8, true), Err(Retval::NO_SUCH_FIB));
    let of = |ip_address| Nat44AddressDetails { ip_address, flags: ConfigFlags::NONE, vrf_id: TableId(7).0 };
    assert_eq!(caller.dump(&Nat44AddressDump {}), [of(first), of(last)]);
    assert_eq!(range(caller, 7, false), Ok(()));
    assert_eq!(caller.dump(&Nat44AddressDump {}), []);

    let own = |caller: &mut Caller, is_add| {
        let (sw_if_index, flags) = (InterfaceIndex(2), ConfigFlags::TWICE_NAT);
        caller.request(&Nat44AddDelInterfaceAddr { is_add, sw_if_index, flags }).map(drop)
    };
    assert_eq!(own(caller, true), Ok(()));
    let details = Nat44InterfaceAddrDetails { sw_if_index: InterfaceIndex(2), flags: ConfigFlags::TWICE_NAT };
    assert_eq!(caller.dump(&Nat44InterfaceAddrDump {}), [details]);
    assert_eq!(own(caller, false), Ok(()));
    assert_eq!(caller.dump(&Nat44InterfaceAddrDump {}), []);
}
