//! `set ip6 dad`, `show ip6 dad`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_control::object::Interval;
use quiver_interface::Interfaces;

use crate::check::{Checks, State};
use crate::objects::DuplicateAddressDetection;

pub(crate) fn register(control: &Control) {
    let enable = "set ip6 dad enable {transmits <transmits:u8> | delay <delay:interval>}";
    let enable = Command::new(enable, "Enable duplicate address detection for IPv6 addresses.", enable_checks);
    control.commands().add(enable.arguments_of::<DuplicateAddressDetection>());
    let help = "Disable duplicate address detection.";
    control.commands().add(Command::new("set ip6 dad disable", help, |control, _| {
        control.delete::<DuplicateAddressDetection>(&DuplicateAddressDetection::NAME.to_owned())?;
        Ok(Reply::done())
    }));
    let help = "Show the addresses under duplicate address detection.";
    control.commands().add(Command::new("show ip6 dad", help, show));
}

fn enable_checks(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (transmits, delay) = (given.find::<u8>("transmits")?, given.find::<Interval>("delay")?);
    let wanted = DuplicateAddressDetection::new(DuplicateAddressDetection::NAME.to_owned());
    control.edit(wanted, |wanted| {
        wanted.transmits = transmits.unwrap_or(wanted.transmits);
        wanted.delay = delay.unwrap_or(wanted.delay);
    })?;
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, checks) = (control.room::<Interfaces>(), control.room::<Checks>());
    let mut table = Table::new(["Interface", "Address", "State", "Asked"]);
    for ((id, address), check) in checks.iter() {
        let state = match check.state {
            State::Tentative => "tentative",
            State::Preferred => "preferred",
            State::Duplicate => "duplicate",
        };
        let asked = u32::from(check.asked);
        table.row([Cell::from(interfaces.name(*id)), Cell::from(address.to_string()), state.into(), asked.into()]);
    }
    Ok(table.into())
}
