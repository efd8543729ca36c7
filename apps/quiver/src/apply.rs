//! Configurations as a whole: `apply`, `diff`, `plan`, `save`, and the way back: `history`, `confirm`, `rollback`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_control::cli::join;
use quiver_control::config::Scope;
use quiver_control::files;
use quiver_control::protocol::{File, Request, Response};
use quiver_control::transaction::Terms;

use crate::client::{ClientError, Session};
use crate::exec::Ended;
use crate::{exec, show};

const APPLY: &str = "\
Examples:
  quiver apply site.yaml                      make it run, and keep it
  quiver apply --confirm 60 site.yaml         make it run; take it back in 60 s unless `quiver confirm` is said
  quiver plan site.yaml && quiver apply       look at the steps first, then take exactly these
  quiver apply -m 'second uplink' site.yaml   say in the history what it is for
  quiver apply --merge tap7.yaml              add a part to what runs: objects that it does not name stay";

/// Apply a configuration file as a whole, or not at all. Objects that are not in the file are removed
#[derive(Debug, clap::Args)]
#[command(after_help = APPLY)]
pub struct Apply {
    /// YAML file; - is standard input. Default: the candidate, which was planned last
    file: Option<PathBuf>,
    #[command(flatten)]
    part: PartOption,
    /// Permit a file without objects, which removes the whole configuration
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    terms: TermsOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whether a file is the whole configuration or a part of it.
#[derive(Debug, clap::Args)]
struct PartOption {
    /// Merge the file into the running configuration: other objects stay as they are
    #[arg(long, requires = "file")]
    merge: bool,
}

impl PartOption {
    fn scope(&self) -> Scope {
        if self.merge { Scope::Part } else { Scope::Whole }
    }
}

/// On what terms a configuration is applied.
#[derive(Debug, clap::Args)]
struct TermsOptions {
    /// Roll back after so many seconds, unless confirmed by `quiver confirm`
    #[arg(long, value_name = "SECONDS")]
    confirm: Option<u32>,
    /// Comment for the history
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
  quiver diff --version 3    what has changed since the version 3 back (see `quiver history`)
  quiver diff --exit-code site.yaml > /dev/null || echo 'site.yaml is not what runs'

Exit status: 0, or 1 if the command failed. With --exit-code: 0 without differences, 1 with some, 2 if it failed.";

/// Show the differences between the running configuration and a file, the saved configuration, the candidate or an
/// earlier version
#[derive(Debug, clap::Args)]
#[command(after_help = DIFF)]
pub struct Diff {
    /// YAML file; - is standard input. Default: the saved configuration
    file: Option<PathBuf>,
    /// Compare with the candidate, which was planned last
    #[arg(long, conflicts_with_all = ["file", "version"])]
    candidate: bool,
    /// Compare with an earlier version, so many back
    #[arg(long, value_name = "BACK", conflicts_with = "file")]
    version: Option<u32>,
    #[command(flatten)]
    part: PartOption,
    /// Exit with status 1 if there are differences, and 2 after an error
    #[arg(long)]
    exit_code: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const PLAN: &str = "\
Examples:
  quiver plan site.yaml      the steps, in order; it is the candidate from now on
  quiver apply               take these steps, if what runs is still what it was";

/// Show the steps that would apply a file, and make it the candidate
#[derive(Debug, clap::Args)]
#[command(after_help = PLAN)]
pub struct Plan {
    /// YAML file; - is standard input
    file: PathBuf,
    #[command(flatten)]
    part: PartOption,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const SAVE: &str = "\
Examples:
  quiver save                     what runs is what quiverd starts with next time; it is written out, too
  quiver save site.yaml           the same, into a file
  quiver show configuration       only show it, without secrets";

/// Save the running configuration for the next start, and write it as a file
#[derive(Debug, clap::Args)]
#[command(after_help = SAVE)]
pub struct Save {
    /// Output file. Default: standard output
    file: Option<PathBuf>,
    /// Comment for the history
    #[arg(long, short = 'm', value_name = "TEXT")]
    comment: Option<String>,
    /// Write JSON, which is also valid YAML
    #[arg(long)]
    json: bool,
}

const ROLLBACK: &str = "\
Examples:
  quiver history             the versions that there are, with how far back each is
  quiver diff --version 1    what going back to the one before would undo
  quiver rollback 1          go back to the version before the newest
  quiver rollback 0          undo what commands have changed since the newest version";

/// Apply an earlier configuration from the history
#[derive(Debug, clap::Args)]
#[command(after_help = ROLLBACK)]
pub struct Rollback {
    /// Number of versions back, as listed by `quiver history`; 0 is the newest
    back: u32,
    #[command(flatten)]
    terms: TermsOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Confirm the configuration that was applied with --confirm
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  quiver apply --confirm 60 site.yaml && ping -c 3 gateway && quiver confirm")]
pub struct Confirm {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show the configuration history, newest first: time, author and comment
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  quiver history\n  quiver show configuration version 2    \
    what a version says\n  quiver rollback 2                      make it run")]
pub struct History {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Applies a file, or the candidate.
pub fn apply(session: &Session, apply: &Apply) -> Result<ExitCode, ClientError> {
    let json = apply.json || session.json;
    let Some(file) = &apply.file else {
        let words = ["apply", "candidate"].into_iter().chain(apply.allow_empty.then_some("allow-empty"));
        return command(session, words.map(str::to_owned).chain(apply.terms.words()), json);
    };
    let terms = Terms {
        comment: apply.terms.comment.clone(),
        confirm_within: apply.terms.confirm,
        scope: apply.part.scope(),
        allow_empty: apply.allow_empty,
    };
    let end = with_file(session, file, json, terms, Request::Apply)?;
    Ok(exec::exit_code(exec::finish(end, "", json)))
}

/// Exit status of `diff --exit-code` if the comparison fails.
const CANNOT_SAY: u8 = 2;

/// Compares a file, or something else, with what runs.
pub fn diff(session: &Session, diff: &Diff) -> Result<ExitCode, ClientError> {
    let json = diff.json || session.json;
    let told = differences(session, diff, json);
    if !diff.exit_code {
        return Ok(exec::exit_code(exec::finish(told?, "", json)));
    }
    let told = told.map(|end| match end {
        Response::Done(answer) => {
            show::answer(&answer, json, false);
            Some(!answer.text.is_empty() || answer.json.as_array().is_some_and(|list| !list.is_empty()))
        }
        end => (exec::finish(end, "", json) == Ended::Done).then_some(false),
    });
    Ok(match told {
        Ok(Some(false)) => ExitCode::SUCCESS,
        Ok(Some(true)) => ExitCode::FAILURE,
        Ok(None) => ExitCode::from(CANNOT_SAY),
        Err(error) => {
            show::client_error(&error, json);
            ExitCode::from(CANNOT_SAY)
        }
    })
}

fn differences(session: &Session, diff: &Diff, json: bool) -> Result<Response, ClientError> {
    if let Some(file) = &diff.file {
        let terms = Terms { scope: diff.part.scope(), ..Terms::default() };
        return with_file(session, file, json, terms, Request::Diff);
    }
    let mut line = "show differences".to_owned();
    line.push_str(if diff.candidate { " candidate" } else { "" });
    line.extend(diff.version.iter().map(|back| format!(" version {back}")));
    session.connect()?.ask(&Request::Command { line, json }, |_| {})
}

/// Says by which steps a file would be applied.
pub fn plan(session: &Session, plan: &Plan) -> Result<ExitCode, ClientError> {
    let terms = Terms { scope: plan.part.scope(), ..Terms::default() };
    let json = plan.json || session.json;
    let end = with_file(session, &plan.file, json, terms, Request::Plan)?;
    Ok(exec::exit_code(exec::finish(end, "", json)))
}

/// Makes an earlier configuration run.
pub fn rollback(session: &Session, rollback: &Rollback) -> Result<ExitCode, ClientError> {
    let words = ["rollback".to_owned(), rollback.back.to_string()].into_iter().chain(rollback.terms.words());
    command(session, words, rollback.json || session.json)
}

/// Keeps what was applied to be confirmed.
pub fn confirm(session: &Session, confirm: &Confirm) -> Result<ExitCode, ClientError> {
    command(session, ["confirm".to_owned()], confirm.json || session.json)
}

/// Shows the history.
pub fn history(session: &Session, history: &History) -> Result<ExitCode, ClientError> {
    command(session, ["show", "history"].map(str::to_owned), history.json || session.json)
}

fn command(session: &Session, words: impl IntoIterator<Item = String>, json: bool) -> Result<ExitCode, ClientError> {
    let line = join(&words.into_iter().collect::<Vec<_>>());
    let end = session.connect()?.ask(&Request::Command { line: line.clone(), json }, |_| {})?;
    Ok(exec::exit_code(exec::finish(end, &line, json)))
}

/// Asks something about a file.
fn with_file(
    session: &Session,
    path: &Path,
    json: bool,
    terms: Terms,
    request: impl FnOnce(File) -> Request,
) -> Result<Response, ClientError> {
    let text = exec::read(path).map_err(|error| ClientError::File { path: path.to_owned(), error })?;
    let file = File { name: path.display().to_string(), text, json, terms };
    session.connect()?.ask(&request(file), |_| {})
}

/// Saves what runs. The file is replaced whole, or left as it was.
pub fn save(session: &Session, save: &Save) -> Result<ExitCode, ClientError> {
    let json = save.json || session.json;
    let request = Request::Save { json, comment: save.comment.clone() };
    let end = session.connect()?.ask(&request, |_| {})?;
    let Some(path) = &save.file else { return Ok(exec::exit_code(exec::finish(end, "", json))) };
    let Response::Done(answer) = end else { return Ok(exec::exit_code(exec::finish(end, "", json))) };
    let text = show::text_of(&answer, json, false) + "\n";
    replace(path, text.as_bytes()).map_err(|error| ClientError::File { path: path.to_owned(), error })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file whole, or leaves it as it is.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".new{}", std::process::id()));
    files::replace(Path::new(&unfinished), path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_saved_configuration_is_read_by_its_owner_alone_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, link] = ["file", "other", "link"].map(|name| folder.path().join(name));
        std::fs::write(&other, "other").unwrap();
        symlink(&other, &link).unwrap();
        for path in [&file, &link, &file] {
            replace(path, b"secret").unwrap();
            let about = path.symlink_metadata().unwrap();
            assert!(about.is_file() && about.permissions().mode() & 0o777 == 0o600, "{}", path.display());
        }
        assert_eq!(std::fs::read(&other).unwrap(), b"other");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside");
    }
}
