//! Builds of quiverd that the lab measures itself: which one a word means, and the cases that are run with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quiver_compare::{BuildError, Builds, CARGO, Git, Script, Selection};
use quiver_result::Document;
use quiver_run::{Stop, headline};
use quiver_store::Results;
use quiver_suite::Case;
use quiver_suite::field::{Device, Keyword as _};
use quiver_terminal::say;

use crate::keep::LINES;
use crate::{LabError, judge, lacking, select, within};

/// The default cases: a cross-connect and a router, at the highest packet rate.
const CASES: &str = "quiver AND drv_memif AND eth AND 64b AND 1c AND closedloop AND (l2xcbase OR ip4base)";

/// Options of `gate` and `bisect` for building and measuring.
#[derive(Debug, clap::Args)]
pub struct Measuring {
    /// Suites beside the built-in ones: all files *.yaml of a folder
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// Seconds of a trial; each measurement has three of them, and starts generator and device anew
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = trial)]
    trial: String,
    /// The repository of commits
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repository: PathBuf,
    /// A command that builds a commit in its working folder, and puts what is measured into $QUIVER_BUILD
    #[arg(long, value_name = "COMMAND", default_value = CARGO, hide_default_value = true)]
    pub build: String,
}

/// A length of trials, as `quiver lab run` takes it.
fn trial(text: &str) -> Result<String, String> {
    crate::run::lengths(text).map(|_| text.to_owned())
}

impl Measuring {
    /// The builder of commits; makes the folder of their trees and builds.
    pub fn builds(&self, state: &Path, stop: &Stop) -> Result<Builds, LabError> {
        let unusable = |error| LabError::Build { path: state.to_owned(), error };
        std::fs::create_dir_all(state).map_err(unusable)?;
        let state = state.canonicalize().map_err(unusable)?;
        Ok(Builds::new(Git::new(&self.repository), Script(self.build.clone()), &state, stop.clone()))
    }

    /// The cases of an expression, as far as this machine can run them.
    pub fn cases(&self, expression: &[String], stop: Stop) -> Result<Cases, LabError> {
        let own = [CASES.to_owned()];
        let expression = if expression.is_empty() { &own[..] } else { expression };
        let (mut cases, _) = select(expression, self.suites.as_deref(), None)?;
        cases.retain(|case| case.device == Device::Quiver && lacking(case, None).is_empty());
        match cases.is_empty() {
            true => Err(LabError::NoCase { expression: expression.join(" ") }),
            false => {
                let mut arguments = ["--results", LINES, "--trial", &self.trial].map(OsString::from).to_vec();
                if let Some(suites) = &self.suites {
                    arguments.extend(["--suites".into(), suites.into()]);
                }
                arguments.push(format!("({}) AND {}", expression.join(" "), Device::Quiver.word()).into());
                Ok(Cases { cases, arguments, stop })
            }
        }
    }
}

/// Cases that are run again and again, with one build and another.
pub struct Cases {
    cases: Vec<Case>,
    /// Arguments of the run that measures them.
    arguments: Vec<OsString>,
    stop: Stop,
}

/// Why something was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Command(#[from] quiver_compare::CommandError),
    #[error(transparent)]
    Run(#[from] quiver_run::Error),
    #[error("`quiver lab run` cannot be started: {0}")]
    Start(#[from] std::io::Error),
    #[error("`quiver lab run` ended with {status}, without a document of {case}; it said: {said}")]
    NoDocument { case: String, status: std::process::ExitStatus, said: String },
    #[error("{case}: {message}")]
    Failed { case: String, message: String },
    #[error("{case}: its result has no number to compare: choose another search")]
    NoNumber { case: String },
}

impl Cases {
    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.cases.iter().map(Case::name).collect()
    }

    /// Runs each once with the quiverd of a folder, in a world that is gone afterwards.
    pub fn documents(&self, build: &Path) -> Result<Vec<Document>, Unmeasured> {
        let quiverd = ["--quiverd".into(), build.join("quiverd").into_os_string()];
        let output = within::run(quiverd.into_iter().chain(self.arguments.iter().cloned()), &self.stop)?;
        if self.stop.is_set() {
            return Err(quiver_run::Error::Interrupted.into());
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let documents: Vec<Document> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if let Some(failed) = documents.iter().find(|document| !document.passed) {
            return Err(Unmeasured::Failed { case: failed.test_id.clone(), message: failed.message.clone() });
        }
        if documents.len() < self.cases.len() {
            let is_there = |case: &Case| documents.iter().any(|document| document.test_id.ends_with(&case.name()));
            let case = self.cases.iter().find(|case| !is_there(case)).map(Case::name).unwrap_or_default();
            let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
            return Err(Unmeasured::NoDocument { case, status: output.status, said });
        }
        Ok(documents)
    }

    /// The one number of a single case.
    pub fn number(&self, build: &Path) -> Result<f64, Unmeasured> {
        let documents = self.documents(build)?;
        let number = documents.first().and_then(headline).map(|(_, value, _)| value);
        number.ok_or_else(|| Unmeasured::NoNumber { case: self.names().join(", ") })
    }
}

/// A side of a comparison.
pub enum Side {
    /// A folder with a build, a path from the root.
    Folder(PathBuf),
    /// A commit, by its id.
    Commit(String),
    /// Results that are stored.
    Stored(Stored),
}

/// Stored results, and by what they were selected.
pub struct Stored {
    pub selection: Selection,
    pub documents: Vec<Document>,
}

impl Side {
    /// A folder with a quiverd, or any folder if `is_build` says that it has a build; a place or a selection of results; or a
    /// commit.
    pub fn of(text: &str, is_build: bool, git: &Git, results: &str) -> Result<Side, LabError> {
        let path = Path::new(text);
        if path.join("quiverd").is_file() || is_build && path.is_dir() {
            let folder = path.canonicalize().map_err(|error| LabError::Build { path: path.to_owned(), error })?;
            return Ok(Side::Folder(folder));
        }
        let is_stored = text.contains("://") || text.contains('=') || path.exists();
        match (is_stored && !is_build, git.id(text)) {
            (false, Ok(id)) => Ok(Side::Commit(id)),
            (false, Err(_)) if is_build => {
                let error = std::io::Error::new(std::io::ErrorKind::NotFound, "no folder, and no commit");
                Err(LabError::Build { path: path.to_owned(), error })
            }
            _ => {
                let selection = text.parse()?;
                Ok(Side::Stored(Stored { documents: judge::documents(&selection, results)?, selection }))
            }
        }
    }
}

/// Where a build is, once it is there.
pub fn built(builds: &Builds, git: &Git, commit: &str) -> Result<PathBuf, BuildError> {
    say(format_args!("building {}", git.title(commit).unwrap_or_else(|_| commit.to_owned())));
    builds.make(commit)
}

/// Where a store is that gets what a gate measured.
pub fn keep(results: Option<&Results>, documents: &[Document]) {
    for document in documents {
        if let Some(Err(error)) = results.map(|results| results.write(document)) {
            say(format_args!("{}: not stored: {error}", document.test_name_long));
        }
    }
}
