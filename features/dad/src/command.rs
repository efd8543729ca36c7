//! `set ip6 dad`, `show ip6 dad`.

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_control::object::Interval;
use quiver_control::{Control, one_by_one};
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
    control.commands().add(Command::waiting("show ip6 dad", help, show));
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

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Address", "State", "Asked"]);
    let checked = one_by_one(|last| {
        let (interfaces, checks) = (control.room::<Interfaces>(), control.room::<Checks>());
        let (key @ (id, address), check) = checks.behind(last)?;
        let state = match check.state {
            State::Tentative => "tentative",
            State::Preferred => "preferred",
            State::Duplicate => "duplicate",
        };
        let asked = u32::from(check.asked);
        let row = [Cell::from(interfaces.name(*id)), Cell::from(address.to_string()), state.into(), asked.into()];
        Some((*key, row))
    });
    rows.each(checked, Some).await;
    Ok(rows.end())
}
