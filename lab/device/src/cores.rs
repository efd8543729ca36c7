//! On which cores threads run.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::Job;

/// The cores that a device may use.
pub fn all(job: &Job<'_>) -> Vec<usize> {
    if let Some(site) = job.site {
        return site.cores().to_vec();
    }
    // A kernel that does not say so refuses to have threads kept on cores, too: that error names them.
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}

/// Where a device's other threads belong: not on the cores of its workers, if there are others.
pub fn others(job: &Job<'_>) -> Vec<usize> {
    let mut cores = all(job);
    if cores.iter().any(|core| !job.cpus.contains(core)) {
        cores.retain(|core| !job.cpus.contains(core));
    }
    cores
}

/// Formats a list of cores as `taskset` and most programs take it: `1,3`.
pub fn list(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}
