//! `arping`.

use std::net::IpAddr;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::object::Interval;
use quiver_interface::{InterfaceName, Interfaces};
use serde_json::json;

use crate::joined::Joined;
use crate::run::{Arping, run};

pub(crate) fn register(control: &Control) {
    const HOW_OFTEN: &str = "{repeat <repeat:u32> | interval <interval>}";
    control.commands().add_kind(ArgumentKind::of::<Joined>());
    let help = "Send ARP requests or neighbor solicitations for an address, or announce it.";
    let grammar = format!("arping [gratuitous] <address:ip> <interface> {HOW_OFTEN}");
    let arping = described(Command::waiting(grammar, help, async |control, given, output| {
        let interface: InterfaceName = given.get("interface")?;
        let what = (given.has("gratuitous"), given.get::<IpAddr>("address")?);
        say(&control, &given, output, what, ("interface", &interface)).await
    }));
    let arping = arping.argument("gratuitous", "announce the address instead of asking for it");
    control.commands().add(
        arping.argument("address", "destination address").argument("interface", "interface on the address's link"),
    );
    let grammar = format!("arping <target:address-and-interface> {HOW_OFTEN}");
    let joined = described(Command::waiting(grammar, help, async |control, given, output| {
        let Joined { gratuitous, address, interface } = given.get("target")?;
        say(&control, &given, output, (gratuitous, address), ("target", &InterfaceName(interface))).await
    }));
    control.commands().add(joined.argument("target", "both in one word, optionally after `gratuitous`"));
}

fn described(arping: Command) -> Command {
    let arping = arping.argument("repeat", "number of requests; default 1");
    arping.argument("interval", "seconds between requests; default 1")
}

/// Asks, or announces; `place` is the argument that names the interface.
async fn say(
    control: &Control,
    given: &Matches,
    output: Output,
    (gratuitous, address): (bool, IpAddr),
    (place, interface): (&str, &InterfaceName),
) -> Result<Reply, CommandError> {
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    let interval = given.find::<Interval>("interval")?.map_or(Duration::from_secs(1), |interval| interval.0);
    let repeat = given.find::<u32>("repeat")?.unwrap_or(1);
    let what = if gratuitous { "GARP" } else { "ARP Request" };
    let sent = async |number: u32| {
        let json = json!({"sent": number, "address": format!("{address}")});
        output.send(Reply::new(format!("Sending {number} {what} to {address}"), json)).await;
    };
    let wanted = Arping { interface: id, address, gratuitous, repeat, interval };
    let answers = run(control, wanted, sent).await;
    let answers = answers.map_err(|error| CommandError::new(error.to_string()).at(given.place(place)))?;
    let text = match answers.from {
        _ if gratuitous => String::new(),
        Some(mac) => format!("Received {} ARP Replies from {mac} ({address})", answers.count),
        None => "Received 0 Reply".into(),
    };
    let mac = answers.from.map(|mac| mac.to_string());
    let is_unheard = !gratuitous && answers.count == 0;
    Ok(Reply::new(text, json!({"received": answers.count, "mac": mac})).failed_if(is_unheard))
}
