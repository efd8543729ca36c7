//! Measuring one path with `ping`, `iperf3` and the kernel's account of CPU time.

use quiver_site::{Join, Protocol, Site, iperf3, ping};

use super::cpu_time::CpuTime;
use super::error::Error;
use super::progress::Progress;
use super::report::Row;

/// Number of timed echo requests.
const PINGS: u32 = 50;
/// Their data, as `ping` has it by default.
const PING_BYTES: u16 = 56;
/// As storage and line rates have it.
const BYTES_PER_GIGABYTE: f64 = 1e9;

/// Measures one path that stands.
pub fn measure(join: Join, site: &Site, seconds: u64, progress: &Progress) -> Result<Row, Error> {
    progress.say(&format!("{join}: ping"));
    let ping = ping(site, PING_BYTES, PINGS)?;

    progress.say(&format!("{join}: iperf3 for {seconds} s"));
    let before = CpuTime::now()?;
    let transfer = iperf3(site, Protocol::Tcp, seconds)?;
    let busy = CpuTime::now()?.busy - before.busy;
    if transfer.bytes == 0 {
        return Err(Error::NothingReceived { path: join.to_string() });
    }
    Ok(Row {
        path: join.to_string(),
        gigabits_per_second: transfer.bits_per_second / 1e9,
        retransmits: transfer.retransmits,
        ping_min_us: ping.min_us,
        ping_avg_us: ping.avg_us,
        ping_lost: ping.lost,
        cpu_seconds_per_gigabyte: busy / (transfer.bytes as f64 / BYTES_PER_GIGABYTE),
    })
}
