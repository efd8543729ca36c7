//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;
use quiver_compat::types::{AddressUnion, FibPathNh};
use quiver_scenarios::daemon;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0
    create packet-generator interface pg1
    set interface state pg1 up
    set interface ip address pg1 10.0.1.1/24
    set interface ip address pg1 2001:db8:1::1/64
    set acl-plugin acl permit
    set acl-plugin acl deny";

fn policy(is_add: bool, policy_id: u32, acl_index: u32, next_hops: &[&str]) -> AbfPolicyAddDel {
    let path = |address: &&str| FibPath {
        sw_if_index: 2,
        weight: 1,
        proto: if address.contains(':') { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 },
        nh: FibPathNh { address: AddressUnion::new(address.parse().expect("an address")), ..FibPathNh::default() },
        ..FibPath::default()
    };
    let paths = next_hops.iter().map(path).collect();
    AbfPolicyAddDel { is_add, policy: Policy { policy_id, acl_index, paths } }
}

fn attach(is_add: bool, policy_id: u32, interface: u32, is_ipv6: bool) -> AbfItfAttachAddDel {
    let sw_if_index = InterfaceIndex(interface);
    AbfItfAttachAddDel { is_add, attach: Attach { policy_id, sw_if_index, priority: 40, is_ipv6 } }
}

#[test]
fn policies_come_change_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let known = |caller: &mut Caller| -> Vec<(u32, u32, usize)> {
        let all = caller.dump(&AbfPolicyDump);
        all.into_iter()
            .map(|details| (details.policy.policy_id, details.policy.acl_index, details.policy.paths.len()))
            .collect()
    };
    caller.request(&policy(true, 10, 0, &["10.0.1.2"])).expect("it fits");
    caller.request(&policy(true, 10, 0, &["10.0.1.3", "10.0.1.2"])).expect("another path");
    caller.request(&policy(true, 11, 1, &["2001:db8:1::2"])).expect("IPv6");
    assert_eq!(known(&mut caller), [(10, 0, 2), (11, 1, 1)]);
    for request in [attach(true, 10, 1, false), attach(true, 11, 1, true)] {
        caller.request(&request).expect("it is there");
        assert_eq!(caller.request(&request).map(drop), Err(Retval::ENTRY_ALREADY_EXISTS));
    }
    let held = |caller: &mut Caller| -> Vec<Attach> {
        caller.dump(&AbfItfAttachDump).into_iter().map(|details| details.attach).collect()
    };
    assert_eq!(held(&mut caller), [attach(true, 10, 1, false).attach, attach(true, 11, 1, true).attach]);
    caller.request(&policy(false, 10, 0, &["10.0.1.3"])).expect("one path less");
    assert_eq!(known(&mut caller)[0], (10, 0, 1));
    caller.request(&attach(false, 10, 1, false)).expect("it is there");
    caller.request(&policy(false, 10, 0, &["10.0.1.2"])).expect("the last path");
    assert_eq!((known(&mut caller).len(), held(&mut caller).len()), (1, 1));
    for (refused, retval) in [
        (caller.request(&policy(true, 12, 0, &[])).map(drop), Retval::INVALID_VALUE),
        (caller.request(&policy(true, 11, 0, &["2001:db8:1::3"])).map(drop), Retval::INVALID_VALUE),
        (caller.request(&policy(false, 12, 0, &["10.0.1.2"])).map(drop), Retval::INVALID_VALUE),
        (caller.request(&attach(true, 12, 1, false)).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&attach(true, 11, 9, true)).map(drop), Retval::INVALID_SW_IF_INDEX),
        (caller.request(&attach(false, 10, 1, false)).map(drop), Retval::NO_SUCH_ENTRY),
    ] {
        assert_eq!(refused, Err(retval));
    }
    assert_eq!(caller.request(&AbfPluginGetVersion).expect("it has one").major, 1);
}
