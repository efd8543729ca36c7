//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;
use quiver_compat::types::Address;

fn rule(mac: u8, prefix: &str, len: u8) -> MacipAclRule {
    let address: std::net::IpAddr = prefix.parse().expect("an address");
    MacipAclRule {
        is_permit: AclAction::Permit,
        src_mac: MacAddress([2, 0, 0, 0, 0, mac]),
        src_mac_mask: MacAddress([0xff, 0xff, 0xff, 0, 0, 0]),
        src_prefix: Prefix { address: Address::from(address), len },
    }
}

#[test]
fn lists_come_change_and_go() {
    let mut daemon = quiver_scenarios::daemon("");
    for name in ["pg0", "pg1", "pg2"] {
        daemon.run(&format!("create packet-generator interface {name}")).expect("there is room");
    }
    let mut caller = Caller::connect(daemon.control());
    let caller = &mut caller;
    let put = |caller: &mut Caller, acl_index, r: Vec<MacipAclRule>| {
        let reply = caller.request(&MacipAclAddReplace { acl_index, tag: "ours".into(), r }).expect("a reply");
        (reply.acl_index, Retval(reply.retval))
    };
    let rules = vec![rule(1, "10.0.0.0", 8), MacipAclRule { is_permit: AclAction::Deny, ..rule(2, "2001:db8::", 32) }];
    assert_eq!(put(caller, NONE, rules.clone()), (0, Retval::DONE));
    let added = caller.request(&MacipAclAdd { tag: "".into(), r: vec![] }).expect("a reply");
    assert_eq!((added.acl_index, added.retval), (1, 0));
    let dumped = caller.dump(&MacipAclDump { acl_index: 0 });
    assert_eq!(dumped, [MacipAclDetails { acl_index: 0, tag: "ours".into(), r: rules }]);
    assert_eq!(put(caller, 1, vec![rule(3, "0.0.0.0", 0)]), (1, Retval::DONE));
    assert_eq!(put(caller, 7, vec![]), (NONE, Retval::NO_SUCH_ENTRY));
    assert_eq!(put(caller, NONE, vec![rule(1, "10.0.0.0", 33)]), (NONE, Retval::INVALID_VALUE));
    assert_eq!(caller.dump(&MacipAclDump { acl_index: NONE }).len(), 2);

    let attach = |caller: &mut Caller, is_add, interface, acl_index| {
        let sw_if_index = InterfaceIndex(interface);
        caller.request(&MacipAclInterfaceAddDel { is_add, sw_if_index, acl_index }).map(drop)
    };
    let attached = |caller: &mut Caller| caller.request(&MacipAclInterfaceGet {}).expect("a reply").acls;
    assert_eq!(attached(caller), Vec::<u32>::new());
    assert_eq!((attach(caller, true, 1, 0), attach(caller, true, 3, 1)), (Ok(()), Ok(())));
    assert_eq!(attached(caller), [NONE, 0, NONE, 1]);
    assert_eq!(attach(caller, true, 1, 1), Ok(()), "a list takes another one's place");
    let listed = caller.dump(&MacipAclInterfaceListDump { sw_if_index: InterfaceIndex(NONE) });
    let of = |interface| MacipAclInterfaceListDetails { sw_if_index: InterfaceIndex(interface), acls: vec![1] };
    assert_eq!(listed, [of(1), of(3)]);
    assert_eq!(caller.dump(&MacipAclInterfaceListDump { sw_if_index: InterfaceIndex(2) }), []);
    assert_eq!(attach(caller, true, 0, 0), Ok(()), "VPP's tests give one to local0");
    assert_eq!(attach(caller, true, 1, 9), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(attach(caller, true, 9, 0), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!((attach(caller, false, 1, 0), attach(caller, false, 1, 0)), (Ok(()), Err(Retval::NO_SUCH_ENTRY)));

    let delete = |caller: &mut Caller, acl_index| caller.request(&MacipAclDel { acl_index }).map(drop);
    assert_eq!(delete(caller, 1), Ok(()), "it is taken from its interface");
    assert_eq!((attached(caller), delete(caller, 1)), (vec![], Err(Retval::NO_SUCH_ENTRY)));
}
