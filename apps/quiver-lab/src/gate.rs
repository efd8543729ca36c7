//! `quiver lab gate`: may this build pass?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_compare::gate::{Bench, Plan, gate, name};
use quiver_compare::{Across, CommandError, Git, Script, Summary, compare};
use quiver_result::Document;
use quiver_run::{Stop, headline};
use quiver_store::default_unsent;
use quiver_terminal::{print, say};
use quiver_verdict::compare::{self, Confidence, order};

use crate::LabError;
use crate::judge::{self, Turns};
use crate::measured::{Measuring, Side, built, keep};
use crate::run::end_by_signals;

/// Tell by the exit status whether a build may pass: 0 if it is not slower, 1 if it is, 2 if that cannot be told
///
/// Two builds are measured in turns: folders with a quiverd, or commits, which are built first. By default that is done by cases of
/// `quiver lab run`, with --measure by a command, for which $QUIVER_BUILD is the folder whose turn it is. Two stored results
/// are taken as `quiver lab compare` does. All that is compared has to pass.
#[derive(Debug, clap::Args)]
pub struct GateOf {
    /// A folder with a build, a commit, or stored results
    #[arg(value_name = "PARENT")]
    parent: String,
    /// The build, commit or results to judge
    #[arg(value_name = "CURRENT")]
    current: String,
    /// Which cases of `quiver lab list` are measured; all of them have to pass
    #[arg(value_name = "EXPR")]
    expression: Vec<String>,
    /// A command that measures $QUIVER_BUILD and says a number in its last line, in place of cases
    #[arg(long, value_name = "COMMAND", conflicts_with = "expression")]
    measure: Option<String>,
    #[command(flatten)]
    measuring: Measuring,
    /// Where commits are built, and their builds are kept
    #[arg(long, value_name = "DIR", default_value = "quiver-gate")]
    state: PathBuf,
    /// Where stored results are, for a side that does not say
    #[arg(long, value_name = "DIR|URL", default_value = "results")]
    results: String,
    /// Keep the documents of what is measured here, too
    #[arg(long, value_name = "DIR|URL")]
    keep: Option<String>,
    #[command(flatten)]
    turns: Turns,
    /// As an object in JSON
    #[arg(long)]
    json: bool,
}

/// The exit status where there is no verdict.
const NO_VERDICT: u8 = 2;

/// Its status is the answer, so errors are shown here.
pub fn run(asked: &GateOf, json: bool) -> ExitCode {
    match judged(asked, json || asked.json) {
        Ok(Summary::Passes) => ExitCode::SUCCESS,
        Ok(Summary::Regresses) => ExitCode::FAILURE,
        Ok(Summary::Undecided) => ExitCode::from(NO_VERDICT),
        Err(error) => {
            crate::show_error(&error);
            ExitCode::from(NO_VERDICT)
        }
    }
}

fn judged(asked: &GateOf, json: bool) -> Result<Summary, LabError> {
    let git = Git::new(&asked.measuring.repository);
    let is_build = asked.measure.is_some() || !asked.expression.is_empty();
    let side = |text: &str| Side::of(text, is_build, &git, &asked.results);
    match (side(&asked.parent)?, side(&asked.current)?) {
        (Side::Stored(parent), Side::Stored(current)) => {
            let across = Across::of(&parent.selection, &current.selection);
            Ok(stored(asked, [&parent.documents, &current.documents], across, json))
        }
        (Side::Stored(_), _) => Err(LabError::Mixed { text: asked.parent.clone() }),
        (_, Side::Stored(_)) => Err(LabError::Mixed { text: asked.current.clone() }),
        (parent, current) => {
            let sides = [parent, current];
            let stop = Stop::default();
            end_by_signals(&stop)?;
            match &asked.measure {
                Some(measure) => by_command(asked, sides, Script(measure.clone()), stop, json),
                None => by_cases(asked, sides, stop, json),
            }
        }
    }
}

/// The builds of both sides. Commits are built one after the other in a tree, which is gone then, whatever comes of it.
fn builds(asked: &GateOf, sides: [Side; 2], stop: &Stop) -> Result<[PathBuf; 2], LabError> {
    let git = Git::new(&asked.measuring.repository);
    let has_commits = sides.iter().any(|side| matches!(side, Side::Commit(_)));
    let builds = has_commits.then(|| asked.measuring.builds(&asked.state, stop)).transpose()?;
    let build = |side, text: &str| match (side, &builds) {
        (Side::Folder(folder), _) => Ok(folder),
        (Side::Commit(commit), Some(builds)) => {
            built(builds, &git, &commit).map_err(|error| LabError::Gate(format!("{text}: {error}")))
        }
        _ => Err(LabError::Mixed { text: text.to_owned() }),
    };
    let [parent, current] = sides;
    Ok([build(parent, &asked.parent)?, build(current, &asked.current)?])
}

