//! A case's document.

use std::time::SystemTime;

use quiver_result::{Amount, Counters, Document, EXTENSION, Extension, Figure, Outcome, TestType, Time, Trial, UTI};
use quiver_suite::Case;
use quiver_suite::field::{Keyword, Search};

use crate::bed::Bed;
use crate::{Error, Place, machine};

/// All that a run knows of a case when it is over.
pub(crate) struct Test<'run> {
    pub case: &'run Case,
    place: &'run Place,
    pub start: Time,
    pub counters_before: Counters,
    pub counters_after: Counters,
    pub figures: Vec<Figure>,
    pub trials: Vec<Trial>,
    pub versions: std::collections::BTreeMap<String, String>,
    pub configuration: std::collections::BTreeMap<String, String>,
}

impl<'run> Test<'run> {
    /// A test that begins now, of which nothing is known.
    pub fn new(case: &'run Case, place: &'run Place) -> Result<Test<'run>, Error> {
        Ok(Test {
            case,
            place,
            start: Time::try_from(SystemTime::now())?,
            counters_before: Counters::new(),
            counters_after: Counters::new(),
            figures: Vec::new(),
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
        let case = self.case;
        let (name, suite) = (case.name(), case.suite());
        let version = |of: &str| self.versions.get(of).filter(|version| !version.is_empty()).cloned();
        let (device, unknown) = (case.device.word().to_owned(), || "unknown".to_owned());
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
            tags: case.tags(),
            test_documentation: String::new(),
            test_id: format!("{suite}.{name}"),
            test_name_short: suite,
            test_name_long: name,
            test_type: test_type(case.search),
            version: UTI.into(),
            quiver: Some(Extension {
                version: EXTENSION,
                machine: machine::facts(),
                versions: self.versions,
                configuration: self.configuration,
                counters_before: self.counters_before,
                counters_after: self.counters_after,
                figures: self.figures,
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
        Outcome::Mrr { receive_rate } => Some(("MRR", receive_rate.rate.avg.get(), "pps")),
        Outcome::Ndrpdr { ndr, .. } => Some(("NDR", ndr.lower.rate.value.get(), "pps")),
        Outcome::Soak { critical_rate } => Some(("critical rate, lower", critical_rate.lower.rate.value.get(), "pps")),
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
