//! The commands that every control side has.

use super::{Cell, Command, CommandError, Matches, Reply, Table};
use crate::control::Control;
use crate::docs;

/// Registers them.
pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(Command::new("show commands", "Show the grammars of all commands.", show_commands));
    commands.add(Command::new("show schema", "Show the JSON schema of the configuration file.", show_schema));
}

fn show_commands(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Command", "Meaning"]);
    for (grammar, help) in control.commands().list() {
        table.row([Cell::from(grammar), Cell::from(help)]);
    }
    Ok(table.into())
}

fn show_schema(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let schema = docs::schema(control);
    Ok(Reply::new(format!("{schema:#}"), schema))
}
