//! `quiver lab bisect`: which commit made it slower?

use std::path::PathBuf;
use std::process::ExitCode;

use quiver_compare::bisect::{Bisection, Commits, Event, Question};
use quiver_compare::{Builds, Git, Script};
use quiver_run::Stop;
use quiver_terminal::{print, say};
use quiver_verdict::gate::Verdict;
use serde_json::json;

use crate::LabError;
use crate::judge::{self, Turns};
use crate::measured::{Cases, Measuring, Unmeasured};
use crate::run::end_by_signals;

/// Find the commit that made something slower, between a good one and a bad one
///
/// Commits are checked out in a tree of their own, built, and measured by a case of `quiver lab run` or by a command, in turns with
/// the good one. What is known is kept, so an interrupted bisection goes on when the same command is given again. At last
/// the first bad commit and the one before are measured in turns. The exit status is 0 if these are told apart, 2 if they are
/// not, 1 if something went wrong.
#[derive(Debug, clap::Args)]
pub struct BisectOf {
    /// A commit that is as fast as it should be
    #[arg(value_name = "GOOD")]
    good: String,
    /// A later one that is slower
    #[arg(value_name = "BAD")]
    bad: String,
    /// Which case of `quiver lab list` is measured: one
    #[arg(value_name = "EXPR", required_unless_present = "measure")]
    expression: Vec<String>,
    /// A command that measures $QUIVER_BUILD and says a number in its last line, in place of a case
    #[arg(long, value_name = "COMMAND", conflicts_with = "expression")]
    measure: Option<String>,
    #[command(flatten)]
    measuring: Measuring,
    /// How often each commit is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    samples: usize,
    /// Where the tree, the builds and what is known are kept
    #[arg(long, value_name = "DIR", default_value = "quiver-bisect")]
    state: PathBuf,
    #[command(flatten)]
    turns: Turns,
    /// As an object in JSON
    #[arg(long)]
    json: bool,
}

/// Method that judges a build: a user's command, or cases of the lab.
enum Method {
    Command(Script),
    Case(Cases),
}

/// Commits of a repository.
struct Built {
    builds: Builds,
    method: Method,
    stop: Stop,
}

impl Commits for Built {
    type Error = Unmeasured;

    fn build(&mut self, commit: &str) -> Result<(), Unmeasured> {
        Ok(self.builds.make(commit).map(drop)?)
    }

    fn is_to_stop(&self) -> bool {
        self.stop.is_set()
    }

    fn measure(&mut self, commit: &str) -> Result<f64, Unmeasured> {
        let folder = self.builds.folder(commit);
        match &self.method {
            Method::Command(script) => {
                Ok(script.measure(self.builds.state(), ("QUIVER_BUILD", &folder), &self.stop)?)
            }
            Method::Case(cases) => cases.number(&folder),
        }
    }
}

pub fn run(asked: &BisectOf, json: bool) -> Result<ExitCode, LabError> {
    let stop = Stop::default();
    end_by_signals(&stop)?;
    let builds = asked.measuring.builds(&asked.state, &stop)?;
    let git = Git::new(&asked.measuring.repository);
    let commits = git.between(&asked.good, &asked.bad)?;
    let (method, measured) = match &asked.measure {
        Some(script) => (Method::Command(Script(script.clone())), script.clone()),
        None => {
            let cases = asked.measuring.cases(&asked.expression, stop.clone())?;
            let names = cases.names().join(", ");
            if cases.names().len() > 1 {
                return Err(LabError::Bisect(format!("one case is bisected, and these are more: {names}")));
            }
            (Method::Case(cases), names)
        }
    };
    let question = Question { commits, samples: asked.samples, method: vec![asked.measuring.build.clone(), measured] };
    let failed = |error: &dyn std::error::Error| LabError::Bisect(error.to_string());
    let mut bisection =
        Bisection::open::<Unmeasured>(&asked.state.join("state.json"), question).map_err(|error| failed(&error))?;
    let mut built = Built { builds, method, stop };
    let title = |commit: &str| git.title(commit).unwrap_or_else(|_| commit.to_owned());
    let found = bisection.run(&mut built, asked.turns.plan(), |event| match event {
        Event::Measures { commit, remaining } => {
            say(format_args!("measuring {}; {remaining} commits to measure at most", title(commit)));
        }
        Event::Knows { commit } => say(format_args!("known: {}", title(commit))),
        Event::Skips { commit, because } => say(format_args!("skipped: {}: {because}", title(commit))),
        Event::Joins { commit, joined } => {
            let bits = (joined.early_bits - joined.late_bits).abs();
            let whose = if joined.is_late { "bad" } else { "good" };
            let double = if joined.is_double { ", but a level of its own" } else { "" };
            say(format_args!("{whose} by {bits:.1} bits{double}: {}", title(commit)));
        }
        Event::Confirms { good, bad } => {
            say(format_args!("in turns: {} and {}", title(good), title(bad)));
        }
    });
    let found = found.map_err(|error| failed(&error))?;
    if json || asked.json {
        let value = json!({ "commits": found.commits, "judgement": judge::json(&found.judgement) });
        print(format_args!("{value:#}"));
    } else {
        for commit in &found.commits {
            print(title(commit));
        }
        print(found.judgement);
    }
    Ok(match found.judgement.verdict {
        Verdict::Regression => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    })
}
