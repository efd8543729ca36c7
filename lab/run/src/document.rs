//! A case's document.

use std::collections::BTreeMap;
use std::time::SystemTime;

use quiver_result::{
    Amount, Bounds, Counters, Document, EXTENSION, Extension, Figure, Latency, Outcome, Rate, SampledRate, TestType,
    Time, Trial, UTI,
};
use quiver_suite::Case;
use quiver_suite::field::{Keyword, Search};

use crate::bed::Bed;
use crate::{Error, Place, machine};

/// Names of a test in its document.
pub(crate) struct Named {
    pub name: String,
    pub suite: String,
    pub tags: Vec<String>,
    /// The device's kind.
    pub device: String,
    pub test_type: TestType,
}

impl Named {
    /// A case's.
    pub fn of(case: &Case) -> Named {
        Named {
            name: case.name(),
            suite: case.suite(),
            tags: case.tags(),
            device: case.device.word().to_owned(),
            test_type: test_type(case.search),
        }
    }
}

/// All that a run knows of a test when it is over.
pub(crate) struct Test<'run> {
    named: Named,
    place: &'run Place,
    pub start: Time,
    pub counters_before: Counters,
    pub counters_after: Counters,
    pub figures: Vec<Figure>,
    pub times: BTreeMap<String, Latency>,
    pub trials: Vec<Trial>,
    pub versions: BTreeMap<String, String>,
    pub configuration: BTreeMap<String, String>,
}

impl<'run> Test<'run> {
    /// A test that begins now, of which nothing is known.
    pub fn new(named: Named, place: &'run Place) -> Result<Test<'run>, Error> {
        Ok(Test {
            named,
            place,
            start: Time::try_from(SystemTime::now())?,
            counters_before: Counters::new(),
            counters_after: Counters::new(),
            figures: Vec::new(),
            times: BTreeMap::new(),
            trials: Vec::new(),
            versions: Default::default(),
            configuration: Default::default(),
        })
    }

    /// Takes over versions, counters and trials of the bed.
    pub fn learn(&mut self, bed: &mut Bed<'_>) {
        (self.versions, self.configuration) = (bed.versions(), bed.configuration());
        self.counters_before = std::mem::take(&mut bed.counters_before);
        // Who has ended counts nothing any more; what it was is in the message.
        self.counters_after = bed.counters().unwrap_or_default();
        self.trials.append(&mut bed.records);
        self.figures.extend(bed.oversubscription());
    }

    /// The document; of a failed test, with everything that is known.
    pub fn document(mut self, found: Result<Outcome, Error>) -> Result<Document, Error> {
        let end_time = Time::try_from(SystemTime::now())?;
        let duration = end_time.since(self.start).unwrap_or_default().as_secs_f64();
        let Named { name, suite, tags, device, test_type } = self.named;
        let version = |of: &str| self.versions.get(of).filter(|version| !version.is_empty()).cloned();
        let unknown = || "unknown".to_owned();
        let (message, result) = match found {
            Ok(outcome) => (String::new(), outcome),
            Err(error) => (error.to_string(), Outcome::Unknown {}),
        };
        let hosts = match self.place.hosts() {
            Some(hosts) => {
                self.configuration.insert("testbed".to_owned(), hosts.told());
                hosts.names()
            }
            None => vec![hostname()],
        };
        Ok(Document {
            duration: Amount::try_from(duration)?,
            dut_version: version(&device).unwrap_or_else(unknown),
            tg_version: version(quiver_generator::NAME).unwrap_or_else(unknown),
            tg_type: "quiver".into(),
            dut_type: device,
            end_time,
            hosts,
            telemetry: Vec::new(),
            passed: message.is_empty(),
            message,
            result,
            start_time: self.start,
            tags,
            test_documentation: String::new(),
            test_id: format!("{suite}.{name}"),
            test_name_short: suite,
            test_name_long: name,
            test_type,
            version: UTI.into(),
            quiver: Some(Extension {
                version: EXTENSION,
                machine: machine::facts(),
                versions: self.versions,
                configuration: self.configuration,
                counters_before: self.counters_before,
                counters_after: self.counters_after,
                figures: self.figures,
                times: self.times,
                trials: self.trials,
            }),
        })
    }
}

/// The machine's host name.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

/// UTI's kind; searches that it does not know are tests of the device.
fn test_type(search: Search) -> TestType {
    match search {
        Search::NdrPdr | Search::Latency => TestType::Ndrpdr,
        Search::Mrr => TestType::Mrr,
        Search::Soak => TestType::Soak,
        Search::Reconf => TestType::Reconf,
        Search::BackToBack | Search::ClosedLoop | Search::Power | Search::Endurance | Search::SpeedUp => {
            TestType::Device
        }
    }
}

/// The result's main number: name, value and unit. Devices are compared by it. None where a test has none.
pub fn headline(document: &Document) -> Option<(&'static str, f64, &'static str)> {
    match &document.result {
        Outcome::Mrr { receive_rate: SampledRate { rate, .. } } => Some(("MRR", rate.avg.get(), rate.unit.word())),
        Outcome::Ndrpdr { ndr: Bounds { lower: Rate { rate, .. }, .. }, .. } => {
            Some(("NDR", rate.value.get(), rate.unit.word()))
        }
        Outcome::Soak { critical_rate: Bounds { lower: Rate { rate, .. }, .. } } => {
            Some(("critical rate, lower", rate.value.get(), rate.unit.word()))
        }
        Outcome::Reconf { loss, .. } => Some(("blocked", loss.time.value.get(), "s")),
        _ if document.passed => {
            let figures = &document.quiver.as_ref()?.figures;
            let find = |name: &str| figures.iter().find(|figure| figure.name == name).map(|figure| figure.value.get());
            let circling = find("closed_loop_pps").map(|rate| ("closed loop", rate, "pps"));
            let highest =
                figures.iter().rev().find(|figure| figure.name.starts_with("ndr_") && figure.name.ends_with('c'));
            let circling = circling.or_else(|| highest.map(|figure| ("NDR of most cores", figure.value.get(), "pps")));
            let burst = || find("burst_frames").map(|frames| ("burst", frames, "frames"));
            let joules =
                || find("energy_per_million_packets").map(|joules| ("energy of a million packets", joules, "J"));
            let cpu = || find("cpu_seconds_per_million_packets");
            let seconds = || cpu().map(|seconds| ("CPU time of a million packets", seconds, "s"));
            circling.or_else(burst).or_else(joules).or_else(seconds)
        }
        _ => None,
    }
}
