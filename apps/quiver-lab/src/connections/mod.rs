//! `quiver lab connections`: loads a device with TCP and UDP connections, or measures the generator of these by itself.

mod tell;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::ValueEnum;
use quiver_run::connections::suites::{self, Suite};
use quiver_run::connections::{Counting, Report, Router, RunOrder, Seek, Through, connections};
use quiver_run::{Lengths, Place, Stop};
use quiver_store::default_unsent;
use quiver_suite::field::{Device, Driver, Feature};
use quiver_terminal::say;

use crate::keep::{self, Keep, StoredAt};
use crate::{LabError, run, show_error, within};

/// Load a device with TCP or UDP connections, as client and server
///
/// Both ends are Quiver's own generator, which keeps a record of 64 bytes for each connection. Words say what the connections are:
/// `profile tcp-cps rate 1e5`; a file (--load) may have them, too, with comments behind #. Profiles are those of CSIT: tcp-cps, 7
/// packets; tcp-tput, 16; udp-cps, 2; udp-tput, 10. Without a rate as many connections are opened as end. A connection counts when it
/// has closed and no packet of it went twice. Every result says whether device, generator or the load was the limit. Several devices
/// are measured one after the other and compared in a table. CSIT's stateful suites have names: --list shows them.
#[derive(Debug, clap::Args)]
pub struct Connections {
    /// The load, word by word, such as: profile tcp-tput rate 1e5 hosts 100 ports 100
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// A file with words, which come before those of the command line
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Kind of the router in their path, or several to compare: none, quiver, linux, vpp
    #[arg(long, value_enum, value_name = "KIND,...", value_delimiter = ',')]
    device: Vec<Kind>,
    /// The kernel as a router tracks connections (nftables, `ct state`)
    #[arg(long)]
    conntrack: bool,
    /// A suite of CSIT by its name, such as ethip4tcp-ip4base-h1024-p63-s64512-cps-ndrpdr; by CSIT's rule, through Quiver by default
    #[arg(long, value_name = "NAME", conflicts_with_all = ["load", "search", "one_core"])]
    suite: Option<String>,
    /// List CSIT's suites whose names contain all words, with the reason if one cannot be measured
    #[arg(long)]
    list: bool,
    /// Link between device and generator
    #[arg(long, value_enum, default_value_t = Join::Memif)]
    driver: Join,
    /// Without a device: both ends on one core, instead of a core for each
    #[arg(long)]
    one_core: bool,
    /// Seconds in which connections are opened
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    time: f64,
    /// Search for the greatest rate without loss, and with 0.5 % of it (MLRsearch); or with soak for the rate at which one in ten
    /// million is lost in the long run (PLRsearch)
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "ndrpdr", value_name = "SEARCH")]
    search: Option<Search>,
    /// Seconds of a trial of the search, in place of CSIT's 21 s at each rate
    #[arg(long, value_name = "SECONDS")]
    trial: Option<f64>,
    /// Count as CSIT does: connections of tcp-cps after SYN and SYN-ACK; of others packets, so that rates are of transactions
    #[arg(long)]
    csit: bool,
    /// Keep a document of each device's result: a folder, s3://BUCKET/PREFIX, or - for a line each on the standard output
    #[arg(long, value_name = "DIR|URL")]
    results: Option<String>,
    /// Measure this quiverd as the device
    #[arg(long, value_name = "FILE")]
    quiverd: Option<PathBuf>,
    /// Answer in JSON, with all counts and histograms
    #[arg(long)]
    json: bool,
}

/// Search for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Search {
    /// MLRsearch for NDR and PDR
    Ndrpdr,
    /// PLRsearch
    Soak,
}

/// Kind of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Nothing: the generator by itself
    None,
    /// Quiver as an IP router
    Quiver,
    /// The kernel as an IP router
    Linux,
    /// VPP as an IP router
    Vpp,
}

