//! `quiver lab compare`: stored documents of two sides, test by test.

use comfy_table::{Table, presets};
use quiver_compare::{Comparison, Row, Selection, compare, gate};
use serde_json::{Value, json};

use super::LabError;
use super::judge::{self, Judge};
use crate::show;

/// Compare stored results of two revisions, machines or peers, test by test
///
/// A side is a folder or URL, or what its documents have in common, or both: results/old, revision=0275013,
/// s3://bucket/lab,device=vpp,machine=perf1. Each document is one sample. Where both sides were measured in turns, A B B A, they
/// are compared as pairs, and what the machine did to both cancels.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// What it is compared with
    #[arg(value_name = "A")]
    parent: Selection,
    /// What a verdict is wanted on
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
        show::print(format_args!("{:#}", self::json(&comparison)));
    } else {
        print(&comparison);
    }
    Ok(())
}

fn compared(asked: &Compare) -> Result<Comparison, LabError> {
    let parent = judge::documents(&asked.parent, &asked.results)?;
    let current = judge::documents(&asked.current, &asked.results)?;
    show::say(format_args!("A: {} documents, B: {}", parent.len(), current.len()));
    Ok(compare(&parent, &current, asked.judge.share(), asked.judge.confidence()))
}

/// As a table, and what is in no row of it.
pub fn print(comparison: &Comparison) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["test", "measure", "A", "B", "documents", "B to A"]);
    for row in &comparison.rows {
        let (parent, current) = row.medians;
        let turns = if row.is_paired { " in turns" } else { "" };
        table.add_row([
            row.test.clone(),
            row.measure.to_string(),
            short(parent),
            short(current),
            format!("{} and {}{turns}", row.documents.0, row.documents.1),
            said(row),
        ]);
    }
    if !comparison.rows.is_empty() {
        show::print(table);
    }
    for (side, test, message) in &comparison.failed {
        show::say(format_args!("{}: {test} failed: {message}", gate::name(*side)));
    }
    for (side, test) in &comparison.alone {
        show::say(format_args!("{}: {test} has no counterpart", gate::name(*side)));
    }
    let sure =
        comparison.rows.iter().find_map(|row| row.judgement.as_ref().ok()).map(|own| own.ratio.confidence.value());
    if let Some(sure) = sure {
        show::say(format_args!(
            "{} rows, each at {:.4} % confidence: about {:.2} of them would be told apart by chance alone",
            comparison.rows.len(),
            sure * 100.0,
            comparison.rows.len() as f64 * (1.0 - sure)
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

/// All of it, for other programs.
pub fn json(comparison: &Comparison) -> Value {
    let rows = comparison.rows.iter().map(|row| {
        let mut value = json!({
            "test": row.test,
            "measure": row.measure.to_string(),
            "parent": row.medians.0,
            "current": row.medians.1,
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
            json!({ "side": gate::name(*side), "test": test, "message": message })
        }).collect::<Vec<_>>(),
        "alone": comparison.alone.iter().map(|(side, test)| {
            json!({ "side": gate::name(*side), "test": test })
        }).collect::<Vec<_>>(),
    })
}
