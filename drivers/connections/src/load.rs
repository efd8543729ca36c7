//! Loads of a generator, as users write them, word by word.

use std::net::IpAddr;

use quiver_wire::MacAddress;

use crate::plan::{CONNECTIONS_MAX, Plan, number};
use crate::profile::{CSIT_PORTS, NAMES, Profile, Transport};
use crate::words::{LoadError, Words};

quiver_control::choice! {
    /// Which end of connections a generator is.
    pub enum Side {
        /// It opens them.
        Client = "client",
        /// It answers.
        Server = "server",
    } as "connection-side", "client or server";
}

quiver_control::choice! {
    /// In which order a client's connections are opened.
    pub enum Order {
        /// Each client opens one, and then each its next.
        Sequential = "sequential",
        /// Without a pattern.
        Random = "random",
    } as "connection-order", "sequential or random";
}

/// Load of a generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Which end it is.
    pub side: Side,
    /// The packets of a connection.
    pub profile: Profile,
    /// Addresses and ports.
    pub plan: Plan,
    /// Source MAC address of its frames.
    pub mac: MacAddress,
    /// Their destination: the device's.
    pub gateway: MacAddress,
    /// In which order connections are opened.
    pub order: Order,
    /// Draws the random order.
    pub seed: u32,
    /// Connections to be opened in a second; 0: as many as possible.
    pub rate: f64,
    /// Seconds in which the rate rises evenly from 0.
    pub ramp: f64,
    /// Connections to be opened in all; 0: without end.
    pub limit: u64,
    /// Connections that are open at a time at most. Without a rate few, so that their packets fit into rings; else all.
    pub at_once: Option<u32>,
    /// Milliseconds after which a packet goes again; twice as long each time.
    pub timeout: u32,
    /// Number of retransmissions before the connection counts as failed.
    pub retries: u32,
    /// The server answers clients of any address and port: a device translates them.
    pub any_client: bool,
    /// Connections stay open when all is sent.
    pub stay: bool,
    /// Only SYNs are sent, and answers ignored.
    pub flood: bool,
    /// Whether checksums of received packets are verified.
    pub verify: bool,
    /// The capture whose flows connections are, in place of the profile's packets.
    pub replay: Option<String>,
    /// Whether a CRC-32 of received payload is kept, of HTTP without the header.
    pub digest: bool,
}

/// All words.
const WORDS: &str = "profile, side, transport, rounds, request, response, segment, close, get, clients, servers, hosts, ports, \
    client-port, server-port, mac, gateway, order, seed, rate, ramp, connections, at-once, timeout, retries, any-client, stay, flood, verify, \
    digest or replay";

/// Connections a second at most: more than any machine opens.
const RATE_MAX: f64 = 1e9;

impl Load {
    /// Reads a load. Later words replace earlier ones, so a profile by name comes first.
    ///
    /// # Errors
    /// The word or the value that is wrong, and what to write.
    pub fn parse(text: &str) -> Result<Load, LoadError> {
        let Some((profile, _)) = Profile::named(NAMES[0].0) else {
            return Err(LoadError::Together("no profile is known".into()));
        };
        let plan = Plan {
            clients: [192, 168, 0, 0].into(),
            servers: [20, 0, 0, 0].into(),
            hosts: 1024,
            ports: CSIT_PORTS,
            first_port: 1024,
            server_port: 8080,
        };
        let mut load = Load {
            side: Side::Client,
            profile,
            plan,
            mac: MacAddress([2, 0, 0, 0, 0, 1]),
            gateway: MacAddress([2, 0, 0, 0, 1, 0]),
            order: Order::Sequential,
            seed: 1,
            rate: 0.0,
            ramp: 0.0,
            limit: 0,
            at_once: None,
            timeout: 200,
            retries: 5,
            any_client: false,
            stay: false,
            flood: false,
            verify: true,
            digest: false,
            replay: None,
        };
        let mut words = Words::new(text);
        while let Some(word) = words.next() {
            load.take(word, &mut words)?;
        }
        if load.profile.get.is_some() {
            load.profile.request = load.profile.request.max(load.profile.request_text().len() as u32);
        }
        load.check()?;
        Ok(load)
    }

