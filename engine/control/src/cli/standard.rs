//! The commands that every control side has.

use std::time::Duration;

use super::{Cell, Command, CommandError, Matches, Output, Reply, Table, exec, macros};
use crate::control::Control;
use crate::docs;
use crate::object::BudgetUse;

/// Registers them.
pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(Command::new("show commands", "Show the grammar of all commands.", show_commands));
    let help = "Show the memory budget of objects, and the memory that each kind of them takes.";
    commands.add(Command::new("show object memory", help, show_memory));
    commands.add(Command::new("show schema", "Show the JSON schema of the configuration file.", show_schema));
    commands.add(Command::new("comment <words:text>...", "Write a comment into a script; no effect.", |_, _| {
        Ok(Reply::done())
    }));
    commands.add(Command::new("echo <words:text>...", "Print the given words.", |_, matches| {
        Ok(Reply::text(matches.all::<String>("words")?.join(" ")))
    }));
    commands.add(
        Command::waiting("wait <seconds:text>", "Wait for some seconds.", wait)
            .argument("seconds", "duration in seconds, such as 0.5"),
    );
    exec::register(control);
    macros::register(control);
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

fn show_memory(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let BudgetUse { limit, used, kinds } = control.objects().budget_use();
    let mut table = Table::new(["Kind", "Bytes"]);
    kinds.into_iter().filter(|(_, bytes)| *bytes > 0).for_each(|(kind, bytes)| table.row([kind.into(), bytes.into()]));
    table.row(["all".into(), used.into()]);
    let limit = if limit == u64::MAX { Cell::from("none") } else { limit.into() };
    table.row(["limit".into(), limit]);
    Ok(table.into())
}
