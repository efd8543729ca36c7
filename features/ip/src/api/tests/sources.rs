//! Sources of routes, paths that are no next hops, and MTUs of paths, as clients say them.

use super::*;
use crate::api::broadcast::SwInterfaceSetIpDirectedBroadcast;
use crate::api::path_mtu::{IpPathMtu, IpPathMtuGet, IpPathMtuReplaceBegin, IpPathMtuReplaceEnd, IpPathMtuUpdate};
use crate::api::sources::{FibSource, FibSourceAdd, FibSourceDump};

fn source(caller: &mut Caller, name: &str, priority: u8) -> Result<u8, Retval> {
    let src = FibSource { priority, id: 0, name: name.into() };
    caller.request(&FibSourceAdd { src }).map(|reply| reply.id)
}

/// The sources that are there: names, numbers and priorities.
fn sources(caller: &mut Caller) -> Vec<(String, u8, u8)> {
    let all = caller.dump(&FibSourceDump);
    all.into_iter().map(|details| (details.src.name.0.clone(), details.src.id, details.src.priority)).collect()
}

fn set_as(caller: &mut Caller, src: u8, is_add: bool, to: &str, paths: &[FibPath]) -> Result<(), Retval> {
    let route = IpRoute { table_id: 0, stats_index: 0, prefix: prefix(to), paths: paths.to_vec() };
    caller.request(&IpRouteAddDelV2 { is_add, is_multipath: false, route: IpRouteV2 { route, src } }).map(drop)
}

fn routes_as(caller: &mut Caller, src: u8) -> Vec<(Prefix, u8)> {
    let all = caller.dump(&IpRouteV2Dump { src, table: table(0) });
    all.into_iter().map(|details| (details.route.route.prefix, details.route.src)).collect()
}

#[test]
fn routes_of_the_better_source_count() {
    let (daemon, mut caller) = house();
    let caller = &mut caller;
    let (one, two) = (index(&daemon, "pg1"), index(&daemon, "pg2"));
    let known = sources(caller);
    let api = known.iter().find(|(name, ..)| name == "API").expect("it is there").clone();
    let (better, worse) = (source(caller, "bgp", api.2 - 1), source(caller, "rip", api.2 + 1));
    let (better, worse) = (better.expect("added"), worse.expect("added"));
    assert_eq!(source(caller, "bgp", api.2 - 1), Ok(better), "it is there already");
    assert!(source(caller, "bgp", 3).is_err() && source(caller, "interface", 3).is_err());
    assert_eq!(sources(caller).len(), known.len() + 2);
    assert_eq!(set_as(caller, 99, true, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Err(Retval::INVALID_VALUE));

    set_as(caller, worse, true, "10.9.0.0/16", &[via(one, "10.0.0.9")]).expect("adds");
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(one, "10.0.0.9")]));
    set_as(caller, 0, true, "10.9.0.0/16", &[via(one, "10.0.0.2")]).expect("adds");
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(one, "10.0.0.2")]));
    set_as(caller, better, true, "10.9.0.0/16", &[via(two, "10.1.0.2")]).expect("adds");
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(two, "10.1.0.2")]));
    for src in [0, api.1, better, worse] {
        assert!(routes_as(caller, src).contains(&(prefix("10.9.0.0/16"), better)), "as {src}");
    }
    set_as(caller, better, false, "10.9.0.0/16", &[]).expect("deletes");
    set_as(caller, better, false, "10.9.0.0/16", &[]).expect("nothing to be deleted is no error");
    set_as(caller, 0, false, "10.9.0.0/16", &[]).expect("deletes");
    assert_eq!(routes_as(caller, worse), [(prefix("10.9.0.0/16"), worse)]);
    set_as(caller, worse, false, "10.9.0.0/16", &[]).expect("deletes");
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), None);
}

