//! The common part of `compare`, `gate` and `bisect`: options of a verdict, and its output.

use quiver_compare::Selection;
use quiver_compare::gate::Plan;
use quiver_result::Document;
use quiver_store::{Results, default_unsent};
use quiver_terminal::say;
use quiver_verdict::compare::Confidence;
use quiver_verdict::gate::{Better, Gate, Judgement};
use serde_json::{Value, json};

use crate::LabError;

/// When something is told apart.
#[derive(Debug, clap::Args)]
pub struct Judge {
    /// The smallest difference that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub smallest: f64,
    /// How sure a verdict is, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 99.0, value_parser = percent)]
    confidence: f64,
}

/// How often something is measured, and what is better.
#[derive(Debug, clap::Args)]
pub struct Turns {
    #[command(flatten)]
    pub judge: Judge,
    /// How many times both are measured, in turns
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pairs: usize,
    /// Seed that decides who of a pair comes first; printed when none is given
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Less is better: what --measure says is a time or a cost
    #[arg(long)]
    less_is_better: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|number| *number > 0.0 && *number < 100.0);
    number.ok_or_else(|| "must be a number above 0 and below 100".into())
}

impl Judge {
    pub fn share(&self) -> f64 {
        self.smallest / 100.0
    }

    pub fn confidence(&self) -> Confidence {
        // The parser leaves nothing else.
        Confidence::new(self.confidence / 100.0).unwrap_or(Confidence::HIGH)
    }
}

impl Turns {
    pub fn plan(&self) -> Plan {
        let better = if self.less_is_better { Better::Lower } else { Better::Higher };
        Plan {
            pairs: self.pairs,
            gate: Gate { better, smallest: self.judge.share() },
            confidence: self.judge.confidence(),
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
        }
    }
}

/// The documents of a side. What is none is named, and left out.
pub fn documents(selection: &Selection, results: &str) -> Result<Vec<Document>, LabError> {
    let place = selection.place.as_deref().unwrap_or(results);
    let mut documents = Vec::new();
    for found in Results::open(place, &default_unsent())?.read()? {
        match found {
            Ok(stored) if selection.matches(&stored.document) => documents.push(stored.document),
            Ok(_) => {}
            Err(skipped) => say(format_args!("left out: {skipped}")),
        }
    }
    Ok(documents)
}

/// A judgement for other programs. What is not known is null.
pub fn json(judgement: &Judgement) -> Value {
    let known = |number: f64| number.is_finite().then_some(number);
    let ratio = judgement.ratio;
    json!({
        "verdict": judgement.verdict.to_string(),
        "ratio": ratio.estimate,
        "low": known(ratio.low),
        "high": known(ratio.high),
        "confidence": ratio.confidence.value(),
        "smallest": judgement.smallest,
    })
}
