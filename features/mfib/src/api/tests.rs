//! The messages, by a client, against what is configured, counted and signalled.

use quiver_compat::Caller;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

use std::net::IpAddr;

use super::*;

/// A daemon with two packet generators, the numbers of these, and a client.
fn house() -> (Daemon, [u32; 2], Caller) {
    let daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0\ncreate packet-generator interface pg1
         set interface state pg0 up\nset interface state pg1 up
         set interface ip address pg0 10.0.0.1/24",
    );
    let id = |name| daemon.control().room::<Interfaces>().id_of(name).expect("it is there").0;
    let ids = [id("pg0"), id("pg1")];
    let caller = Caller::connect(daemon.control());
    (daemon, ids, caller)
}

fn union(address: &str) -> AddressUnion {
    AddressUnion::new(address.parse::<IpAddr>().expect("an address"))
}

fn prefix(source: &str, group: &str, length: u16) -> Mprefix {
    Mprefix {
        af: AddressFamily::Ip4,
        grp_address_length: length,
        grp_address: union(group),
        src_address: union(source),
    }
}

fn path(sw_if_index: u32, flags: MfibItfFlags) -> MfibPath {
    MfibPath { itf_flags: flags, path: FibPath { sw_if_index, ..FibPath::default() } }
}

fn route(prefix: Mprefix, entry_flags: MfibEntryFlags, paths: Vec<MfibPath>) -> IpMroute {
    IpMroute { table_id: 0, entry_flags, rpf_id: 0, prefix, paths }
}

fn change(caller: &mut Caller, is_add: bool, route: IpMroute) -> Result<u32, Retval> {
    caller.request(&IpMrouteAddDel { is_add, is_multipath: true, route }).map(|reply| reply.stats_index)
}

/// A route: its prefix, its flags, and interface and flags of each path.
type Told = (Mprefix, u32, Vec<(u32, u32)>);

/// The configured routes of table 0: prefixes, flags, and each path's interface and flags.
fn configured(caller: &mut Caller) -> Vec<Told> {
    let table = IpTable::default();
    let all = caller.dump(&IpMrouteDump { table });
    let of = |IpMrouteDetails { route }: IpMrouteDetails| {
        let paths = route.paths.iter().map(|path| (path.path.sw_if_index, path.itf_flags.0)).collect();
        (route.prefix, route.entry_flags.0, paths)
    };
    let always = [union("0.0.0.0"), union("224.0.0.1"), union("224.0.0.2")];
    let is_standing = |prefix: &Mprefix| always.contains(&prefix.grp_address);
    all.into_iter().map(of).filter(|(prefix, ..)| !is_standing(prefix)).collect()
}

