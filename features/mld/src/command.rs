//! `set ip6 mld`, `show ip6 mld`.

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_control::{Control, one_by_one};
use quiver_interface::Interfaces;

use crate::keeper::Listeners;
use crate::objects::ListenerDiscovery;

pub(crate) fn register(control: &Control) {
    let help = "Enable or disable MLD reports of the IPv6 groups of interfaces.";
    let set = Command::new("set ip6 mld (enable|disable)", help, set).arguments_of::<ListenerDiscovery>();
    control.commands().add(set.argument("enable", "send MLD reports").argument("disable", "send no MLD reports"));
    let help = "Show the IPv6 groups that MLD reports.";
    control.commands().add(Command::waiting("show ip6 mld", help, show));
}

fn set(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let report = given.has("enable");
    control.put(ListenerDiscovery { name: ListenerDiscovery::NAME.to_owned(), report })?;
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Version", "Group"]);
    let all = one_by_one(|last| {
        let room = control.room::<Listeners>();
        let (id, own) = room.behind(last)?;
        let (name, version) =
            (control.room::<Interfaces>().name(*id), if own.is_first_version(control.now()) { 1u32 } else { 2 });
        let row = |group| [Cell::from(name.clone()), version.into(), Cell::of(group)];
        Some((*id, own.groups().iter().map(row).collect::<Vec<_>>()))
    });
    for groups in all {
        for row in groups {
            rows.step().await;
            rows.row(row);
        }
        rows.step().await;
    }
    Ok(rows.end())
}
