//! Comparison of predicted and real paths.
#![allow(dead_code)] // Each test uses a part of it.

use quiver_interface::Interfaces;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use quiver_why::way::PacketPath;
use serde_json::Value;

/// The predicted path of a frame.
pub fn way(daemon: &mut Daemon, interface: &str, frame: &[u8]) -> PacketPath {
    let id = daemon.control().room::<Interfaces>().id_of(interface).expect("it was created");
    let (control, frame) = (daemon.control().clone(), frame.to_owned());
    let way = daemon.run_task(async move { PacketPath::of(&control, id, &frame).await });
    way.expect("it has a receive queue")
}

/// Predicts the path of a frame and sends it: nodes and arcs must be the same.
pub fn compare(daemon: &mut Daemon, interface: &str, frame: &[u8], name: &str) -> PacketPath {
    let said = way(daemon, interface, frame);
    daemon.run("trace add pg-input 1").expect("there is such a node");
    daemon.send(interface, frame).expect("it has room");
    daemon.settle().expect("nothing circles");
    let steps: Vec<_> = said.0.iter().map(|step| (step.node.to_owned(), step.arc.map(str::to_owned))).collect();
    assert_eq!(steps, traced(daemon), "{name}, on {interface}: {}", Packet::dissect(frame));
    said
}

/// Nodes and arcs of the packet that was traced last: of those before it some have waited meanwhile and gone on.
fn traced(daemon: &mut Daemon) -> Vec<(String, Option<String>)> {
    let reply = daemon.run("show trace").expect("there is a trace");
    daemon.run("clear trace").expect("it can be cleared");
    let packets = reply.json.as_array().cloned().unwrap_or_default();
    let nodes = packets.iter().rev().map(|packet| &packet["nodes"]).find(|nodes| nodes[0]["node"] == "pg-input");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let nodes = nodes.and_then(Value::as_array).cloned().unwrap_or_default();
    let steps = nodes.iter().map(|node| (text(&node["node"]).unwrap_or_default(), text(&node["arc"])));
    steps.filter(|(node, _)| !["drop", "punt", "done"].contains(&node.as_str())).collect()
}
