//! The test daemon and the golden runner, tried on a room made for it: ports that are joined in pairs.

use std::fmt::Display;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::*;
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, DaemonError, Rooms, Setup};
use quiver_testkit::golden::compare;
use quiver_testkit::packet::Packet as Text;
use quiver_testkit::wire::{self, Wire};

struct Ports {
    input: graph::NodeId,
    wires: Vec<(Wire, Wire)>,
}
fn said(error: impl Display) -> String {
    error.to_string()
}
fn register(control: &Control) -> Result<(), String> {
    let input = control.room_mut::<Dataplane>().blueprint().input("port-input", wire::Next::ARCS).map_err(said)?;
    crossing::register(control).map_err(said)?;
    control.insert_room(Ports { input, wires: vec![] });
    control.commands().add(Command::new("create port", "Add a port.", create));
    control.commands().add(Command::waiting(
        "tick <seconds:u32>",
        "Count seconds.",
        |control, matches, output| async move {
            for second in 0..matches.get::<u32>("seconds")? {
                control.sleep(Duration::from_secs(1)).await;
                output.send(Reply::text(format!("{second}"))).await;
            }
            Ok(Reply::text("done"))
        },
    ));
    Ok(())
}
fn create(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (mut ports, mut dataplane) = (control.room_mut::<Ports>(), control.room_mut::<Dataplane>());
    let (wires, number) = ((Wire::new(), Wire::new()), ports.wires.len());
    let (interface, queues) = (number as u32 + 1, (vec![wires.0.rx()], vec![wires.1.tx()]));
    let attached = dataplane.attach(interface, ports.input, queues.0, queues.1);
    attached.map_err(|error| CommandError::new(error.to_string()))?;
    dataplane.set_up(interface, true);
    ports.wires.push(wires);
    Ok(Reply::text(format!("port{number}")))
}
fn send(control: &Control, port: &str, packet: &[u8]) -> Result<(), String> {
    let ports = control.room::<Ports>();
    let number = port.strip_prefix("port").and_then(|number| number.parse::<usize>().ok());
    let wires = number.and_then(|number| ports.wires.get(number)).ok_or(format!("there is no {port}"))?;
    wires.0.put(packet);
    Ok(())
}
fn sent(control: &Control) -> Vec<(String, Vec<u8>)> {
    let ports = control.room::<Ports>();
    let of = |(number, (_, out)): (usize, &(Wire, Wire))| {
        out.take().into_iter().map(move |packet| (format!("port{number}"), packet)).collect::<Vec<_>>()
    };
    ports.wires.iter().enumerate().flat_map(of).collect()
}
const ROOMS: Rooms = Rooms { register, answer: |_| {}, send, sent };

const SCENARIO: &str = "\
with buffers 256
cli create port
| port0
cli create port
| port1

# Long packets are chains.
in port0 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 9000
in port0 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 46
in port1 hex 0102
out port1 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 9000
out port1 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 46
drop crossing too-short 1

in port7 hex 0102
! there is no port7

cli tick 2
| 0
| 1
| done
advance 5s
count crossing
= interface-output 2
= too-short 1
# The end.
";

#[test]
fn a_true_scenario_passes_in_every_way() {
    compare(SCENARIO, "crossing", ROOMS).unwrap();
}

#[test]
fn untrue_scenarios_fail_and_say_where() {
    for (true_line, untrue, shown) in [
        ("drop crossing too-short 1\n", "", "   10   in port1"),
        ("drop crossing too-short 1\n", "drop crossing too-short 2\n", "   13 - drop crossing too-short 2\n"),
        ("payload 46\ndrop", "payload 47\ndrop", "   12 - out port1 eth"),
        ("| 1\n", "", "      + | 1\n"),
        ("= too-short 1\n", "= too-short 1\n= other 1\n", "   26 - = other 1\n"),
    ] {
        let scenario = SCENARIO.replace(true_line, untrue);
        assert_ne!(scenario, SCENARIO);
        let error = compare(&scenario, "crossing", ROOMS).unwrap_err();
        assert!(error.contains(shown), "{error}");
    }
}

#[test]
fn an_exhausted_pool_is_counted_and_nothing_leaks() {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 64, ..Setup::default() }).unwrap();
    daemon.configure("create port\n create port");
    let packet = "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / payload 46".parse::<Text>().unwrap().to_bytes();
    for _ in 0..100 {
        daemon.send("port0", &packet).unwrap();
    }
    daemon.settle().unwrap();
    let sent = daemon.sent().len() as u64;
    assert!(sent > 0 && sent < 100, "{sent}");
    assert_eq!(daemon.drops(), [(("port-input", "no-buffer"), 100 - sent)].into());
    daemon.finish().unwrap();
}

#[test]
fn a_packet_that_is_kept_is_a_leak() {
    let mut daemon = Daemon::new(ROOMS, Setup::default()).unwrap();
    let kept = daemon.workers()[0].pool().packet(&[0; 60]).expect("there are buffers");
    let error = daemon.finish().unwrap_err();
    assert!(matches!(error, DaemonError::Leak { missing: 1, .. }), "{error}");
    drop(kept);
}
