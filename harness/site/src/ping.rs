//! The program `ping`.

use std::net::Ipv4Addr;

use quiver_netns::{Namespace, run};

use crate::Error;

/// Report of `ping`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ping {
    /// The shortest round trip, in microseconds.
    pub min_us: f64,
    /// The average round trip, in microseconds.
    pub avg_us: f64,
    /// Echo requests without a reply.
    pub lost: u32,
}

/// Sends `count` echo requests with `payload` bytes of data, never fragmented, from a namespace to an address.
///
/// No reply at all is an error.
pub(crate) fn echo(from: &Namespace, to: Ipv4Addr, payload: u16, count: u32) -> Result<Ping, Error> {
    let (payload, count) = (payload.to_string(), count.to_string());
    let mut command = from.command("ping");
    command.args(["-n", "-q", "-M", "do", "-i", "0.01", "-W", "1", "-s", &payload, "-c", &count]);
    let summary = run(command.arg(to.to_string()))?;
    Ping::read(&summary).ok_or_else(|| Error::unreadable("ping", &summary))
}

impl Ping {
    /// Reads the summary, whose last lines are like
    /// `50 packets transmitted, 50 received, 0% packet loss, time 495ms` and
    /// `rtt min/avg/max/mdev = 0.011/0.014/0.041/0.004 ms`.
    fn read(summary: &str) -> Option<Self> {
        let counts = summary.lines().find(|line| line.contains("packets transmitted"))?;
        let mut counts = counts.split(", ").map(|part| part.split(' ').next().unwrap_or_default().parse::<u32>());
        let (sent, received) = (counts.next()?.ok()?, counts.next()?.ok()?);
        let times = summary.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "))?;
        let mut times = times.split('/').map(|time| time.parse::<f64>().ok().map(|ms| ms * 1000.0));
        Some(Self { min_us: times.next()??, avg_us: times.next()??, lost: sent.checked_sub(received)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let summary = "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n\n--- 10.0.0.2 ping statistics ---\n\
            50 packets transmitted, 48 received, 4% packet loss, time 495ms\n\
            rtt min/avg/max/mdev = 0.011/0.014/0.041/0.004 ms\n";
        assert_eq!(Ping::read(summary), Some(Ping { min_us: 11.0, avg_us: 14.0, lost: 2 }));
        assert_eq!(Ping::read("ping: connect: Network is unreachable"), None);
    }
}
