//! `quiver lab compare`: stored documents of two sides, test by test.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{Table, presets};
use quiver_compare::{Across, Alone, Comparison, Name, Row, Selection, compare};
use quiver_terminal::{print, say};
use serde_json::{Value, json};

use crate::LabError;
use crate::judge::{self, Judge};

/// Names of the sides.
const SIDES: [&str; 2] = ["A", "B"];

/// Compare stored results of two revisions, machines or peers, test by test
///
/// A side is a folder or URL, or what its documents have in common, or both: results/old, revision=0275013,
/// s3://bucket/lab,device=vpp,machine=perf1. Each document is one sample. Where both sides were measured in turns, A B B A, they
/// are compared as pairs, and what the machine did to both cancels.
///
/// Only the same test of the same device on the same machine (hosts, processor, cores, kernel, ports of a testbed) is compared, unless
/// both sides say device= or machine=: then these are compared with each other. What is left apart is said.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// The side to compare with
    #[arg(value_name = "A")]
    parent: Selection,
    /// The side to judge
    #[arg(value_name = "B")]
    current: Selection,
    /// Where documents are, for a side that does not say
    #[arg(long, value_name = "DIR|URL", default_value = "results")]
    results: String,
    #[command(flatten)]
    judge: Judge,
    /// As an object in JSON
    #[arg(long)]
    json: bool,
}

pub fn run(compare: &Compare, json: bool) -> Result<(), LabError> {
    let comparison = compared(compare)?;
    if json || compare.json {
        print(format_args!("{:#}", self::json(&comparison, SIDES)));
    } else {
        show(&comparison, SIDES);
    }
    Ok(())
}

fn compared(asked: &Compare) -> Result<Comparison, LabError> {
    let parent = judge::documents(&asked.parent, &asked.results)?;
    let current = judge::documents(&asked.current, &asked.results)?;
    let [a, b] = SIDES;
    say(format_args!("{a}: {} documents, {b}: {}", parent.len(), current.len()));
    let across = Across::of(&asked.parent, &asked.current);
    Ok(compare(&parent, &current, across, asked.judge.share(), asked.judge.confidence()))
}

/// Prints a table, and on standard error the results that are in no row, with the sides' names.
pub fn show(comparison: &Comparison, sides: [&str; 2]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["test", "measure", sides[0], sides[1], "documents", &format!("{} to {}", sides[1], sides[0])]);
    let several = comparison.rows.iter().map(|row| whose(&row.name)).collect::<BTreeSet<_>>().len() > 1;
    for row in &comparison.rows {
        let (parent, current) = row.medians;
        let turns = if row.is_paired { " in turns" } else { "" };
        table.add_row([
            if several { format!("{}\n{}", row.name.test, whose(&row.name)) } else { row.name.test.clone() },
            row.measure.to_string(),
            short(parent),
            short(current),
            format!("{} and {}{turns}", row.documents.0, row.documents.1),
            said(row),
        ]);
    }
    if !comparison.rows.is_empty() {
        print(table);
    }
    for (side, test, message) in &comparison.failed {
        say(format_args!("{}: {test} failed: {message}", sides[*side as usize]));
    }
    tell_alone(&comparison.alone, sides);
    let sure =
        comparison.rows.iter().find_map(|row| row.judgement.as_ref().ok()).map(|own| own.ratio.confidence.value());
    if let Some(sure) = sure {
        say(format_args!(
            "{} rows, each at {:.4} % confidence: about {:.2} of them would be told apart by chance alone",
            comparison.rows.len(),
            sure * 100.0,
            comparison.rows.len() as f64 * (1.0 - sure)
        ));
    }
}

/// Device and machine, as far as they are not what is compared.
fn whose(name: &Name) -> String {
    if name.device.is_none() && name.machine.is_none() { String::new() } else { name.to_string() }
}

/// Reports tests without a counterpart one by one, and tests that are not compared because of their devices or
/// machines, many of one kind in a line.
fn tell_alone(alone: &[Alone], sides: [&str; 2]) {
    let mut apart: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for Alone { side, name, elsewhere } in alone {
        let keys = name.keys(elsewhere);
        if keys.is_empty() {
            say(format_args!("{}: {} has no counterpart", sides[*side as usize], name.test));
            continue;
        }
        let others = elsewhere.iter().map(Name::to_string).collect::<Vec<_>>().join("; and ");
        let tests = apart.entry((*side as usize, name.to_string(), others, keys)).or_default();
        tests.push(&name.test);
    }
    for ((side, own, others, keys), tests) in apart {
        let more = if tests.len() > 1 { format!(" and {} more", tests.len() - 1) } else { String::new() };
        say(format_args!(
            "{}: left apart: {}{more}, of {own}; {} has it of {others}. To compare these, say {keys} of both sides; * is any",
            sides[side],
            tests[0],
            sides[1 - side]
        ));
    }
}

fn said(row: &Row) -> String {
    match &row.judgement {
        Ok(judgement) => judgement.to_string(),
        Err(incomparable) => incomparable.to_string(),
    }
}

/// With as many digits as say something.
fn short(value: f64) -> String {
    match value.abs() {
        1e6.. => format!("{:.3} M", value / 1e6),
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.4}"),
    }
}

/// All of it, for other programs, with the sides' names.
pub fn json(comparison: &Comparison, sides: [&str; 2]) -> Value {
    let rows = comparison.rows.iter().map(|row| {
        let mut value = json!({
            "test": row.name.test,
            "device": row.name.device,
            "machine": row.name.machine,
            "measure": row.measure.to_string(),
            sides[0]: row.medians.0,
            sides[1]: row.medians.1,
            "documents": [row.documents.0, row.documents.1],
            "in_turns": row.is_paired,
        });
        match &row.judgement {
            Ok(judgement) => value["judgement"] = judge::json(judgement),
            Err(incomparable) => value["incomparable"] = incomparable.to_string().into(),
        }
        value
    });
    json!({
        "rows": rows.collect::<Vec<_>>(),
        "failed": comparison.failed.iter().map(|(side, test, message)| {
            json!({ "side": sides[*side as usize], "test": test, "message": message })
        }).collect::<Vec<_>>(),
        "alone": comparison.alone.iter().map(|Alone { side, name, elsewhere }| {
            let elsewhere: Vec<_> =
                elsewhere.iter().map(|name| json!({ "device": name.device, "machine": name.machine })).collect();
            json!({
                "side": sides[*side as usize], "test": name.test, "device": name.device, "machine": name.machine,
                "elsewhere": elsewhere,
            })
        }).collect::<Vec<_>>(),
    })
}
