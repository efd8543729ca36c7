//! Configurations as a whole: `apply`, `diff`, `plan`, `save`, and the way back: `history`, `confirm`, `rollback`.

use std::fs::File as Output;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_control::cli::join;
use quiver_control::protocol::{File, Request, Response};
use quiver_control::transaction::Terms;

use crate::client::{Client, ClientError};
use crate::{exec, show};

const APPLY: &str = "\
Examples:
  quiver apply site.yaml                      make it run, and keep it
  quiver apply --confirm 60 site.yaml         make it run; take it back in 60 s unless `quiver confirm` is said
  quiver plan site.yaml && quiver apply       look at the steps first, then take exactly these
  quiver apply -m 'second uplink' site.yaml   say in the history what it is for";

/// Make the running configuration that of a file: all of it, or nothing
#[derive(Debug, clap::Args)]
#[command(after_help = APPLY)]
pub struct Apply {
    /// The file, in YAML; - is standard input; without one, what was planned last
    file: Option<PathBuf>,
    #[command(flatten)]
    terms: TermsOptions,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// On what terms a configuration is applied.
#[derive(Debug, clap::Args)]
struct TermsOptions {
    /// Take it back after so many seconds, unless `quiver confirm` is said before
    #[arg(long, value_name = "SECONDS")]
    confirm: Option<u32>,
    /// What to say about it in the history
    #[arg(long, short = 'm', value_name = "TEXT")]
    comment: Option<String>,
}

impl TermsOptions {
    /// As words of a command.
    fn words(&self) -> Vec<String> {
        let confirm = self.confirm.iter().flat_map(|seconds| ["confirm".to_owned(), seconds.to_string()]);
        let comment = self.comment.iter().flat_map(|text| ["comment".to_owned(), text.clone()]);
        confirm.chain(comment).collect()
    }
}

const DIFF: &str = "\
Examples:
  quiver diff site.yaml      what applying the file would change
  quiver diff                what commands have changed and nobody has saved
  quiver diff --candidate    what applying the file that was planned last would change
  quiver diff --version 3    what has changed since the version 3 back (see `quiver history`)";

/// Say what differs: a file, the saved configuration, the candidate or a version from what runs
#[derive(Debug, clap::Args)]
#[command(after_help = DIFF)]
pub struct Diff {
    /// The file, in YAML; - is standard input; without one, the saved configuration
    file: Option<PathBuf>,
    /// The file that was planned last
    #[arg(long, conflicts_with_all = ["file", "version"])]
    candidate: bool,
    /// The version so many back
    #[arg(long, value_name = "BACK", conflicts_with = "file")]
    version: Option<u32>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

const PLAN: &str = "\
Examples:
  quiver plan site.yaml      the steps, in order; it is the candidate from now on
  quiver apply               take these steps, if what runs is still what it was";

/// Say by which steps a file would be applied, and make it the candidate
#[derive(Debug, clap::Args)]
#[command(after_help = PLAN)]
pub struct Plan {
    /// The file, in YAML; - is standard input
    file: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

const SAVE: &str = "\
Examples:
  quiver save                     what runs is what quiverd starts with next time; it is written out, too
  quiver save site.yaml           the same, into a file
  quiver show configuration       only write it out";

/// Save what runs: quiverd starts with it next time; and write it as a file that can be applied
#[derive(Debug, clap::Args)]
#[command(after_help = SAVE)]
pub struct Save {
    /// The file; standard output if left out
    file: Option<PathBuf>,
    /// What to say about it in the history
    #[arg(long, short = 'm', value_name = "TEXT")]
    comment: Option<String>,
    /// Write JSON, which is YAML too
    #[arg(long)]
    json: bool,
}

const ROLLBACK: &str = "\
Examples:
  quiver history             the versions that there are, with how far back each is
  quiver diff --version 1    what going back to the one before would undo
  quiver rollback 1          go back to the version before the newest
  quiver rollback 0          undo what commands have changed since the newest version";

/// Make an earlier configuration run
#[derive(Debug, clap::Args)]
#[command(after_help = ROLLBACK)]
pub struct Rollback {
    /// How many versions back, as `quiver history` lists them; 0 is the newest
    back: u32,
    #[command(flatten)]
    terms: TermsOptions,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Keep the configuration that was applied with --confirm
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  quiver apply --confirm 60 site.yaml && ping -c 3 gateway && quiver confirm")]
pub struct Confirm {
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Show the configurations that ran, the newest first: when, by whom, and why
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  quiver history\n  quiver show configuration version 2    \
    what a version says\n  quiver rollback 2                      make it run")]
pub struct History {
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// Applies a file, or the candidate.
pub fn apply(socket: &Path, apply: &Apply) -> Result<ExitCode, ClientError> {
    let Some(file) = &apply.file else {
        return command(
            socket,
            ["apply", "candidate"].map(str::to_owned).into_iter().chain(apply.terms.words()),
            apply.json,
        );
    };
    let terms = Terms { comment: apply.terms.comment.clone(), confirm_within: apply.terms.confirm };
    with_file(socket, file, apply.json, |file| Request::Apply(File { terms, ..file }))
}

/// Compares a file, or something else, with what runs.
pub fn diff(socket: &Path, diff: &Diff) -> Result<ExitCode, ClientError> {
    if let Some(file) = &diff.file {
        return with_file(socket, file, diff.json, Request::Diff);
    }
    let mut words = vec!["show".to_owned(), "differences".to_owned()];
    words.extend(diff.candidate.then(|| "candidate".to_owned()));
    words.extend(diff.version.iter().flat_map(|back| ["version".to_owned(), back.to_string()]));
    command(socket, words, diff.json)
}

/// Says by which steps a file would be applied.
pub fn plan(socket: &Path, plan: &Plan) -> Result<ExitCode, ClientError> {
    with_file(socket, &plan.file, plan.json, Request::Plan)
}

/// Makes an earlier configuration run.
pub fn rollback(socket: &Path, rollback: &Rollback) -> Result<ExitCode, ClientError> {
    let words = ["rollback".to_owned(), rollback.back.to_string()].into_iter().chain(rollback.terms.words());
    command(socket, words, rollback.json)
}

/// Keeps what was applied to be confirmed.
pub fn confirm(socket: &Path, confirm: &Confirm) -> Result<ExitCode, ClientError> {
    command(socket, ["confirm".to_owned()], confirm.json)
}

/// Shows the history.
pub fn history(socket: &Path, history: &History) -> Result<ExitCode, ClientError> {
    command(socket, ["show", "history"].map(str::to_owned), history.json)
}

fn command(socket: &Path, words: impl IntoIterator<Item = String>, json: bool) -> Result<ExitCode, ClientError> {
    let line = join(&words.into_iter().collect::<Vec<_>>());
    exec::run(&mut Client::connect(socket)?, &line, json).map(exec::exit_code)
}

fn with_file(
    socket: &Path,
    path: &Path,
    json: bool,
    request: impl FnOnce(File) -> Request,
) -> Result<ExitCode, ClientError> {
    let text = match exec::read(path) {
        Ok(text) => text,
        Err(error) => return Ok(cannot(path, &error)),
    };
    let file = File { name: path.display().to_string(), text, json, terms: Terms::default() };
    let end = Client::connect(socket)?.ask(&request(file), |_| {})?;
    Ok(exec::exit_code(exec::finish(end, "", json)))
}

/// Saves what runs. The file is replaced whole, or left as it was.
pub fn save(socket: &Path, save: &Save) -> Result<ExitCode, ClientError> {
    let request = Request::Save { json: save.json, comment: save.comment.clone() };
    let end = Client::connect(socket)?.ask(&request, |_| {})?;
    let Some(path) = &save.file else { return Ok(exec::exit_code(exec::finish(end, "", save.json))) };
    let Response::Done(answer) = end else { return Ok(exec::exit_code(exec::finish(end, "", save.json))) };
    let text = show::text_of(&answer, save.json, false) + "\n";
    Ok(replace(path, text.as_bytes()).map_or_else(|error| cannot(path, &error), |()| ExitCode::SUCCESS))
}

/// Writes a file whole, and to the disk, before it takes the name.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut new = Output::create(&beside)?;
    new.write_all(bytes)?;
    new.sync_all()?;
    std::fs::rename(&beside, path)
}

fn cannot(path: &Path, error: &std::io::Error) -> ExitCode {
    show::say(format_args!("quiver: {}: {error}", path.display()));
    ExitCode::FAILURE
}
