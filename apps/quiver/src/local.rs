//! Commands of this program itself, on the command line and in the shell.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::client::{ClientError, Session};
use crate::{apply, doctor, health, show};

/// A command of this program.
#[derive(Debug, clap::Subcommand)]
pub enum Local {
    Apply(apply::Apply),
    Confirm(apply::Confirm),
    Diff(apply::Diff),
    History(apply::History),
    Plan(apply::Plan),
    Rollback(apply::Rollback),
    Save(apply::Save),
    Doctor(doctor::Doctor),
    Health(health::Health),
}

impl Local {
    /// Does it.
    pub fn run(&self, session: &Session) -> Result<ExitCode, ClientError> {
        match self {
            Local::Apply(apply) => apply::apply(session, apply),
            Local::Confirm(confirm) => apply::confirm(session, confirm),
            Local::Diff(diff) => apply::diff(session, diff),
            Local::History(history) => apply::history(session, history),
            Local::Plan(plan) => apply::plan(session, plan),
            Local::Rollback(rollback) => apply::rollback(session, rollback),
            Local::Save(save) => apply::save(session, save),
            Local::Doctor(doctor) => Ok(doctor::run(doctor, session)),
            Local::Health(health) => Ok(health::run(health, &session.socket, session.json)),
        }
    }
}

/// A line of the shell that is one of these.
#[derive(Debug, Parser)]
#[command(name = "", no_binary_name = true, disable_help_subcommand = true)]
struct Typed {
    #[command(subcommand)]
    local: Local,
}

/// Names and effects of these commands.
pub fn names() -> Vec<(String, String)> {
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    Typed::command().get_subcommands().map(|command| (command.get_name().to_owned(), about(command))).collect()
}

/// Whether a line of the shell with these words is one of these commands. `apply candidate` is the daemon's.
pub fn is_one(words: &[&str]) -> bool {
    let is_the_daemons = words.starts_with(&["apply", "candidate"]);
    !is_the_daemons && words.first().is_some_and(|first| Typed::command().find_subcommand(first).is_some())
}

/// Runs a line of the shell that is one of these.
pub fn run(words: &[&str], session: &Session) -> Result<(), ClientError> {
    match Typed::try_parse_from(words) {
        Ok(typed) => typed.local.run(session).map(|_| ()),
        Err(error) => {
            show::say(error.to_string().trim_end());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_shell_are_told_from_those_of_the_daemon() {
        for line in ["save", "plan site.yaml", "diff --version 1", "history", "doctor --json", "apply x.yaml"] {
            assert!(is_one(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in ["show history", "apply candidate", "exec file", "help"] {
            assert!(!is_one(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        assert!(names().iter().all(|(_, about)| !about.is_empty()));
        assert!(names().iter().any(|(name, _)| name == "plan"));
    }
}
