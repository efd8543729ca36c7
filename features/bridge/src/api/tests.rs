//! The messages, as a client sends them to a daemon with packet generators pg0 to pg3, numbers 1 to 4.

use quiver_compat::Caller;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_engine::{Dataplane, Settings};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::executor::Executor;
use quiver_wire::MacAddress;

use super::domains::*;
use super::events::*;
use super::loopbacks::*;
use super::macs::*;
use super::members::*;
use super::*;
use crate::bridges::Bridges;
use crate::station::{Place, Station};

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

fn house() -> (Daemon, Caller) {
    let mut daemon = quiver_scenarios::daemon("");
    for number in 0..4 {
        daemon.configure(&format!("create packet-generator interface pg{number}\nset interface state pg{number} up"));
    }
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

fn add(bd_id: u32) -> BridgeDomainAddDelV2 {
    BridgeDomainAddDelV2 {
        bd_id,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: true,
        arp_term: true,
        arp_ufwd: false,
        mac_age: 0,
        bd_tag: "lan".into(),
        is_add: true,
    }
}

fn join(interface: u32, bd_id: u32, port_type: L2PortType, enable: bool) -> SwInterfaceSetL2Bridge {
    SwInterfaceSetL2Bridge { rx_sw_if_index: InterfaceIndex(interface), bd_id, port_type, shg: 3, enable }
}

fn dump(caller: &mut Caller, bd_id: u32) -> Vec<BridgeDomainDetails> {
    caller.dump(&BridgeDomainDump { bd_id, sw_if_index: InterfaceIndex(NONE) })
}

#[test]
fn domains_come_change_show_their_members_and_go() {
    let (_daemon, mut caller) = house();
    assert_eq!(caller.request(&add(7)).expect("new").bd_id, 7);
    assert_eq!(caller.request(&add(NONE)).expect("a free number").bd_id, 1);
    assert_eq!(caller.request(&add(7)).err(), Some(Retval::BD_ALREADY_EXISTS));
    let older = |bd_id, is_add| {
        let BridgeDomainAddDelV2 { flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, .. } =
            add(bd_id);
        BridgeDomainAddDel { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add }
    };
    assert_eq!(caller.request(&older(8, true)).map(drop), Ok(()));
    assert_eq!(dump(&mut caller, 8).len(), 1);
    assert_eq!(caller.request(&older(8, false)).map(drop), Ok(()));
    assert_eq!(caller.request(&add(0)).err(), Some(Retval::BD_NOT_MODIFIABLE));
    assert_eq!(caller.request(&add(1 << 24)).err(), Some(Retval::BD_ID_EXCEED_MAX));
    let diverted = BridgeDomainAddDelV2 { arp_ufwd: true, ..add(9) };
    assert_eq!(caller.request(&diverted).err(), Some(Retval::UNIMPLEMENTED));

    caller.request(&join(1, 7, L2PortType::Normal, true)).expect("a member");
    caller.request(&join(2, 7, L2PortType::UuFwd, true)).expect("for unknown addresses");
    let bvi = BviCreate { mac: MacAddress::ZERO, user_instance: NONE };
    let bvi = caller.request(&bvi).expect("new").sw_if_index;
    caller.request(&join(bvi.0, 7, L2PortType::Bvi, true)).expect("its virtual interface");
    let shown = dump(&mut caller, 7).remove(0);
    assert_eq!((shown.bd_tag.as_str(), shown.learn, shown.arp_term), ("lan", true, true));
    assert_eq!((shown.bvi_sw_if_index, shown.uu_fwd_sw_if_index), (bvi, InterfaceIndex(2)));
    let members: Vec<_> = shown.sw_if_details.iter().map(|member| (member.sw_if_index, member.shg)).collect();
    assert_eq!(members, [(InterfaceIndex(1), 3), (bvi, 3)]);
    assert_eq!(dump(&mut caller, NONE).iter().map(|domain| domain.bd_id).collect::<Vec<_>>(), [1, 7]);
    assert_eq!(dump(&mut caller, 8), []);
    let of_pg1 = caller.dump(&BridgeDomainDump { bd_id: NONE, sw_if_index: InterfaceIndex(2) });
    assert_eq!(of_pg1.iter().map(|domain| domain.bd_id).collect::<Vec<_>>(), [7]);

    let flags = |is_set, flags| BridgeFlags { bd_id: 7, is_set, flags };
    let bits = caller.request(&flags(false, BdFlags::LEARN | BdFlags::FLOOD)).expect("there");
    assert_eq!(bits.resulting_feature_bitmap, FORWARD | UNKNOWN | ARP_TERM);
    assert_eq!(caller.request(&flags(true, BdFlags::ARP_UFWD)).err(), Some(Retval::UNIMPLEMENTED));
    caller.request(&BridgeDomainSetMacAge { bd_id: 7, mac_age: 4 }).expect("there");
    let shown = dump(&mut caller, 7).remove(0);
    assert_eq!((shown.learn, shown.flood, shown.forward, shown.mac_age), (false, false, true, 4));
    assert_eq!(caller.request(&BridgeDomainSetMacAge { bd_id: 8, mac_age: 4 }).err(), Some(Retval::NO_SUCH_ENTRY));

    let remove = |bd_id| BridgeDomainAddDelV2 { is_add: false, ..add(bd_id) };
    assert_eq!(caller.request(&remove(7)).err(), Some(Retval::BD_IN_USE));
    for interface in [1, 2, bvi.0] {
        caller.request(&join(interface, 7, L2PortType::Normal, false)).expect("back to layer 3");
    }
    caller.request(&remove(7)).expect("nobody uses it");
    assert_eq!(caller.request(&remove(7)).err(), Some(Retval::NO_SUCH_ENTRY));
    caller.request(&BviDelete { sw_if_index: bvi }).expect("there");
    assert_eq!(caller.request(&BviDelete { sw_if_index: InterfaceIndex(1) }).err(), Some(Retval::INVALID_SW_IF_INDEX));
    // Naming a domain is enough to have it.
    caller.request(&join(1, 50, L2PortType::Normal, true)).expect("a member");
    assert_eq!(dump(&mut caller, 50).len(), 1);
    assert_eq!(caller.request(&join(9, 50, L2PortType::Normal, true)).err(), Some(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn loopbacks_have_the_numbers_that_clients_choose() {
    let (daemon, mut caller) = house();
    let loopback =
        |is_specified, user_instance| CreateLoopbackInstance { mac_address: MAC, is_specified, user_instance };
    let fifth = caller.request(&loopback(true, 5)).expect("new").sw_if_index;
    let first = caller.request(&CreateLoopback { mac_address: MacAddress::ZERO }).expect("new").sw_if_index;
    assert_eq!(caller.request(&loopback(true, 5)).err(), Some(Retval::INSTANCE_IN_USE));
    let name = |index: InterfaceIndex| {
        let interface = quiver_interface_of(&daemon, index);
        (interface.0, interface.1)
    };
    assert_eq!(name(fifth), ("loop5".to_owned(), MAC));
    assert_eq!(name(first).0, "loop0");
    caller.request(&DeleteLoopback { sw_if_index: fifth }).expect("there");
    assert_eq!(caller.request(&DeleteLoopback { sw_if_index: fifth }).err(), Some(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn clients_get_the_addresses_of_vpp_and_all_others_the_daemons_own() {
    let (mut daemon, mut caller) = house();
    daemon.control().set_identity(0x5566_7788);
    let address = |daemon: &Daemon, index| quiver_interface_of(daemon, index).1.to_string();
    let loopback = caller.request(&CreateLoopback { mac_address: MacAddress::ZERO }).expect("new").sw_if_index;
    assert_eq!(address(&daemon, loopback), "de:ad:00:00:00:00");
    let instance = CreateLoopbackInstance { mac_address: MacAddress::ZERO, is_specified: true, user_instance: 5 };
    let instance = caller.request(&instance).expect("new").sw_if_index;
    assert_eq!(address(&daemon, instance), "de:ad:00:00:00:05");
    let bvi = BviCreate { mac: MacAddress::ZERO, user_instance: NONE };
    let bvi = caller.request(&bvi).expect("new").sw_if_index;
    assert_eq!(address(&daemon, bvi), "b0:b0:00:00:00:00");

    daemon.configure("create loopback interface\nbvi create");
    let saved = daemon.control().save().text;
    daemon.apply("f", &saved.replace("loopbacks:\n", "loopbacks:\n  - name: loop2\n")).expect("a loopback more");
    let named = |name: &str| {
        let interfaces = daemon.control().room::<quiver_interface::Interfaces>();
        interfaces.find(name).expect("there").mac.to_string()
    };
    assert_eq!(["loop1", "bvi1", "loop2"].map(named), ["02:00:55:66:77:8a", "02:00:55:66:77:8b", "02:00:55:66:77:8c"]);
    assert_eq!(named("loop5"), "de:ad:00:00:00:05", "what clients made is saved with its address");
}

/// Name and address of an interface, as its room has them.
fn quiver_interface_of(daemon: &Daemon, index: InterfaceIndex) -> (String, MacAddress) {
    let interface = quiver_interface::api::find(daemon.control(), index).expect("there");
    (interface.name, interface.mac)
}

#[test]
fn members_let_happen_what_clients_say() {
    let (_daemon, mut caller) = house();
    caller.request(&join(1, 7, L2PortType::Normal, true)).expect("a member");
    let sw_if_index = InterfaceIndex(1);
    let flags = |caller: &mut Caller| caller.request(&L2InterfaceFeatFlagsGet { sw_if_index }).expect("a member").flags;
    assert_eq!(flags(&mut caller), L2IntfFeatFlags(15));
    let set = |is_set, flags| L2InterfaceFeatFlagsSet { sw_if_index, is_set, flags };
    caller.request(&set(false, L2IntfFeatFlags::LEARN | L2IntfFeatFlags::FWD)).expect("a member");
    assert_eq!(flags(&mut caller), L2IntfFeatFlags::FLOOD | L2IntfFeatFlags::UU_FLOOD);
    assert_eq!(caller.request(&set(true, L2IntfFeatFlags::ARP_TERM)).err(), Some(Retval::UNIMPLEMENTED));

    let bitmaps = |caller: &mut Caller| {
        let reply = caller.request(&L2FlagsGet { sw_if_index }).expect("in layer 2");
        (reply.input_feature_bitmap, reply.output_feature_bitmap)
    };
    assert_eq!(bitmaps(&mut caller), (1 | FLOOD | UNKNOWN, 0));
    let set = |is_set, input_feature_bitmap, output_feature_bitmap| L2FlagsSet {
        sw_if_index,
        is_set,
        input_feature_bitmap,
        output_feature_bitmap,
    };
    caller.request(&set(true, LEARN | FORWARD, 0x300)).expect("known");
    assert_eq!(bitmaps(&mut caller), (1 | FLOOD | UNKNOWN | LEARN | FORWARD, 0x300));
    caller.request(&set(false, 0, 0x100)).expect("known");
    assert_eq!(bitmaps(&mut caller).1, 0x200);
    assert_eq!(caller.request(&set(true, 1 << 14, 0)).err(), Some(Retval::UNIMPLEMENTED));
    assert_eq!(caller.request(&set(true, 0, 1)).err(), Some(Retval::UNIMPLEMENTED));
    let other = L2InterfaceFeatFlagsGet { sw_if_index: InterfaceIndex(2) };
    assert_eq!(caller.request(&other).err(), Some(Retval::INVALID_SW_IF_INDEX));

    let connect = |from, to, enable| SwInterfaceSetL2Xconnect {
        rx_sw_if_index: InterfaceIndex(from),
        tx_sw_if_index: InterfaceIndex(to),
        enable,
    };
    let pairs = |caller: &mut Caller| {
        let pair = |pair: &L2XconnectDetails| (pair.rx_sw_if_index.0, pair.tx_sw_if_index.0);
        caller.dump(&L2XconnectDump).iter().map(pair).collect::<Vec<_>>()
    };
    caller.request(&connect(2, 3, true)).expect("two interfaces");
    let patch = |is_add| L2PatchAddDel { rx_sw_if_index: InterfaceIndex(3), tx_sw_if_index: InterfaceIndex(2), is_add };
    caller.request(&patch(true)).expect("two interfaces");
    assert_eq!(pairs(&mut caller), [(2, 3), (3, 2)]);
    caller.request(&connect(2, 3, false)).expect("there");
    caller.request(&patch(false)).expect("there");
    assert_eq!(pairs(&mut caller), []);
    assert_eq!(caller.request(&connect(2, 9, true)).err(), Some(Retval::INVALID_SW_IF_INDEX_2));
}

fn mac(mac: MacAddress, sw_if_index: u32, is_add: bool, static_mac: bool) -> L2fibAddDel {
    let (sw_if_index, filter_mac, bvi_mac) = (InterfaceIndex(sw_if_index), false, false);
    L2fibAddDel { mac, bd_id: 7, sw_if_index, is_add, static_mac, filter_mac, bvi_mac }
}

fn table(caller: &mut Caller, bd_id: u32) -> Vec<(MacAddress, u32, bool, bool)> {
    let row = |row: &L2FibTableDetails| (row.mac, row.sw_if_index.0, row.static_mac, row.filter_mac);
    let mut rows: Vec<_> = caller.dump(&L2FibTableDump { bd_id }).iter().map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn addresses_are_said_and_forgotten() {
    let (_daemon, mut caller) = house();
    caller.request(&join(1, 7, L2PortType::Normal, true)).expect("a member");
    let (second, third) = (MacAddress([2, 0, 0, 0, 0, 8]), MacAddress([2, 0, 0, 0, 0, 9]));
    caller.request(&mac(MAC, 1, true, false)).expect("until it ages");
    caller.request(&mac(second, 1, true, true)).expect("for good");
    caller.request(&L2fibAddDel { filter_mac: true, ..mac(third, NONE, true, false) }).expect("dropped");
    let said = [(second, 1, true, false), (third, NONE, true, true)];
    assert_eq!(table(&mut caller, 7), [(MAC, 1, false, false), said[0], said[1]]);
    assert_eq!(table(&mut caller, 8), []);
    caller.request(&L2fibFlushInt { sw_if_index: InterfaceIndex(2) }).expect("nothing there");
    assert_eq!(table(&mut caller, NONE).len(), 3);
    caller.request(&L2fibFlushBd { bd_id: 7 }).expect("there");
    assert_eq!(table(&mut caller, NONE), said);
    caller.request(&mac(MAC, 1, true, false)).expect("again");
    caller.request(&L2fibFlushInt { sw_if_index: InterfaceIndex(1) }).expect("there");
    assert_eq!(table(&mut caller, NONE), said);
    caller.request(&mac(MAC, 1, true, false)).expect("again");
    caller.request(&L2fibFlushAll).expect("always");
    assert_eq!(table(&mut caller, NONE), said);
    caller.request(&mac(second, 1, false, false)).expect("there");
    assert_eq!(caller.request(&mac(second, 1, false, false)).err(), Some(Retval::NO_SUCH_ENTRY));
    caller.request(&L2FibClearTable).expect("always");
    assert_eq!(table(&mut caller, NONE), []);

    assert_eq!(caller.request(&mac(MAC, 2, true, true)).err(), Some(Retval::INVALID_SW_IF_INDEX), "no member");
    assert_eq!(caller.request(&mac(MAC, 2, true, false)).err(), Some(Retval::INVALID_SW_IF_INDEX), "no member");
    let group = mac(MacAddress([1, 0, 0, 0, 0, 1]), 1, true, true);
    assert_eq!(caller.request(&group).err(), Some(Retval::INVALID_VALUE));
    let elsewhere = L2fibAddDel { bd_id: 8, ..mac(MAC, 1, true, true) };
    assert_eq!(caller.request(&elsewhere).err(), Some(Retval::NO_SUCH_ENTRY));
    let no_virtual = L2fibAddDel { bvi_mac: true, ..mac(MAC, 1, true, true) };
    assert_eq!(caller.request(&no_virtual).err(), Some(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.request(&L2fibFlushBd { bd_id: 8 }).err(), Some(Retval::NO_SUCH_ENTRY));
}

/// A broadcast frame from this address.
fn frame(source: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 64];
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, source]);
    frame[12..14].copy_from_slice(&[0x90, 0]);
    frame
}

fn see(daemon: &mut Daemon, interface: &str, sources: std::ops::Range<u8>) {
    for source in sources {
        daemon.send(interface, &frame(source)).expect("a frame");
    }
    daemon.settle().expect("it runs");
}

/// A worker tells of an address once a second.
fn next_second(daemon: &mut Daemon) {
    daemon.advance(std::time::Duration::from_secs(2)).expect("time passes");
}

fn want(enable_disable: bool, learn_limit: u32) -> WantL2MacsEvents {
    WantL2MacsEvents { learn_limit, scan_delay: 10, max_macs_in_event: 1, enable_disable, pid: 7 }
}

#[test]
fn clients_limit_what_is_learned_and_hear_of_it_in_batches() {
    let (mut daemon, mut caller) = house();
    for interface in [1, 2] {
        caller.request(&join(interface, 7, L2PortType::Normal, true)).expect("a member");
    }
    see(&mut daemon, "pg0", 0..3);
    assert_eq!(table(&mut caller, 7).len(), 3);
    // Who wants to be told is told of all: what was learned is forgotten.
    caller.request(&want(true, 12)).expect("from now on");
    assert_eq!(table(&mut caller, 7), []);
    next_second(&mut daemon);
    see(&mut daemon, "pg0", 0..20);
    assert_eq!(table(&mut caller, 7).len(), 12);
    assert!(caller.events::<L2MacsEvent>().is_empty(), "they are gathered for a tenth of a second");
    daemon.advance(std::time::Duration::from_millis(150)).expect("time passes");
    let events = caller.events::<L2MacsEvent>();
    assert_eq!(events.iter().map(|event| event.mac.len()).collect::<Vec<_>>(), [10, 2]);
    let all = events.iter().flat_map(|event| &event.mac);
    assert!(all.into_iter().all(|mac| mac.action == MacEventAction::Add && mac.sw_if_index == InterfaceIndex(1)));
    see(&mut daemon, "pg1", 0..1);
    daemon.advance(std::time::Duration::from_millis(150)).expect("time passes");
    let moved = caller.events::<L2MacsEvent>().remove(0).mac.remove(0);
    assert_eq!((moved.action, moved.sw_if_index.0), (MacEventAction::Move, 2));
    caller.request(&BridgeDomainSetMacAge { bd_id: 7, mac_age: 1 }).expect("there");
    daemon.advance(std::time::Duration::from_secs(70)).expect("time passes");
    let aged: Vec<_> = caller.events::<L2MacsEvent>().into_iter().flat_map(|event| event.mac).collect();
    assert!(aged.len() == 12 && aged.iter().all(|mac| mac.action == MacEventAction::Delete), "{aged:?}");

    // The limit goes with the client that set it.
    caller.request(&want(false, 0)).expect("no more");
    see(&mut daemon, "pg0", 0..20);
    assert_eq!(table(&mut caller, 7).len(), 20);
    daemon.advance(std::time::Duration::from_millis(150)).expect("time passes");
    assert!(caller.events::<L2MacsEvent>().is_empty());
    assert_eq!(caller.request(&want(true, 0)).err(), Some(Retval::INVALID_VALUE));
    let none = WantL2MacsEvents2 { max_macs_in_event: 0, enable_disable: true, pid: 7 };
    assert_eq!(caller.request(&none).err(), Some(Retval::INVALID_VALUE));
    assert_eq!(caller.request(&L2fibSetScanDelay { scan_delay: 0 }).err(), Some(Retval::INVALID_VALUE));
    caller.request(&L2fibSetScanDelay { scan_delay: 50 }).expect("half a second");
    caller.request(&WantL2MacsEvents2 { max_macs_in_event: 2, enable_disable: true, pid: 7 }).expect("again");
    next_second(&mut daemon);
    see(&mut daemon, "pg0", 0..20);
    daemon.advance(std::time::Duration::from_millis(400)).expect("time passes");
    assert!(caller.events::<L2MacsEvent>().is_empty());
    daemon.advance(std::time::Duration::from_millis(200)).expect("time passes");
    assert_eq!(caller.events::<L2MacsEvent>().len(), 1);
}

#[test]
fn domains_learn_as_many_addresses_as_they_may() {
    let (mut daemon, mut caller) = house();
    caller.request(&join(1, 7, L2PortType::Normal, true)).expect("a member");
    caller.request(&BridgeDomainSetDefaultLearnLimit { learn_limit: 4 }).expect("from now on");
    caller.request(&join(2, 8, L2PortType::Normal, true)).expect("a member of a new domain");
    see(&mut daemon, "pg0", 0..20);
    see(&mut daemon, "pg1", 20..40);
    assert_eq!((table(&mut caller, 7).len(), table(&mut caller, 8).len()), (20, 4));
    caller.request(&BridgeDomainSetLearnLimit { bd_id: 8, learn_limit: 5 }).expect("there");
    next_second(&mut daemon);
    see(&mut daemon, "pg1", 20..40);
    assert_eq!(table(&mut caller, 8).len(), 5);
    // Nor does it learn of a member that may not.
    caller.request(&L2fibFlushAll).expect("always");
    let (sw_if_index, flags) = (InterfaceIndex(1), L2IntfFeatFlags::LEARN);
    caller.request(&L2InterfaceFeatFlagsSet { sw_if_index, is_set: false, flags }).expect("a member");
    next_second(&mut daemon);
    see(&mut daemon, "pg0", 0..20);
    assert_eq!(table(&mut caller, 7), []);
}

#[test]
fn many_addresses_are_gathered_in_steps_while_others_come_and_go() {
    let control = Executor::new(1).control();
    control.insert_room(Dataplane::new(Settings { buffers: 100, ..Settings::default() }).expect("a data plane"));
    quiver_interface::register(&control).expect("new");
    quiver_ethernet::register(&control).expect("new");
    crate::register(&control).expect("new");
    control.put(crate::objects::BridgeDomain::new(7)).expect("new");
    let domain = control.room::<Bridges>().domains().get(&7).map(|domain| domain.index).expect("there");
    let station = |number: u64| Station { domain, mac: MacAddress::from_u64(0x0200_0000_0000 | number) };
    let put = |number| {
        let place = Place::learned(quiver_interface::InterfaceId(1));
        control.room_mut::<Bridges>().macs.put(station(number), place).expect("there is room");
    };
    (0..10_000).for_each(put);
    let (mut steps, mut found) = (0, vec![]);
    for item in details(&control, NONE) {
        match item {
            Some(entry) => found.push(entry.mac),
            None => steps += 1,
        }
        // The table grows, so that all have other places.
        if steps == 20 && found.is_empty() {
            control.room_mut::<Bridges>().macs.remove(station(3));
            (10_000..40_000).for_each(put);
            steps += 1;
        }
    }
    assert!(steps > 21, "{steps}");
    found.sort_unstable();
    assert!(found.is_sorted_by(|one, next| one < next), "each once");
    let old = found.into_iter().filter(|mac| *mac < station(10_000).mac);
    assert!(old.eq((0..10_000).filter(|number| *number != 3).map(|number| station(number).mac)));
    assert!(details(&control, 9).all(|item| item.is_none()));
}