/// Link between device and generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Join {
    /// Shared memory
    Memif,
    /// Virtual Ethernet between namespaces
    Veth,
    /// TAP interfaces
    Tap,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    #[error("{}: {error}; name a file with the words of a load", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("--{option} {value}: write seconds from {least} to {most}")]
    Seconds { option: &'static str, value: f64, least: f64, most: f64 },
    #[error("--driver memif: the kernel has none; write --driver veth or --driver tap")]
    NoMemif,
    #[error("--one-core: a device has a core of its own; leave it out")]
    OneCore,
    #[error("--conntrack: the kernel alone tracks connections; add it to --device, or leave --conntrack out")]
    NoKernel,
    #[error("--trial: only searches have trials; add --search, or write --time")]
    NoSearch,
    #[error("{0}: no suite has this name: `quiver lab connections --list` shows them all")]
    NoSuite(String),
    #[error("{name}: {why}")]
    Lacking { name: String, why: &'static str },
    #[error(transparent)]
    Run(#[from] quiver_run::Error),
}

/// The longest time.
const TIME_MAX: f64 = 86_400.0;
const TIME_MIN: f64 = 0.01;

/// Does it; the exit status says whether all that was asked for passed.
pub fn run(asked: &Connections, json: bool) -> ExitCode {
    let json = json || asked.json;
    if asked.list {
        return tell::list(&asked.words, json);
    }
    match measure(asked) {
        Ok(Outcome::Here(reports, is_stored)) => match (tell::all(&reports, json), is_stored) {
            (ExitCode::SUCCESS, false) => ExitCode::FAILURE,
            (status, _) => status,
        },
        Ok(Outcome::Elsewhere(status)) => status,
        Err(error) => {
            show_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Result of a measurement.
enum Outcome {
    /// Reports by device, and whether all documents are where they should be.
    Here(Vec<(String, Report)>, bool),
    /// Another process has measured and told it.
    Elsewhere(ExitCode),
}

fn measure(asked: &Connections) -> Result<Outcome, LabError> {
    within::end_with_parent().map_err(keep::KeepError::System)?;
    let mut words = match &asked.load {
        Some(path) => {
            fs::read_to_string(path).map_err(|error| ConnectionsError::Unreadable { path: path.clone(), error })? + "\n"
        }
        None => String::new(),
    };
    let suite = suite(asked)?;
    words += &suite.iter().map(|suite| suite.words.clone() + " ").collect::<String>();
    words += &asked.words.join(" ");
    if !(TIME_MIN..=TIME_MAX).contains(&asked.time) {
        let (value, least, most) = (asked.time, TIME_MIN, TIME_MAX);
        return Err(ConnectionsError::Seconds { option: "time", value, least, most }.into());
    }
    let load = quiver_connections::Load::parse(&words);
    let load = load.map_err(|error| quiver_run::Error::Lacking(format!("the load: {error}")));
    let load = load.map_err(ConnectionsError::from)?;
    let (search, is_csit) = (search(asked, suite.as_ref())?, asked.csit || suite.is_some());
    let counting = if is_csit { Counting::csit(&load).map_err(ConnectionsError::from)? } else { Counting::Closed };
    let default = if suite.is_some() { Kind::Quiver } else { Kind::None };
    let kinds = if asked.device.is_empty() { vec![default] } else { asked.device.clone() };
    if asked.conntrack && !kinds.contains(&Kind::Linux) {
        return Err(ConnectionsError::NoKernel.into());
    }
    let feature = suite.as_ref().map_or(Feature::None, |suite| suite.feature);
    let mut runs = vec![];
    for kind in kinds {
        let feature = if asked.conntrack && kind == Kind::Linux { Feature::Conntrack } else { feature };
        let through = through(asked, kind, feature, &words)?;
        let program = asked.quiverd.clone();
        let run = RunOrder { words: words.clone(), through, time: asked.time, counting, search, program };
        runs.push((kind.name(feature), run));
    }
    let unsent = default_unsent();
    if let Some(results) = &asked.results
        && let Some(status) = keep::outside(results, &unsent)?
    {
        return Ok(Outcome::Elsewhere(status));
    }
    let stop = Stop::default();
    run::end_by_signals(&stop)?;
    let place = Place::enter().map_err(LabError::Place)?;
    if let Some(path) = asked.results.as_ref().filter(|path| place.is_lost(path.as_ref())) {
        return Err(LabError::Lost { path: path.clone(), files: place.files() });
    }
    let keep = asked.results.as_ref().map(|results| Keep::open(results, &unsent)).transpose()?;
    run::warn_of_debug_builds(asked.quiverd.as_deref());
    let (mut reports, mut is_stored) = (vec![], true);
    for (name, run) in runs {
        let report = connections(&run, &place, &stop, &mut |progress| {
            let bounds = progress.bounds.iter().map(|bounds| {
                let of =
                    |load: Option<quiver_search::Load>| load.map_or("?".into(), |load| format!("{:.0}", load.pps()));
                format!("{} {} to {}", bounds.name, of(bounds.lower), of(bounds.upper))
            });
            say(format_args!("{name}, trial {}: {}", progress.trials, bounds.collect::<Vec<_>>().join(", ")));
        });
        let report = report.map_err(ConnectionsError::from)?;
        is_stored &= keep.as_ref().is_none_or(|keep| is_kept(keep.write(&report.document)));
        reports.push((name, report));
    }
    Ok(Outcome::Here(reports, is_stored))
}

/// Whether a document is where it should be; says where it is.
fn is_kept(kept: StoredAt) -> bool {
    match kept {
        StoredAt::There { place } => {
            if place != keep::LINES {
                say(place);
            }
            true
        }
        StoredAt::Not { why, here } => {
            let here = here.map(|here| format!("; it is kept in {here}")).unwrap_or_default();
            say(format_args!("the document is not stored: {why}{here}"));
            false
        }
    }
}

/// The suite of CSIT, if one is asked for.
fn suite(asked: &Connections) -> Result<Option<Suite>, ConnectionsError> {
    let Some(name) = &asked.suite else { return Ok(None) };
    let suite = suites::find(name).ok_or_else(|| ConnectionsError::NoSuite(name.clone()))?;
    match suite.lacking {
        Some(why) => Err(ConnectionsError::Lacking { name: suite.name, why }),
        None => Ok(Some(suite)),
    }
}

fn search(asked: &Connections, suite: Option<&Suite>) -> Result<Option<(Seek, Lengths)>, ConnectionsError> {
    let seek = match (asked.search, suite) {
        (Some(Search::Ndrpdr), _) => Some(Seek::NdrPdr),
        (Some(Search::Soak), _) => Some(Seek::Soak),
        (None, suite) => suite.and_then(|suite| suite.seek),
    };
    let Some(value) = asked.trial else { return Ok(seek.map(|seek| (seek, Lengths::CSIT))) };
    let least = quiver_run::TRIAL_MIN;
    let lengths =
        Lengths::of_trials(value).ok_or(ConnectionsError::Seconds { option: "trial", value, least, most: 1000.0 })?;
    Ok(Some((seek.ok_or(ConnectionsError::NoSearch)?, lengths)))
}

impl Kind {
    /// In tables.
    fn name(self, feature: Feature) -> String {
        match self {
            Kind::None => "generator",
            Kind::Quiver => "quiver",
            Kind::Linux if feature == Feature::Conntrack => "linux, conntrack",
            Kind::Linux => "linux",
            Kind::Vpp => "vpp",
        }
        .to_owned()
    }
}

fn through(asked: &Connections, kind: Kind, feature: Feature, words: &str) -> Result<Through, ConnectionsError> {
    let device = match kind {
        Kind::None if asked.one_core => return Ok(Through::OneCore),
        Kind::None => return Ok(Through::TwoCores),
        _ if asked.one_core => return Err(ConnectionsError::OneCore),
        Kind::Linux if asked.driver == Join::Memif => return Err(ConnectionsError::NoMemif),
        Kind::Quiver => Device::Quiver,
        Kind::Linux => Device::Linux,
        Kind::Vpp => Device::Vpp,
    };
    let driver = match asked.driver {
        Join::Memif => Driver::Memif,
        Join::Veth => Driver::Veth,
        Join::Tap => Driver::Tap,
    };
    Ok(Through::router(Router { device, driver, feature }, words)?)
}
