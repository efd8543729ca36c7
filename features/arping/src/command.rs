//! `arping`.

use std::net::IpAddr;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::object::Interval;
use quiver_interface::{InterfaceName, Interfaces};
use serde_json::json;

use crate::run::{Arping, run};

pub(crate) fn register(control: &Control) {
    let grammar = "arping [gratuitous] <address:ip> <interface> {repeat <repeat:u32> | interval <interval>}";
    let arping = Command::waiting(
        grammar,
        "Ask for an address on a link by ARP or Neighbour Discovery, or announce one there.",
        arping,
    );
    let arping = arping.argument("gratuitous", "tell everybody that the address is ours, and ask nobody");
    let arping = arping.argument("address", "who is to answer").argument("interface", "whose link it is");
    let arping = arping.argument("repeat", "how often, 1 if nothing is said");
    control.commands().add(arping.argument("interval", "seconds in between, 1 if nothing is said"));
}

async fn arping(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    let interval = given.find::<Interval>("interval")?.map_or(Duration::from_secs(1), |interval| interval.0);
    let (address, gratuitous) = (given.get::<IpAddr>("address")?, given.has("gratuitous"));
    let repeat = given.find::<u32>("repeat")?.unwrap_or(1);
    let what = if gratuitous { "GARP" } else { "ARP Request" };
    let sent = async |number: u32| {
        let json = json!({"sent": number, "address": format!("{address}")});
        output.send(Reply::new(format!("Sending {number} {what} to {address}"), json)).await;
    };
    let wanted = Arping { interface: id, address, gratuitous, repeat, interval };
    let answers = run(&control, wanted, sent).await;
    let answers = answers.map_err(|error| CommandError::new(error.to_string()).at(given.place("interface")))?;
    let text = match answers.from {
        _ if gratuitous => String::new(),
        Some(mac) => format!("Received {} ARP Replies from {mac} ({address})", answers.count),
        None => "Received 0 Reply".into(),
    };
    let mac = answers.from.map(|mac| mac.to_string());
    Ok(Reply::new(text, json!({"received": answers.count, "mac": mac})))
}
