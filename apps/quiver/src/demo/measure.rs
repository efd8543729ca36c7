//! Measuring one path with `ping`, `iperf3` and the kernel's account of CPU time.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};
use quiver_netns::{Program, run};

use super::error::Error;
use super::path::{Path, Site};
use super::progress::Progress;
use super::report::Row;

/// How long a path may take until the first packet comes back.
const REACHABLE_WITHIN: Duration = Duration::from_secs(10);
/// How many echo requests are timed.
const PINGS: &str = "50";
/// What `iperf3` carries the figures in.
const BYTES_PER_GIGABYTE: f64 = 1e9;

/// Measures one path that stands.
pub fn measure(path: Path, site: &Site, seconds: u64, progress: &Progress) -> Result<Row, Error> {
    progress.say(&format!("{path}: ping"));
    wait_until_reachable(site)?;
    let ping = run(site
        .client
        .command("ping")
        .args(["-n", "-q", "-c", PINGS, "-i", "0.01", "-W", "1"])
        .arg(site.server_address.to_string()))?;
    let ping = Ping::read(&ping)?;

    progress.say(&format!("{path}: iperf3 for {seconds} s"));
    let mut server = Program::start(site.server.command("iperf3").args(["--server", "--one-off", "--forceflush"]))?;
    server.wait_for_output("Server listening", Duration::from_secs(10))?;
    let before = CpuTime::now()?;
    let seconds = seconds.to_string();
    let transfer = run(site
        .client
        .command("iperf3")
        .args(["--json", "--time", &seconds, "--client"])
        .arg(site.server_address.to_string()))?;
    let busy = CpuTime::now()?.busy - before.busy;
    let transfer = Transfer::read(&transfer)?;

    Ok(Row {
        path: path.to_string(),
        gigabits_per_second: transfer.bits_per_second / 1e9,
        retransmits: transfer.retransmits,
        ping_min_us: ping.min_us,
        ping_avg_us: ping.avg_us,
        ping_lost: ping.lost,
        cpu_seconds_per_gigabyte: busy / (transfer.bytes / BYTES_PER_GIGABYTE),
    })
}

/// The first packets may meet interfaces that are not yet up and neighbours that are not yet known.
fn wait_until_reachable(site: &Site) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        let result = run(site
            .client
            .command("ping")
            .args(["-n", "-q", "-c", "1", "-W", "1"])
            .arg(site.server_address.to_string()));
        match result {
            Err(error) if start.elapsed() > REACHABLE_WITHIN => return Err(error.into()),
            // A lost packet has taken its second; an unreachable network answers at once.
            Err(_) => thread::sleep(Duration::from_millis(50)),
            Ok(_) => return Ok(()),
        }
    }
}

/// What `ping` reports at its end.
#[derive(Debug, PartialEq)]
struct Ping {
    min_us: f64,
    avg_us: f64,
    lost: u32,
}

impl Ping {
    /// Reads the summary, whose last lines are like
    /// `50 packets transmitted, 50 received, 0% packet loss, time 495ms` and
    /// `rtt min/avg/max/mdev = 0.011/0.014/0.041/0.004 ms`.
    fn read(summary: &str) -> Result<Self, Error> {
        let read = || {
            let counts = summary.lines().find(|line| line.contains("packets transmitted"))?;
            let mut counts = counts.split(", ").map(|part| part.split(' ').next().unwrap_or_default().parse::<u32>());
            let (sent, received) = (counts.next()?.ok()?, counts.next()?.ok()?);
            let times = summary.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "))?;
            let mut times = times.split('/').map(|time| time.parse::<f64>().ok().map(|ms| ms * 1000.0));
            Some(Self { min_us: times.next()??, avg_us: times.next()??, lost: sent.checked_sub(received)? })
        };
        read().ok_or_else(|| unreadable("ping", summary))
    }
}

/// What `iperf3 --json` reports at its end.
#[derive(Debug, PartialEq)]
struct Transfer {
    bits_per_second: f64,
    bytes: f64,
    retransmits: u64,
}

impl Transfer {
    fn read(json: &str) -> Result<Self, Error> {
        let read = || {
            let report: serde_json::Value = serde_json::from_str(json).ok()?;
            let received = &report["end"]["sum_received"];
            Some(Self {
                bits_per_second: received["bits_per_second"].as_f64()?,
                bytes: received["bytes"].as_f64().filter(|&bytes| bytes > 0.0)?,
                retransmits: report["end"]["sum_sent"]["retransmits"].as_u64()?,
            })
        };
        read().ok_or_else(|| unreadable("iperf3", json))
    }
}

/// The machine's CPU time since it started, of all processes and of the kernel, in seconds summed over its cores.
///
/// The whole machine, because the kernel forwards packets in soft interrupts, which are no process' time.
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
        let ticks_per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        Self::read(&stat, ticks_per_second).ok_or_else(|| unreadable("/proc/stat", &stat))
    }

    /// Reads the first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc(5)), where
    /// the guests are also counted as user and nice, and stolen time was somebody else's.
    fn read(stat: &str, ticks_per_second: f64) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<f64> = fields.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, ..] = fields[..] else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(Self { busy: busy / ticks_per_second, idle: (idle + iowait) / ticks_per_second })
    }
}

fn unreadable(program: &'static str, report: &str) -> Error {
    Error::Unreadable { program, report: report.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ping_summary_is_read() {
        let summary = "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n\n--- 10.0.0.2 ping statistics ---\n\
            50 packets transmitted, 48 received, 4% packet loss, time 495ms\n\
            rtt min/avg/max/mdev = 0.011/0.014/0.041/0.004 ms\n";
        let ping = Ping::read(summary).unwrap();
        assert_eq!(ping, Ping { min_us: 11.0, avg_us: 14.0, lost: 2 });
        assert!(Ping::read("ping: connect: Network is unreachable").is_err());
    }

    #[test]
    fn transfer_is_read() {
        let json = r#"{"end": {"sum_sent": {"retransmits": 3, "bytes": 1100},
            "sum_received": {"bits_per_second": 8000.5, "bytes": 1000}}}"#;
        let transfer = Transfer::read(json).unwrap();
        assert_eq!(transfer, Transfer { bits_per_second: 8000.5, bytes: 1000.0, retransmits: 3 });
        assert!(Transfer::read(r#"{"error": "unable to connect"}"#).is_err());
    }

    #[test]
    fn guests_and_stolen_time_are_not_counted() {
        let time = CpuTime::read("cpu  100 20 30 400 50 6 7 888 99 9\ncpu0 1 2 3\n", 100.0).unwrap();
        assert_eq!((time.busy, time.idle), (1.63, 4.5));
        assert!(CpuTime::read("intr 1 2 3", 100.0).is_none());
    }
}
