//! The messages, as a client sends them.

use quiver_compat::Caller;
use quiver_compat::types::{IfStatusFlags, IfType, NONE, RxMode};
use quiver_engine::{
    ArcSpec, Context, Dataplane, FeatureArcSpec, FeatureSpec, Frame, Node, NodeSpec, Phase, Settings, Side, To,
};
use quiver_testkit::executor::Executor;
use quiver_wire::MacAddress;

use super::details::{SwInterfaceDetails, SwInterfaceDump};
use super::events::{SwInterfaceEvent, WantInterfaceEvents};
use super::features::FeatureIsEnabled;
use super::queues::*;
use super::settings::*;
use super::speed::*;
use super::*;
use crate::{InterfaceSettings, dummies};

const UP: IfStatusFlags = IfStatusFlags(3);
const DOWN: IfStatusFlags = IfStatusFlags(0);
const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// A daemon with two interfaces and a part of the second one: numbers 1 to 3; and a client.
fn house() -> (Control, Caller) {
    let control = Executor::new(1).control();
    let settings = Settings { workers: 2, buffers: 64, ..Settings::default() };
    control.insert_room(Dataplane::new(settings).expect("a data plane"));
    crate::register(&control).expect("new");
    dummies::register(&control);
    for (name, parent) in [("dummy0", None), ("Dummy1", None), ("Dummy1.7", Some("Dummy1"))] {
        let mut dummy = dummies::Dummy::new(name.into());
        dummy.parent = parent.map(|parent| InterfaceName(parent.into()));
        control.put(dummy).expect("a new name");
    }
    let caller = Caller::connect(&control);
    (control, caller)
}

fn dump(caller: &mut Caller, index: u32, filter: Option<&str>) -> Vec<SwInterfaceDetails> {
    let name_filter = filter.unwrap_or_default().to_owned();
    let sw_if_index = InterfaceIndex(index);
    caller.dump(&SwInterfaceDump { sw_if_index, name_filter_valid: filter.is_some(), name_filter })
}

fn numbers(caller: &mut Caller, index: u32, filter: Option<&str>) -> Vec<u32> {
    dump(caller, index, filter).iter().map(|details| details.sw_if_index.0).collect()
}