    fn take(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), LoadError> {
        if self.profile.take(word, words)? {
            return Ok(());
        }
        match word {
            "profile" => {
                let (profile, hosts) = Profile::named(words.text()?).ok_or_else(|| {
                    let names = NAMES.map(|(name, _)| name).join(", ");
                    LoadError::Together(format!(
                        "profile: unknown; write {names} or one of CSIT's, such as ethip4tcp-1024h"
                    ))
                })?;
                self.profile = profile;
                if let Some(hosts) = hosts {
                    self.be_csits(hosts);
                }
            }
            "side" => self.side = words.choice()?,
            "clients" => self.plan.clients = words.read("an address")?,
            "servers" => self.plan.servers = words.read("an address")?,
            "hosts" => self.plan.hosts = words.number(1, CONNECTIONS_MAX)?,
            "ports" => self.plan.ports = words.number(1, 64_512)?,
            "client-port" => self.plan.first_port = words.number(1, 65_535)? as u16,
            "server-port" => self.plan.server_port = words.number(1, 65_535)? as u16,
            "mac" => self.mac = words.read("a MAC address")?,
            "gateway" => self.gateway = words.read("a MAC address")?,
            "order" => self.order = words.choice()?,
            "seed" => self.seed = words.number(0, u32::MAX)?,
            "rate" => self.rate = words.real(0.0, RATE_MAX)?,
            "ramp" => self.ramp = words.real(0.0, 86_400.0)?,
            "connections" => self.limit = words.real(0.0, 1e15)? as u64,
            "at-once" => self.at_once = Some(words.number(1, CONNECTIONS_MAX)?),
            "timeout" => self.timeout = words.number(2, 60_000)?,
            "retries" => self.retries = words.number(0, 8)?,
            "any-client" => self.any_client = words.is()?,
            "stay" => self.stay = words.is()?,
            "flood" => self.flood = words.is()?,
            "verify" => self.verify = words.is()?,
            "digest" => self.digest = words.is()?,
            "replay" => self.replay = Some(words.text()?.to_owned()),
            _ => return Err(LoadError::Unknown { word: word.into(), known: WORDS.into() }),
        }
        Ok(())
    }

    /// CSIT's addresses for so many clients.
    fn be_csits(&mut self, hosts: u32) {
        let [clients, servers] =
            if hosts > 1 << 16 { [[172, 16, 0, 0], [20, 16, 0, 0]] } else { [[192, 168, 0, 0], [20, 0, 0, 0]] };
        self.plan = Plan { clients: clients.into(), servers: servers.into(), hosts, ports: CSIT_PORTS, ..self.plan };
    }

    /// Values that do not go together.
    fn check(&self) -> Result<(), LoadError> {
        let wrong = |text: String| Err(LoadError::Together(text));
        let Plan { clients, servers, hosts, ports, first_port, .. } = self.plan;
        if clients.is_ipv4() != servers.is_ipv4() {
            return wrong(format!("clients {clients} and servers {servers} are of two families: choose one"));
        }
        for (word, first) in [("clients", clients), ("servers", servers)] {
            let bits = if first.is_ipv4() { 32 } else { 128 };
            let last = number(first).checked_add(u128::from(hosts.saturating_sub(1)));
            if hosts == 0 || last.is_none_or(|last| bits == 32 && last >> bits != 0) {
                return wrong(format!(
                    "{word} {first}: {hosts} hosts do not fit from there on; begin lower, or lower hosts"
                ));
            }
        }
        if u64::from(hosts) * u64::from(ports) > u64::from(CONNECTIONS_MAX) {
            return wrong(format!(
                "{hosts} hosts with {ports} ports each are more than {CONNECTIONS_MAX} connections: lower one"
            ));
        }
        if u32::from(first_port) + ports > 65_536 {
            return wrong(format!("client-port {first_port}: {ports} ports do not fit from there on; begin lower"));
        }
        let foreign =
            [("stay", self.stay), ("flood", self.flood), ("digest", self.digest), ("get", self.profile.get.is_some())];
        if let Some((word, _)) = foreign.into_iter().find(|(_, is_set)| *is_set && self.replay.is_some()) {
            return wrong(format!("replay: leave out {word}: packets are those of the capture"));
        }
        let Profile { transport, rounds, request, response, segment, .. } = self.profile;
        // Sequence numbers of a connection must not come again.
        if u64::from(rounds) * u64::from(request.max(response)) > 1 << 30 {
            return wrong(format!(
                "{rounds} rounds of {} bytes are more than 2^30 bytes: lower one",
                request.max(response)
            ));
        }
        if transport == Transport::Udp && request == 0 && self.replay.is_none() {
            return wrong("request 0: a client over UDP sends 1 byte at least".into());
        }
        if transport == Transport::Udp && self.profile.until_close {
            return wrong("response until-close: UDP has no end; write its bytes".into());
        }
        if self.flood && transport == Transport::Udp {
            return wrong("flood yes: only TCP has SYNs; write transport tcp".into());
        }
        if self.profile.get.is_some() && request > segment {
            return wrong(format!(
                "get: a request of {request} bytes does not fit into a segment of {segment}: raise segment"
            ));
        }
        Ok(())
    }

