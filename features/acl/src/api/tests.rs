//! The messages, as a client sends them.

use super::ethertypes::{
    AclInterfaceEtypeWhitelistDetails, AclInterfaceEtypeWhitelistDump, AclInterfaceSetEtypeWhitelist,
};
use super::*;
use quiver_compat::Caller;
use quiver_compat::types::Address;

mod long;

fn rule(prefix: &str, len: u8, proto: u8) -> AclRule {
    let address: std::net::IpAddr = prefix.parse().expect("an address");
    let prefix = Prefix { address: Address::from(address), len };
    AclRule {
        is_permit: AclAction::Permit,
        src_prefix: prefix,
        dst_prefix: prefix,
        proto: IpProto(proto),
        srcport_or_icmptype_last: 65535,
        dstport_or_icmpcode_first: 53,
        dstport_or_icmpcode_last: 54,
        ..AclRule::default()
    }
}

fn add(acl_index: u32, r: Vec<AclRule>) -> AclAddReplace {
    AclAddReplace { acl_index, tag: "ours".into(), r }
}

#[test]
fn lists_come_change_and_go() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let set = |caller: &mut Caller, request: &AclAddReplace| {
        let reply = caller.request(request).expect("the reply says what went wrong");
        (reply.acl_index, Retval(reply.retval))
    };
    let rules = vec![
        rule("10.0.0.0", 8, 17),
        AclRule { is_permit: AclAction::PermitReflect, ..rule("10.0.0.0", 8, 17) },
        AclRule { is_permit: AclAction::Deny, ..rule("2001:db8::", 32, 6) },
    ];
    assert_eq!(set(&mut caller, &add(NONE, rules.clone())), (0, Retval::DONE));
    assert_eq!(set(&mut caller, &add(NONE, vec![])), (1, Retval::DONE));
    let dump = |caller: &mut Caller, acl_index| caller.dump(&AclDump { acl_index });
    assert_eq!(dump(&mut caller, 0), [AclDetails { acl_index: 0, tag: "ours".into(), r: rules }]);
    assert_eq!(dump(&mut caller, NONE).len(), 2);
    assert_eq!(set(&mut caller, &add(0, vec![rule("10.0.0.0", 8, 0)])), (0, Retval::DONE));
    assert_eq!(dump(&mut caller, 0)[0].r[0].dstport_or_icmpcode_last, 65535, "what has no ports has all");
    caller.request(&AclDel { acl_index: 1 }).expect("it is there");
    assert_eq!(caller.request(&AclDel { acl_index: 1 }).map(drop), Err(Retval::NO_SUCH_ENTRY));
    let mixed = AclRule { dst_prefix: rule("2001:db8::", 32, 6).dst_prefix, ..rule("10.0.0.0", 8, 17) };
    let backwards = AclRule { dstport_or_icmpcode_last: 1, ..rule("10.0.0.0", 8, 17) };
    let long = rule("10.0.0.0", 33, 17);
    for wrong in [mixed, backwards, long] {
        assert_eq!(set(&mut caller, &add(NONE, vec![wrong])), (NONE, Retval::INVALID_VALUE));
    }
    assert_eq!(set(&mut caller, &add(7, vec![])), (NONE, Retval::NO_SUCH_ENTRY));
    assert_eq!(dump(&mut caller, NONE).len(), 1);
}

#[test]
fn lists_hold_where_interfaces_have_them() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.run("create packet-generator interface pg0").expect("there is room");
    let mut caller = Caller::connect(daemon.control());
    let caller = &mut caller;
    let pg0 = InterfaceIndex(1);
    for _ in 0..3 {
        assert_eq!(caller.request(&add(NONE, vec![])).expect("a reply").retval, 0);
    }
    let set = |caller: &mut Caller, n_input, acls: &[u32]| {
        let request = AclInterfaceSetAclList { sw_if_index: pg0, n_input, acls: acls.to_vec() };
        caller.request(&request).map(drop)
    };
    let known = |caller: &mut Caller| {
        let all = caller.dump(&AclInterfaceListDump { sw_if_index: pg0 });
        all.into_iter().map(|details| (details.n_input, details.acls)).collect::<Vec<_>>()
    };
    assert_eq!(set(caller, 0, &[]), Ok(()), "there was none");
    assert_eq!(known(caller), [(0, vec![])]);
    assert_eq!(set(caller, 2, &[2, 0, 1]), Ok(()));
    assert_eq!(known(caller), [(2, vec![2, 0, 1])]);
    assert_eq!(caller.dump(&AclInterfaceListDump { sw_if_index: InterfaceIndex(NONE) }).len(), 2, "local0, too");
    let del = |caller: &mut Caller, acl_index| caller.request(&AclDel { acl_index }).map(drop);
    assert_eq!((del(caller, 0), del(caller, 1)), (Err(Retval(-142)), Err(Retval(-143))));
    assert_eq!(set(caller, 1, &[0, 7]), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(set(caller, 2, &[0]), Err(Retval::INVALID_VALUE));
    assert!(set(caller, 2, &[0, 0]).is_err(), "a list is there once");
    let edit = |caller: &mut Caller, is_add, is_input, acl_index| {
        caller.request(&AclInterfaceAddDel { is_add, is_input, sw_if_index: pg0, acl_index }).map(drop)
    };
    assert_eq!((edit(caller, true, false, 0), edit(caller, true, false, 0)), (Ok(()), Ok(())));
    assert_eq!((edit(caller, false, true, 2), edit(caller, false, true, 2)), (Ok(()), Err(Retval::NO_SUCH_ENTRY)));
    assert_eq!(known(caller), [(1, vec![0, 1, 0])]);
    assert_eq!(set(caller, 0, &[]), Ok(()));
    assert_eq!((known(caller), del(caller, 0)), (vec![(0, vec![])], Ok(())));
    let nobody = AclInterfaceSetAclList { sw_if_index: InterfaceIndex(9), n_input: 0, acls: vec![] };
    assert_eq!(caller.request(&nobody).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn ethertypes_version_limit_and_counters() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.run("create packet-generator interface pg0").expect("there is room");
    let mut caller = Caller::connect(daemon.control());
    let caller = &mut caller;
    let version = caller.request(&AclPluginGetVersion {}).expect("a reply");
    assert_eq!(version, AclPluginGetVersionReply { major: 1, minor: 4 });
    let limit = caller.request(&AclPluginGetConnTableMaxEntries {}).expect("a reply");
    assert_eq!(limit, AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries: 1 << 19 });
    let sw_if_index = InterfaceIndex(1);
    let set = |caller: &mut Caller, n_input, whitelist: &[u16]| {
        let request = AclInterfaceSetEtypeWhitelist { sw_if_index, n_input, whitelist: whitelist.to_vec() };
        caller.request(&request).map(drop)
    };
    let known = |caller: &mut Caller| caller.dump(&AclInterfaceEtypeWhitelistDump { sw_if_index });
    assert_eq!((set(caller, 1, &[0x806, 0x88cc]), set(caller, 2, &[0x806])), (Ok(()), Err(Retval::INVALID_VALUE)));
    let details = AclInterfaceEtypeWhitelistDetails { sw_if_index, n_input: 1, whitelist: vec![0x806, 0x88cc] };
    assert_eq!(known(caller), [details]);
    assert_eq!((set(caller, 0, &[]), known(caller).len()), (Ok(()), 0));
    for enable in [true, false, false] {
        caller.request(&AclStatsIntfCountersEnable { enable }).map(drop).expect("it is there");
        let configured = daemon.run("show configuration").expect("a command").text;
        assert_eq!(configured.contains("counters: true"), enable, "{configured}");
    }
}
