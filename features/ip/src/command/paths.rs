//! `show fib paths`: where routes may send packets, path by path, with how many routes share them.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::Interfaces;
use quiver_wire::{V4, V6};

use super::forwarding::{Names, path_text};
use crate::config::room::Ip;
use crate::family::Family;

pub(super) fn register(control: &Control) {
    let help = "Show the paths of routes, of both families; routes with the same paths share one group of them.";
    control.commands().add(Command::waiting("show fib paths", help, show));
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Family", "Group", "Routes", "Weight", "Preference", "Path"]);
    list::<V4>(&control, &mut rows).await;
    list::<V6>(&control, &mut rows).await;
    Ok(rows.end())
}

async fn list<F: Family>(control: &Control, rows: &mut Rows) {
    let mut next = Some(0);
    while let Some(first) = next {
        rows.step().await;
        next = some::<F>(control, rows, first);
    }
}

/// Lists groups from a number on, as long as the turn lasts. The next number, if there may be more.
fn some<F: Family>(control: &Control, rows: &mut Rows, first: u32) -> Option<u32> {
    let (ip, interfaces) = (control.room::<Ip<F>>(), control.room::<Interfaces>());
    for (id, group) in ip.fib.groups.from(first) {
        if !rows.goes_on() {
            return Some(id);
        }
        let Some(group) = group else { continue };
        for path in group.ways() {
            let numbers = [id, group.routes, path.weight.into(), path.preference.into()];
            let [id, routes, weight, preference] = numbers.map(|number| Cell::from(u64::from(number)));
            let path = path_text(&ip.fib, &Names(&interfaces), path);
            rows.row([Cell::from(F::TITLE), id, routes, weight, preference, Cell::from(path)]);
        }
    }
    None
}
