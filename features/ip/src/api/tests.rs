//! The messages, by a client, against what is configured and what routes there are.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quiver_compat::types::{
    AddressFamily, AddressUnion, AddressWithPrefix, FibPath, FibPathFlags, FibPathNh, FibPathNhProto, FibPathType,
    InterfaceIndex, IpRoute, NONE, Prefix,
};
use quiver_compat::{Caller, Retval, Text};
use quiver_interface::Interfaces;
use quiver_testkit::daemon::{Daemon, Setup};

use super::addresses::*;
use super::fields::*;
use super::link_local::*;
use super::routes::*;
use super::tables::*;
use super::unnumbered::{IpUnnumberedDump, SwInterfaceSetUnnumbered};
use super::*;
use crate::config::objects::{self, InterfaceAddress, NoRoute, Route, TableDefaults, TableNumber};
use crate::config::room::Ip4;
use crate::fib::{TableId, Target};

#[path = "../../tests/ends/mod.rs"]
mod ends;

/// A daemon with packet generators pg1 and pg2, and a client.
fn house() -> (Daemon, Caller) {
    let rooms = quiver_scenarios::rooms![quiver_interface, quiver_ethernet, quiver_ip, ends, quiver_pg];
    let mut daemon = Daemon::new(rooms, Setup::default()).expect("a daemon");
    daemon.configure("create packet-generator interface pg1\ncreate packet-generator interface pg2");
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

fn index(daemon: &Daemon, name: &str) -> u32 {
    daemon.control().room::<Interfaces>().find(name).expect("it is there").id.0
}

fn prefix(text: &str) -> Prefix {
    text.parse::<quiver_wire::Prefix<quiver_wire::V4>>().expect(text).into()
}

fn via(sw_if_index: u32, next_hop: &str) -> FibPath {
    let address = AddressUnion::new(next_hop.parse::<IpAddr>().expect(next_hop));
    FibPath { sw_if_index, weight: 1, nh: FibPathNh { address, ..FibPathNh::default() }, ..FibPath::default() }
}

fn special(r#type: FibPathType) -> FibPath {
    FibPath { sw_if_index: NONE, weight: 1, r#type, ..FibPath::default() }
}

fn set(
    caller: &mut Caller,
    is_add: bool,
    is_multipath: bool,
    table_id: u32,
    to: &str,
    paths: &[FibPath],
) -> Result<(), Retval> {
    let route = IpRoute { table_id, stats_index: 0, prefix: prefix(to), paths: paths.to_vec() };
    let newer = IpRouteAddDelV2 { is_add, is_multipath, route: IpRouteV2 { route: route.clone(), src: 0 } };
    match is_multipath {
        // Both forms do the same.
        true => caller.request(&newer).map(drop),
        false => caller.request(&IpRouteAddDel { is_add, is_multipath, route }).map(drop),
    }
}

fn table(table_id: u32) -> IpTable {
    IpTable { table_id, is_ip6: false, name: Text::default() }
}

/// The paths of a route in the dump of its table: interfaces and next hops.
fn dumped(caller: &mut Caller, id: u32, to: &str) -> Option<Vec<(u32, Ipv4Addr)>> {
    let all = caller.dump(&IpRouteDump { table: table(id) });
    let newer = caller.dump(&IpRouteV2Dump { src: 0, table: table(id) });
    assert_eq!(all.len(), newer.len());
    let found = all.into_iter().find(|details| details.route.prefix == prefix(to))?;
    let hop = |path: &FibPath| {
        let std::net::IpAddr::V4(next_hop) = path.nh.address.get(AddressFamily::Ip4) else { unreachable!("IPv4") };
        (path.sw_if_index, next_hop)
    };
    Some(found.route.paths.iter().map(hop).collect())
}

fn hop(sw_if_index: u32, text: &str) -> (u32, Ipv4Addr) {
    (sw_if_index, text.parse().expect(text))
}

fn address(caller: &mut Caller, is_add: bool, sw_if_index: u32, own: &str, len: u8) -> Result<(), Retval> {
    let own: std::net::IpAddr = own.parse().expect(own);
    let prefix = AddressWithPrefix(Prefix { address: own.into(), len });
    let request = SwInterfaceAddDelAddress { sw_if_index: InterfaceIndex(sw_if_index), is_add, del_all: false, prefix };
    caller.request(&request).map(drop)
}

#[test]
fn routes_and_their_paths_are_added_and_deleted() {
    let (daemon, mut caller) = house();
    let (one, two) = (index(&daemon, "pg1"), index(&daemon, "pg2"));
    let caller = &mut caller;
    assert_eq!(set(caller, true, false, 0, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(one, "10.0.0.2")]));
    assert_eq!(set(caller, true, true, 0, "10.9.0.0/16", &[via(two, "10.1.0.2")]), Ok(()));
    let both = dumped(caller, 0, "10.9.0.0/16").expect("it is there");
    assert!(both.len() == 2 && both.contains(&hop(two, "10.1.0.2")), "{both:?}");
    assert_eq!(set(caller, false, true, 0, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(two, "10.1.0.2")]));
    // Without `is_multipath` the paths are the new ones.
    assert_eq!(set(caller, true, false, 0, "10.9.0.0/16", &[special(FibPathType::Drop)]), Ok(()));
    let key = (TableNumber::DEFAULT, "10.9.0.0/16".parse().expect("a prefix"));
    let configured = daemon.control().objects().get::<Route<V4>>(&key).expect("it is configured");
    assert_eq!(configured.paths[0].action, Some(crate::config::objects::RouteAction::Drop));
    assert_eq!(set(caller, false, false, 0, "10.9.0.0/16", &[]), Ok(()));
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), None);
    assert_eq!(set(caller, false, false, 0, "10.9.0.0/16", &[]), Ok(()), "whether or not it is there");

    // The last path takes the route along.
    assert_eq!(set(caller, true, true, 0, "10.9.0.0/16", &[via(NONE, "10.0.0.2")]), Ok(()));
    assert_eq!(dumped(caller, 0, "10.9.0.0/16"), Some(vec![hop(NONE, "10.0.0.2")]));
    assert_eq!(set(caller, false, true, 0, "10.9.0.0/16", &[via(NONE, "10.0.0.2")]), Ok(()));
    assert!(daemon.control().objects().get::<Route<V4>>(&key).is_none());
}

