//! `l3xc`, `show l3xc`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip4;
use quiver_ip::command::paths;
use quiver_ip::show::{forwarding, forwarding_json};
use serde_json::json;

use crate::config::{CrossConnects, L3CrossConnect};

const ADD: &str = "l3xc [add] <interface> [ip4] (via (<next-hop:ip4> [<interface>] | <interface> | drop | local \
    | null-send-unreach | null-send-prohibit) {next-hop-table <next-hop-table:u32> | weight <weight:u8>})...";

pub(crate) fn register(control: &Control) {
    let help = "Have packets that an interface receives go by these paths, whatever their destinations.";
    control.commands().add(Command::new(ADD, help, add).arguments_of::<L3CrossConnect>());
    let help = "Have packets that an interface receives looked up again.";
    control.commands().add(Command::new("l3xc del <interface> [ip4]", help, delete).arguments_of::<L3CrossConnect>());
    control.commands().add(Command::new("show l3xc", "Show cross-connects of layer 3.", show));
}

fn add(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    control.put(L3CrossConnect { interface, paths: paths(given)? })?;
    Ok(Reply::done())
}

fn delete(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    control.delete::<L3CrossConnect>(&given.get("interface")?)?;
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, ip, room) = (control.room::<Interfaces>(), control.room::<Ip4>(), control.room::<CrossConnects>());
    let (mut text, mut list) = (String::new(), vec![]);
    for connect in control.objects().all::<L3CrossConnect>() {
        let group = interfaces.id_of(&connect.interface.0).ok().and_then(|id| room.group(id));
        let Some(group) = group.and_then(|group| ip.fib.groups.get(group)) else { continue };
        // A text that is a String takes everything.
        let _ = write!(text, "{}\n  ip4\n{}", connect.interface, forwarding(&ip.fib, &interfaces, group));
        let buckets = forwarding_json(&ip.fib, &interfaces, group);
        list.push(json!({"interface": connect.interface.0, "family": "ip4", "buckets": buckets}));
    }
    Ok(Reply::new(text, json!(list)))
}