#[test]
fn every_table_has_the_groups_of_a_router_from_the_start() {
    let (mut daemon, _, mut caller) = house();
    daemon.configure("ip table add 9\nip6 table add 9");
    let mut groups = |is_ip6: bool| {
        let all = caller.dump(&IpMrouteDump { table: IpTable { table_id: 9, is_ip6, ..IpTable::default() } });
        let of = |IpMrouteDetails { route }: IpMrouteDetails| {
            let family = if is_ip6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
            let group = route.prefix.grp_address.get(family);
            format!("{group}/{} {}", route.prefix.grp_address_length, route.entry_flags.0)
        };
        all.into_iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(groups(false), ["224.0.0.1/32 0", "224.0.0.2/32 0", "0.0.0.0/0 2"]);
    assert_eq!(groups(true), ["ff02::1/128 0", "ff02::2/128 0", "ff02::16/128 0", "ff02::1:ff00:0/104 0", "::/0 2"]);
    // What is configured is not told twice.
    daemon.configure("ip mroute add 224.0.0.1 table 9 accept-all via local forward");
    assert_eq!(groups(false).len(), 3);
}

#[test]
fn routes_are_added_and_deleted_path_by_path() {
    let (_daemon, [pg0, pg1], mut caller) = house();
    let group = prefix("0.0.0.0", "232.1.1.1", 32);
    let of_sender = prefix("1.1.1.1", "232.1.1.1", 64);
    let (none, signal) = (MfibEntryFlags::NONE, MfibEntryFlags::SIGNAL);
    let both = vec![path(pg0, MfibItfFlags::ACCEPT), path(pg1, MfibItfFlags::FORWARD)];
    let first = change(&mut caller, true, route(group.clone(), none, both.clone())).expect("it is right");
    // Of one sender there is one group, whatever the length is.
    let second = change(&mut caller, true, route(prefix("1.1.1.1", "232.1.1.1", 27), none, both)).expect("as well");
    assert_ne!(first, second);
    let paths = vec![(pg0, 2), (pg1, 4)];
    assert_eq!(configured(&mut caller), [(group.clone(), 0, paths.clone()), (of_sender.clone(), 0, paths.clone())]);
    // Flags of the route, without paths, and of a path.
    assert_eq!(change(&mut caller, true, route(group.clone(), signal, vec![])), Ok(first));
    let negating = path(pg0, MfibItfFlags::ACCEPT | MfibItfFlags::NEGATE_SIGNAL);
    assert_eq!(change(&mut caller, true, route(group.clone(), signal, vec![negating])), Ok(first));
    assert_eq!(configured(&mut caller)[0], (group.clone(), 1, vec![(pg0, 3), (pg1, 4)]));
    let gone = vec![path(pg1, MfibItfFlags::NONE)];
    change(&mut caller, false, route(group.clone(), signal, gone)).expect("it was there");
    assert_eq!(configured(&mut caller)[0], (group.clone(), 1, vec![(pg0, 3)]));
    change(&mut caller, false, route(group.clone(), none, vec![])).expect("all of it");
    assert_eq!(configured(&mut caller), [(of_sender, 0, paths)]);
    // What is not there may be deleted; what cannot be is refused.
    assert_eq!(change(&mut caller, false, route(group.clone(), none, vec![])), Ok(NONE));
    let elsewhere = IpMroute { table_id: 7, ..route(group.clone(), none, vec![]) };
    assert_eq!(change(&mut caller, true, elsewhere), Err(Retval::NO_SUCH_FIB));
    let unknown = route(group.clone(), none, vec![path(99, MfibItfFlags::ACCEPT)]);
    assert_eq!(change(&mut caller, true, unknown), Err(Retval::INVALID_SW_IF_INDEX));
    let of_mpls = IpMroute { rpf_id: 5, ..route(group, none, vec![]) };
    assert_eq!(change(&mut caller, true, of_mpls), Err(Retval::UNIMPLEMENTED));
}

#[test]
fn packets_are_signalled_once_until_that_is_read() {
    let (mut daemon, [pg0, pg1], mut caller) = house();
    let paths = |first| vec![path(pg0, first), path(pg1, MfibItfFlags::FORWARD)];
    let group = prefix("0.0.0.0", "232.1.1.1", 32);
    let accept = MfibItfFlags::ACCEPT;
    change(&mut caller, true, route(group.clone(), MfibEntryFlags::CONNECTED, paths(accept))).expect("it is right");
    let mut send = |source: &str| {
        let text = format!(
            "eth 02:00:00:00:00:02 > 01:00:5e:01:01:01 / ip4 {source} > 232.1.1.1 ttl 9 / udp 1 > 2 / payload 18"
        );
        let packet = text.parse::<Packet>().expect("a packet").to_bytes();
        (0..3).for_each(|_| daemon.send("pg0", &packet).expect("it is taken"));
        daemon.settle().expect("it comes to rest");
    };
    let read = |caller: &mut Caller| {
        let signals = caller.dump(&MfibSignalDump);
        let of = |signal: MfibSignalDetails| (signal.sw_if_index.0, signal.prefix, signal.ip_packet_len);
        signals.into_iter().map(of).collect::<Vec<_>>()
    };
    // A sender of another link is not connected.
    send("1.1.1.1");
    assert_eq!(read(&mut caller), []);
    send("10.0.0.2");
    assert_eq!(read(&mut caller), [(pg0, group.clone(), 46)]);
    assert_eq!(read(&mut caller), []);
    // All packets, without them, but not from here, and from here only.
    let change = |caller: &mut Caller, entry, itf| {
        change(caller, true, route(group.clone(), entry, paths(itf))).expect("it is right");
    };
    change(&mut caller, MfibEntryFlags::SIGNAL, accept | MfibItfFlags::DONT_PRESERVE);
    send("1.1.1.1");
    assert_eq!(read(&mut caller), [(pg0, group.clone(), 0)]);
    change(&mut caller, MfibEntryFlags::SIGNAL, accept | MfibItfFlags::NEGATE_SIGNAL);
    send("1.1.1.1");
    assert_eq!(read(&mut caller), []);
    change(&mut caller, MfibEntryFlags::NONE, accept | MfibItfFlags::NEGATE_SIGNAL);
    send("1.1.1.1");
    assert_eq!(configured(&mut caller)[0].2[0], (pg0, 1 | 2 | 8), "a signal waits");
    assert_eq!(read(&mut caller).len(), 1);
    // A signal of a route that is no more is nobody's.
    send("1.1.1.1");
    change_route_away(&mut caller, &group);
    assert_eq!(read(&mut caller), []);
}

fn change_route_away(caller: &mut Caller, group: &Mprefix) {
    change(caller, false, route(group.clone(), MfibEntryFlags::NONE, vec![])).expect("it was there");
}

/// As the room of IP has it, and the next two.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpTableReplaceBegin {
    table: IpTable,
}

/// See [`IpTableReplaceBegin`].
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpTableReplaceEnd {
    table: IpTable,
}

/// See [`IpTableReplaceBegin`].
#[derive(Message, Clone, Debug)]
#[message(request)]
struct IpTableFlush {
    table: IpTable,
}

#[test]
fn routes_of_groups_are_replaced_and_flushed_with_their_table() {
    let (_daemon, [pg0, _], mut caller) = house();
    let of = |last: u8| {
        let group = prefix("0.0.0.0", &format!("232.1.1.{last}"), 32);
        route(group, MfibEntryFlags::NONE, vec![path(pg0, MfibItfFlags::ACCEPT)])
    };
    let groups = |caller: &mut Caller| configured(caller).into_iter().map(|(prefix, ..)| prefix).collect::<Vec<_>>();
    let (table, [one, two, three]) = (IpTable::default(), [1, 2, 3].map(of));
    for route in [&one, &two] {
        change(&mut caller, true, route.clone()).expect("it is right");
    }
    caller.request(&IpTableReplaceBegin { table: table.clone() }).expect("it is there");
    for route in [&two, &three] {
        change(&mut caller, true, route.clone()).expect("it is right");
    }
    assert_eq!(groups(&mut caller), [one.prefix, two.prefix.clone(), three.prefix.clone()], "nothing is gone yet");
    caller.request(&IpTableReplaceEnd { table: table.clone() }).expect("it is there");
    assert_eq!(groups(&mut caller), [two.prefix, three.prefix]);
    caller.request(&IpTableFlush { table }).expect("it is there");
    assert!(groups(&mut caller).is_empty());
}
