//! The speed of a link. What Quiver's drivers send by has none that could be set: a host's interface has the host's, and
//! the others are memory. Who asks hears so, in VPP's words.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::json;

use crate::settings::InterfaceName;

/// The speeds that a link can be set to, in kilobits a second: so far no driver has any.
pub(crate) const SPEEDS: [u32; 0] = [];

pub(crate) fn register(control: &Control) {
    let set = "set interface link-speed <interface> <speed:u32>";
    let set = Command::new(set, "Set the speed of a link, where its driver can.", set_speed);
    control.commands().add(set.argument("speed", "kilobits a second"));
    let show = "show interface link-speed-capa <interface>";
    control.commands().add(Command::new(show, "Show the speeds that a link can be set to.", show_speeds));
}

/// Why a link's speed stays.
pub(crate) fn fixed(interface: &str) -> String {
    format!("{interface}: its driver does not support setting the speed of the link; set that of the host's interface")
}

fn set_speed(_: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = matches.get("interface")?;
    Err(CommandError::new(fixed(&interface.0)).at(matches.place("speed")))
}

fn show_speeds(_: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = matches.get("interface")?;
    Ok(Reply::new(
        format!("no speed capabilities reported for {interface}\n"),
        json!({"interface": interface.0, "speeds-kbps": SPEEDS}),
    ))
}
