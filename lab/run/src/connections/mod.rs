//! Connections through a device, or between two generators: trials, and searches over connections per second.

mod counting;
mod field;
mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;

use quiver_connections::Load;
use quiver_search::mlr::{Goal, Mlr};
use quiver_search::{Load as Rate, Progress, Search, Seconds, Step, TrialResult};
use quiver_stop::Stop;
use quiver_suite::field::{Device, Driver, Keyword as _};
use quiver_suite::{Case, Traffic};
use serde_json::{Value, json};

pub use counting::Counting;
pub use quiver_generator::connections::Ends;
pub use trial::{Limit, Trial};

use crate::connections::field::Field;
use crate::terms::check;
use crate::{Error, Lengths, Place};

/// Path of the connections.
#[derive(Clone, Debug)]
pub enum Through {
    /// Nothing: one daemon with both ends, on one core, through memif.
    OneCore,
    /// Nothing: a daemon for each end, each on a core of its own, with memif between.
    TwoCores,
    /// A router.
    Device(Box<Case>),
}

impl Through {
    /// A router of a kind, joined by a driver.
    ///
    /// # Errors
    /// It is no router, or has no such links.
    pub fn device(device: Device, driver: Driver, is_ip4: bool) -> Result<Through, Error> {
        let (function, frame) = if is_ip4 { ("ip4", 64) } else { ("ip6", 78) };
        let (device, driver) = (device.word(), driver.word());
        let suite = format!(
            "suites:\n  - {{function: {function}, device: {device}, driver: {driver}, frame: {frame}, search: mrr}}\n"
        );
        let cases = quiver_suite::read([("device", suite.as_str())]).map_err(|errors| {
            let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Error::Lacking(format!("{device} by {driver} as a router: {}", told.join("; ")))
        })?;
        let case = cases.into_iter().next().ok_or(Error::Nothing("there is no such case"))?;
        Ok(Through::Device(Box::new(case)))
    }
}

/// Order for a run.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// The load in words, as `connections start` reads them; addresses are added where a device has its own.
    pub words: String,
    /// Path of the connections.
    pub through: Through,
    /// Seconds in which connections are opened.
    pub time: f64,
    /// Which connections count.
    pub counting: Counting,
    /// Search for the greatest rate without loss and with little, rather than do one trial.
    pub search: Option<Lengths>,
    /// The quiverd to be measured, if that is not the one beside this program.
    pub program: Option<PathBuf>,
}

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
            "counted": match self.counting { Counting::Closed => "closed", Counting::Established => "established" },
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
    let load = read(&words)?;
    let time = asked.time;
    let mut report = Report {
        words: words.clone(),
        ceiling: None,
        trials: vec![],
        bounds: vec![],
        versions: BTreeMap::new(),
        counting: asked.counting,
    };
    let case = match &asked.through {
        Through::Device(case) => Some(&**case),
        _ => None,
    };
    if let Some(case) = case {
        report.ceiling = Some(ceiling(&words, case, place, stop, time.min(1.0))?);
    }
    let mut field = match (case, &asked.through) {
        (Some(case), _) => Field::with_device(case, place, asked.program.clone(), stop)?,
        (None, Through::TwoCores) => Field::apart(place, stop)?,
        (None, _) => Field::looped(place, None, stop)?,
    };
    report.versions = field.versions();
    match asked.search {
        None => report.trials.push(field.trial(&words, &load, time, report.ceiling)?),
        Some(lengths) => search(&mut field, &words, lengths, &mut report, stop, tell)?,
    }
    field.end()?;
    Ok(report)
}

/// Connections per second that the generator does with both ends in one, on its core.
fn ceiling(words: &str, case: &Case, place: &Place, stop: &Stop, time: f64) -> Result<f64, Error> {
    let words = format!("{words} rate 0 ramp 0 connections 0 stay no");
    let mut field = Field::looped(place, Some(case), stop)?;
    let trial = field.trial(&words, &read(&words)?, time, None)?;
    field.end()?;
    Ok(trial.rate(Counting::Closed))
}

/// A load with the addresses of a device's networks.
fn words_for(words: &str, through: &Through) -> Result<String, Error> {
    let words = quiver_connections::load::plain(words);
    let Through::Device(case) = through else { return Ok(words) };
    let [clients, servers] = Traffic::of(case).sides;
    let first = |side: &quiver_suite::Side| {
        let first = side.routes.first().map(|routes| routes.first).ok_or(Error::Nothing("a router has routes"))?;
        // The network's own address is no host's.
        Ok::<_, Error>(match first {
            std::net::IpAddr::V4(first) => std::net::Ipv4Addr::from(u32::from(first) + 1).to_string(),
            std::net::IpAddr::V6(first) => std::net::Ipv6Addr::from(u128::from(first) + 1).to_string(),
        })
    };
    let (of_clients, of_servers) = (first(&clients)?, first(&servers)?);
    let has_hosts = words.split_whitespace().any(|word| word == "hosts");
    let hosts = if has_hosts { "" } else { " hosts 253" };
    let words = format!("{words} clients {of_clients} servers {of_servers}{hosts}");
    if read(&words)?.plan.hosts > HOSTS_MAX {
        return Err(Error::Lacking(format!(
            "the device has routes to {HOSTS_MAX} hosts: lower hosts, and raise ports"
        )));
    }
    Ok(words)
}

/// Hosts of the network behind a device.
const HOSTS_MAX: u32 = 253;

/// Reads a load.
fn read(words: &str) -> Result<Load, Error> {
    Load::parse(words).map_err(|error| Error::Lacking(format!("the load: {error}")))
}

/// The most that is searched where nothing limits it.
const RATE_MAX: f64 = 100e6;

/// MLRsearch for the rates without loss, and with 0.5 % of it.
fn search(
    field: &mut Field<'_>,
    words: &str,
    lengths: Lengths,
    report: &mut Report,
    stop: &Stop,
    tell: &mut dyn FnMut(&Progress),
) -> Result<(), Error> {
    let most = match report.ceiling {
        Some(ceiling) => ceiling,
        None => {
            let words = format!("{words} rate 0 ramp 0 connections 0");
            field.trial(&words, &read(&words)?, lengths.ceiling(), None)?.rate(Counting::Closed)
        }
    };
    let most = Rate::new(most.min(RATE_MAX))?;
    let least = Rate::new((most.pps() / 1000.0).max(1.0))?;
    let mlr = Mlr { min_load: least, ..lengths.mlr(vec![Goal::ndr(), Goal::pdr()], most)? };
    let mut search = mlr.search()?;
    let found = loop {
        check(stop)?;
        match search.next()? {
            Step::Done(found) => break found,
            Step::Trial(trial) => {
                let (rate, seconds) = (trial.load.pps(), trial.duration.seconds());
                let intended = trial.packets().max(1);
                let words = format!("{words} rate {rate} ramp 0 connections {intended}");
                let done = field.trial(&words, &read(&words)?, seconds, report.ceiling)?;
                let received = done.counted(report.counting);
                search.record(TrialResult {
                    intended,
                    sent: done.attempted(),
                    received,
                    sending: Seconds::new(done.opening.max(1e-6))?,
                    effective: Seconds::new(done.effective)?,
                })?;
                report.trials.push(done);
                tell(&search.progress());
            }
        }
    };
    let names = ["ndr", "pdr"].into_iter().map(str::to_owned);
    report.bounds = names
        .zip(found)
        .map(|(name, found)| (name, found.lower.map(|load| load.pps()), found.upper.map(|load| load.pps())))
        .collect();
    Ok(())
}
