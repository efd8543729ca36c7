//! The command line of Quiver: commands for the daemon, one at a time or in a shell; demo and doctor. The lab is a program of its own.

// They panic if a reader has gone away; `show` has replacements.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod apply;
mod client;
mod demo;
mod doctor;
mod exec;
mod export;
mod filter;
mod health;
mod import;
mod interrupt;
mod lab;
mod line;
mod local;
mod pager;
mod shell;
mod show;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use client::{ClientError, Session};
use quiver_control::protocol::{self, Refusal};

/// Command line of Quiver. Without a command: an interactive shell.
#[derive(Debug, Parser)]
#[command(
    version,
    disable_help_subcommand = true,
    after_help = "Everything else is a command for the daemon, such \
    as: quiver show interface. All of them: quiver help. Of a show command, --watch repeats it every second. In quotes, \
    its lines can be chosen: quiver 'show interface | include tap0', | exclude WORD, | count, | json"
)]
struct Arguments {
    /// Socket of quiverd. Default: /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR if not root
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print JSON, errors too; may also follow the command
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    #[command(flatten)]
    Local(local::Local),
    Demo(demo::Demo),
    Exec(exec::Exec),
    Export(export::Export),
    Import(import::Import),
    Lab(lab::Lab),
    /// Command for quiverd
    #[command(external_subcommand)]
    Command(Vec<String>),
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| misused(&error));
    let runtime_directory = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let socket = protocol::socket_path(arguments.socket, nix::unistd::geteuid().is_root(), runtime_directory);
    let session = Session { socket, json: arguments.json, gives_up: false };
    let done = match arguments.task {
        Some(Task::Demo(demo)) => return demo::run(&demo),
        Some(Task::Import(import)) => return import::run(&import),
        Some(Task::Export(export)) => return export::run(&export, &session.socket, session.json),
        Some(Task::Lab(lab)) => return lab::run(&lab, arguments.json),
        Some(Task::Local(local)) => local.run(&session),
        Some(Task::Exec(exec)) => exec::file(&session, &exec),
        Some(Task::Command(words)) => exec::words(&session, &words).map(exec::exit_code),
        None if show::is_terminal() => shell::run(&session),
        None => exec::file(&session, &exec::Exec::standard_input()),
    };
    done.unwrap_or_else(|error: ClientError| {
        show::client_error(&error, session.json || wants_json());
        ExitCode::FAILURE
    })
}

/// Whether the arguments contain `--json`: asked where they could not be parsed, or belong to a command.
fn wants_json() -> bool {
    std::env::args_os().skip(1).any(|argument| argument == "--json")
}

/// Ends the program as clap does. With `--json` the error is a JSON object.
fn misused(error: &clap::Error) -> ! {
    if error.use_stderr() && wants_json() {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        show::refusal(&Refusal::new(format!("{first}; see quiver --help")), "", true, None);
        std::process::exit(error.exit_code());
    }
    error.exit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_is_that_of_these_options() {
        quiver_manual::check(&Arguments::command(), "quiver", "1");
    }
}
