//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;
use quiver_compat::types::{AddressUnion, FibPathNh, FibPathNhProto};
use quiver_scenarios::daemon;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0
    create packet-generator interface pg1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg1 2001:db8:1::1/64";

fn update(sw_if_index: u32, is_ip6: bool, next_hops: &[(&str, u32)]) -> L3xcUpdate {
    let path = |(address, interface): &(&str, u32)| FibPath {
        sw_if_index: *interface,
        weight: 1,
        proto: if address.contains(':') { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 },
        nh: FibPathNh { address: AddressUnion::new(address.parse().expect("an address")), ..FibPathNh::default() },
        ..FibPath::default()
    };
    let paths = next_hops.iter().map(path).collect();
    L3xcUpdate { l3xc: L3xc { sw_if_index: InterfaceIndex(sw_if_index), is_ip6, paths } }
}

#[test]
fn cross_connects_come_change_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let all = L3xcDump { sw_if_index: InterfaceIndex(NONE) };
    let one = |index| L3xcDump { sw_if_index: InterfaceIndex(index) };
    let by_pg1 = update(1, false, &[("10.0.1.2", 2), ("10.0.1.3", 2)]);
    assert_eq!(caller.request(&by_pg1).expect("it fits").stats_index, NONE);
    let [L3xcDetails { l3xc }] = &caller.dump(&all)[..] else { panic!("one") };
    let hops: Vec<_> = l3xc.paths.iter().map(|path| (path.sw_if_index, format!("{:?}", path.nh.address))).collect();
    let wanted: Vec<_> =
        by_pg1.l3xc.paths.iter().map(|path| (path.sw_if_index, format!("{:?}", path.nh.address))).collect();
    assert_eq!((l3xc.sw_if_index, l3xc.is_ip6, hops), (InterfaceIndex(1), false, wanted));
    assert_eq!((caller.dump(&one(1)).len(), caller.dump(&one(2)).len()), (1, 0));
    caller.request(&update(1, false, &[("10.0.1.9", 2)])).expect("another way");
    assert_eq!(caller.dump(&one(1))[0].l3xc.paths.len(), 1);
    let del = |index, is_ip6| L3xcDel { sw_if_index: InterfaceIndex(index), is_ip6 };
    caller.request(&del(1, false)).expect("it is there");
    assert_eq!(caller.dump(&all).len(), 0);
    for (refused, retval) in [
        (caller.request(&del(1, false)).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&del(9, false)).map(drop), Retval::INVALID_SW_IF_INDEX),
        (caller.request(&del(1, true)).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&update(1, true, &[("224.0.0.1", 2)])).map(drop), Retval::INVALID_VALUE),
        (caller.request(&update(9, false, &[("10.0.1.2", 2)])).map(drop), Retval::INVALID_SW_IF_INDEX),
        (caller.request(&update(1, false, &[])).map(drop), Retval::NO_PATHS_IN_ROUTE),
    ] {
        assert_eq!(refused, Err(retval));
    }
}

#[test]
fn those_of_ip6_are_others() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let all = L3xcDump { sw_if_index: InterfaceIndex(NONE) };
    caller.request(&update(1, false, &[("10.0.1.2", 2)])).expect("it fits");
    caller.request(&update(1, true, &[("2001:db8:1::2", 2)])).expect("it fits");
    let families = |caller: &mut Caller| caller.dump(&all).iter().map(|it| it.l3xc.is_ip6).collect::<Vec<_>>();
    assert_eq!(families(&mut caller), [false, true]);
    let path = caller.dump(&all)[1].l3xc.paths[0].clone();
    assert_eq!((path.proto, path.sw_if_index), (FibPathNhProto::Ip6, 2));
    caller.request(&L3xcDel { sw_if_index: InterfaceIndex(1), is_ip6: false }).expect("it is there");
    assert_eq!(families(&mut caller), [true]);
}
