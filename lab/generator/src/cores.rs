//! On which cores threads run.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The cores that this thread may run on.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}

/// Restricts this thread, and threads that it starts from now on, to these cores.
///
/// # Errors
/// None of them may be used.
pub fn keep_to(cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cores.iter().try_for_each(|core| set.set(*core))?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Does something on these cores, and goes back to those from before. Anywhere if there are none.
///
/// # Errors
/// None of them may be used, or the task fails.
pub fn within<T>(cores: &[usize], task: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if cores.is_empty() {
        return task();
    }
    let before = allowed();
    keep_to(cores)?;
    let done = task();
    keep_to(&before)?;
    done
}
