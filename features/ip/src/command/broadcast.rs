//! The command about directed broadcasts.

use quiver_control::Control;
use quiver_control::cli::{Command, Reply};

use crate::config::broadcast::{DirectedBroadcast, put};

pub(super) fn register(control: &Control) {
    let set = "set interface ip directed-broadcast <interface> (enable | disable)";
    let help = "Enable or disable forwarding of directed broadcasts to the IPv4 subnets of an interface.";
    let set = Command::new(set, help, |control, given| {
        put(control, given.get("interface")?, given.has("enable"))?;
        Ok(Reply::done())
    });
    let set = set.argument("enable", "forward directed broadcasts").argument("disable", "drop directed broadcasts");
    control.commands().add(set.arguments_of::<DirectedBroadcast>());
}
