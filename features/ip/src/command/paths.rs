//! `show fib paths`: where routes may send packets, path by path, with how many routes share them.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::Interfaces;
use quiver_wire::{V4, V6};

use super::forwarding::{Names, path_text};
use crate::config::room::Ip;
use crate::family::Family;

pub(super) fn register(control: &Control) {
    let help = "Show the paths of routes, of both families; routes with the same paths share one group of them.";
    control.commands().add(Command::new("show fib paths", help, show));
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Family", "Group", "Routes", "Weight", "Preference", "Path"]);
    rows::<V4>(control, &mut table);
    rows::<V6>(control, &mut table);
    Ok(table.into())
}

fn rows<F: Family>(control: &Control, table: &mut Table) {
    let (ip, interfaces) = (control.room::<Ip<F>>(), control.room::<Interfaces>());
    for (id, group) in ip.fib.groups.iter() {
        for path in group.ways() {
            let numbers = [id, group.routes, path.weight.into(), path.preference.into()];
            let [id, routes, weight, preference] = numbers.map(|number| Cell::from(u64::from(number)));
            let path = path_text(&ip.fib, &Names(&interfaces), path);
            table.row([Cell::from(F::TITLE), id, routes, weight, preference, Cell::from(path)]);
        }
    }
}
