//! `show control turns`: how long tasks keep the control thread for themselves.

use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_control::{Control, TURN_MAX};

pub(crate) fn register(control: &Control) {
    let help = "Show the control thread's turns by task: how many, those that were too long, and the longest.";
    control.commands().add(Command::new("show control turns", help, show));
    let help = "Count the control thread's turns from zero.";
    control.commands().add(Command::new("clear control turns", help, clear));
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let over = format!("Over {} ms", TURN_MAX.as_millis());
    let mut table = Table::new(["Task", "Turns", &over, "Longest us"]);
    for (task, counts) in control.turns() {
        let longest = counts.longest.as_nanos() as f64 / 1000.0;
        table.row([task.into(), counts.turns.into(), counts.over.into(), Cell::from(longest)]);
    }
    Ok(table.into())
}

fn clear(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    control.clear_turns();
    Ok(Reply::done())
}