#[test]
fn what_routes_cannot_do_is_refused() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    let mut refused = |path: FibPath| set(&mut caller, true, false, 0, "10.9.0.0/16", &[path]);
    let good = via(one, "10.0.0.2");
    let flags = FibPathFlags::RESOLVE_VIA_HOST;
    for (path, retval) in [
        (FibPath { n_labels: 1, ..good.clone() }, Retval::UNIMPLEMENTED),
        (FibPath { flags, ..good.clone() }, Retval::UNIMPLEMENTED),
        (FibPath { rpf_id: 7, ..good.clone() }, Retval::UNIMPLEMENTED),
        (FibPath { proto: FibPathNhProto::Mpls, ..good.clone() }, Retval::INVALID_ADDRESS_FAMILY),
        (FibPath { table_id: 5, proto: FibPathNhProto::Ip6, ..via(NONE, "2001:db8::2") }, Retval::UNIMPLEMENTED),
        (special(FibPathType::Classify), Retval::UNIMPLEMENTED),
        (FibPath { table_id: 5, ..via(NONE, "0.0.0.0") }, Retval::NO_SUCH_FIB),
        (via(99, "10.0.0.2"), Retval::INVALID_SW_IF_INDEX),
        (FibPath { table_id: 5, ..via(NONE, "10.0.0.2") }, Retval::NO_SUCH_FIB),
    ] {
        assert_eq!(refused(path.clone()), Err(retval), "{path:?}");
    }
    assert_eq!(set(&mut caller, true, false, 0, "10.9.0.0/16", &[]), Err(Retval::NO_PATHS_IN_ROUTE));
    assert_eq!(set(&mut caller, true, false, 5, "10.9.0.0/16", std::slice::from_ref(&good)), Err(Retval::NO_SUCH_FIB));
    let route = IpRoute { paths: vec![good], prefix: prefix("10.9.0.0/16"), ..IpRoute::default() };
    let sourced = IpRouteAddDelV2 { is_add: true, is_multipath: false, route: IpRouteV2 { route, src: 3 } };
    assert_eq!(caller.request(&sourced).err(), Some(Retval::INVALID_VALUE));
    assert_eq!(dumped(&mut caller, 0, "10.9.0.0/16"), None);
}