#[test]
fn interfaces_are_found_by_number_and_by_a_part_of_their_names() {
    let (_control, mut caller) = house();
    let nobody: [u32; 0] = [];
    assert_eq!(numbers(&mut caller, NONE, None), [0, 1, 2, 3]);
    assert_eq!(numbers(&mut caller, 0, None), [0, 1, 2, 3]);
    assert_eq!(numbers(&mut caller, 2, None), [2]);
    assert_eq!(numbers(&mut caller, 4, None), nobody);
    assert_eq!(numbers(&mut caller, 70_000, None), nobody);
    assert_eq!(numbers(&mut caller, NONE, Some("DUMMY1")), [2, 3]);
    assert_eq!(numbers(&mut caller, NONE, Some("dummyXYZ")), nobody);
    let [local, _, whole, part] = &dump(&mut caller, NONE, None)[..] else { panic!("four") };
    assert_eq!((local.interface_name.as_str(), local.interface_dev_type.as_str()), ("local0", "local"));
    assert_eq!((whole.r#type, whole.sup_sw_if_index, whole.l2_address), (IfType::Hardware, 2, MAC));
    assert_eq!((part.r#type, part.sup_sw_if_index, part.l2_address), (IfType::Sub, 2, MacAddress::ZERO));
    assert_eq!((part.interface_name.as_str(), part.mtu), ("Dummy1.7", [1500, 0, 0, 0]));
}

#[test]
fn settings_are_those_of_the_commands() {
    let (control, mut caller) = house();
    let (first, part, none) = (InterfaceIndex(1), InterfaceIndex(3), InterfaceIndex(9));
    caller.request(&SwInterfaceSetFlags { sw_if_index: first, flags: IfStatusFlags::ADMIN_UP }).expect("up");
    caller.request(&SwInterfaceSetMtu { sw_if_index: first, mtu: [1400, 0, 0, 0] }).expect("an MTU");
    let mac_address = MacAddress([2, 0, 0, 0, 0, 9]);
    caller.request(&SwInterfaceSetMacAddress { sw_if_index: first, mac_address }).expect("an address");
    caller.request(&SwInterfaceTagAddDel { is_add: true, sw_if_index: first, tag: "uplink".into() }).expect("a tag");
    let details = dump(&mut caller, 1, None).remove(0);
    assert_eq!((details.flags, details.mtu[0], details.l2_address), (UP, 1400, mac_address));
    assert_eq!(details.tag.as_str(), "uplink");
    let settings = control.objects().get::<InterfaceSettings>(&InterfaceName("dummy0".into())).expect("configured");
    assert_eq!((settings.mtu, settings.tag.as_deref()), (Some(1400), Some("uplink")));

    // Nothing is left of what is taken back.
    caller.request(&SwInterfaceSetMtu { sw_if_index: first, mtu: [0; 4] }).expect("the driver's");
    caller.request(&SwInterfaceTagAddDel { is_add: false, sw_if_index: first, tag: "".into() }).expect("none");
    caller.request(&SwInterfaceSetFlags { sw_if_index: first, flags: DOWN }).expect("down");
    let details = dump(&mut caller, 1, None).remove(0);
    assert_eq!((details.flags, details.mtu[0], details.tag.as_str()), (DOWN, 1500, ""));

    // A part has the address of the whole.
    let mac_address = MacAddress([2, 0, 0, 0, 0, 8]);
    caller.request(&SwInterfaceSetMacAddress { sw_if_index: part, mac_address }).expect("an address");
    for sw_if_index in [InterfaceIndex(2), part] {
        let reply = caller.request(&SwInterfaceGetMacAddress { sw_if_index }).expect("an address");
        assert_eq!(reply.mac_address, mac_address);
    }
    caller.request(&HwInterfaceSetMtu { sw_if_index: InterfaceIndex(2), mtu: 2000 }).expect("an MTU");
    assert_eq!(dump(&mut caller, 2, None)[0].link_mtu, 2000);

    let refused = |answer: Result<(), Retval>| answer.expect_err("refused");
    let flags = SwInterfaceSetFlags { sw_if_index: none, flags: UP };
    assert_eq!(refused(caller.request(&flags).map(drop)), Retval::INVALID_SW_IF_INDEX);
    let group = SwInterfaceSetMacAddress { sw_if_index: first, mac_address: MacAddress([1, 0, 0, 0, 0, 1]) };
    assert_eq!(refused(caller.request(&group).map(drop)), Retval::INVALID_VALUE);
    let by_protocol = SwInterfaceSetMtu { sw_if_index: first, mtu: [1400, 1300, 1280, 1390] };
    caller.request(&by_protocol).expect("MTUs");
    assert_eq!(dump(&mut caller, 1, None)[0].mtu, [1400, 1300, 1280, 1390]);
    for mtu in [[67, 0, 0, 0], [70_000, 0, 0, 0], [0, 67, 0, 0], [0, 0, 1279, 0], [0, 0, 0, 67], [0, 0, 70_000, 0]] {
        let wrong = SwInterfaceSetMtu { sw_if_index: first, mtu };
        assert_eq!(refused(caller.request(&wrong).map(drop)), Retval::INVALID_VALUE);
    }
    let part = HwInterfaceSetMtu { sw_if_index: part, mtu: 2000 };
    assert_eq!(refused(caller.request(&part).map(drop)), Retval::INVALID_VALUE);
    let nameless = SwInterfaceTagAddDel { is_add: true, sw_if_index: first, tag: "".into() };
    assert_eq!(refused(caller.request(&nameless).map(drop)), Retval::INVALID_VALUE);
}

#[test]
fn the_speed_of_a_link_is_told_and_a_part_has_that_of_the_whole() {
    let (control, mut caller) = house();
    crate::set_speed(&control, InterfaceId(2), Some(10_000_000));
    let speeds: Vec<_> = dump(&mut caller, NONE, None).iter().map(|details| details.link_speed).collect();
    assert_eq!(speeds, [0, 0, 10_000_000, 10_000_000]);
}

#[test]
fn no_link_has_a_speed_that_can_be_set() {
    let (_control, mut caller) = house();
    let (first, none) = (InterfaceIndex(1), InterfaceIndex(NONE));
    let set = |sw_if_index| SwInterfaceSetLinkSpeed { sw_if_index, link_speed: 10_000_000 };
    assert_eq!(caller.request(&set(first)).map(drop), Err(Retval::UNIMPLEMENTED));
    assert_eq!(caller.request(&set(none)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.request(&SwInterfaceGetSpeedCapa { sw_if_index: first }).expect("an answer").speeds, [0; 0]);
    let asked = caller.request(&SwInterfaceGetSpeedCapa { sw_if_index: none });
    assert_eq!(asked.map(drop), Err(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn counters_of_one_interface_or_of_all_are_cleared() {
    let (control, mut caller) = house();
    let worker = control.room_mut::<Dataplane>().start().expect("a worker");
    let counted = |interface: u32| control.room::<Dataplane>().interface_counters(interface).rx.packets;
    let row = control.room::<Dataplane>().rx_counters().row(0);
    row.add(1, 3, 180);
    row.add(2, 4, 240);
    caller.request(&SwInterfaceClearStats { sw_if_index: InterfaceIndex(1) }).expect("there");
    assert_eq!((counted(1), counted(2)), (0, 4));
    caller.request(&SwInterfaceClearStats { sw_if_index: InterfaceIndex(NONE) }).expect("all");
    assert_eq!((counted(1), counted(2)), (0, 0));
    let gone = caller.request(&SwInterfaceClearStats { sw_if_index: InterfaceIndex(9) });
    assert_eq!(gone.err(), Some(Retval::INVALID_SW_IF_INDEX));
    drop(worker);
}

#[test]
fn clients_that_want_events_hear_of_interfaces() {
    let (control, mut caller) = house();
    let mut other = Caller::connect(&control);
    caller.request(&WantInterfaceEvents { enable_disable: 1, pid: 7 }).expect("from now on");
    let up = SwInterfaceSetFlags { sw_if_index: InterfaceIndex(2), flags: IfStatusFlags::ADMIN_UP };
    other.request(&up).expect("up");
    let event = |index, flags, deleted| SwInterfaceEvent { sw_if_index: InterfaceIndex(index), flags, deleted };
    // The part has its connection by the whole, and is down itself.
    assert_eq!(caller.events::<SwInterfaceEvent>(), [event(2, UP, false), event(3, IfStatusFlags::LINK_UP, false)]);
    crate::set_link(&control, InterfaceId(2), false);
    assert_eq!(caller.events::<SwInterfaceEvent>(), [event(2, IfStatusFlags::ADMIN_UP, false), event(3, DOWN, false)]);
    control.put(dummies::Dummy::new("dummy2".into())).expect("new");
    control.delete::<dummies::Dummy>(&"dummy2".into()).expect("there");
    assert_eq!(caller.events::<SwInterfaceEvent>(), [event(4, DOWN, false), event(4, DOWN, true)]);
    assert!(other.events::<SwInterfaceEvent>().is_empty());
    caller.request(&WantInterfaceEvents { enable_disable: 0, pid: 7 }).expect("no more");
    other.request(&SwInterfaceSetFlags { sw_if_index: InterfaceIndex(2), flags: DOWN }).expect("down");
    assert!(caller.events::<SwInterfaceEvent>().is_empty());
}

#[test]
fn queues_are_served_as_clients_say() {
    let (control, mut caller) = house();
    let workers = control.room_mut::<Dataplane>().start().expect("two workers");
    let mut dummy = dummies::Dummy::new("dummy2".into());
    dummy.queues = 2;
    control.put(dummy).expect("new");
    let all = |caller: &mut Caller| {
        let rows = caller.dump(&SwInterfaceRxPlacementDump { sw_if_index: InterfaceIndex(NONE) });
        let row = |row: &SwInterfaceRxPlacementDetails| (row.sw_if_index.0, row.queue_id, row.worker_id, row.mode);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(all(&mut caller), [(4, 0, 1, RxMode::Adaptive), (4, 1, 2, RxMode::Adaptive)]);
    let sw_if_index = InterfaceIndex(4);
    let place = |queue_id, worker_id, is_main| SwInterfaceSetRxPlacement { sw_if_index, queue_id, worker_id, is_main };
    caller.request(&place(0, 1, false)).expect("there");
    let mode = |queue_id_valid, queue_id, mode| SwInterfaceSetRxMode { sw_if_index, queue_id_valid, queue_id, mode };
    caller.request(&mode(false, 0, RxMode::Polling)).expect("there");
    assert_eq!(all(&mut caller), [(4, 0, 2, RxMode::Polling), (4, 1, 2, RxMode::Polling)]);
    caller.request(&mode(true, 1, RxMode::Default)).expect("there");
    assert_eq!(all(&mut caller), [(4, 0, 2, RxMode::Polling), (4, 1, 2, RxMode::Adaptive)]);
    assert_eq!(caller.dump(&SwInterfaceRxPlacementDump { sw_if_index: InterfaceIndex(1) }), []);

    let refusals = [place(2, 0, false), place(0, 2, false), place(0, 0, true), place(70_000, 0, false)];
    for refused in refusals {
        assert_eq!(caller.request(&refused).err(), Some(Retval::INVALID_VALUE), "{refused:?}");
    }
    assert_eq!(caller.request(&mode(true, 2, RxMode::Polling)).err(), Some(Retval::INVALID_VALUE));
    let without_queues = SwInterfaceSetRxMode {
        sw_if_index: InterfaceIndex(1),
        queue_id_valid: false,
        queue_id: 0,
        mode: RxMode::Polling,
    };
    assert_eq!(caller.request(&without_queues).err(), Some(Retval::INVALID_VALUE));

    let (queues, end) = caller.stream(&SwInterfaceTxPlacementGet { cursor: 0, sw_if_index: InterfaceIndex(NONE) });
    let queue =
        |queue_id, thread| SwInterfaceTxPlacementDetails { sw_if_index, queue_id, shared: 0, threads: vec![thread] };
    assert_eq!((queues, end.is_ok()), (vec![queue(0, 1), queue(1, 2)], true));
    let (queues, end) = caller.stream(&SwInterfaceTxPlacementGet { cursor: 0, sw_if_index: InterfaceIndex(9) });
    assert_eq!((queues, end.err()), (vec![], Some(Retval::INVALID_SW_IF_INDEX)));
    drop(workers);
}

struct Idle;
impl Node for Idle {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

#[test]
fn features_are_asked_for_by_arc_and_name() {
    let (control, mut caller) = house();
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        let arcs: &[ArcSpec] = &[ArcSpec { name: "next-feature", to: To::NextFeature }];
        graph.node(NodeSpec::new("a-feature", arcs, |_| Idle)).expect("a new node");
        graph.node(NodeSpec::new("an-end", &[ArcSpec { name: "gone", to: To::Drop }], |_| Idle)).expect("a new node");
        let spec = FeatureArcSpec { name: "an-arc", end: "an-end", side: Side::Rx };
        graph.feature_arc(spec).expect("a new arc");
        graph.feature(FeatureSpec::new("an-arc", "a-feature", Phase::Filter)).expect("a new place");
    }
    let ask = |caller: &mut Caller, arc: &str, feature: &str, interface| {
        let (arc_name, feature_name) = (arc.into(), feature.into());
        let asked = FeatureIsEnabled { arc_name, feature_name, sw_if_index: InterfaceIndex(interface) };
        let reply = caller.request(&asked).expect("its retval is a field");
        if reply.retval == 0 { Ok(reply.is_enabled) } else { Err(Retval(reply.retval)) }
    };
    assert_eq!(ask(&mut caller, "an-arc", "a-feature", 1), Ok(false));
    control.room_mut::<Dataplane>().enable("an-arc", "a-feature", 1, true).expect("it is a feature");
    assert_eq!([1, 2].map(|interface| ask(&mut caller, "an-arc", "a-feature", interface)), [Ok(true), Ok(false)]);
    assert_eq!(ask(&mut caller, "no-arc", "a-feature", 1), Err(Retval::INVALID_VALUE));
    assert_eq!(ask(&mut caller, "an-arc", "no-feature", 1), Err(Retval::INVALID_VALUE));
    assert_eq!(ask(&mut caller, "an-arc", "a-feature", 9), Err(Retval::INVALID_SW_IF_INDEX));
}
