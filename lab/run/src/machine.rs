//! Facts of the machine, and how quiet it is.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use nix::sys::utsname::uname;
use nix::unistd::{SysconfVar, sysconf};
use quiver_generator::cores::{allowed, keep_to};
use quiver_result::{Amount, Machine, RoundTrip};
use quiver_verdict::median;

/// Words sent to the other core and back for one measurement, and how many measurements there are.
const TRIPS: u64 = 100;
const SAMPLES: usize = 21;

/// The machine's facts, for every document.
pub fn facts() -> Machine {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpus.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let (kernel, architecture) = match uname() {
        Ok(name) => {
            let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
            (format!("{} {}", text(name.sysname()), text(name.release())), text(name.machine()))
        }
        Err(_) => ("unknown".into(), std::env::consts::ARCH.into()),
    };
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Machine {
        architecture,
        processor: field("model name").unwrap_or_else(|| "unknown".into()),
        cores: allowed().len() as u32,
        memory_bytes: kib.unwrap_or(0) << 10,
        kernel,
        virtualisation: fs::read_to_string("/sys/class/dmi/id/product_name").ok().map(|name| name.trim().to_owned()),
        tsc_hz: None,
    }
}

/// How the machine is at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Quiet {
    /// CPU seconds that the host took away, of all cores since the start.
    pub steal: Option<f64>,
    /// The mean number of tasks over the last minute.
    pub load: Option<f64>,
    /// Nanoseconds for a word from one core to the other and back.
    pub round_trip: Option<f64>,
}

impl Quiet {
    /// Looks, with both of these cores.
    pub fn now(one: usize, other: usize) -> Quiet {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let round_trip = if one == other { None } else { round_trip(one, other) };
        Quiet { steal: steal(&stat), load: load.split(' ').next().and_then(|word| word.parse().ok()), round_trip }
    }
}

/// The eighth number of the first line, in ticks (proc(5)).
fn steal(stat: &str) -> Option<f64> {
    let ticks: f64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks / sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64)
}

/// Both readings, if both are there.
pub fn round_trips(before: Quiet, after: Quiet) -> Option<RoundTrip> {
    let (before, after) = before.round_trip.zip(after.round_trip)?;
    Some(RoundTrip { before_ns: Amount::try_from(before).ok()?, after_ns: Amount::try_from(after).ok()? })
}

/// The clock of a core in Hz, as the kernel tells it.
pub fn clock(core: usize) -> Option<Amount> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq")).ok()?;
    Amount::try_from(text.trim().parse::<f64>().ok()? * 1000.0).ok()
}

/// The median over samples: a sample during which one of the threads had to wait for its core is far off.
fn round_trip(one: usize, other: usize) -> Option<f64> {
    let word = AtomicU64::new(0);
    let last = 2 * TRIPS * SAMPLES as u64;
    let wait_for = |value: u64| {
        while word.load(Ordering::Acquire) != value {
            std::hint::spin_loop();
        }
    };
    let samples = thread::scope(|scope| {
        let (keep, wait_for, word) = (|core| keep_to(&[core]).is_ok(), &wait_for, &word);
        let answering = scope.spawn(move || {
            let is_kept = keep(other);
            (1..last).step_by(2).for_each(|value| {
                wait_for(value);
                word.store(value + 1, Ordering::Release);
            });
            is_kept
        });
        let asking = scope.spawn(move || {
            let is_kept = keep(one);
            let sample = |number: u64| {
                let start = Instant::now();
                for trip in 0..TRIPS {
                    let value = 2 * (number * TRIPS + trip);
                    word.store(value + 1, Ordering::Release);
                    wait_for(value + 2);
                }
                start.elapsed().as_nanos() as f64 / TRIPS as f64
            };
            let samples: Vec<f64> = (0..SAMPLES as u64).map(sample).collect();
            is_kept.then_some(samples)
        });
        let answered = answering.join().unwrap_or(false);
        asking.join().ok().flatten().filter(|_| answered)
    });
    median(samples?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_number() {
        assert_eq!(steal("cpu  1 2 3 4 5 6 7 250 9\ncpu0 1"), Some(2.5));
        assert_eq!(steal("intr 5"), None);
    }

    #[test]
    fn a_word_takes_some_time_to_another_core_and_back() {
        if let [one, other, ..] = allowed()[..] {
            let quiet = Quiet::now(one, other);
            assert!(quiet.round_trip.is_some_and(|time| time > 1.0), "{quiet:?}");
            assert!(round_trips(quiet, quiet).is_some());
        }
        let facts = facts();
        assert!(facts.cores > 0 && facts.memory_bytes > 0 && facts.kernel.contains(' '), "{facts:?}");
    }
}