    /// Connections that are open at a time at most.
    pub fn open_max(&self) -> u64 {
        // Two packets of each fit into the smallest ring of a driver.
        const FEW: u32 = 250;
        let few = self.rate <= 0.0 && !self.stay;
        self.at_once.unwrap_or(if few { FEW } else { CONNECTIONS_MAX }).into()
    }

    /// Whether its packets are IPv4.
    pub fn is_ip4(&self) -> bool {
        matches!(self.plan.clients, IpAddr::V4(_))
    }
}

/// A load as one line: without comments.
pub fn plain(text: &str) -> String {
    Words::new(text).join()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_word_by_word() {
        let load = Load::parse("profile tcp-tput  # CSIT's\n side server\nrate 1.5e6 hosts 7 any-client yes").unwrap();
        assert_eq!((load.side, load.rate, load.plan.hosts, load.any_client), (Side::Server, 1.5e6, 7, true));
        assert_eq!(load.profile.rounds, 5);
        let csit = Load::parse("{ profile ethip4tcp-262144h }").unwrap();
        assert_eq!((csit.plan.clients, csit.plan.hosts * csit.plan.ports), ([172, 16, 0, 0].into(), 16_515_072));
        let most = |text| Load::parse(text).map(|load| load.open_max());
        assert_eq!(
            [most("rate 0"), most("rate 5"), most("stay yes"), most("at-once 7")],
            [Ok(250), Ok(1 << 24), Ok(1 << 24), Ok(7)]
        );
        let six = Load::parse("clients 2001:1:: servers 2001:2:: response until-close get /x").unwrap();
        assert!(!six.is_ip4() && six.profile.until_close && six.profile.request > 40);
    }

    #[test]
    fn a_text_is_one_line_without_comments() {
        assert_eq!(plain("{ profile tcp-cps # CSIT's\n# rate 7\n  rate 5 }"), "profile tcp-cps rate 5");
    }

    #[test]
    fn errors_name_word_value_and_remedy() {
        for (text, error) in [
            ("hots 3", "`hots` is unknown: write one of profile, side"),
            ("hosts", "hosts: a value is missing: write a number from 1 to 16777216"),
            ("hosts 0", "hosts 0: write a number from 1 to 16777216"),
            ("side left", "side left: write client or server"),
            ("verify perhaps", "verify perhaps: write yes or no"),
            ("profile x", "profile: unknown; write tcp-cps"),
            ("clients 2001::1", "of two families"),
            ("clients 255.255.255.0", "clients 255.255.255.0: 1024 hosts do not fit"),
            ("hosts 262145 ports 64", "more than 16777216 connections"),
            ("client-port 65000 ports 1000", "client-port 65000"),
            ("rounds 1000000 request 10000", "2^30"),
            ("transport udp", "a client over UDP sends"),
            ("flood yes profile udp-cps", "only TCP has SYNs"),
            ("rate NaN", "rate NaN: write a number"),
        ] {
            let said = Load::parse(text).unwrap_err().to_string();
            assert!(said.contains(error), "{text}: {said}");
        }
    }
}