/// Checks that each of a number of verdicts can be reached.
fn check(plan: &Plan, verdicts: usize) -> Result<(), LabError> {
    plan.check(verdicts).map_err(|error| LabError::Gate(error.to_string()))
}

/// Two builds, and the command that measures them.
struct ByCommand {
    measure: Script,
    builds: [PathBuf; 2],
    stop: Stop,
}

impl Bench for ByCommand {
    type Error = CommandError;

    fn measure(&mut self, side: compare::Side) -> Result<f64, CommandError> {
        self.measure.measure(Path::new("."), ("QUIVER_BUILD", &self.builds[side as usize]), &self.stop)
    }
}

fn by_command(asked: &GateOf, sides: [Side; 2], measure: Script, stop: Stop, json: bool) -> Result<Summary, LabError> {
    let plan = asked.turns.plan();
    check(&plan, 1)?;
    let builds = builds(asked, sides, &stop)?;
    let judgement = gate(&mut ByCommand { measure, builds, stop }, plan, |pair, (parent, current)| {
        let change = (current / parent - 1.0) * 100.0;
        say(format_args!("pair {pair} of {}: {parent} {current} ({change:+.2} %)", plan.pairs));
    })
    .map_err(|error| LabError::Gate(error.to_string()))?;
    match json {
        true => print(format_args!("{:#}", judge::json(&judgement))),
        false => print(judgement),
    }
    Ok(Summary::of([Some(judgement.verdict)]))
}

/// Each measurement starts generator and device anew: what a process has by chance, its memory's places say, is then part of
/// the noise, and of no side.
fn by_cases(asked: &GateOf, sides: [Side; 2], stop: Stop, json: bool) -> Result<Summary, LabError> {
    let cases = asked.measuring.cases(&asked.expression, stop.clone())?;
    // Each has one number at least; how many it has, the first pair tells.
    let plan = asked.turns.plan();
    check(&plan, cases.names().len())?;
    let kept = asked.keep.as_deref().map(|place| crate::keep::open(place, &default_unsent())).transpose()?;
    let builds = builds(asked, sides, &stop)?;
    say(format_args!("in turns, {} pairs, tossed by --seed {}: {}", plan.pairs, plan.seed, cases.names().join(", ")));
    let mut sides: [Vec<Document>; 2] = Default::default();
    for pair in 0..plan.pairs {
        let mut said: [String; 2] = Default::default();
        for side in order(plan.seed, pair) {
            let documents = cases.documents(&builds[side as usize]);
            let documents =
                documents.map_err(|error| LabError::Gate(format!("pair {}, {}: {error}", pair + 1, name(side))))?;
            keep(kept.as_ref(), &documents);
            let numbers = documents.iter().filter_map(headline);
            said[side as usize] =
                numbers.map(|(_, value, _)| format!("{:.3} M", value / 1e6)).collect::<Vec<_>>().join(", ");
            sides[side as usize].extend(documents);
        }
        say(format_args!("pair {} of {}: {} | {}", pair + 1, plan.pairs, said[0], said[1]));
        if pair == 0 {
            let across = Across::default();
            let verdicts = compare(&sides[0], &sides[1], across, plan.gate.smallest, plan.confidence).rows.len();
            check(&plan, verdicts)?;
        }
    }
    Ok(stored(asked, [&sides[0], &sides[1]], Across::default(), json))
}

/// Judges stored results. All verdicts together have the confidence.
fn stored(asked: &GateOf, [parent, current]: [&[Document]; 2], across: Across, json: bool) -> Summary {
    let (share, confidence): (f64, Confidence) = (asked.turns.judge.share(), asked.turns.judge.confidence());
    let rows = compare(parent, current, across, share, confidence).rows.len();
    let comparison = compare(parent, current, across, share, confidence.shared_by(rows));
    let sides = [compare::Side::Parent, compare::Side::Current].map(name);
    match json {
        true => print(format_args!("{:#}", crate::compare::json(&comparison, sides))),
        false => crate::compare::show(&comparison, sides),
    }
    let summary = comparison.summary();
    say(match summary {
        Summary::Passes => "passes: nothing is slower",
        Summary::Regresses => "does not pass: something is slower",
        Summary::Undecided => "no verdict: something is not known well enough",
    });
    summary
}
