//! More interfaces than 16 bits can number: their creation, packets that come and go by numbers above 65,535, and clients of the
//! statistics that have mapped the segment before.

use quiver_bridge::loopback::Loopback;
use quiver_interface::settings::AdminState;
use quiver_interface::{InterfaceName, InterfaceSettings, Interfaces};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;

/// Creates loopbacks until there are so many interfaces; sets every hundredth up.
fn fill(daemon: &mut Daemon, count: usize) {
    let control = daemon.control().clone();
    let first = control.room::<Interfaces>().iter().count();
    for number in first..count {
        let name = control.room_mut::<Interfaces>().free_name("loop");
        control.put(Loopback { name: name.clone(), mac: None }).expect("it can be made");
        if number % 100 == 0 {
            let settings = InterfaceSettings { state: AdminState::Up, ..InterfaceSettings::new(InterfaceName(name)) };
            control.put(settings).expect("it can be set up");
            // Workers let go of what was replaced.
            daemon.settle().expect("nothing circles");
        }
    }
    daemon.settle().expect("nothing circles");
}

fn packet(text: &str) -> Vec<u8> {
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

#[test]
fn packets_come_and_go_by_interfaces_above_65535() {
    let mut daemon = Daemon::new(ROOMS, Setup { statistics: 4 << 30, ..Setup::default() }).expect("a daemon");
    fill(&mut daemon, 70_000);
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         create packet-generator interface pg2
         create packet-generator interface pg3
         create bridge-domain 7
         set interface l2 bridge pg2 7
         set interface l2 bridge pg3 7
         set interface state pg0 up
         set interface state pg1 up
         set interface state pg2 up
         set interface state pg3 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:02 static",
    );
    let id = |name| daemon.control().room::<Interfaces>().find(name).expect("it is there").id;
    let ids = ["pg0", "pg1", "pg2", "pg3"].map(id);
    assert!(ids.iter().all(|id| id.0 > 65_535), "{ids:?}");
    daemon.advance(std::time::Duration::from_secs(5)).expect("nothing circles");
    drop(daemon.sent());

    let udp = "udp 1 > 2 / payload 18";
    let routed = packet(&format!("eth 02:00:00:00:00:01 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.1.2 ttl 64 / {udp}"));
    daemon.send("pg0", &routed).expect("pg0 is up");
    daemon.settle().expect("nothing circles");
    let forwarded = format!("eth 02:00:00:00:00:a1 > 02:00:00:00:00:02 / ip4 10.0.0.2 > 10.0.1.2 ttl 63 / {udp}");
    assert_eq!(daemon.sent(), [("pg1".to_owned(), packet(&forwarded))]);

    // The first frame is flooded; the answer finds the station that was learned.
    let frame = |from: u8, to: u8| {
        let [from, to] = [from, to].map(|last| format!("02:00:00:00:01:{last:02x}"));
        packet(&format!("eth {from} > {to} / ip4 10.9.0.1 > 10.9.0.2 ttl 64 / {udp}"))
    };
    for (from, to, frame) in [("pg2", "pg3", frame(1, 2)), ("pg3", "pg2", frame(2, 1)), ("pg2", "pg3", frame(1, 2))] {
        daemon.send(from, &frame).expect("it is up");
        daemon.settle().expect("nothing circles");
        assert_eq!(daemon.sent(), [(to.to_owned(), frame)]);
    }
    let shown = daemon.run("show bridge-domain 7 macs").or_else(|_| daemon.run("show l2fib verbose")).expect("shown");
    assert!(shown.text.contains("pg2") && shown.text.contains("pg3"), "{}", shown.text);
    daemon.configure("delete packet-generator interface pg3");
    daemon.finish().expect("nothing is lost");
}
