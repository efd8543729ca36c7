//! `quiver lab gate`: may this build pass?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_compare::gate::{Bench, gate};
use quiver_compare::{CommandError, Script, Selection, Summary, compare};
use quiver_verdict::compare::Side;

use super::LabError;
use super::judge::{self, Turns};
use crate::show;

/// Tell by the exit status whether a build may pass: 0 if it is not slower, 1 if it is, 2 if that cannot be told
///
/// With --measure both sides are folders with a build, which are measured in turns, A B B A; $QUIVER_BUILD is the folder whose turn
/// it is. Without, they are stored results as `quiver lab compare` takes them, and all of their tests have to pass.
#[derive(Debug, clap::Args)]
pub struct GateOf {
    /// A folder with a build, or stored results
    #[arg(value_name = "PARENT")]
    parent: String,
    /// What may pass or not
    #[arg(value_name = "CURRENT")]
    current: String,
    /// A command that measures $QUIVER_BUILD and says a number in its last line
    #[arg(long, value_name = "COMMAND")]
    measure: Option<String>,
    /// Where documents are, for a side that does not say
    #[arg(long, value_name = "DIR|URL", default_value = "results")]
    results: String,
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
    let json = json || asked.json;
    let summary = match &asked.measure {
        Some(measure) => built(asked, Script(measure.clone()), json),
        None => recorded(asked, json),
    };
    match summary {
        Ok(Summary::Passes) => ExitCode::SUCCESS,
        Ok(Summary::Regresses) => ExitCode::FAILURE,
        Ok(Summary::Undecided) => ExitCode::from(NO_VERDICT),
        Err(error) => {
            show::error(&error);
            ExitCode::from(NO_VERDICT)
        }
    }
}

/// Two builds, and the command that measures them.
struct Builds {
    measure: Script,
    parent: PathBuf,
    current: PathBuf,
}

impl Bench for Builds {
    type Error = CommandError;

    fn measure(&mut self, side: Side) -> Result<f64, CommandError> {
        let build = match side {
            Side::Parent => &self.parent,
            Side::Current => &self.current,
        };
        self.measure.measure(Path::new("."), ("QUIVER_BUILD", build))
    }
}

fn built(asked: &GateOf, measure: Script, json: bool) -> Result<Summary, LabError> {
    let folder = |name: &str| {
        let path = PathBuf::from(name);
        path.canonicalize().map_err(|error| LabError::Build { path, error })
    };
    let mut builds = Builds { measure, parent: folder(&asked.parent)?, current: folder(&asked.current)? };
    let plan = asked.turns.plan();
    let judgement = gate(&mut builds, plan, |pair, (parent, current)| {
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

fn recorded(asked: &GateOf, json: bool) -> Result<Summary, LabError> {
    let side = |text: &str| -> Result<Vec<_>, LabError> {
        let place = Path::new(text);
        if place.join("quiverd").is_file() {
            return Err(LabError::Unmeasured { path: place.to_owned() });
        }
        judge::documents(&text.parse::<Selection>()?, &asked.results)
    };
    let (parent, current) = (side(&asked.parent)?, side(&asked.current)?);
    let (share, confidence) = (asked.turns.judge.share(), asked.turns.judge.confidence());
    // All verdicts shall be right together.
    let rows = compare(&parent, &current, share, confidence).rows.len();
    let comparison = compare(&parent, &current, share, confidence.shared_by(rows));
    match json {
        true => show::print(format_args!("{:#}", super::compare::json(&comparison))),
        false => super::compare::print(&comparison),
    }
    let verdicts = comparison.rows.iter().map(|row| row.judgement.as_ref().ok().map(|judgement| judgement.verdict));
    // A test that fails now, or is gone, was not seen to be as fast.
    let failed = comparison.failed.iter().filter(|(side, ..)| *side == Side::Current).count();
    let gone = comparison.alone.iter().filter(|(side, _)| *side == Side::Parent).count();
    let unseen = std::iter::repeat_n(None, failed + gone);
    let summary = Summary::of(verdicts.chain(unseen));
    show::say(match summary {
        Summary::Passes => "passes: nothing is slower",
        Summary::Regresses => "does not pass: something is slower",
        Summary::Undecided => "no verdict: something is not known well enough",
    });
    Ok(summary)
}
