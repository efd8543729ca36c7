//! The messages, by a client, against what is configured and what is known.

use quiver_compat::Caller;
use quiver_compat::types::Address;
use quiver_interface::InterfaceId;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::MacAddress;

use std::net::Ipv4Addr;

use super::events::{
    IpNeighborEvent, IpNeighborEventFlags, IpNeighborEventV2, WantIpNeighborEvents, WantIpNeighborEventsV2,
};
use super::*;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A daemon with a packet generator that has an address, the generator's number, and a client.
fn house() -> (Daemon, u32, Caller) {
    let rooms = quiver_scenarios::rooms![
        quiver_interface,
        quiver_ethernet,
        quiver_bridge,
        quiver_vlan,
        quiver_ip,
        quiver_udp_encap,
        quiver_icmp,
        quiver_reassembly,
        quiver_neighbor,
        quiver_router_advertisement,
        quiver_mld,
        quiver_pg
    ];
    let mut daemon = Daemon::new(rooms, Setup::default()).expect("a daemon");
    daemon.configure("create packet-generator interface pg1\nset interface ip address pg1 10.0.0.1/24");
    let id = daemon.control().room::<Interfaces>().id_of("pg1").expect("it is there");
    let caller = Caller::connect(daemon.control());
    (daemon, id.0, caller)
}

fn neighbor(sw_if_index: u32, last: u8, flags: IpNeighborFlags) -> IpNeighbor {
    let ip_address = Ipv4Addr::new(10, 0, 0, last).into();
    IpNeighbor { sw_if_index: InterfaceIndex(sw_if_index), flags, mac_address: MAC, ip_address }
}

fn set(caller: &mut Caller, is_add: bool, neighbor: IpNeighbor) -> Result<u32, Retval> {
    caller.request(&IpNeighborAddDel { is_add, neighbor }).map(|reply| reply.stats_index)
}

fn dump(caller: &mut Caller) -> Vec<IpNeighbor> {
    let all = caller.dump(&IpNeighborDump { sw_if_index: InterfaceIndex(NONE), af: AddressFamily::Ip4 });
    all.into_iter().map(|details| details.neighbor).collect()
}

