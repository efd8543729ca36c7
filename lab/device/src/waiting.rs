//! How long the system kept a device's workers off their cores while they wanted to run.
//!
//! The kernel counts that for every thread (`/proc/PID/task/TID/schedstat`, the second number, in nanoseconds). Devices that
//! take time by the time-stamp counter count it as work. Whom they were serving when they were interrupted is not known; that
//! it was somebody who is counted is as likely as such are many among all that they do ([`OffCore`]).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Ticks off the core among those that a device counts as the cost of its packets.
#[derive(Debug, Default)]
pub struct OffCore {
    /// The last look, and how long its workers had waited by then.
    looked: Option<(Instant, Duration)>,
    ticks: f64,
}

impl OffCore {
    /// All so far, at a moment by which workers have waited so long. Since the last look they counted `counted` ticks, of the
    /// `clock` ticks that each of so many had in a second.
    pub fn look(&mut self, now: Instant, waited: Duration, counted: f64, clock: f64, workers: usize) -> f64 {
        if let Some((at, before)) = self.looked.replace((now, waited)) {
            let all = now.saturating_duration_since(at).as_secs_f64() * clock * workers as f64;
            let part = if all > 0.0 { (counted / all).clamp(0.0, 1.0) } else { 0.0 };
            self.ticks += waited.saturating_sub(before).as_secs_f64() * clock * part;
        }
        self.ticks
    }
}

/// Time for which the threads of a process that `is_worker` accepts have waited for a core; or the reason why it is
/// unknown.
pub fn waited(process: u32, is_worker: impl Fn(&str) -> bool) -> Result<Duration, String> {
    let folder = format!("/proc/{process}/task");
    let threads = fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let (mut sum, mut workers) = (Duration::ZERO, 0);
    for thread in threads.flatten() {
        let read = |name: &str| read(&thread.path().join(name));
        if is_worker(read("comm")?.trim()) {
            sum += of(&read("schedstat")?)?;
            workers += 1;
        }
    }
    if workers > 0 { Ok(sum) } else { Err(format!("{folder}: none of these threads is a worker")) }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Nanoseconds on a core, nanoseconds waiting for one, times that it got one.
fn of(schedstat: &str) -> Result<Duration, String> {
    let number = schedstat.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    number.map(Duration::from_nanos).ok_or_else(|| format!("schedstat says '{}'", schedstat.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_taken() {
        assert_eq!(of("5000 70 3\n"), Ok(Duration::from_nanos(70)));
        assert_eq!(of("5000"), Err("schedstat says '5000'".into()));
    }

    #[test]
    fn time_off_the_core_is_shared_out_as_the_time_is() {
        let (mut off_core, start, second) = (OffCore::default(), Instant::now(), Duration::from_secs(1));
        assert_eq!(off_core.look(start, 9 * second, 5.0, 100.0, 2), 0.0);
        // Of 2 workers' 200 ticks it counted 50: a quarter of the 100 for which they waited is among these.
        assert_eq!(off_core.look(start + second, 10 * second, 50.0, 100.0, 2), 25.0);
        assert_eq!(off_core.look(start + second, 10 * second, 50.0, 100.0, 2), 25.0);
        // Never more than all.
        assert_eq!(off_core.look(start + 2 * second, 11 * second, 500.0, 100.0, 2), 125.0);
    }

    #[test]
    fn threads_are_chosen_by_name() {
        let thread = std::thread::Builder::new().name("a_worker_0".into()).spawn(|| {
            let found = waited(std::process::id(), |name| name == "a_worker_0");
            // A kernel without this says so by the path.
            assert!(found.is_ok() || found.clone().is_err_and(|why| why.contains("schedstat")), "{found:?}");
        });
        thread.expect("a thread").join().expect("what it found");
        let error = waited(std::process::id(), |_| false).expect_err("nobody");
        assert!(error.ends_with("none of these threads is a worker"), "{error}");
    }
}
