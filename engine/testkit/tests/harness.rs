//! The test daemon and the golden runner, tried on a room made for it: a patch panel whose ports are joined in pairs.

use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::*;
use quiver_testkit::daemon::{Daemon, DaemonError, Rooms, Setup};
use quiver_testkit::golden::compare;
use quiver_testkit::packet::Packet as Text;

arcs! {
    /// Arcs of the panel.
    enum Next {
        Out => features "interface-output",
        Short => drop "too-short",
    }
}

/// Whatever enters at an even port leaves at the odd one behind it, and back.
#[derive(Clone)]
struct Panel;
impl Stage for Panel {
    const NAME: &'static str = "panel";
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = Panel;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> Panel {
        Panel
    }
}
impl Body for Panel {
    const WRITES: Columns = Columns::TX;
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        p.leave(p.length.lt(14), Next::Short);
        p.tx = p.rx ^ 1;
    }
}

type Wire = Arc<Mutex<VecDeque<Vec<u8>>>>;
struct Queue(Wire);
impl RxQueue for Queue {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let mut wire = self.0.lock().unwrap();
        let n = wire.len().min(cx.most).min(frame.room());
        for bytes in wire.drain(..n) {
            if !frame.push_bytes(cx.pool, &bytes, cx.interface) {
                cx.no_buffer += 1;
            }
        }
        frame.len()
    }
}
impl TxQueue for Queue {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let packets = (0..batch.len()).map(|i| batch.segments(cx.pool, i).flatten().copied().collect());
        self.0.lock().unwrap().extend(packets);
        batch.len()
    }
}

struct Ports {
    input: graph::NodeId,
    wires: Vec<(Wire, Wire)>,
}
fn said(error: impl Display) -> String {
    error.to_string()
}
fn register(control: &Control) -> Result<(), String> {
    let input = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        let input = graph.input("port-input").map_err(said)?;
        graph.node(NodeSpec::stage(|_| Panel)).map_err(said)?;
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: "panel", side: Side::Rx }).map_err(said)?;
        dataplane.product(ProductSpec::new("panel", Next::Out, |_| true, |_| Last(Panel)));
        input
    };
    control.insert_room(Ports { input, wires: vec![] });
    control.commands().add(Command::new("create port", "Add a port.", create));
    control.commands().add(Command::waiting("wait <seconds:u32>", "Wait.", |control, matches, output| async move {
        for second in 0..matches.get::<u32>("seconds")? {
            control.sleep(Duration::from_secs(1)).await;
            output.send(Reply::text(format!("{second}"))).await;
        }
        Ok(Reply::text("done"))
    }));
    Ok(())
}
fn create(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (mut ports, mut dataplane) = (control.room_mut::<Ports>(), control.room_mut::<Dataplane>());
    let (wires, number) = ((Wire::default(), Wire::default()), ports.wires.len() as u16);
    let (rx, tx) = (Box::new(Queue(wires.0.clone())), Box::new(Queue(wires.1.clone())));
    dataplane.attach(number, ports.input, vec![rx], vec![tx]).map_err(|error| CommandError::new(error.to_string()))?;
    dataplane.set_up(number, true);
    ports.wires.push(wires);
    Ok(Reply::text(format!("port{number}")))
}
fn send(control: &Control, port: &str, packet: &[u8]) -> Result<(), String> {
    let ports = control.room::<Ports>();
    let number = port.strip_prefix("port").and_then(|number| number.parse::<usize>().ok());
    let wires = number.and_then(|number| ports.wires.get(number)).ok_or(format!("there is no {port}"))?;
    wires.0.lock().unwrap().push_back(packet.to_vec());
    Ok(())
}
fn sent(control: &Control) -> Vec<(String, Vec<u8>)> {
    let ports = control.room::<Ports>();
    let of = |(number, (_, out)): (usize, &(Wire, Wire))| {
        out.lock().unwrap().drain(..).map(move |packet| (format!("port{number}"), packet)).collect::<Vec<_>>()
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

# Long packets are chains, which no product takes.
in port0 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 9000
in port0 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 46
in port1 hex 0102
out port1 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 9000
out port1 eth 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x88b5 / payload 46
drop panel too-short 1

in port7 hex 0102
! there is no port7

cli wait 2
| 0
| 1
| done
advance 5s
count panel
= interface-output 2
= too-short 1
# The end.
";

#[test]
fn a_true_scenario_passes_in_every_way() {
    compare(SCENARIO, "panel", ROOMS).unwrap();
}

#[test]
fn untrue_scenarios_fail_and_say_where() {
    for (true_line, untrue, shown) in [
        ("drop panel too-short 1\n", "", "   10   in port1"),
        ("drop panel too-short 1\n", "drop panel too-short 2\n", "   13 - drop panel too-short 2\n"),
        ("payload 46\ndrop", "payload 47\ndrop", "   12 - out port1 eth"),
        ("| 1\n", "", "      + | 1\n"),
        ("= too-short 1\n", "= too-short 1\n= other 1\n", "   26 - = other 1\n"),
    ] {
        let scenario = SCENARIO.replace(true_line, untrue);
        assert_ne!(scenario, SCENARIO);
        let error = compare(&scenario, "panel", ROOMS).unwrap_err();
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
