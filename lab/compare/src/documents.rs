//! Two lots of documents, test by test.
//!
//! A document is one sample: its trials share whatever the machine did meanwhile. Where the documents of a test were written
//! in turns, A B or B A, they are compared as pairs, and what the machine did to both cancels; else each with each.

use std::collections::BTreeMap;

use quiver_result::{Document, Time};
use quiver_suite::field::{Device, Word};
use quiver_verdict::compare::{Confidence, Incomparable, Ratio, Side, paired, unpaired};
use quiver_verdict::gate::{Gate, Judgement, Verdict};
use quiver_verdict::median;

use crate::Measure;
use crate::measure::measures;

/// Two lots of documents against each other.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// A row for each measure of each test that both have, by their names.
    pub rows: Vec<Row>,
    /// Tests that only one of them has, and which.
    pub alone: Vec<(Side, String)>,
    /// Failed tests, by side and message. They are in no row.
    pub failed: Vec<(Side, String, String)>,
}

/// One measure of one test.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test's name, without the device's.
    pub test: String,
    /// What is compared.
    pub measure: Measure,
    /// The median of either side, parent first.
    pub medians: (f64, f64),
    /// How many documents either side has.
    pub documents: (usize, usize),
    /// Whether they were measured in turns.
    pub is_paired: bool,
    /// What is said, or why nothing can be.
    pub judgement: Result<Judgement, Incomparable>,
}

/// What all rows say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// Nothing is slower, certainly.
    Passes,
    /// Something is.
    Regresses,
    /// Too little is known, of something or of all.
    Undecided,
}

impl Summary {
    /// Of verdicts, or of measurements that none could be drawn from.
    pub fn of(verdicts: impl IntoIterator<Item = Option<Verdict>>) -> Summary {
        let mut summary = None;
        for verdict in verdicts {
            match verdict {
                Some(Verdict::Regression) => return Summary::Regresses,
                Some(Verdict::Undecided) | None => summary = Some(Summary::Undecided),
                Some(Verdict::Same | Verdict::Progression) => summary = summary.or(Some(Summary::Passes)),
            }
        }
        // Nothing at all is no reason to let something pass.
        summary.unwrap_or(Summary::Undecided)
    }
}

/// Compares current with parent. The gate's direction is the measure's own; `smallest` is the share that matters.
pub fn compare(parent: &[Document], current: &[Document], smallest: f64, confidence: Confidence) -> Comparison {
    let (mut comparison, mut samples) = (Comparison::default(), Samples::new());
    for (side, documents) in [(Side::Parent, parent), (Side::Current, current)] {
        for document in documents {
            let test = name_of(document);
            if !document.passed {
                comparison.failed.push((side, test, document.message.clone()));
                continue;
            }
            for (measure, value) in measures(document) {
                samples.entry(test.clone()).or_default().entry(measure).or_default().push(Sample {
                    at: document.start_time,
                    side,
                    value,
                });
            }
        }
    }
    for (test, measures) in samples {
        let has = |side| measures.values().flatten().any(|sample| sample.side == side);
        match (has(Side::Parent), has(Side::Current)) {
            (true, false) => comparison.alone.push((Side::Parent, test)),
            (false, true) => comparison.alone.push((Side::Current, test)),
            _ => {
                let rows = measures
                    .into_iter()
                    .filter_map(|(measure, samples)| row(test.clone(), measure, samples, smallest, confidence));
                comparison.rows.extend(rows);
            }
        }
    }
    comparison
}

type Samples = BTreeMap<String, BTreeMap<Measure, Vec<Sample>>>;

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    side: Side,
    value: f64,
}

fn row(test: String, measure: Measure, mut samples: Vec<Sample>, smallest: f64, confidence: Confidence) -> Option<Row> {
    samples.sort_by_key(|sample| sample.at);
    let of = |side| samples.iter().filter(|own| own.side == side).map(|own| own.value).collect::<Vec<f64>>();
    let (parent, current) = (of(Side::Parent), of(Side::Current));
    // What one of them does not measure, such as another kind of busy ticks, has nothing to be compared with.
    let medians = (median(parent.clone())?, median(current.clone())?);
    let pairs = pairs(&samples);
    let ratio: Result<Ratio, Incomparable> = match &pairs {
        Some(pairs) => paired(pairs, confidence),
        None => unpaired(&parent, &current, confidence),
    };
    let gate = Gate { better: measure.better(), smallest };
    Some(Row {
        test,
        medians,
        documents: (parent.len(), current.len()),
        is_paired: pairs.is_some(),
        judgement: ratio.map(|ratio| gate.judge(ratio)),
        measure,
    })
}

/// The samples as pairs (parent, current), if each two that follow each other are one.
fn pairs(samples: &[Sample]) -> Option<Vec<(f64, f64)>> {
    let pair = |two: &[Sample]| match two {
        [one, other] if one.side != other.side => match one.side {
            Side::Parent => Some((one.value, other.value)),
            Side::Current => Some((other.value, one.value)),
        },
        _ => None,
    };
    // One pair alone would be one by chance.
    (samples.len() > 2).then(|| samples.chunks(2).map(pair).collect()).flatten()
}

/// As suites call it, but for the device, so that peers are compared in the same test.
fn name_of(document: &Document) -> String {
    let words: Vec<&str> = Device::ALL.iter().map(|device| device.word()).collect();
    let parts = document.test_name_long.split('-').filter(|part| !words.contains(part));
    parts.collect::<Vec<_>>().join("-")
}
