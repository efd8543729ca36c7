//! Frames for one, for a group and for all, counted apart on interfaces of which a client wants that.

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Caller, Retval};
use quiver_engine::Dataplane;
use quiver_engine::stats::Reading;
use quiver_ethernet::api::CollectDetailedInterfaceStats;
use quiver_testkit::daemon::Daemon;

/// A frame to an address that begins so.
fn frame(first: u8) -> Vec<u8> {
    let destination = if first == 0xff { [0xff; 6] } else { [first, 0, 0, 0, 0, 9] };
    [&destination[..], &[2, 0, 0, 0, 0, 1, 0x88, 0xb5], &[0; 46]].concat()
}

/// The number at an entry of the statistics that is a symlink.
fn sum(daemon: &Daemon, name: &str) -> Option<u64> {
    let (segment, mut found) = (daemon.control().room::<Dataplane>().statistics().clone(), None);
    segment.read(|of, reading| {
        if let Reading::Symlink { sum, .. } = reading
            && of == name
        {
            found = Some(sum);
        }
    });
    found
}

/// Packets of an interface for one, for a group, for all.
fn counted(daemon: &Daemon, interface: &str, side: &str) -> [u64; 3] {
    ["unicast", "multicast", "broadcast"].map(|cast| {
        let name = format!("/interfaces/{interface}/{side}-{cast}");
        sum(daemon, &name).unwrap_or_else(|| panic!("there is no {name}"))
    })
}

/// A daemon in which pg0 is cross-connected to pg1.
fn crossed() -> Daemon {
    quiver_scenarios::daemon(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         set interface l2 xconnect pg0 pg1
         set interface state pg0 up
         set interface state pg1 up",
    )
}

#[test]
fn frames_are_counted_apart_where_a_client_wants_that() {
    let mut daemon = crossed();
    let mut caller = Caller::connect(daemon.control());
    let mut collect = |sw_if_index, enable_disable| {
        let sw_if_index = InterfaceIndex(sw_if_index);
        caller.request(&CollectDetailedInterfaceStats { sw_if_index, enable_disable }).map(drop)
    };
    let send = |daemon: &mut Daemon| {
        for first in [2, 4, 3, 0xff, 0xff, 0xff] {
            daemon.send("pg0", &frame(first)).expect("pg0 is up");
        }
        daemon.settle().expect("nothing circles");
        daemon.sent().len()
    };
    assert_eq!(send(&mut daemon), 6);
    assert_eq!(counted(&daemon, "pg0", "rx"), [0; 3], "nobody wants it yet");
    assert_eq!((collect(1, true), collect(2, true)), (Ok(()), Ok(())));
    assert_eq!(send(&mut daemon), 6);
    assert_eq!((counted(&daemon, "pg0", "rx"), counted(&daemon, "pg1", "tx")), ([2, 1, 3], [2, 1, 3]));
    assert_eq!((counted(&daemon, "pg0", "tx"), counted(&daemon, "pg1", "rx")), ([0; 3], [0; 3]));
    daemon.configure("interface collect detailed-stats pg0 disable");
    assert_eq!(send(&mut daemon), 6);
    assert_eq!((counted(&daemon, "pg0", "rx"), counted(&daemon, "pg1", "tx")), ([2, 1, 3], [4, 2, 6]));
    daemon.configure("clear interfaces");
    assert_eq!(counted(&daemon, "pg1", "tx"), [0; 3]);

    assert_eq!(collect(9, true), Err(Retval::INVALID_SW_IF_INDEX));
    daemon.configure("create loopback interface");
    assert_eq!(collect(3, true), Err(Retval::INVALID_VALUE), "it has no queues");
    assert_eq!((collect(2, false), collect(2, false)), (Ok(()), Ok(())));
}

#[test]
fn what_an_interface_sent_is_shown_as_that_of_a_node_of_its_own() {
    let mut daemon = crossed();
    for _ in 0..3 {
        daemon.send("pg0", &frame(2)).expect("pg0 is up");
    }
    daemon.settle().expect("nothing circles");
    quiver_statistics::refresh(daemon.control());
    let of = |name: &str| sum(&daemon, &format!("/nodes/{name}-tx/vectors"));
    assert_eq!((of("pg0"), of("pg1")), (Some(0), Some(3)));
    assert_eq!(sum(&daemon, "/err/ethernet-input/no error"), Some(0));
    daemon.configure("delete packet-generator interface pg1");
    assert_eq!(sum(&daemon, "/nodes/pg1-tx/vectors"), None);
}