#[test]
fn next_hops_of_the_other_family_are_told_as_such() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    let by = |interface, address| FibPath { proto: FibPathNhProto::Ip6, ..via(interface, address) };
    for (interface, address) in [(one, "fe80::2"), (NONE, "2001:db8::2")] {
        let path = by(interface, address);
        assert_eq!(set(&mut caller, true, false, 0, "10.9.0.0/16", std::slice::from_ref(&path)), Ok(()));
        let lookup = IpRouteLookup { table_id: 0, exact: 1, prefix: prefix("10.9.0.0/16") };
        let found = caller.request(&lookup).expect("it is there").route.paths;
        let [found] = &found[..] else { panic!("one path") };
        assert_eq!(
            (found.sw_if_index, found.proto, found.nh.address),
            (interface, FibPathNhProto::Ip6, path.nh.address)
        );
    }
    assert_eq!(set(&mut caller, false, false, 0, "10.9.0.0/16", &[]), Ok(()));
    let ip = daemon.control().room::<crate::Ip6>();
    assert!(
        ip.fib.groups.iter().all(|(_, group)| group
            .paths
            .iter()
            .all(|path| { !matches!(path.target, Target::Recursive(..) | Target::NextHop(..)) })),
        "nothing is held that no route leads to"
    );
}

#[test]
fn routes_are_looked_up() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    for (to, next_hop) in [("10.0.0.0/8", "10.0.0.2"), ("10.9.0.0/16", "10.0.0.3")] {
        assert_eq!(set(&mut caller, true, false, 0, to, &[via(one, next_hop)]), Ok(()));
    }
    let mut look_up = |exact: u8, to: &str| {
        let newer = caller.request(&IpRouteLookupV2 { table_id: 0, exact, prefix: prefix(to) });
        let older = caller.request(&IpRouteLookup { table_id: 0, exact, prefix: prefix(to) });
        let (newer, older) = (newer.map(|reply| reply.route.route.prefix), older.map(|reply| reply.route.prefix));
        assert_eq!(newer, older);
        older
    };
    assert_eq!(look_up(0, "10.9.8.7/32"), Ok(prefix("10.9.0.0/16")));
    assert_eq!(look_up(0, "10.8.0.0/14"), Ok(prefix("10.0.0.0/8")), "not one that is longer");
    assert_eq!(look_up(1, "10.9.0.0/16"), Ok(prefix("10.9.0.0/16")));
    assert_eq!(look_up(1, "10.9.8.0/24"), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(look_up(0, "11.0.0.0/8"), Err(Retval::NO_SUCH_ENTRY));
    let nowhere = caller.request(&IpRouteLookup { table_id: 9, exact: 0, prefix: prefix("10.0.0.0/8") });
    assert_eq!(nowhere.err(), Some(Retval::NO_SUCH_TABLE));
}

#[test]
fn a_route_says_where_it_is_counted() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    let counting = objects::IpTable { counters: true, ..objects::IpTable::<V4>::new(7) };
    daemon.control().put(counting).expect("there is room");
    let mut added = |table_id| {
        let route =
            IpRoute { table_id, prefix: prefix("10.9.0.0/16"), paths: vec![via(one, "10.0.0.2")], stats_index: 0 };
        let newer =
            IpRouteAddDelV2 { is_add: true, is_multipath: false, route: IpRouteV2 { route: route.clone(), src: 0 } };
        let newer = caller.request(&newer).expect("there is room").stats_index;
        let older = IpRouteAddDel { is_add: true, is_multipath: false, route };
        assert_eq!(caller.request(&older).expect("there is room").stats_index, newer);
        let exact = IpRouteLookup { table_id, exact: 1, prefix: prefix("10.9.0.0/16") };
        assert_eq!(caller.request(&exact).expect("it is there").route.stats_index, newer);
        newer
    };
    assert_eq!(added(0), NONE);
    let place = added(7);
    let ip = daemon.control().room::<Ip4>();
    let number = ip.fib.table(TableId(7)).and_then(|table| table.number(&"10.9.0.0/16".parse().expect("a prefix")));
    assert_eq!(Some(place), number);
}

