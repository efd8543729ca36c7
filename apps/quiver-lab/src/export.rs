//! `quiver lab export`: stored results for SQL.

use std::path::PathBuf;

use quiver_export::Export;
use quiver_store::{Results, default_unsent};
use quiver_terminal::say;

use crate::LabError;

/// Write stored results as one Parquet file, a row a test, for DuckDB, Spark, Trino and others
#[derive(Debug, clap::Args)]
pub struct ExportOf {
    /// The file; one that is there is replaced
    #[arg(long, value_name = "FILE", required = true)]
    parquet: PathBuf,
    /// Where the documents are
    #[arg(long, value_name = "DIR|URL", default_value = "results")]
    results: String,
}

pub fn run(asked: &ExportOf) -> Result<(), LabError> {
    let results = Results::open(&asked.results, &default_unsent())?;
    let found = results.read()?;
    let mut export = Export::new(&asked.parquet)?;
    let mut left_out = 0;
    for found in found {
        match found {
            Ok(stored) => export.add(stored)?,
            Err(skipped) => {
                left_out += 1;
                say(format_args!("left out: {skipped}"));
            }
        }
    }
    let rows = export.finish()?;
    say(format_args!("{}: {rows} tests, {left_out} files left out", asked.parquet.display()));
    Ok(())
}
