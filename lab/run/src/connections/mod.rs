//! Connections through a device, or between two generators: trials, and searches over connections per second.

mod counting;
mod document;
mod field;
mod order;
mod search;
pub mod suites;
mod through;
mod trial;

use std::collections::BTreeMap;

use quiver_result::Document;
use quiver_search::Progress;
use quiver_stop::Stop;
use quiver_suite::Case;
use serde_json::{Value, json};

pub use counting::Counting;
pub use order::RunOrder;
pub use quiver_generator::connections::Ends;
pub use search::Seek;
pub use through::{Router, Through};
pub use trial::{Limit, Trial};

use crate::connections::field::Field;
use crate::connections::search::Seeking;
use crate::connections::through::{read, words_for};
use crate::document::Test;
use crate::terms::check;
use crate::{Error, Place};

/// Result of a measurement.
#[derive(Clone, Debug)]
pub struct Report {
    /// The load in words.
    pub words: String,
    /// Connections per second that the generator does by itself, where a device was measured.
    pub ceiling: Option<f64>,
    /// The trials.
    pub trials: Vec<Trial>,
    /// Bounds of each goal of the search: name, lower and upper bound.
    pub bounds: Vec<(String, Option<f64>, Option<f64>)>,
    /// Versions of device and generator.
    pub versions: BTreeMap<String, String>,
    /// The document for others.
    pub document: Document,
    /// Which connections count.
    pub counting: Counting,
}

impl Report {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let all = self.bounds.iter();
        let bounds: Vec<_> =
            all.map(|(goal, lower, upper)| json!({"goal": goal, "lower": lower, "upper": upper})).collect();
        json!({
            "load": self.words,
            "counted": self.counting.word(),
            "unit": "connections per second",
            "generator-ceiling": self.ceiling,
            "trials": self.trials.iter().map(Trial::to_json).collect::<Vec<_>>(),
            "bounds": bounds,
            "versions": self.versions,
        })
    }
}

/// Measures connections. `tell` hears between any two trials of a search.
///
/// # Errors
/// The load is wrong, the machine cannot do it, or generator or device fail.
pub fn connections(
    asked: &RunOrder,
    place: &Place,
    stop: &Stop,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Report, Error> {
    check(stop)?;
    let words = words_for(&asked.words, &asked.through)?;
    let (load, time) = (read(&words)?, asked.time);
    let case = match &asked.through {
        Through::Device(case) => Some(&**case),
        _ => None,
    };
    let mut test = Test::new(document::named(&load, asked), place)?;
    let ceiling = case.map(|case| ceiling(&words, case, place, stop, time.min(1.0))).transpose()?;
    let mut field = match (case, &asked.through) {
        (Some(case), _) => Field::with_device(case, place, asked.program.clone(), stop)?,
        (None, Through::TwoCores) => Field::apart(place, stop)?,
        (None, _) => Field::looped(place, None, stop)?,
    };
    (test.versions, test.configuration) = (field.versions(), field.configuration());
    test.configuration.insert("load".to_owned(), words.clone());
    test.counters_before = field.counters()?;
    let (mut trials, mut bounds) = (vec![], vec![]);
    match asked.search {
        None => trials.push(field.trial(&words, &load, time, ceiling)?),
        Some((seek, lengths)) => {
            let mut seeking =
                Seeking { field: &mut field, words: &words, counting: asked.counting, ceiling, stop, tell };
            bounds = seeking.search(seek, lengths, &mut trials)?;
        }
    }
    test.counters_after = field.counters()?;
    let versions = test.versions.clone();
    field.end()?;
    let document = document::document(test, asked, &trials, &bounds, ceiling)?;
    Ok(Report { words, ceiling, trials, bounds, versions, document, counting: asked.counting })
}

/// Connections per second that the generator does with both ends in one, on its core.
fn ceiling(words: &str, case: &Case, place: &Place, stop: &Stop, time: f64) -> Result<f64, Error> {
    let words = format!("{words} rate 0 ramp 0 connections 0 stay no");
    let mut field = Field::looped(place, Some(case), stop)?;
    let trial = field.trial(&words, &read(&words)?, time, None)?;
    field.end()?;
    Ok(trial.rate(Counting::Closed))
}
