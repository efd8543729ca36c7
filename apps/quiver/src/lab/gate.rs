//! `quiver lab gate`: may this build pass?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_compare::gate::{Bench, TooFewPairs, gate, name};
use quiver_compare::{CommandError, Comparison, Git, Script, Summary, compare};
use quiver_result::Document;
use quiver_run::{Stop, headline};
use quiver_store::{Results, default_unsent};
use quiver_verdict::compare::{self, Confidence, order, pairs_needed};

use super::LabError;
use super::judge::{self, Turns};
use super::measured::{Measuring, Side, built, keep};
use super::run::end_by_signals;
use crate::show;

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
    /// What may pass or not
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
            show::error(&error);
            ExitCode::from(NO_VERDICT)
        }
    }
}

fn judged(asked: &GateOf, json: bool) -> Result<Summary, LabError> {
    let git = Git::new(&asked.measuring.repository);
    let is_build = asked.measure.is_some() || !asked.expression.is_empty();
    let side = |text: &str| Side::of(text, is_build, &git, &asked.results);
    let build = |side: Side, text: &str| match side {
        Side::Folder(folder) => Ok(folder),
        Side::Commit(commit) => {
            let builds = asked.measuring.builds(&asked.state)?;
            built(&builds, &git, &commit).map_err(|error| LabError::Gate(format!("{text}: {error}")))
        }
        Side::Stored(_) => Err(LabError::Mixed { text: text.to_owned() }),
    };
    match (side(&asked.parent)?, side(&asked.current)?) {
        (Side::Stored(parent), Side::Stored(current)) => Ok(stored(asked, &parent, &current, json)),
        (parent, current) => {
            let builds = [build(parent, &asked.parent)?, build(current, &asked.current)?];
            match &asked.measure {
                Some(measure) => by_command(asked, builds, Script(measure.clone()), json),
                None => by_cases(asked, builds, json),
            }
        }
    }
}

/// Two builds, and the command that measures them.
struct ByCommand {
    measure: Script,
    builds: [PathBuf; 2],
}

impl Bench for ByCommand {
    type Error = CommandError;

    fn measure(&mut self, side: compare::Side) -> Result<f64, CommandError> {
        self.measure.measure(Path::new("."), ("QUIVER_BUILD", &self.builds[side as usize]))
    }
}

fn by_command(asked: &GateOf, builds: [PathBuf; 2], measure: Script, json: bool) -> Result<Summary, LabError> {
    let plan = asked.turns.plan();
    let judgement = gate(&mut ByCommand { measure, builds }, plan, |pair, (parent, current)| {
        let change = (current / parent - 1.0) * 100.0;
        show::say(format_args!("pair {pair} of {}: {parent} {current} ({change:+.2} %)", plan.pairs));
    })
    .map_err(|error| LabError::Gate(error.to_string()))?;
    match json {
        true => show::print(format_args!("{:#}", judge::json(&judgement))),
        false => show::print(judgement),
    }
    Ok(Summary::of([Some(judgement.verdict)]))
}

/// Each measurement starts generator and device anew: what a process has by chance, its memory's places say, is then part of
/// the noise, and of no side.
fn by_cases(asked: &GateOf, builds: [PathBuf; 2], json: bool) -> Result<Summary, LabError> {
    let stop = Stop::default();
    end_by_signals(&stop)?;
    let cases = asked.measuring.cases(&asked.expression, stop)?;
    let kept = asked.keep.as_deref().map(|place| Results::open(place, &default_unsent())).transpose()?;
    let plan = asked.turns.plan();
    show::say(format_args!(
        "in turns, {} pairs, tossed by --seed {}: {}",
        plan.pairs,
        plan.seed,
        cases.names().join(", ")
    ));
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
        show::say(format_args!("pair {} of {}: {} | {}", pair + 1, plan.pairs, said[0], said[1]));
        if pair == 0 {
            let verdicts = compare(&sides[0], &sides[1], plan.gate.smallest, plan.confidence).rows.len();
            let needed = pairs_needed(plan.confidence.shared_by(verdicts));
            if plan.pairs < needed {
                return Err(LabError::Gate(TooFewPairs { pairs: plan.pairs, needed }.to_string()));
            }
        }
    }
    let [parent, current] = sides;
    Ok(stored(asked, &parent, &current, json))
}

/// Of results that are there: all verdicts together have the confidence.
fn stored(asked: &GateOf, parent: &[Document], current: &[Document], json: bool) -> Summary {
    let (share, confidence): (f64, Confidence) = (asked.turns.judge.share(), asked.turns.judge.confidence());
    let rows = compare(parent, current, share, confidence).rows.len();
    let comparison = compare(parent, current, share, confidence.shared_by(rows));
    match json {
        true => show::print(format_args!("{:#}", super::compare::json(&comparison))),
        false => super::compare::print(&comparison),
    }
    let summary = summary(&comparison);
    show::say(match summary {
        Summary::Passes => "passes: nothing is slower",
        Summary::Regresses => "does not pass: something is slower",
        Summary::Undecided => "no verdict: something is not known well enough",
    });
    summary
}

fn summary(comparison: &Comparison) -> Summary {
    let verdicts = comparison.rows.iter().map(|row| row.judgement.as_ref().ok().map(|judgement| judgement.verdict));
    // A test that fails now, or is gone, was not seen to be as fast.
    let failed = comparison.failed.iter().filter(|(side, ..)| *side == compare::Side::Current).count();
    let gone = comparison.alone.iter().filter(|(side, _)| *side == compare::Side::Parent).count();
    Summary::of(verdicts.chain(std::iter::repeat_n(None, failed + gone)))
}
