//! The commands that every control side has.

use std::time::Duration;

use super::{Cell, Command, CommandError, Matches, Output, Reply, Table, script};
use crate::control::Control;
use crate::docs;

/// Registers them.
pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(Command::new("show commands", "Show the grammars of all commands.", show_commands));
    commands.add(Command::new("show schema", "Show the JSON schema of the configuration file.", show_schema));
    commands.add(Command::new("comment <words:text>...", "Say something to readers of a script.", |_, _| {
        Ok(Reply::done())
    }));
    commands.add(Command::new("echo <words:text>...", "Say it back.", |_, matches| {
        Ok(Reply::text(matches.all::<String>("words")?.join(" ")))
    }));
    commands.add(
        Command::waiting("wait <seconds:text>", "Do nothing for some time.", wait)
            .argument("seconds", "how long; parts of a second, too"),
    );
    script::register(control);
}

/// Longer than a day is a mistake.
const WAIT_MAX: f64 = 86_400.0;

async fn wait(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let text: String = matches.get("seconds")?;
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=WAIT_MAX).contains(&seconds) => {
            control.sleep(Duration::from_secs_f64(seconds)).await;
            Ok(Reply::done())
        }
        _ => {
            Err(CommandError::new(format!("'{text}': expected seconds, at most {WAIT_MAX}"))
                .at(matches.place("seconds")))
        }
    }
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
