//! `set ip6 mld`, `show ip6 mld`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::Interfaces;

use crate::keeper::Listeners;
use crate::objects::ListenerDiscovery;

pub(crate) fn register(control: &Control) {
    let help = "Enable or disable MLD reports of the IPv6 groups of interfaces.";
    let set = Command::new("set ip6 mld (enable|disable)", help, set).arguments_of::<ListenerDiscovery>();
    control.commands().add(set.argument("enable", "send MLD reports").argument("disable", "send no MLD reports"));
    let help = "Show the IPv6 groups that MLD reports.";
    control.commands().add(Command::new("show ip6 mld", help, show));
}

fn set(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let report = given.has("enable");
    control.put(ListenerDiscovery { name: ListenerDiscovery::NAME.to_owned(), report })?;
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, now, room) = (control.room::<Interfaces>(), control.now(), control.room::<Listeners>());
    let mut table = Table::new(["Interface", "Version", "Group"]);
    for (id, own) in room.iter() {
        let version = if own.is_first_version(now) { 1u32 } else { 2 };
        for group in own.groups() {
            table.row([Cell::from(interfaces.name(*id)), version.into(), Cell::of(group)]);
        }
    }
    Ok(table.into())
}
