//! Two lots of documents, test by test.
//!
//! A document is one sample: its trials share whatever the machine did meanwhile. Where the documents of a test were written
//! in turns, A B or B A, they are compared as pairs, and what the machine did to both cancels; else each with each.

use std::collections::{BTreeMap, BTreeSet};

use quiver_result::{Document, Time};
use quiver_verdict::compare::{Confidence, Incomparable, Ratio, Side, paired, unpaired};
use quiver_verdict::gate::{Gate, Judgement, Verdict};
use quiver_verdict::median;

use crate::measure::measures;
use crate::{Across, Measure, Name};

/// Two lots of documents against each other.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// A row for each measure of each test that both have of the same device and machine, by their names.
    pub rows: Vec<Row>,
    /// Tests that only one of them has, or has so.
    pub alone: Vec<Alone>,
    /// Failed tests, by side and message. They are in no row.
    pub failed: Vec<(Side, String, String)>,
}

impl Comparison {
    /// The overall result. A test that fails now, or is missing, does not count as equally fast.
    pub fn summary(&self) -> Summary {
        let verdicts = self.rows.iter().map(|row| row.judgement.as_ref().ok().map(|judgement| judgement.verdict));
        let failed = self.failed.iter().filter(|(side, ..)| *side == Side::Current).count();
        // It is not gone where it was compared, though the parent has it of other machines or devices, too.
        let is_compared = |test: &str| self.rows.iter().any(|row| row.name.test == test);
        let gone = |alone: &&Alone| alone.side == Side::Parent && !is_compared(&alone.name.test);
        let gone = self.alone.iter().filter(gone).count();
        Summary::of(verdicts.chain(std::iter::repeat_n(None, failed + gone)))
    }
}

/// A test that only one side has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// The side.
    pub side: Side,
    /// The test, and whose it is.
    pub name: Name,
    /// The other devices or machines for which the other side has this test. They are not compared.
    pub elsewhere: BTreeSet<Name>,
}

/// One measure of one test.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test, and whose it is.
    pub name: Name,
    /// The figure that is compared.
    pub measure: Measure,
    /// The median of either side, parent first.
    pub medians: (f64, f64),
    /// How many documents either side has.
    pub documents: (usize, usize),
    /// Whether they were measured in turns.
    pub is_paired: bool,
    /// The judgement, or the reason why there is none.
    pub judgement: Result<Judgement, Incomparable>,
}

/// Overall result of all rows.
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
    /// Summary of verdicts; None stands for measurements without one.
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

/// Compares current with parent: what is equal in test, device and machine, but for what they are compared across. The gate's
/// direction is the measure's own; `smallest` is the share that matters.
pub fn compare(
    parent: &[Document],
    current: &[Document],
    across: Across,
    smallest: f64,
    confidence: Confidence,
) -> Comparison {
    let (mut comparison, mut samples) = (Comparison::default(), Samples::new());
    for (side, documents) in [(Side::Parent, parent), (Side::Current, current)] {
        for document in documents {
            let name = Name::of(document, across);
            if !document.passed {
                comparison.failed.push((side, name.test, document.message.clone()));
                continue;
            }
            for (measure, value) in measures(document) {
                samples.entry(name.clone()).or_default().entry(measure).or_default().push(Sample {
                    at: document.start_time,
                    side,
                    value,
                });
            }
        }
    }
    comparison.alone = alone(&samples);
    for (name, measures) in samples {
        let rows = measures
            .into_iter()
            .filter_map(|(measure, samples)| row(name.clone(), measure, samples, smallest, confidence));
        comparison.rows.extend(rows);
    }
    comparison
}

type Samples = BTreeMap<Name, BTreeMap<Measure, Vec<Sample>>>;

/// Tests that only one side has, with the devices and machines for which the other side has them.
fn alone(samples: &Samples) -> Vec<Alone> {
    let has = |name: &Name, side| samples[name].values().flatten().any(|sample| sample.side == side);
    let of = |(name, side, other): (&Name, Side, Side)| {
        let is_same = |own: &&Name| own.test == name.test && has(own, other);
        let elsewhere = || samples.keys().filter(is_same).cloned().collect();
        (has(name, side) && !has(name, other)).then(|| Alone { side, name: name.clone(), elsewhere: elsewhere() })
    };
    let sides = [(Side::Parent, Side::Current), (Side::Current, Side::Parent)];
    let all = samples.keys().flat_map(|name| sides.map(|(side, other)| (name, side, other)));
    all.filter_map(of).collect()
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    side: Side,
    value: f64,
}

fn row(name: Name, measure: Measure, mut samples: Vec<Sample>, smallest: f64, confidence: Confidence) -> Option<Row> {
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
        name,
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
