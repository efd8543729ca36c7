//! `quiver lab site`: stored results as a folder of static pages.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use quiver_dashboard::{Listed, Site, Summary, synthetic};
use quiver_export::read;
use quiver_result::{Skipped, Stored, Time};
use quiver_store::{Results, default_unsent};
use quiver_suite::field::Keyword;
use quiver_terminal::say;

use crate::LabError;

/// Make a dashboard of stored results: a folder of static pages
///
/// Trends with change points, comparisons, coverage, news, energy, search, and a page for each case with its documents. The pages load
/// nothing from a network, and open from the folder as well as from any web server: firefox DIR/index.html.
#[derive(Debug, clap::Args)]
pub struct SiteOf {
    /// The folder; a dashboard that is there is replaced
    #[arg(value_name = "DIR")]
    place: PathBuf,
    #[command(flatten)]
    source: Source,
}

/// Where documents come from.
#[derive(Clone, Debug, clap::Args)]
pub struct Source {
    /// Where the documents are: a folder, s3://BUCKET/PREFIX, or a file of `quiver lab export`, NAME.parquet
    #[arg(long, value_name = "DIR|URL|FILE", default_value = "results")]
    pub results: String,
    /// So many documents that are made up instead, to see how the pages do with many
    #[arg(long, value_name = "NUMBER", hide = true, conflicts_with = "results")]
    synthetic: Option<u64>,
}

pub fn run(asked: &SiteOf) -> Result<(), LabError> {
    let Summary { documents, series, skipped } = make(&asked.source, &asked.place)?;
    say(format_args!("{}: {documents} documents in {series} series, {skipped} files left out", asked.place.display()));
    Ok(())
}

/// Makes the pages of a source.
pub fn make(source: &Source, place: &Path) -> Result<Summary, LabError> {
    let now = Time::try_from(SystemTime::now()).map_err(|error| LabError::Clock(error.to_string()))?;
    let mut site = Site::new(place, now)?;
    let mut take = |found: Result<Stored, Skipped>| {
        match found {
            Ok(stored) => site.add(&stored)?,
            Err(skipped) => {
                say(format_args!("left out: {skipped}"));
                site.skip(skipped.to_string());
            }
        }
        Ok::<(), LabError>(())
    };
    if let Some(count) = source.synthetic {
        synthetic::documents(count).try_for_each(|stored| take(Ok(stored)))?;
    } else if is_file(&source.results) {
        read(Path::new(&source.results), take)?;
    } else {
        Results::open(&source.results, &default_unsent())?.read()?.try_for_each(take)?;
    }
    Ok(site.finish(&listed()?)?)
}

/// Whether documents are in a file of `quiver lab export`.
pub fn is_file(results: &str) -> bool {
    !results.contains("://") && Path::new(results).extension().is_some_and(|ending| ending == "parquet")
}

/// The cases that `quiver lab list` has.
fn listed() -> Result<Vec<Listed>, LabError> {
    let cases = quiver_suite::builtin().map_err(LabError::Suites)?;
    let of = |case: &quiver_suite::Case| Listed {
        test: quiver_compare::without_device(&case.name()),
        device: case.device.word().to_owned(),
        tags: case.tags(),
    };
    Ok(cases.iter().map(of).collect())
}
