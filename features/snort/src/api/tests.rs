//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;

const INPUT: u8 = 1;
const OUTPUT: u8 = 2;
const INOUT: u8 = 3;

fn create(name: &str, queue_size: u32) -> SnortInstanceCreate {
    SnortInstanceCreate { queue_size, drop_on_disconnect: 1, name: name.into() }
}

fn attach(instance_index: u32, interface: u32, snort_dir: u8) -> SnortInterfaceAttach {
    SnortInterfaceAttach { instance_index, sw_if_index: interface, snort_dir }
}

fn detach(instance_index: u32, interface: u32, snort_dir: u8) -> SnortInterfaceDetachV2 {
    SnortInterfaceDetachV2 { instance_index, sw_if_index: interface, snort_dir }
}

#[test]
fn instances_come_change_and_go() {
    let daemon = quiver_scenarios::daemon("create packet-generator interface pg0");
    let mut caller = Caller::connect(daemon.control());
    assert_eq!(caller.request(&create("one", 9)).expect("new").instance_index, 0);
    let second = SnortInstanceCreateV2 {
        queue_size: 16,
        qpairs_per_thread: 2,
        drop_bitmap: 2,
        drop_on_disconnect: 0,
        name: "two".into(),
    };
    assert_eq!(caller.request(&second).expect("new").instance_index, 1);
    assert_eq!(caller.request(&create("one", 8)).map(drop), Err(Retval::ENTRY_ALREADY_EXISTS));
    assert_eq!(caller.request(&create("three", 4)).map(drop), Err(Retval::INVALID_VALUE), "it is too small");
    let many = SnortInstanceCreateV2 { qpairs_per_thread: 70_000, name: "many".into(), ..second };
    assert_eq!(caller.request(&many).map(drop), Err(Retval::INVALID_VALUE));
    caller.request(&SnortSetDropBitmap { instance_index: 0, drop_bitmap: 63 }).expect("all verdicts");
    let wrong = SnortSetDropBitmap { instance_index: 0, drop_bitmap: 64 };
    assert_eq!(caller.request(&wrong).map(drop), Err(Retval::INVALID_VALUE));
    let get = |instance_index| SnortInstanceV2Get { cursor: 0, instance_index };
    let (all, last) = caller.stream(&get(NONE));
    assert_eq!(last.expect("it ends").cursor, NONE);
    let told: Vec<_> = all
        .iter()
        .map(|of| (of.instance_index, &*of.name, of.drop_on_disconnect, of.drop_bitmap, of.qpairs_per_thread))
        .collect();
    assert_eq!(told, [(0, "one", 1, 63, 1), (1, "two", 0, 2, 2)]);
    assert!(all.iter().all(|of| of.snort_client_index == NONE && of.shm_fd == NONE && of.shm_size > 0));
    let (old, last) = caller.stream(&SnortInstanceGet { cursor: 0, instance_index: 1 });
    assert_eq!((old.len(), &*old[0].name, last.expect("it ends").cursor), (1, "two", NONE));
    assert_eq!(caller.stream(&get(7)).1.map(drop), Err(Retval::NO_SUCH_ENTRY));
    caller.request(&SnortInstanceDisconnect { instance_index: 0 }).expect("nobody has it");
    caller.request(&SnortInstanceDelete { instance_index: 0 }).expect("it is there");
    assert_eq!(caller.request(&SnortInstanceDelete { instance_index: 0 }).map(drop), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(caller.request(&create("again", 8)).expect("the number is free").instance_index, 0);
}

#[test]
fn interfaces_are_attached_and_detached_by_direction() {
    let daemon =
        quiver_scenarios::daemon("create packet-generator interface pg0\ncreate packet-generator interface pg1");
    let mut caller = Caller::connect(daemon.control());
    for name in ["one", "two"] {
        caller.request(&create(name, 8)).expect("new");
    }
    caller.request(&attach(0, 1, INPUT)).expect("free");
    caller.request(&attach(0, 2, OUTPUT)).expect("free");
    assert_eq!(caller.request(&attach(1, 2, 4)).map(drop), Err(Retval::INVALID_ARGUMENT));
    assert_eq!(caller.request(&attach(9, 2, INPUT)).map(drop), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(caller.request(&attach(1, 9, INPUT)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    caller.request(&attach(1, 2, INOUT)).expect("another instance takes its place");
    assert_eq!(caller.request(&attach(1, 2, OUTPUT)).map(drop), Err(FEATURE_ALREADY_ENABLED));
    let get = |index| SnortInterfaceV2Get { cursor: 0, sw_if_index: index };
    let mut told = |index| {
        let (all, last) = caller.stream(&get(index));
        let all = all.iter().map(|of| (of.sw_if_index, of.in_instance_index, of.out_instance_index));
        (all.collect::<Vec<_>>(), last.map(|last| last.cursor))
    };
    assert_eq!(told(NONE), (vec![(1, 0, NO_INSTANCE), (2, 1, 1)], Ok(NONE)));
    assert_eq!(told(9), (vec![], Err(Retval::INVALID_SW_IF_INDEX)));
    let (old, last) = caller.stream(&SnortInterfaceGet { cursor: 0, sw_if_index: NONE });
    let old: Vec<_> = old.iter().map(|of| (of.sw_if_index, of.instance_index)).collect();
    assert_eq!((old, last.expect("it ends").cursor), (vec![(1, 0), (2, 1)], NONE));
    assert_eq!(caller.request(&detach(0, 2, OUTPUT)).map(drop), Err(Retval::INVALID_INTERFACE));
    caller.request(&detach(1, 2, OUTPUT)).expect("it is attached");
    let all = |interface| SnortInterfaceDetach { sw_if_index: interface };
    caller.request(&all(1)).expect("it is attached");
    assert_eq!(caller.request(&all(1)).map(drop), Err(Retval::INVALID_INTERFACE));
    assert_eq!(caller.request(&all(9)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    // With the instance its attachments go.
    caller.request(&SnortInstanceDelete { instance_index: 1 }).expect("it is there");
    let (left, _) = caller.stream(&SnortInterfaceV2Get { cursor: 0, sw_if_index: NONE });
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn clients_that_are_not_there_are_named_and_input_modes_are_not_supported() {
    let daemon = quiver_scenarios::daemon("create packet-generator interface pg0");
    let mut caller = Caller::connect(daemon.control());
    assert_eq!(caller.request(&SnortInputModeSet { input_mode: 1 }).map(drop), Err(Retval(-126)));
    assert_eq!(caller.request(&SnortInputModeGet).map(drop), Err(Retval(-126)));
    let (all, last) = caller.stream(&SnortClientV2Get { cursor: 0, snort_client_index: NONE });
    assert_eq!((all.len(), last.expect("it ends").cursor), (0, NONE));
    let (old, last) = caller.stream(&SnortClientGet { cursor: 0, snort_client_index: NONE });
    assert_eq!((old.len(), last.expect("it ends").cursor), (0, NONE));
    let disconnect = SnortClientDisconnect { snort_client_index: 0 };
    assert_eq!(caller.request(&disconnect).map(drop), Err(Retval::NO_SUCH_ENTRY));
    let get = SnortClientV2Get { cursor: 0, snort_client_index: 0 };
    assert_eq!(caller.stream(&get).1.map(drop), Err(Retval::NO_SUCH_ENTRY));
}
