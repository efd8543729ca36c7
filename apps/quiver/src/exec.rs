//! Commands without a shell: one from the arguments, or many from a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_control::cli::Piece;
use quiver_control::protocol::{Answer, Request, Response};

use crate::client::{Client, ClientError, Session};
use crate::line::{self, Line};
use crate::{filter, show, watch};

/// Run commands from a file, one per line; # begins a comment
#[derive(Debug, clap::Args)]
pub struct Exec {
    /// File of commands; - is standard input
    file: PathBuf,
    /// Continue after a failed command
    #[arg(long)]
    keep_going: bool,
}

impl Exec {
    /// The commands that come in on standard input.
    pub fn standard_input() -> Exec {
        Exec { file: PathBuf::from("-"), keep_going: false }
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was done.
    Done,
    /// It was done, and found that something is wrong.
    Failed,
    /// It was refused.
    Refused,
}

/// Runs the command that the arguments are.
pub fn words(session: &Session, words: &[String]) -> Result<Ended, ClientError> {
    let is_option = |word: &&String| matches!(word.as_str(), "--json" | "--watch");
    let (options, words): (Vec<&String>, Vec<&String>) = words.iter().partition(is_option);
    let mut line = match &words[..] {
        // One word may be a whole line in quotes.
        [line] => (*line).clone(),
        words => quiver_control::cli::join(words),
    };
    options.iter().for_each(|option| line.extend([" ", option.as_str()]));
    run(&mut session.connect()?, &line, session.json, None)
}

/// Runs one line: sends its command to the daemon, and filters the answer. `at` is its place in a file.
pub fn run(client: &mut Client, text: &str, json: bool, at: Option<&str>) -> Result<Ended, ClientError> {
    let line = match line::parse(text) {
        Ok(line) => Line { json: line.json || json, ..line },
        Err(refusal) => {
            show::refusal(&refusal, text, json, at);
            return Ok(Ended::Refused);
        }
    };
    if line.watch {
        let refusal = watch::watch(client, &line, text)?;
        return Ok(finish_at(Response::Error(refusal), text, line.json, at));
    }
    let request = Request::Command { line: line.command.clone(), json: line.json };
    let mut filtered = filter::filtered(&line.filters);
    let show = |part: Answer| show::answer(&filtered.pass(part), line.json, true);
    // Text is shown as it arrives; JSON, filters and the pager of a terminal take whole answers.
    let is_whole = line.json || !line.filters.is_empty() || show::is_terminal();
    let end = if is_whole { client.ask(&request, show)? } else { client.ask_in_parts(&request, show)? };
    // The whole answer has been received: a pager that stays open holds nothing in quiverd, and gets Ctrl-C itself.
    client.release_interrupts();
    let end = match end {
        Response::Done(answer) => Response::Done(filtered.end(answer, line.json)),
        end => end,
    };
    Ok(finish_at(end, text, line.json, at))
}

/// Shows the end of an answer.
pub fn finish(end: Response, line: &str, json: bool) -> Ended {
    finish_at(end, line, json, None)
}

fn finish_at(end: Response, line: &str, json: bool, at: Option<&str>) -> Ended {
    match end {
        Response::Error(refusal) => {
            show::refusal(&refusal, line, json, at);
            Ended::Refused
        }
        Response::Done(answer) => {
            show::whole(&answer, json);
            if answer.failed { Ended::Failed } else { Ended::Done }
        }
        Response::Part(_) | Response::Completions { .. } => Ended::Done,
    }
}

/// Runs a file of commands.
pub fn file(session: &Session, exec: &Exec) -> Result<ExitCode, ClientError> {
    let text = read(&exec.file).map_err(|error| ClientError::File { path: exec.file.clone(), error })?;
    let mut client = session.connect()?;
    let mut all_done = true;
    for Piece { line, text, .. } in quiver_control::cli::script(&text) {
        let at = format!("{}:{line}", exec.file.display());
        let ended = run(&mut client, &text, session.json, Some(&at))?;
        all_done &= ended == Ended::Done;
        if ended == Ended::Refused && !exec.keep_going {
            break;
        }
    }
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads a file; - is standard input.
pub fn read(path: &Path) -> std::io::Result<String> {
    if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) }
}

/// The exit status: success if it was done and nothing is wrong.
pub fn exit_code(ended: Ended) -> ExitCode {
    if ended == Ended::Done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
