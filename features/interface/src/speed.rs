//! The speed of a link. What Quiver's drivers send by has none that could be set: a host's interface has the host's, which
//! its driver tells (`set_speed`), and the others are memory. Who asks hears so, in VPP's words.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::json;

use crate::settings::InterfaceName;

/// The speeds that a link can be set to, in kilobits a second: so far no driver has any.
pub(crate) const SPEEDS: [u32; 0] = [];

pub(crate) fn register(control: &Control) {
    let set = "set interface link-speed <interface> <speed:u32>";
    let set = Command::new(set, "Set the link speed, if the driver supports it.", set_speed);
    control.commands().add(set.argument("speed", "speed in kbit/s"));
    let show = "show interface link-speed-capa <interface>";
    control.commands().add(Command::new(show, "Show the link speeds that an interface can be set to.", show_speeds));
}

/// Why a link's speed stays.
pub(crate) fn fixed(interface: &str) -> String {
    format!("{interface}: its driver does not support setting the speed of the link; set that of the host's interface")
}

/// A speed as people write it, given in kilobits a second: one digit behind the point where it is no whole number of gigabits.
pub(crate) fn in_words(speed: Option<u32>) -> String {
    match speed {
        None => "unknown".into(),
        Some(kilobits) if kilobits % 1_000_000 == 0 => format!("{} Gbps", kilobits / 1_000_000),
        Some(kilobits) if kilobits > 1_000_000 => format!("{:.1} Gbps", f64::from(kilobits / 100_000) / 10.0),
        Some(kilobits) if kilobits >= 1000 => format!("{} Mbps", kilobits / 1000),
        Some(kilobits) => format!("{kilobits} Kbps"),
    }
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

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn speeds_are_told_as_people_write_them() {
        let said =
            [10, 9_999, 10_000, 1_000_000, 2_500_000, 2_590_000, 10_000_000, 400_000_000].map(|s| in_words(Some(s)));
        let expected = ["10 Kbps", "9 Mbps", "10 Mbps", "1 Gbps", "2.5 Gbps", "2.5 Gbps", "10 Gbps", "400 Gbps"];
        assert_eq!((said, in_words(None).as_str()), (expected.map(String::from), "unknown"));
    }
}