#[test]
fn neighbours_are_added_told_and_deleted() {
    let (daemon, index, mut caller) = house();
    let control = daemon.control();
    let (fixed, heard) = (neighbor(index, 2, IpNeighborFlags::STATIC), neighbor(index, 3, IpNeighborFlags::NONE));
    let hop = set(&mut caller, true, fixed).expect("there is room");
    assert_eq!(
        control.room::<Ip<V4>>().fib.adjacencies.find(InterfaceId(index), Some([10, 0, 0, 2].into())),
        Some(hop)
    );
    set(&mut caller, true, heard).expect("there is room");
    assert_eq!(dump(&mut caller), [fixed, heard]);
    assert_eq!(control.objects().all::<NeighborObject<V4>>().len(), 1, "what was heard is not configured");
    let ip6 = caller.dump(&IpNeighborDump { sw_if_index: InterfaceIndex(NONE), af: AddressFamily::Ip6 });
    assert!(ip6.is_empty());

    assert_eq!(set(&mut caller, false, fixed), Ok(NONE));
    assert_eq!(set(&mut caller, false, fixed), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(dump(&mut caller), [heard]);
    set(&mut caller, true, fixed).expect("there is room");
    let flush = IpNeighborFlush { af: AddressFamily::Ip4, sw_if_index: InterfaceIndex(index) };
    caller.request(&flush).expect("done");
    assert!(dump(&mut caller).is_empty() && control.objects().all::<NeighborObject<V4>>().is_empty());
}

#[test]
fn what_neighbours_cannot_do_is_refused() {
    let (_daemon, index, mut caller) = house();
    let good = neighbor(index, 2, IpNeighborFlags::STATIC);
    assert_eq!(set(&mut caller, true, neighbor(99, 2, IpNeighborFlags::STATIC)), Err(Retval::INVALID_SW_IF_INDEX));
    let group = IpNeighbor { mac_address: MacAddress([0xff; 6]), ..good };
    assert_eq!(set(&mut caller, true, group), Err(Retval::INVALID_VALUE));
    let ip6 = IpNeighbor { ip_address: std::net::IpAddr::V6(std::net::Ipv6Addr::LOCALHOST).into(), ..good };
    assert_eq!(set(&mut caller, true, ip6), Err(Retval::INVALID_VALUE), "nobody else is at ::1");
}

#[test]
fn how_many_neighbours_there_may_be_and_for_how_long_is_set() {
    let (daemon, index, mut caller) = house();
    let of = |caller: &mut Caller, af| {
        let reply = caller.request(&IpNeighborConfigGet { af }).expect("it is known");
        (reply.max_number, reply.max_age, reply.recycle)
    };
    let (af, before) = (AddressFamily::Ip4, of(&mut caller, AddressFamily::Ip4));
    let config = |max_number, recycle| IpNeighborConfig { af, max_number, max_age: 7, recycle };
    caller.request(&config(1, false)).expect("a limit");
    assert_eq!(of(&mut caller, af), (1, 7, false));
    assert_eq!(of(&mut caller, AddressFamily::Ip6), before, "the other family has its own");
    let [one, two] = [2, 3].map(|last| neighbor(index, last, IpNeighborFlags::default()));
    assert!(set(&mut caller, true, one).is_ok());
    assert_eq!(set(&mut caller, true, two).err(), Some(Retval::LIMIT_EXCEEDED), "there may be one");
    caller.request(&config(1, true)).expect("one makes room for another");
    assert_eq!(of(&mut caller, af), (1, 7, true));
    assert!(set(&mut caller, true, two).is_ok());
    assert!(set(&mut caller, true, one).is_ok());
    // Whoever was asked and has not answered has no place yet.
    caller.request(&config(1, false)).expect("none makes room");
    let (control, asked) = (daemon.control(), (InterfaceId(index), Ipv4Addr::new(10, 0, 0, 3)));
    control.room_mut::<Neighbors<V4>>().enter(control, asked, State::Incomplete(1)).expect("it is new");
    assert_eq!(set(&mut caller, true, two).err(), Some(Retval::LIMIT_EXCEEDED), "one is known");
}

#[test]
fn neighbours_are_replaced() {
    let (_daemon, index, mut caller) = house();
    let [one, two, three] = [2, 3, 4].map(|last| neighbor(index, last, IpNeighborFlags::STATIC));
    for neighbor in [one, two] {
        set(&mut caller, true, neighbor).expect("there is room");
    }
    caller.request(&IpNeighborReplaceBegin).expect("done");
    for neighbor in [two, three] {
        set(&mut caller, true, neighbor).expect("there is room");
    }
    assert_eq!(dump(&mut caller), [one, two, three]);
    caller.request(&IpNeighborReplaceEnd).expect("done");
    assert_eq!(dump(&mut caller), [two, three]);
}

#[test]
fn clients_are_told_of_the_neighbours_that_they_want_to_know_of() {
    let (_daemon, index, mut caller) = house();
    let [one, two] = [2, 3].map(|last| neighbor(index, last, IpNeighborFlags::STATIC));
    let (any, sw_if_index) = (Address::from(Ipv4Addr::UNSPECIFIED), InterfaceIndex(NONE));
    let all = WantIpNeighborEventsV2 { enable: true, pid: 1, ip: any, sw_if_index };
    caller.request(&all).expect("done");
    caller.request(&WantIpNeighborEvents { enable: true, pid: 1, ip: two.ip_address, sw_if_index }).expect("done");
    for neighbor in [one, two] {
        set(&mut caller, true, neighbor).expect("there is room");
    }
    assert_eq!(caller.events::<IpNeighborEvent>(), [IpNeighborEvent { neighbor: two }]);
    let (flags, gone) = (IpNeighborEventFlags::ADDED, IpNeighborEventFlags::REMOVED);
    let added = [one, two].map(|neighbor| IpNeighborEventV2 { flags, neighbor });
    assert_eq!(caller.events::<IpNeighborEventV2>(), added);
    set(&mut caller, false, two).expect("it is there");
    assert_eq!(caller.events::<IpNeighborEventV2>(), [IpNeighborEventV2 { flags: gone, neighbor: two }]);
    caller.request(&WantIpNeighborEventsV2 { enable: false, ..all }).expect("done");
    set(&mut caller, false, one).expect("it is there");
    assert!(caller.events::<IpNeighborEventV2>().is_empty());
}

#[test]
fn a_neighbour_has_a_route_of_its_own_unless_it_shall_have_none() {
    let (daemon, index, mut caller) = house();
    let control = daemon.control();
    let is_routed = |last: u8| {
        let ip = control.room::<Ip<V4>>();
        let table = ip.fib.table(ip.table_of(InterfaceId(index))).expect("it is there");
        table.find([10, 0, 0, last].into()).is_some_and(|(prefix, _)| prefix.length() == 32)
    };
    let none = IpNeighborFlags::NO_FIB_ENTRY;
    for (last, kind) in [(2, IpNeighborFlags::NONE), (3, IpNeighborFlags::STATIC)] {
        set(&mut caller, true, neighbor(index, last, kind)).expect("there is room");
        assert!(is_routed(last), "{kind:?}");
        set(&mut caller, true, neighbor(index, last, kind | none)).expect("it is there");
        assert!(!is_routed(last), "{kind:?}: it loses its route");
        assert!(dump(&mut caller).iter().any(|known| known.ip_address == neighbor(index, last, kind).ip_address));
        set(&mut caller, true, neighbor(index, last, kind)).expect("it is there");
        assert!(is_routed(last), "{kind:?}: it has one again");
    }
    set(&mut caller, true, neighbor(index, 4, none)).expect("there is room");
    assert!(!is_routed(4));
}
