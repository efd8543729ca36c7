//! The file of a testbed: what it says of where cases run.

use std::fs;
use std::path::Path;

use quiver_suite::{Case, Lack, Machine, Part};
use quiver_testbed::{Place, Reach, Testbed, Topology};

use crate::LabError;

/// Reads one.
pub fn read(path: &Path) -> Result<Testbed, LabError> {
    let unreadable = |error| LabError::NoTestbed { path: path.to_owned(), error };
    let text = fs::read_to_string(path).map_err(unreadable)?;
    quiver_testbed::read(&path.display().to_string(), &text).map_err(LabError::Testbed)
}

/// Its shape, if its ports are joined: then cases run on these.
pub fn ports(testbed: &Testbed) -> Option<Topology> {
    (!testbed.links.is_empty()).then(|| testbed.topology())
}

/// Requirements of a case that the testbed's file does not meet. Programs of other hosts are looked for there, when
/// they are reached.
pub fn lacking(case: &Case, testbed: &Testbed) -> Vec<Lack> {
    let hosts = || testbed.devices.iter().chain([&testbed.generator]).map(|place| testbed.host(place.host));
    let is_named = |program: &str| testbed.links.is_empty() && hosts().any(|host| host.programs.contains_key(program));
    let has_program = |program: &str| ports(testbed).is_some() || is_named(program) || crate::has_program(program);
    // Each device has its own, and the generator one more.
    let cores = testbed.devices.iter().map(|Place { cores, .. }| cores.len() + 1).min().unwrap_or(0);
    let memory = hosts().filter_map(|host| host.memory_gib).min().map(u64::from);
    let memory_gib = memory.unwrap_or_else(|| if testbed.links.is_empty() { crate::memory_gib() } else { u64::MAX });
    // What kernels of other hosts have, they tell when they are reached.
    let has_part = |part| match part {
        Part::OwnPackets => false,
        part => hosts().any(|host| host.reach != Reach::Here) || crate::has_part(part),
    };
    case.needs().lacking(Machine { cores, memory_gib, has_program: &has_program, has_part: &has_part })
}
