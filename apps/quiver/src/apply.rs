//! Configuration files: `apply`, `diff`, `save`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_control::protocol::{File, Request, Response};

use crate::client::{Client, ClientError};
use crate::{exec, show};

/// Make the running configuration that of a file
#[derive(Debug, clap::Args)]
pub struct Apply {
    /// The file, in YAML; - is standard input
    file: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Say what applying a file would change
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// The file, in YAML; - is standard input
    file: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Write the running configuration as a file that can be applied
#[derive(Debug, clap::Args)]
pub struct Save {
    /// The file; standard output if left out
    file: Option<PathBuf>,
    /// Write JSON, which is YAML too
    #[arg(long)]
    json: bool,
}

/// Applies a file.
pub fn apply(socket: &Path, apply: &Apply) -> Result<ExitCode, ClientError> {
    with_file(socket, &apply.file, apply.json, Request::Apply)
}

/// Compares a file with what runs.
pub fn diff(socket: &Path, diff: &Diff) -> Result<ExitCode, ClientError> {
    with_file(socket, &diff.file, diff.json, Request::Diff)
}

fn with_file(socket: &Path, path: &Path, json: bool, request: fn(File) -> Request) -> Result<ExitCode, ClientError> {
    let text = match exec::read(path) {
        Ok(text) => text,
        Err(error) => return Ok(cannot(path, &error)),
    };
    let file = File { name: path.display().to_string(), text, json };
    let end = Client::connect(socket)?.ask(&request(file), |_| {})?;
    Ok(exec::exit_code(exec::finish(end, "", json)))
}

/// Saves what runs. The file is replaced whole, or left as it was.
pub fn save(socket: &Path, save: &Save) -> Result<ExitCode, ClientError> {
    let end = Client::connect(socket)?.ask(&Request::Save { json: save.json }, |_| {})?;
    let Some(path) = &save.file else { return Ok(exec::exit_code(exec::finish(end, "", save.json))) };
    let Response::Done(answer) = end else { return Ok(exec::exit_code(exec::finish(end, "", save.json))) };
    let mut beside = path.clone().into_os_string();
    beside.push(".new");
    let written = std::fs::write(&beside, show::text_of(&answer, save.json, false) + "\n")
        .and_then(|()| std::fs::rename(&beside, path));
    Ok(written.map_or_else(|error| cannot(path, &error), |()| ExitCode::SUCCESS))
}

fn cannot(path: &Path, error: &std::io::Error) -> ExitCode {
    show::say(format_args!("quiver: {}: {error}", path.display()));
    ExitCode::FAILURE
}
