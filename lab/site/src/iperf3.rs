//! `iperf3` across a site.

use std::time::Duration;

use quiver_netns::{Program, run};
use serde_json::Value;

use crate::{Error, Site};

/// How long a server may take to listen.
const LISTENING_WITHIN: Duration = Duration::from_secs(10);

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One connection, as fast as it goes.
    Tcp,
    /// Datagrams of a full MTU at a fixed rate in megabits each second.
    Udp {
        /// The rate.
        megabits: u32,
    },
}

/// What `iperf3` reports at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// Payload that the server got.
    pub bytes: u64,
    /// At which rate it got it.
    pub bits_per_second: f64,
    /// TCP segments that the client sent again; none for UDP.
    pub retransmits: u64,
    /// The share of datagrams that did not arrive, in percent; none for TCP.
    pub lost_percent: f64,
}

/// Sends from client to server for some seconds.
pub fn iperf3(site: &Site, protocol: Protocol, seconds: u64) -> Result<Transfer, Error> {
    let mut server = Program::start(site.server().command("iperf3").args(["--server", "--one-off", "--forceflush"]))?;
    server.wait_for_output("Server listening", LISTENING_WITHIN)?;
    let mut client = site.client().command("iperf3");
    client.args(["--json", "--time", &seconds.to_string(), "--client", &site.server_address().to_string()]);
    if let Protocol::Udp { megabits } = protocol {
        client.args(["--udp", "--bitrate", &format!("{megabits}M")]);
    }
    let report = run(&mut client)?;
    Transfer::read(&report, protocol).ok_or_else(|| Error::unreadable("iperf3", &report))
}

impl Transfer {
    fn read(report: &str, protocol: Protocol) -> Option<Self> {
        let report: Value = serde_json::from_str(report).ok()?;
        let end = &report["end"];
        Some(match protocol {
            Protocol::Tcp => Self {
                bytes: end["sum_received"]["bytes"].as_u64()?,
                bits_per_second: end["sum_received"]["bits_per_second"].as_f64()?,
                retransmits: end["sum_sent"]["retransmits"].as_u64()?,
                lost_percent: 0.0,
            },
            // Of UDP iperf3 reports the server's view in one sum whose `bytes` are those that were sent.
            Protocol::Udp { .. } => {
                let sum = &end["sum"];
                let arrived = 1.0 - sum["lost_percent"].as_f64()? / 100.0;
                Self {
                    bytes: (sum["bytes"].as_f64()? * arrived) as u64,
                    bits_per_second: sum["bits_per_second"].as_f64()? * arrived,
                    retransmits: 0,
                    lost_percent: sum["lost_percent"].as_f64()?,
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_is_read_as_the_server_saw_it() {
        let report = r#"{"end": {"sum_sent": {"retransmits": 3, "bytes": 1100},
            "sum_received": {"bits_per_second": 8000.5, "bytes": 1000}}}"#;
        let transfer = Transfer::read(report, Protocol::Tcp).unwrap();
        assert_eq!(transfer, Transfer { bytes: 1000, bits_per_second: 8000.5, retransmits: 3, lost_percent: 0.0 });
        assert_eq!(Transfer::read(r#"{"error": "unable to connect"}"#, Protocol::Tcp), None);
    }

    #[test]
    fn udp_counts_what_arrived() {
        let report = r#"{"end": {"sum": {"bytes": 1000, "bits_per_second": 80.0, "lost_percent": 25.0}}}"#;
        let transfer = Transfer::read(report, Protocol::Udp { megabits: 1 }).unwrap();
        assert_eq!(transfer, Transfer { bytes: 750, bits_per_second: 60.0, retransmits: 0, lost_percent: 25.0 });
    }
}
