//! The machine's CPU time.

use std::fs;

use nix::unistd::{SysconfVar, sysconf};

use super::error::Error;

/// CPU time since the machine started, of all processes and of the kernel, in seconds summed over its cores.
///
/// The whole machine, because the kernel forwards packets in soft interrupts, which are no process' time.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime {
    /// Time in which cores worked.
    pub busy: f64,
    /// Time in which they had nothing to do.
    pub idle: f64,
}

impl CpuTime {
    /// Reads the account.
    pub fn now() -> Result<Self, Error> {
        let stat = fs::read_to_string("/proc/stat").map_err(|e| quiver_netns::Error::system("read /proc/stat", e))?;
        // Linux has given user space 100 ticks a second on every architecture that Quiver knows.
        let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        Self::read(&stat, ticks_per_second)
            .ok_or_else(|| Error::Unreadable { program: "/proc/stat", report: stat.trim().to_owned() })
    }

    /// Reads the first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)), where the
    /// guests are also counted as user and nice, and stolen time belongs to other virtual machines.
    fn read(stat: &str, ticks_per_second: f64) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<f64> = fields.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, ..] = fields[..] else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(Self { busy: busy / ticks_per_second, idle: (idle + iowait) / ticks_per_second })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_and_stolen_time_are_not_counted() {
        let time = CpuTime::read("cpu  100 20 30 400 50 6 7 888 99 9\ncpu0 1 2 3\n", 100.0).unwrap();
        assert_eq!((time.busy, time.idle), (1.63, 4.5));
        assert!(CpuTime::read("intr 1 2 3", 100.0).is_none());
    }
}
