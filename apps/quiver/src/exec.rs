//! Commands without a shell: one from the arguments, or many from a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_control::cli::Piece;
use quiver_control::protocol::{Request, Response};

use crate::client::{Client, ClientError};
use crate::show;

/// Run the commands of a file, one a line; # begins a comment
#[derive(Debug, clap::Args)]
pub struct Exec {
    /// The file; - is standard input
    file: PathBuf,
    /// Go on after a command that was refused
    #[arg(long)]
    keep_going: bool,
}

impl Exec {
    /// The commands that come in on standard input.
    pub fn standard_input() -> Exec {
        Exec { file: PathBuf::from("-"), keep_going: false }
    }
}

/// Runs the command that the arguments are; false if it was refused.
pub fn words(socket: &Path, words: &[String], json: bool) -> Result<bool, ClientError> {
    let line = match words {
        // One word may be a whole line in quotes.
        [line] => line.clone(),
        words => quiver_control::cli::join(words),
    };
    run(&mut Client::connect(socket)?, &line, json)
}

/// Runs one line; false if it was refused.
pub fn run(client: &mut Client, line: &str, json: bool) -> Result<bool, ClientError> {
    let request = Request::Command { line: line.to_owned(), json };
    let end = client.ask(&request, |part| show::answer(&part, json, true))?;
    Ok(finish(end, line, json))
}

/// Shows the end of an answer; false if it is a refusal.
pub fn finish(end: Response, line: &str, json: bool) -> bool {
    match end {
        Response::Error(refusal) => {
            show::refusal(&refusal, line);
            false
        }
        Response::Done(answer) => {
            show::answer(&answer, json, false);
            true
        }
        Response::Part(_) | Response::Completions { .. } => true,
    }
}

/// Runs a file of commands.
pub fn file(socket: &Path, exec: &Exec, json: bool) -> Result<ExitCode, ClientError> {
    let text = match read(&exec.file) {
        Ok(text) => text,
        Err(error) => {
            show::say(format_args!("quiver: {}: {error}", exec.file.display()));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut client = Client::connect(socket)?;
    let mut all_done = true;
    for Piece { line, text, .. } in quiver_control::cli::script(&text) {
        if !run(&mut client, &text, json)? {
            show::say(format_args!("quiver: {}:{line}: refused: {text}", exec.file.display()));
            all_done = false;
            if !exec.keep_going {
                break;
            }
        }
    }
    Ok(exit_code(all_done))
}

/// Reads a file; - is standard input.
pub fn read(path: &Path) -> std::io::Result<String> {
    if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) }
}

/// The exit status: success if all was done.
pub fn exit_code(done: bool) -> ExitCode {
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
