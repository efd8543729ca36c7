//! Identifies the sample that a document holds: the test, the device and the machine. Only documents that agree in all
//! three are compared.

use std::collections::BTreeSet;
use std::fmt;

use quiver_result::Document;
use quiver_suite::field::{Device, Keyword};

use crate::Selection;

/// The entry of a document's configuration in which ports and links of a testbed are told.
const TESTBED: &str = "testbed";

/// Whether two sides are compared across devices or across machines: both sides name one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Across {
    /// Each side's device is what it names.
    pub devices: bool,
    /// Each side's machine is what it names.
    pub machines: bool,
}

impl Across {
    /// Compares across a key if both selections name it.
    pub fn of(one: &Selection, other: &Selection) -> Across {
        Across {
            devices: one.device.is_some() && other.device.is_some(),
            machines: one.machine.is_some() && other.machine.is_some(),
        }
    }
}

/// The key that compared samples share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The test's name in the suite, without the device's word.
    pub test: String,
    /// The kind of device; none where devices are compared.
    pub device: Option<String>,
    /// The machine, as [`machine`] tells it; none where machines are compared.
    pub machine: Option<String>,
}

impl Name {
    /// The key of a document.
    pub fn of(document: &Document, across: Across) -> Name {
        Name {
            test: without_device(&document.test_name_long),
            device: (!across.devices).then(|| document.dut_type.to_lowercase()),
            machine: (!across.machines).then(|| machine(document)),
        }
    }

    /// The keys of a [`Selection`] that tell this from others of the same test, such as `device= and machine=`. Empty if
    /// nothing does.
    pub fn keys(&self, others: &BTreeSet<Name>) -> String {
        let differs = |key, is: &dyn Fn(&Name) -> bool| others.iter().any(is).then_some(key);
        let device = differs("device=", &|other| other.device != self.device);
        let machine = differs("machine=", &|other| other.machine != self.machine);
        device.into_iter().chain(machine).collect::<Vec<_>>().join(" and ")
    }
}

/// Formats device and machine: `quiver on perf1 (EPYC 9355, 2 cores, x86_64, Linux 6.12.0)`.
impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.device.as_deref().unwrap_or("any device"))?;
        self.machine.as_ref().map_or(Ok(()), |machine| write!(out, " on {machine}"))
    }
}

/// A test's name in the suite without the device's word, so that devices can be compared in one test.
pub fn without_device(name: &str) -> String {
    let words: Vec<&str> = Device::ALL.iter().map(|device| device.word()).collect();
    let parts = name.split('-').filter(|part| !words.contains(part));
    parts.collect::<Vec<_>>().join("-")
}

/// The hosts that took part; and what is known of the one whose document it is, and of a testbed's links: a name may stay
/// while the machine behind it changes.
fn machine(document: &Document) -> String {
    let mut text = document.hosts.join(", ");
    let Some(extension) = &document.quiver else { return text };
    let facts = &extension.machine;
    let cores = if facts.cores == 1 { "core" } else { "cores" };
    text += &format!(" ({}, {} {cores}, {}, {}", facts.processor, facts.cores, facts.architecture, facts.kernel);
    text.extend(facts.virtualisation.iter().map(|kind| format!(", in {kind}")));
    let testbed = extension.configuration.get(TESTBED).into_iter().flat_map(|told| told.lines());
    text.extend(testbed.map(|line| format!("; {line}")));
    text + ")"
}
