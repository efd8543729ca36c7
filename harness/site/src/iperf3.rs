//! `iperf3` across a site, or between any two namespaces.

use std::net::IpAddr;
use std::time::Duration;

use quiver_netns::{Namespace, Program, run};
use serde_json::Value;

use crate::{Error, Site};

/// Longest time for a server to listen.
const LISTENING_WITHIN: Duration = Duration::from_secs(10);

/// Transport of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One connection at full speed.
    Tcp,
    /// Datagrams of a full MTU at a fixed rate in megabits each second.
    Udp {
        /// The rate.
        megabits: u32,
    },
}

/// Direction of the bytes. The client opens the connection in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
}

/// Report of `iperf3`.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// Received payload.
    pub bytes: u64,
    /// Rate of the received payload.
    pub bits_per_second: f64,
    /// TCP segments that were sent again; none for UDP.
    pub retransmits: u64,
    /// TCP segments, long ones as one, that reached their receiver before an earlier one; none for UDP.
    pub out_of_order: u64,
    /// The share of datagrams that did not arrive, in percent; none for TCP.
    pub lost_percent: f64,
}

/// Sends from client to server for some seconds.
pub fn iperf3(site: &Site, protocol: Protocol, seconds: u64) -> Result<Transfer, Error> {
    let address = site.server_address().into();
    iperf3_between(site.client(), site.server(), address, Direction::ToServer, protocol, seconds)
}

/// Sends for some seconds between a client and a server, which the client reaches by `address`.
pub fn iperf3_between(
    client: &Namespace,
    server: &Namespace,
    address: IpAddr,
    direction: Direction,
    protocol: Protocol,
    seconds: u64,
) -> Result<Transfer, Error> {
    let mut listener = Program::start(server.command("iperf3").args(["--server", "--one-off", "--forceflush"]))?;
    listener.wait_for_output("Server listening", LISTENING_WITHIN)?;
    let mut command = client.command("iperf3");
    command.args(["--json", "--time", &seconds.to_string(), "--client", &address.to_string()]);
    let receiver = match direction {
        Direction::ToServer => server,
        Direction::ToClient => {
            command.arg("--reverse");
            client
        }
    };
    if let Protocol::Udp { megabits } = protocol {
        command.args(["--udp", "--bitrate", &format!("{megabits}M")]);
    }
    let before = out_of_order(receiver)?;
    let report = run(&mut command)?;
    let mut transfer = Transfer::read(&report, protocol).ok_or_else(|| Error::unreadable("iperf3", &report))?;
    transfer.out_of_order = out_of_order(receiver)? - before;
    Ok(transfer)
}

/// Number of TCP segments that a namespace has queued behind a gap so far.
fn out_of_order(receiver: &Namespace) -> Result<u64, Error> {
    let counters = run(receiver.command("cat").arg("/proc/net/netstat"))?;
    counter(&counters, "TcpExt:", "TCPOFOQueue").ok_or_else(|| Error::unreadable("/proc/net/netstat", &counters))
}

/// A number below its name: of two lines that begin with `label`, the first has the names.
fn counter(text: &str, label: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(label)).map(str::split_whitespace);
    let (mut names, mut values) = (lines.next()?, lines.next()?);
    values.nth(names.position(|found| found == name)?)?.parse().ok()
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
                out_of_order: 0,
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
                    out_of_order: 0,
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
        let expected =
            Transfer { bytes: 1000, bits_per_second: 8000.5, retransmits: 3, out_of_order: 0, lost_percent: 0.0 };
        assert_eq!(transfer, expected);
        assert_eq!(Transfer::read(r#"{"error": "unable to connect"}"#, Protocol::Tcp), None);
    }

    #[test]
    fn a_counter_stands_below_its_name() {
        let text = "TcpExt: A TCPOFOQueue C\nTcpExt: 1 22 3\nIpExt: TCPOFOQueue\nIpExt: 4\n";
        assert_eq!(counter(text, "TcpExt:", "TCPOFOQueue"), Some(22));
        assert_eq!(counter(text, "TcpExt:", "B"), None);
    }

    #[test]
    fn udp_counts_what_arrived() {
        let report = r#"{"end": {"sum": {"bytes": 1000, "bits_per_second": 80.0, "lost_percent": 25.0}}}"#;
        let transfer = Transfer::read(report, Protocol::Udp { megabits: 1 }).unwrap();
        let expected =
            Transfer { bytes: 750, bits_per_second: 60.0, retransmits: 0, out_of_order: 0, lost_percent: 25.0 };
        assert_eq!(transfer, expected);
    }
}
