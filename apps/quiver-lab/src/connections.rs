//! `quiver lab connections`: loads a device with TCP and UDP connections, or measures the generator of these by itself.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::ValueEnum;
use quiver_run::connections::{Counting, Report, RunOrder, Through, Trial, connections};
use quiver_run::{Lengths, Place, Stop};
use quiver_suite::field::{Device, Driver};
use quiver_terminal::{print, say};

use crate::{LabError, run, show_error, within};

/// Load a device with TCP or UDP connections, as client and server
///
/// Both ends are Quiver's own generator, which keeps a record of 64 bytes for each connection. Words say what the connections are:
/// `profile tcp-cps rate 1e5`; a file (--load) may have them, too, with comments behind #. Profiles are those of CSIT: tcp-cps, 7
/// packets; tcp-tput, 16; udp-cps, 2; udp-tput, 10. Without a rate as many connections are opened as end. A connection counts when it
/// has closed and no packet of it went twice. Every result says whether device, generator or the load was the limit.
#[derive(Debug, clap::Args)]
pub struct Connections {
    /// The load, word by word, such as: profile tcp-tput rate 1e5 hosts 100 ports 100
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// A file with words, which come before those of the command line
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Kind of the router in their path, or none
    #[arg(long, value_enum, default_value_t = Kind::None)]
    device: Kind,
    /// Link between device and generator
    #[arg(long, value_enum, default_value_t = Join::Memif)]
    driver: Join,
    /// Without a device: both ends on one core, instead of a core for each
    #[arg(long)]
    one_core: bool,
    /// Seconds in which connections are opened
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    time: f64,
    /// Search for the greatest rate without loss, and with 0.5 % of it (MLRsearch)
    #[arg(long)]
    search: bool,
    /// Seconds of a trial of the search, in place of CSIT's 21 s at each rate
    #[arg(long, value_name = "SECONDS", requires = "search")]
    trial: Option<f64>,
    /// Count a connection after SYN and SYN-ACK, as CSIT does
    #[arg(long)]
    csit: bool,
    /// Measure this quiverd as the device
    #[arg(long, value_name = "FILE")]
    quiverd: Option<PathBuf>,
    /// Answer in JSON, with all counts and histograms
    #[arg(long)]
    json: bool,
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
    #[error(transparent)]
    Run(#[from] quiver_run::Error),
}

/// The longest time.
const TIME_MAX: f64 = 86_400.0;
const TIME_MIN: f64 = 0.01;

/// Does it; the exit status says whether all that was asked for passed.
pub fn run(asked: &Connections, json: bool) -> ExitCode {
    match measure(asked) {
        Ok(report) => tell(&report, json || asked.json),
        Err(error) => {
            show_error(&error);
            ExitCode::FAILURE
        }
    }
}

fn measure(asked: &Connections) -> Result<Report, LabError> {
    within::end_with_parent().map_err(crate::keep::KeepError::System)?;
    let mut words = match &asked.load {
        Some(path) => {
            fs::read_to_string(path).map_err(|error| ConnectionsError::Unreadable { path: path.clone(), error })? + "\n"
        }
        None => String::new(),
    };
    words += &asked.words.join(" ");
    if !(TIME_MIN..=TIME_MAX).contains(&asked.time) {
        let (value, least, most) = (asked.time, TIME_MIN, TIME_MAX);
        return Err(ConnectionsError::Seconds { option: "time", value, least, most }.into());
    }
    let through = through(asked, &words)?;
    let search = match (asked.search, asked.trial) {
        (false, _) => None,
        (true, None) => Some(Lengths::CSIT),
        (true, Some(value)) => Some(Lengths::of_trials(value).ok_or(ConnectionsError::Seconds {
            option: "trial",
            value,
            least: quiver_run::TRIAL_MIN,
            most: 1000.0,
        })?),
    };
    let counting = if asked.csit { Counting::Established } else { Counting::Closed };
    let asked = RunOrder { words, through, time: asked.time, counting, search, program: asked.quiverd.clone() };
    let stop = Stop::default();
    run::end_by_signals(&stop)?;
    let place = Place::enter().map_err(LabError::Place)?;
    run::warn_of_debug_builds(asked.program.as_deref());
    let report = connections(&asked, &place, &stop, &mut |progress| {
        let bounds = progress.bounds.iter().map(|bounds| {
            let of = |load: Option<quiver_search::Load>| load.map_or("?".into(), |load| format!("{:.0}", load.pps()));
            format!("{} {} to {}", bounds.name, of(bounds.lower), of(bounds.upper))
        });
        say(format_args!("trial {}: {}", progress.trials, bounds.collect::<Vec<_>>().join(", ")));
    });
    Ok(report.map_err(ConnectionsError::from)?)
}

fn through(asked: &Connections, words: &str) -> Result<Through, ConnectionsError> {
    let device = match asked.device {
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
    let load = quiver_connections::Load::parse(words)
        .map_err(|error| quiver_run::Error::Lacking(format!("the load: {error}")))?;
    Ok(Through::device(device, driver, load.is_ip4())?)
}

/// Prints the result.
fn tell(report: &Report, json: bool) -> ExitCode {
    if json {
        print(format_args!("{:#}", report.to_json()));
    } else {
        if let Some(ceiling) = report.ceiling {
            print(format_args!("generator's ceiling   {ceiling:.0} connections/s with both ends on its core"));
        }
        if report.bounds.is_empty() {
            report.trials.iter().for_each(|trial| tell_trial(report, trial));
        }
        for (goal, lower, upper) in &report.bounds {
            let of = |load: &Option<f64>| load.map_or("none".into(), |load| format!("{load:.0}"));
            print(format_args!("{goal}   {} to {} connections/s", of(lower), of(upper)));
        }
    }
    let has_failed = report.bounds.is_empty() && report.trials.iter().any(|trial| trial.client.count("closed") == 0);
    if has_failed || report.trials.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn tell_trial(report: &Report, trial: &Trial) {
    let (client, server) = (&trial.client, &trial.server);
    let line = |what: &str, text: String| print(format_args!("{what:<22}{text}"));
    let rule = match report.counting {
        Counting::Closed => "closed, nothing sent twice",
        Counting::Established => "SYN and SYN-ACK, CSIT's rule",
    };
    line("rate", format!("{:.0} connections/s ({rule})", trial.rate(report.counting)));
    let counts = ["attempted", "established", "closed", "failed", "retransmitted", "unsent", "open"];
    let of =
        |ends: &quiver_run::connections::Ends| counts.map(|name| format!("{name} {}", ends.count(name))).join(", ");
    line("client", of(client));
    line("server", of(server));
    let [there, back] = trial.lost();
    line("packets lost", format!("{there} to the server, {back} to the client"));
    for (name, count) in &trial.losses {
        line("", format!("{count} {name}"));
    }
    for time in ["connect", "first-byte", "completion"] {
        let micros = |part: &str| client.shown[time][part].as_f64().unwrap_or(0.0) / 1000.0;
        if client.shown[time]["connections"].as_u64().unwrap_or(0) > 0 {
            let parts = ["min", "p50", "p99", "p99.9", "max"].map(|part| format!("{part} {:.1}", micros(part)));
            line(&format!("{time} in us"), parts.join(", "));
        }
    }
    let ticks = trial.ticks as f64 / client.count("closed").max(1) as f64;
    line("client's worker", format!("{ticks:.0} busy ticks a connection, {} bytes of records", client.count("memory")));
    line("limit", trial.limit.word().into());
}