#[test]
fn paths_that_are_no_next_hops_come_back_as_they_were_said() {
    let (mut daemon, mut caller) = house();
    let caller = &mut caller;
    let one = index(&daemon, "pg1");
    daemon.run("ip table add 5").expect("adds");
    let said = [
        FibPath { table_id: 5, ..via(NONE, "0.0.0.0") },
        FibPath { table_id: 5, r#type: FibPathType::SourceLookup, ..via(NONE, "0.0.0.0") },
        FibPath { r#type: FibPathType::InterfaceRx, ..via(one, "0.0.0.0") },
        FibPath { r#type: FibPathType::Dvr, ..via(one, "0.0.0.0") },
        FibPath { preference: 3, ..via(one, "10.0.0.2") },
    ];
    for path in said {
        set(caller, true, false, 0, "10.9.0.0/16", std::slice::from_ref(&path)).expect("adds");
        let all = caller.dump(&IpRouteDump { table: table(0) });
        let found = all.into_iter().find(|details| details.route.prefix == prefix("10.9.0.0/16")).expect("it is there");
        let told = &found.route.paths[0];
        assert_eq!(
            (told.r#type, told.table_id, told.sw_if_index, told.preference),
            (path.r#type, path.table_id, path.sw_if_index, path.preference)
        );
    }
}

#[test]
fn mtus_of_paths_are_set_replaced_and_swept() {
    let (_daemon, mut caller) = house();
    let caller = &mut caller;
    let update = |caller: &mut Caller, peer: &str, path_mtu| {
        let peer: std::net::IpAddr = peer.parse().expect(peer);
        let pmtu = IpPathMtu { nh: peer.into(), path_mtu, ..IpPathMtu::default() };
        caller.request(&IpPathMtuUpdate { pmtu }).map(drop)
    };
    let known = |caller: &mut Caller| -> Vec<u16> {
        let (all, end) = caller.stream(&IpPathMtuGet { cursor: 0 });
        assert_eq!(end.expect("ends").cursor, NONE);
        all.into_iter().map(|details| details.pmtu.path_mtu).collect()
    };
    assert_eq!(update(caller, "10.0.0.2", 900), Ok(()));
    assert_eq!(update(caller, "2001:db8::2", 1300), Ok(()));
    assert!(update(caller, "2001:db8::2", 1000).is_err() && update(caller, "224.0.0.1", 900).is_err());
    assert_eq!(known(caller), [900, 1300]);
    caller.request(&IpPathMtuReplaceBegin).expect("marks");
    assert_eq!(update(caller, "10.0.0.2", 800), Ok(()));
    caller.request(&IpPathMtuReplaceEnd).expect("sweeps");
    assert_eq!(known(caller), [800]);
    assert_eq!((update(caller, "10.0.0.2", 0), update(caller, "10.0.0.2", 0)), (Ok(()), Ok(())));
    assert_eq!(known(caller), Vec::<u16>::new());
    let pmtu = IpPathMtu {
        table_id: 9,
        nh: std::net::IpAddr::from([10, 0, 0, 2]).into(),
        path_mtu: 900,
        ..IpPathMtu::default()
    };
    assert_eq!(caller.request(&IpPathMtuUpdate { pmtu }).err(), Some(Retval::NO_SUCH_FIB));
}

#[test]
fn directed_broadcasts_are_switched() {
    let (mut daemon, mut caller) = house();
    daemon.configure("set interface state pg1 up\nset interface ip address pg1 10.0.0.1/24");
    let sw_if_index = InterfaceIndex(index(&daemon, "pg1"));
    let mut switch = |enable| caller.request(&SwInterfaceSetIpDirectedBroadcast { sw_if_index, enable }).map(drop);
    assert_eq!((switch(true), switch(true)), (Ok(()), Ok(())));
    let shown = daemon.run("show ip fib").expect("shows").text;
    assert!(shown.contains("ffffffffffff"), "{shown}");
    assert_eq!((switch(false), switch(false)), (Ok(()), Ok(())));
}
