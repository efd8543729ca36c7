//! The command line of Quiver: commands for the daemon, one at a time or in a shell; demo and doctor. The lab is a program of its own.

// They panic where a reader has gone away; `show` has what takes their place.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod apply;
mod client;
mod demo;
mod doctor;
mod exec;
mod import;
mod lab;
mod shell;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use client::ClientError;
use quiver_control::protocol;

/// The command line of Quiver. Without a command: an interactive shell.
#[derive(Debug, Parser)]
#[command(
    version,
    disable_help_subcommand = true,
    after_help = "Everything else is a command for the daemon, such \
    as: quiver show interface. All of them: quiver help"
)]
struct Arguments {
    /// The daemon's socket; by default /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR where not root
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Answer the daemon's command in JSON; may also stand at its end
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    Apply(apply::Apply),
    Confirm(apply::Confirm),
    Diff(apply::Diff),
    History(apply::History),
    Plan(apply::Plan),
    Rollback(apply::Rollback),
    Save(apply::Save),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Exec(exec::Exec),
    Import(import::Import),
    Lab(lab::Lab),
    /// A command for the daemon
    #[command(external_subcommand)]
    Command(Vec<String>),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime_directory = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let socket = protocol::socket_path(arguments.socket, nix::unistd::geteuid().is_root(), runtime_directory);
    let done = match arguments.task {
        Some(Task::Demo(demo)) => return demo::run(&demo),
        Some(Task::Doctor(doctor)) => return doctor::run(&doctor, &socket),
        Some(Task::Import(import)) => return import::run(&import),
        Some(Task::Lab(lab)) => return lab::run(&lab, arguments.json),
        Some(Task::Apply(apply)) => apply::apply(&socket, &apply),
        Some(Task::Diff(diff)) => apply::diff(&socket, &diff),
        Some(Task::Plan(plan)) => apply::plan(&socket, &plan),
        Some(Task::Confirm(confirm)) => apply::confirm(&socket, &confirm),
        Some(Task::Rollback(rollback)) => apply::rollback(&socket, &rollback),
        Some(Task::History(history)) => apply::history(&socket, &history),
        Some(Task::Save(save)) => apply::save(&socket, &save),
        Some(Task::Exec(exec)) => exec::file(&socket, &exec, arguments.json),
        Some(Task::Command(mut words)) => {
            let given = words.len();
            words.retain(|word| word != "--json");
            exec::words(&socket, &words, arguments.json || words.len() < given).map(exec::exit_code)
        }
        None if show::is_terminal() => shell::run(&socket),
        None => exec::file(&socket, &exec::Exec::standard_input(), arguments.json),
    };
    done.unwrap_or_else(|error: ClientError| {
        show::error(&error);
        ExitCode::FAILURE
    })
}
