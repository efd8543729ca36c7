//! `show api clients`: the clients of VPP's binary API.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};

use crate::api::Api;

pub(crate) fn register(control: &Control) {
    let help = "Show the clients of VPP's API that are connected, and how many bytes of events wait for each.";
    control.commands().add(Command::new("show api clients", help, show));
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Client", "Index", "For", "Waiting"]);
    let api = control.room::<Api>();
    for (known, author) in &api.connected {
        if let Some(client) = known.get() {
            let (index, waiting) = (u64::from(client.index()), client.held() as u64);
            table.row([Cell::from(client.name()), Cell::from(index), Cell::of(author), Cell::from(waiting)]);
        }
    }
    Ok(table.into())
}