#[test]
fn packets_without_a_route_go_the_daemons_way_or_the_tables() {
    let (daemon, mut caller) = house();
    let everything = "0.0.0.0/0";
    assert_eq!(dumped(&mut caller, 0, everything), None);
    let silent = TableDefaults { no_route: NoRoute::Drop, ..TableDefaults::default() };
    crate::set_table_defaults(daemon.control(), silent).expect("there is room");
    let lookup = IpRouteLookup { table_id: 0, exact: 0, prefix: prefix("99.0.0.1/32") };
    let found = caller.request(&lookup).expect("there is one for everything").route;
    assert_eq!((found.prefix, found.paths[0].r#type), (prefix(everything), FibPathType::Drop));
    caller.request(&IpTableAddDel { is_add: true, table: table(7) }).expect("there is room");
    assert!(dumped(&mut caller, 7, everything).is_some());
    caller.request(&IpTableFlush { table: table(7) }).expect("it is there");
    assert!(dumped(&mut caller, 7, everything).is_some(), "clients did not make it");
    for id in [0, 7] {
        let telling = objects::IpTable { no_route: Some(NoRoute::Unreachable), ..objects::IpTable::<V4>::new(id) };
        daemon.control().put(telling).expect("it may change");
        assert_eq!(dumped(&mut caller, id, everything), None);
    }
    daemon.control().delete::<objects::IpTable<V4>>(&0).expect("it is configured");
    assert!(dumped(&mut caller, 0, everything).is_some(), "the daemon's way again");
}

#[test]
fn tables_come_and_go_with_their_routes() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    let named = IpTable { name: "red".into(), ..table(7) };
    let add = IpTableAddDelV2 { table: named.clone(), create_mfib: true, is_add: true };
    caller.request(&add).expect("there is room");
    caller.request(&IpTableAddDel { is_add: true, table: table(7) }).expect("it is there already");
    let allocate = IpTableAllocate { table: table(NONE) };
    let free = daemon.executor().block_on(caller.waiting(&allocate)).expect("there is room").table.table_id;
    let tables =
        |caller: &mut Caller| caller.dump(&IpTableDump).into_iter().map(|details| details.table).collect::<Vec<_>>();
    let all = tables(&mut caller);
    assert!(all.contains(&named) && all.iter().any(|table| table.table_id == free) && all.len() == 4, "{all:?}");

    assert_eq!(set(&mut caller, true, false, 7, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    assert_eq!(dumped(&mut caller, 0, "10.9.0.0/16"), None);
    caller.request(&IpTableFlush { table: table(7) }).expect("it is there");
    assert_eq!(dumped(&mut caller, 7, "10.9.0.0/16"), None);
    assert_eq!(set(&mut caller, true, false, 7, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    for id in [7, free, 7, 0] {
        caller.request(&IpTableAddDel { is_add: false, table: table(id) }).expect("whether or not it is there");
    }
    let of_ip6 = IpTable { name: "ipv6-VRF:0".into(), is_ip6: true, ..table(0) };
    assert_eq!(tables(&mut caller), [IpTable { name: "ipv4-VRF:0".into(), ..table(0) }, of_ip6]);
    assert!(daemon.control().objects().all::<Route<V4>>().is_empty());
    assert_eq!(caller.request(&IpTableFlush { table: table(7) }).err(), Some(Retval::NO_SUCH_FIB));
}

#[test]
fn a_table_that_is_deleted_stays_as_long_as_an_interface_is_bound_to_it() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    let is_there = |caller: &mut Caller| caller.dump(&IpTableDump).iter().any(|details| details.table.table_id == 7);
    let change = |is_add| IpTableAddDelV2 { table: table(7), create_mfib: true, is_add };
    let bind = |vrf_id| SwInterfaceSetTable { sw_if_index: InterfaceIndex(one), is_ipv6: false, vrf_id };
    caller.request(&change(true)).expect("there is room");
    caller.request(&bind(7)).expect("it is there");
    assert_eq!(set(&mut caller, true, false, 7, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    caller.request(&change(false)).expect("whoever uses it");
    assert!(is_there(&mut caller) && dumped(&mut caller, 7, "10.9.0.0/16").is_none());
    caller.request(&bind(0)).expect("always there");
    assert!(!is_there(&mut caller), "the last user takes it along");

    // Who adds it again keeps it.
    caller.request(&change(true)).expect("there is room");
    caller.request(&bind(7)).expect("it is there");
    caller.request(&change(false)).expect("whoever uses it");
    caller.request(&change(true)).expect("it is there");
    caller.request(&bind(0)).expect("always there");
    assert!(is_there(&mut caller));
}

/// Adds table 7, with so many routes.
fn fill(daemon: &Daemon, caller: &mut Caller, count: u32) {
    caller.request(&IpTableAddDel { is_add: true, table: table(7) }).expect("there is room");
    let one = index(daemon, "pg1");
    for number in 0..count {
        let to = Ipv4Addr::from_bits((10 << 24) + (number << 8));
        assert_eq!(set(caller, true, false, 7, &format!("{to}/24"), &[via(one, "10.0.0.2")]), Ok(()));
    }
}

/// Result of the first poll of a future.
fn begun<F: Future + Unpin>(mut work: F) -> Poll<F::Output> {
    Pin::new(&mut work).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_table_is_deleted_whole_though_its_client_leaves_and_what_others_ask_comes_behind_that() {
    const ROUTES: u32 = 300;
    let (daemon, mut caller) = house();
    let mut other = Caller::connect(daemon.control());
    fill(&daemon, &mut caller, ROUTES);
    let left = || daemon.control().objects().all::<Route<V4>>().len();
    assert!(begun(Box::pin(caller.waiting(&IpTableAddDel { is_add: false, table: table(7) }))).is_pending());
    drop(caller);
    assert!((1..ROUTES as usize).contains(&left()), "{} routes are left", left());

    let one = index(&daemon, "pg1");
    assert_eq!(set(&mut other, true, false, 7, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Err(Retval::NO_SUCH_FIB));
    let (mut third, allocate) = (Caller::connect(daemon.control()), IpTableAllocate { table: table(7) });
    let mut allocating = Box::pin(third.waiting(&allocate));
    assert!(begun(&mut allocating).is_pending());
    let again = IpTableAddDel { is_add: true, table: table(7) };
    assert_eq!(daemon.executor().block_on(other.waiting(&again)).map(drop), Ok(()));
    assert_eq!(left(), 0, "what it was added behind has come to its end");
    assert_eq!(daemon.executor().block_on(allocating).map(|reply| reply.table.table_id), Ok(7));
    assert_eq!(set(&mut other, true, false, 7, "10.9.0.0/16", &[via(one, "10.0.0.2")]), Ok(()));
    daemon.executor().run_for(Duration::from_secs(5));
    assert!(dumped(&mut other, 7, "10.9.0.0/16").is_some());
}

#[test]
fn a_table_that_is_configured_anew_while_it_is_deleted_stays_and_its_client_is_told() {
    let (daemon, mut caller) = house();
    fill(&daemon, &mut caller, 300);
    let delete = IpTableAddDel { is_add: false, table: table(7) };
    let mut deleting = Box::pin(caller.waiting(&delete));
    assert!(begun(&mut deleting).is_pending());
    let named = objects::IpTable { name: Some("kept".into()), ..objects::IpTable::<V4>::new(7) };
    daemon.control().put(named).expect("it may change");
    assert_eq!(daemon.executor().block_on(deleting).err(), Some(Retval::INSTANCE_IN_USE));
    daemon.executor().run_for(Duration::from_secs(5));
    assert!(daemon.control().objects().get::<objects::IpTable<V4>>(&7).is_some());
    assert!(!daemon.control().objects().all::<Route<V4>>().is_empty());
}

#[test]
fn a_deleted_table_goes_with_its_last_user_whoever_takes_that_away() {
    let (daemon, mut caller) = house();
    let one = InterfaceIndex(index(&daemon, "pg1"));
    let is_there = || daemon.control().objects().get::<objects::IpTable<V4>>(&7).is_some();
    caller.request(&IpTableAddDel { is_add: true, table: table(7) }).expect("there is room");
    caller.request(&SwInterfaceSetTable { sw_if_index: one, is_ipv6: false, vrf_id: 7 }).expect("it is there");
    caller.request(&IpTableAddDel { is_add: false, table: table(7) }).expect("whoever uses it");
    daemon.executor().run_for(Duration::from_secs(5));
    assert!(is_there(), "pg1 uses it");
    crate::config::edits::put_table::<V4>(daemon.control(), quiver_interface::InterfaceName("pg1".into()), 0)
        .expect("always there");
    daemon.executor().run_for(Duration::from_secs(5));
    assert!(!is_there());
}

#[test]
fn the_routes_of_a_table_are_replaced() {
    let (daemon, mut caller) = house();
    let one = index(&daemon, "pg1");
    for to in ["10.1.0.0/16", "10.2.0.0/16"] {
        assert_eq!(set(&mut caller, true, false, 0, to, &[via(one, "10.0.0.2")]), Ok(()));
    }
    caller.request(&IpTableReplaceBegin { table: table(0) }).expect("it is there");
    for to in ["10.2.0.0/16", "10.3.0.0/16"] {
        assert_eq!(set(&mut caller, true, false, 0, to, &[via(one, "10.0.0.2")]), Ok(()));
    }
    assert!(dumped(&mut caller, 0, "10.1.0.0/16").is_some(), "not yet");
    caller.request(&IpTableReplaceEnd { table: table(0) }).expect("it is there");
    let left = ["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"].map(|to| dumped(&mut caller, 0, to).is_some());
    assert_eq!(left, [false, true, true]);
}

#[test]
fn a_route_that_somebody_wants_while_the_old_ones_are_removed_stays() {
    let (daemon, mut caller) = house();
    let mut other = Caller::connect(daemon.control());
    fill(&daemon, &mut caller, 300);
    caller.request(&IpTableReplaceBegin { table: table(7) }).expect("it is there");
    let end = IpTableReplaceEnd { table: table(7) };
    let mut ending = Box::pin(caller.waiting(&end));
    assert!(begun(&mut ending).is_pending());
    let left = || daemon.control().objects().all::<Route<V4>>();
    let wanted = left().first().expect("some are left").prefix;
    let one = index(&daemon, "pg1");
    assert_eq!(set(&mut other, true, false, 7, &wanted.to_string(), &[via(one, "10.0.0.2")]), Ok(()));
    assert_eq!(daemon.executor().block_on(ending).map(drop), Ok(()));
    assert_eq!(left().iter().map(|route| route.prefix).collect::<Vec<_>>(), [wanted]);
}

#[test]
fn interfaces_have_addresses_and_tables() {
    let (mut daemon, mut caller) = house();
    daemon.configure("set interface state pg1 up");
    let (one, two) = (index(&daemon, "pg1"), index(&daemon, "pg2"));
    assert_eq!(address(&mut caller, true, one, "10.0.0.1", 24), Ok(()));
    assert_eq!(address(&mut caller, true, one, "10.0.0.1", 24), Err(Retval::DUPLICATE_IF_ADDRESS));
    assert_eq!(address(&mut caller, true, two, "ff02::1", 64).err(), Some(Retval::INVALID_VALUE));
    assert_eq!(address(&mut caller, true, 99, "10.0.0.1", 24), Err(Retval::INVALID_SW_IF_INDEX));
    let dump = |caller: &mut Caller, sw_if_index, is_ipv6| {
        caller.dump(&IpAddressDump { sw_if_index: InterfaceIndex(sw_if_index), is_ipv6 })
    };
    let own = AddressWithPrefix(Prefix { address: Ipv4Addr::new(10, 0, 0, 1).into(), len: 24 });
    assert_eq!(dump(&mut caller, one, false), [IpAddressDetails { sw_if_index: InterfaceIndex(one), prefix: own }]);
    assert!(dump(&mut caller, one, true).is_empty() && dump(&mut caller, two, false).is_empty());
    let speaking = caller.dump(&IpDump { is_ipv6: false });
    assert_eq!(speaking, [IpDetails { sw_if_index: InterfaceIndex(one), is_ipv6: false }]);
    assert!(caller.dump(&IpDump { is_ipv6: true }).is_empty());

    caller.request(&IpTableAddDel { is_add: true, table: table(7) }).expect("there is room");
    let mut bind = |vrf_id, is_ipv6| {
        caller.request(&SwInterfaceSetTable { sw_if_index: InterfaceIndex(one), is_ipv6, vrf_id }).map(drop)
    };
    assert_eq!((bind(7, false), bind(8, false)), (Ok(()), Err(Retval::NO_SUCH_FIB)));
    assert_eq!(bind(7, true), Err(Retval::NO_SUCH_FIB));
    let of = |caller: &mut Caller, is_ipv6| {
        caller.request(&SwInterfaceGetTable { sw_if_index: InterfaceIndex(one), is_ipv6 }).map(|reply| reply.vrf_id)
    };
    assert_eq!((of(&mut caller, false), of(&mut caller, true)), (Ok(7), Ok(0)));
    let of_address = dumped(&mut caller, 7, "10.0.0.1/32").expect("the address went along");
    assert_eq!(of_address[0].0, one, "clients find the interface there");

    // Replaced: the old one goes, the one that is named again stays.
    assert_eq!(address(&mut caller, true, one, "10.0.1.1", 24), Ok(()));
    caller.request(&SwInterfaceAddressReplaceBegin).expect("done");
    assert_eq!(address(&mut caller, true, one, "10.0.1.1", 24), Ok(()));
    caller.request(&SwInterfaceAddressReplaceEnd).expect("done");
    let left: Vec<_> =
        daemon.control().objects().all::<InterfaceAddress<V4>>().iter().map(|a| a.address.to_string()).collect();
    assert_eq!(left, ["10.0.1.1/24"]);
    // What is marked gives way to what shall be there, on another interface of the table.
    let bind = SwInterfaceSetTable { sw_if_index: InterfaceIndex(two), is_ipv6: false, vrf_id: 7 };
    caller.request(&bind).expect("there is one");
    assert_eq!(address(&mut caller, true, two, "10.0.1.9", 24), Err(Retval::INVALID_VALUE));
    caller.request(&SwInterfaceAddressReplaceBegin).expect("done");
    assert_eq!(address(&mut caller, true, two, "10.0.1.9", 24), Ok(()));
    caller.request(&SwInterfaceAddressReplaceEnd).expect("done");
    assert_eq!((dump(&mut caller, one, false).len(), dump(&mut caller, two, false).len()), (0, 1));
    assert_eq!(address(&mut caller, false, two, "10.0.1.9", 24), Ok(()));
    assert_eq!(address(&mut caller, false, one, "10.0.0.1", 24), Err(Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE));
    assert_eq!(address(&mut caller, true, one, "10.0.2.1", 24), Ok(()));
    let prefix = AddressWithPrefix::default();
    let all = SwInterfaceAddDelAddress { sw_if_index: InterfaceIndex(one), is_add: false, del_all: true, prefix };
    caller.request(&all).expect("done");
    assert!(daemon.control().objects().all::<InterfaceAddress<V4>>().is_empty());
}

#[test]
fn interfaces_use_the_addresses_of_others() {
    let (daemon, mut caller) = house();
    let (lender, user) = (index(&daemon, "pg1"), index(&daemon, "pg2"));
    assert_eq!(address(&mut caller, true, lender, "10.0.0.1", 24), Ok(()));
    let set = |lender, user, is_add| SwInterfaceSetUnnumbered {
        sw_if_index: InterfaceIndex(lender),
        unnumbered_sw_if_index: InterfaceIndex(user),
        is_add,
    };
    let dump = |caller: &mut Caller, sw_if_index| {
        let found = caller.dump(&IpUnnumberedDump { sw_if_index: InterfaceIndex(sw_if_index) });
        found.iter().map(|details| (details.sw_if_index.0, details.ip_sw_if_index.0)).collect::<Vec<_>>()
    };
    assert_eq!(dump(&mut caller, NONE), []);
    caller.request(&set(lender, user, true)).expect("both are there");
    assert_eq!(dump(&mut caller, NONE), [(user, lender)]);
    assert_eq!((dump(&mut caller, user), dump(&mut caller, lender)), (vec![(user, lender)], vec![]));
    let own = |daemon: &Daemon| {
        let interface = daemon.control().room::<Interfaces>().find("pg2").expect("it is there").id;
        daemon.control().room::<Ip4>().current().addresses(interface).len()
    };
    assert_eq!(own(&daemon), 1, "it speaks by the address of the other one");
    for (request, retval) in [
        (set(lender, lender, true), Retval::INVALID_VALUE),
        (set(99, user, true), Retval::INVALID_SW_IF_INDEX),
        (set(lender, 99, true), Retval::INVALID_SW_IF_INDEX),
    ] {
        assert_eq!(caller.request(&request).map(drop), Err(retval));
    }
    caller.request(&set(lender, user, false)).expect("it does");
    caller.request(&set(lender, user, false)).expect("it does no more");
    assert_eq!((dump(&mut caller, NONE), own(&daemon)), (vec![], 0));
}

#[test]
fn interfaces_speak_ip6_without_an_address_of_their_own_choosing() {
    let (daemon, mut caller) = house();
    let sw_if_index = InterfaceIndex(index(&daemon, "pg1"));
    let enable = |caller: &mut Caller, enable| {
        caller.request(&SwInterfaceIp6EnableDisable { sw_if_index, enable }).expect("done");
        let speaking = caller.dump(&IpDump { is_ipv6: true });
        let own = caller.request(&SwInterfaceIp6GetLinkLocalAddress { sw_if_index }).map(|reply| reply.ip.to_string());
        (speaking.len(), own)
    };
    // Of the MAC address that the packet generator makes of its name.
    let mac = daemon.control().room::<Interfaces>().find("pg1").expect("it is there").mac;
    let made = quiver_wire::nd::link_local(mac).to_string();
    assert_eq!(enable(&mut caller, false), (0, Err(Retval::IP6_NOT_ENABLED)));
    assert_eq!(enable(&mut caller, true), (1, Ok(made)));
    let ip = "fe80::77".parse().expect("an address");
    caller.request(&SwInterfaceIp6SetLinkLocalAddress { sw_if_index, ip }).expect("done");
    assert_eq!(enable(&mut caller, true), (1, Ok("fe80::77".into())));
    // What VPP's clients know as an address of the interface.
    assert_eq!(address(&mut caller, true, sw_if_index.0, "fe80::78", 64), Ok(()));
    assert_eq!(enable(&mut caller, true), (1, Ok("fe80::78".into())));
    assert_eq!(address(&mut caller, false, sw_if_index.0, "fe80::78", 64), Err(Retval::ADDRESS_NOT_DELETABLE));
    assert_eq!(enable(&mut caller, false), (0, Err(Retval::IP6_NOT_ENABLED)));
    assert_eq!(address(&mut caller, true, sw_if_index.0, "2001:db8::1", 64), Ok(()));
    assert!(enable(&mut caller, false).1.is_ok(), "with an address it speaks all the same");
}

#[test]
fn routes_and_tables_of_ip6_are_others_than_those_of_ip4() {
    let (daemon, mut caller) = house();
    let pg1 = index(&daemon, "pg1");
    assert_eq!(address(&mut caller, true, pg1, "2001:db8::1", 64), Ok(()));
    let table = |is_ip6| IpTable { table_id: 7, is_ip6, name: "red".into() };
    caller.request(&IpTableAddDel { is_add: true, table: table(true) }).expect("done");
    let tables = |caller: &mut Caller| {
        let all = caller.dump(&IpTableDump).into_iter().map(|details| (details.table.table_id, details.table.is_ip6));
        all.collect::<Vec<_>>()
    };
    assert_eq!(tables(&mut caller), [(0, false), (0, true), (7, true)]);
    let path = FibPath {
        sw_if_index: pg1,
        weight: 1,
        proto: FibPathNhProto::Ip6,
        nh: FibPathNh { address: AddressUnion::new("2001:db8::2".parse().expect("one")), ..FibPathNh::default() },
        ..FibPath::default()
    };
    let to: Prefix = "2001:db8:9::/48".parse::<quiver_wire::Prefix<quiver_wire::V6>>().expect("a prefix").into();
    let route = IpRoute { table_id: 0, stats_index: 0, prefix: to, paths: vec![path.clone()] };
    caller.request(&IpRouteAddDel { is_add: true, is_multipath: false, route: route.clone() }).expect("done");
    let wrong = IpRoute { paths: vec![FibPath { proto: FibPathNhProto::Mpls, ..path }], ..route };
    let refused = caller.request(&IpRouteAddDel { is_add: true, is_multipath: false, route: wrong });
    assert_eq!(refused.err(), Some(Retval::INVALID_ADDRESS_FAMILY));
    let found = caller.request(&IpRouteLookup { table_id: 0, exact: 1, prefix: to }).expect("it is there");
    let [found] = &found.route.paths[..] else { panic!("one path") };
    assert_eq!((found.sw_if_index, found.proto, found.nh.address), (pg1, FibPathNhProto::Ip6, path.nh.address));
    let dumped = |caller: &mut Caller, is_ip6| {
        let table = IpTable { table_id: 0, is_ip6, name: Text::default() };
        caller.dump(&IpRouteDump { table }).iter().any(|details| details.route.prefix == to)
    };
    assert_eq!((dumped(&mut caller, true), dumped(&mut caller, false)), (true, false));
    caller
        .request(&IpTableFlush { table: IpTable { table_id: 0, is_ip6: true, name: Text::default() } })
        .expect("done");
    assert!(!dumped(&mut caller, true));
    caller.request(&IpTableAddDel { is_add: false, table: table(true) }).expect("done");
    assert_eq!(tables(&mut caller), [(0, false), (0, true)]);
}

#[test]
fn flows_are_told_apart_as_a_table_says() {
    let (mut daemon, mut caller) = house();
    let mut hash = |af, bits| {
        let flow_hash_config = IpFlowHashConfig(bits);
        let second = caller.request(&SetIpFlowHashV2 { table_id: 0, af, flow_hash_config }).map(drop);
        let flow_hash_config = IpFlowHashConfigV2(bits);
        let third = caller.request(&SetIpFlowHashV3 { table_id: 0, af, flow_hash_config }).map(drop);
        assert_eq!(second, third);
        second
    };
    assert_eq!((hash(AddressFamily::Ip4, 31), hash(AddressFamily::Ip4, 3)), (Ok(()), Ok(())));
    assert_eq!((hash(AddressFamily::Ip6, 31), hash(AddressFamily::Ip6, 3 | 128)), (Ok(()), Ok(())));
    // IPv4 has no labels, and tunnels are not looked for in IPv6.
    assert!(hash(AddressFamily::Ip4, 3 | 128).is_err() && hash(AddressFamily::Ip6, 3 | 256).is_err());
    let mut shown = |family: &str| daemon.run(&format!("show {family} fib")).expect("shows").text;
    assert!(shown("ip").contains("flow hash:[src dst]") && shown("ip6").contains("flow hash:[src dst flowlabel]"));
    let first = SetIpFlowHash {
        vrf_id: 0,
        is_ipv6: false,
        src: true,
        dst: true,
        sport: true,
        dport: true,
        proto: true,
        reverse: false,
        symmetric: true,
    };
    assert!(caller.request(&first).is_ok() && caller.request(&SetIpFlowHash { vrf_id: 9, ..first }).is_err());
    assert!(shown("ip").contains("flow hash:[src dst sport dport proto symmetric]"));
    assert!(caller.request(&SetIpFlowHashRouterId { router_id: 7 }).is_ok());
}

mod sources;
