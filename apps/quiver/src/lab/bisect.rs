//! `quiver lab bisect`: which commit made it slower?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_compare::bisect::{Bisection, Commits, Event, Question};
use quiver_compare::{CommandError, Git, GitError, Script};
use quiver_verdict::gate::Verdict;
use serde_json::json;

use super::LabError;
use super::judge::{self, Turns};
use crate::show;

/// Find the commit that made something slower, between a good one and a bad one
///
/// Commits are checked out in a tree of their own, built and measured. What is known is kept, so an interrupted bisection goes on
/// when the same command is given again. At last the first bad commit and the one before are measured in turns. The exit
/// status is 0 if these are told apart, 2 if they are not, 1 if something went wrong.
#[derive(Debug, clap::Args)]
pub struct BisectOf {
    /// A commit that is as fast as it should be
    #[arg(value_name = "GOOD")]
    good: String,
    /// A later one that is slower
    #[arg(value_name = "BAD")]
    bad: String,
    /// A command that builds the commit in its working folder, and puts what is measured into $QUIVER_BUILD
    #[arg(long, value_name = "COMMAND")]
    build: String,
    /// A command that measures $QUIVER_BUILD and says a number in its last line
    #[arg(long, value_name = "COMMAND")]
    measure: String,
    /// How often each commit is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    samples: usize,
    /// The repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repository: PathBuf,
    /// Where the tree, the builds and what is known are kept
    #[arg(long, value_name = "DIR", default_value = "quiver-bisect")]
    state: PathBuf,
    #[command(flatten)]
    turns: Turns,
    /// As an object in JSON
    #[arg(long)]
    json: bool,
}

/// Why a commit is not measured.
#[derive(Debug, thiserror::Error)]
enum CommitError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("{}: {error}", path.display())]
    Folder { path: PathBuf, error: std::io::Error },
}

/// Commits of a repository, by the user's commands.
struct Built {
    git: Git,
    build: Script,
    measure: Script,
    state: PathBuf,
}

impl Built {
    fn tree(&self) -> PathBuf {
        self.state.join("tree")
    }

    fn folder(&self, commit: &str) -> PathBuf {
        self.state.join("builds").join(commit)
    }
}

impl Commits for Built {
    type Error = CommitError;

    fn build(&mut self, commit: &str) -> Result<(), CommitError> {
        let (folder, done) = (self.folder(commit), self.folder(commit).with_extension("done"));
        if done.exists() {
            return Ok(());
        }
        let failed = |path: &Path, error| CommitError::Folder { path: path.to_owned(), error };
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        self.git.check_out(&self.tree(), commit)?;
        self.build.run(&self.tree(), ("QUIVER_BUILD", &folder))?;
        fs::write(&done, "").map_err(|error| failed(&done, error))
    }

    fn measure(&mut self, commit: &str) -> Result<f64, CommitError> {
        Ok(self.measure.measure(&self.state, ("QUIVER_BUILD", &self.folder(commit)))?)
    }
}

pub fn run(asked: &BisectOf, json: bool) -> Result<ExitCode, LabError> {
    let unusable = |error| LabError::Build { path: asked.state.clone(), error };
    fs::create_dir_all(&asked.state).map_err(unusable)?;
    let state = asked.state.canonicalize().map_err(unusable)?;
    let git = Git::new(&asked.repository);
    let commits = git.between(&asked.good, &asked.bad)?;
    let method = vec![asked.build.clone(), asked.measure.clone()];
    let question = Question { commits, samples: asked.samples, method };
    let (build, measure) = (Script(asked.build.clone()), Script(asked.measure.clone()));
    let failed = |error: &dyn std::error::Error| LabError::Bisect(error.to_string());
    let mut bisection =
        Bisection::open::<CommitError>(&state.join("state.json"), question).map_err(|error| failed(&error))?;
    let mut built = Built { git: git.clone(), build, measure, state };
    let title = |commit: &str| git.title(commit).unwrap_or_else(|_| commit.to_owned());
    let found = bisection.run(&mut built, asked.turns.plan(), |event| match event {
        Event::Measures { commit, remaining } => {
            show::say(format_args!("measuring {}; {remaining} commits to measure at most", title(commit)));
        }
        Event::Knows { commit } => show::say(format_args!("known: {}", title(commit))),
        Event::Skips { commit, because } => show::say(format_args!("skipped: {}: {because}", title(commit))),
        Event::Joins { commit, joined } => {
            let bits = (joined.early_bits - joined.late_bits).abs();
            let whose = if joined.is_late { "bad" } else { "good" };
            let double = if joined.is_double { ", but a level of its own" } else { "" };
            show::say(format_args!("{whose} by {bits:.1} bits{double}: {}", title(commit)));
        }
        Event::Confirms { good, bad } => {
            show::say(format_args!("in turns: {} and {}", title(good), title(bad)));
        }
    });
    let found = found.map_err(|error| failed(&error))?;
    if json || asked.json {
        let value = json!({ "commits": found.commits, "judgement": judge::json(&found.judgement) });
        show::print(format_args!("{value:#}"));
    } else {
        for commit in &found.commits {
            show::print(title(commit));
        }
        show::print(found.judgement);
    }
    // Only the builds are of use from here on. Where all were there already, no tree was made.
    if built.tree().exists() {
        git.remove(&built.tree())?;
    }
    Ok(match found.judgement.verdict {
        Verdict::Regression => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    })
}
