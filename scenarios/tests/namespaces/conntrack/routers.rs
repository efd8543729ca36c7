//! Two routers between the same hosts: Quiver's pg0 and pg1, and a namespace of the kernel behind pg2 and pg3, which are
//! cross-connected to its interfaces. Both have the same addresses, and rules with the same meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::Packet;
use serde_json::Value;

use super::capture::Side;

/// Longest time until the kernel answers an echo request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Identifier of the echo requests whose answers tell that the kernel has treated the packet before.
const MARK: &str = "id 65535 ";
/// Timeouts of the kernel in seconds, by its defaults.
const TIMEOUTS: [u64; 7] = [10, 30, 60, 120, 300, 600, 432_000];
/// Seconds that a step takes at most.
const STEP: u64 = 5;
/// Ethernet headers of packets that come from hosts inside and outside.
const HEADERS: [&str; 2] = ["eth 02:00:00:00:00:02 > 02:00:00:00:00:a0", "eth 02:00:00:00:00:19 > 02:00:00:00:00:a1"];
/// Echo requests to both routers, from a neighbor on each side.
const MARKS: [&str; 2] = ["ip4 10.0.0.2 > 10.0.0.1", "ip4 192.0.2.9 > 192.0.2.1"];

/// Rules of the routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Hosts inside begin flows; all other packets are denied.
    Firewall,
    /// Hosts inside share 192.0.2.100, whose TCP port 8080 is port 80 of 10.0.0.3.
    Nat,
}

impl Mode {
    /// Name, as in the page's table.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Firewall => "firewall",
            Mode::Nat => "NAT",
        }
    }
    fn quivers(self) -> &'static str {
        match self {
            Mode::Firewall => {
                "set acl-plugin acl permit+reflect
                 set acl-plugin acl deny
                 set acl-plugin interface pg0 input acl 0
                 set acl-plugin interface pg0 output acl 1"
            }
            Mode::Nat => {
                "nat44 plugin enable sessions 1000
                 nat44 add address 192.0.2.100
                 nat44 add static mapping tcp local 10.0.0.3 80 external 192.0.2.100 8080
                 set interface nat44 in pg0 out pg1"
            }
        }
    }
    fn kernels(self) -> &'static str {
        match self {
            Mode::Firewall => "",
            Mode::Nat => {
                "chain pre {
                   type nat hook prerouting priority -100
                   ip daddr 192.0.2.100 tcp dport 8080 dnat to 10.0.0.3:80
                 }
                 chain post {
                   type nat hook postrouting priority 100
                   oifname out0 snat to 192.0.2.100
                   oifname in0 ct status dnat ip saddr 10.0.0.0/24 snat to 192.0.2.100
                 }"
            }
        }
    }
}

/// States by flow: Quiver's and the kernel's, each with its timeout.
pub type States = BTreeSet<(String, [String; 2])>;

/// Both routers.
pub struct Routers {
    daemon: Daemon,
    kernel: Namespace,
    /// Packets of the last step, by router.
    last: [Vec<(Side, Packet)>; 2],
    /// Learned numbers of both routers, by name.
    learned: BTreeMap<String, [u16; 2]>,
}

impl Routers {
    /// Builds the routers of a capture, by its number.
    pub fn new(world: &World, mode: Mode, number: usize) -> Result<Routers, Failed> {
        let name = format!("track{}{number}", mode.name().to_lowercase());
        let kernel = Namespace::add(world, &name)?;
        let mut daemon = Daemon::new(ROOMS, Setup::default())?;
        for (n, (link, mac)) in [("in0", "a0"), ("out0", "a1")].into_iter().enumerate() {
            let behind = n + 2;
            daemon.configure(&format!(
                "create packet-generator interface pg{n} hw-addr 02:00:00:00:00:{mac}
                 create packet-generator interface pg{behind}
                 create tap id {n} host-ns {name} host-if-name {link} host-mac-addr 02:00:00:00:00:{mac}
                 set interface state pg{n} up
                 set interface state pg{behind} up
                 set interface state tap{n} up
                 set interface l2 xconnect pg{behind} tap{n}
                 set interface l2 xconnect tap{n} pg{behind}"
            ));
            kernel.ip(&format!("link set {link} up mtu 1500"))?;
        }
        daemon.configure(
            "set interface ip address pg0 10.0.0.1/24
             set interface ip address pg1 192.0.2.1/24
             ip route add 198.51.100.0/24 via 192.0.2.9 pg1",
        );
        kernel.ip("addr add 10.0.0.1/24 dev in0")?;
        kernel.ip("addr add 192.0.2.1/24 dev out0")?;
        kernel.ip("route add 198.51.100.0/24 via 192.0.2.9 dev out0")?;
        for (link, interface, address, mac) in
            [("in0", "pg0", "10.0.0.2", "02"), ("in0", "pg0", "10.0.0.3", "03"), ("out0", "pg1", "192.0.2.9", "19")]
        {
            daemon.configure(&format!("ip neighbor {interface} {address} 02:00:00:00:00:{mac} static"));
            kernel.ip(&format!("neigh add {address} lladdr 02:00:00:00:00:{mac} dev {link} nud permanent"))?;
        }
        daemon.configure(mode.quivers());
        // Without local senders nothing but echo requests is for the kernel itself: no reset tells of a closed port.
        let rules = format!(
            "table ip quiver {{
               chain local {{ type filter hook input priority 0; policy drop; icmp type echo-request accept; }}
               chain through {{
                 type filter hook forward priority 0; policy drop;
                 ct state invalid drop
                 ct state established,related accept
                 ct status dnat accept
                 iifname in0 ct state new accept
               }}
               {}
             }}",
            mode.kernels()
        );
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("rules.nft");
        fs::write(&file, rules)?;
        quiver_netns::run(kernel.command("nft").arg("-f").arg(&file))?;
        kernel.within(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??;
        daemon.advance(Duration::from_secs(5))?;
        let mut routers = Routers { daemon, kernel, last: Default::default(), learned: BTreeMap::new() };
        routers.collect(Side::Inside)?;
        Ok(routers)
    }
    /// Sends a packet into both routers.
    pub fn send(&mut self, side: Side, packet: &str) -> Result<(), Failed> {
        for router in [0, 1] {
            let mut text = format!("{} / {packet}", HEADERS[side as usize]);
            for (name, numbers) in &self.learned {
                text = text.replace(&format!("{{{name}}}"), &numbers[router].to_string());
            }
            let packet = text.parse::<Packet>().map_err(|error| format!("{text}: {error}"))?;
            self.daemon.send(&format!("pg{}", 2 * router + side as usize), &packet.to_bytes())?;
            self.daemon.settle()?;
        }
        self.last = self.collect(side)?;
        Ok(())
    }
    /// The packets that have left a router since the last one was sent, each with its side.
    pub fn texts(&self, router: usize) -> Vec<String> {
        self.last[router].iter().map(|(side, packet)| format!("{side} {}", self.named(router, *side, packet))).collect()
    }
    /// Takes the packets that left since the last step, once the kernel has treated all that came from a side.
    fn collect(&mut self, side: Side) -> Result<[Vec<(Side, Packet)>; 2], Failed> {
        let text = format!("{} / {} / icmp echo-request {MARK}seq 1", HEADERS[side as usize], MARKS[side as usize]);
        let mark = text.parse::<Packet>().map_err(|error| format!("{text}: {error}"))?.to_bytes();
        self.daemon.send(&format!("pg{}", 2 + side as usize), &mark)?;
        let (start, mut sent) = (Instant::now(), [vec![], vec![]]);
        while !self.take(&mut sent)? {
            if start.elapsed() > PATIENCE {
                return Err("the kernel does not answer an echo request".into());
            }
        }
        // The packets that left by the other interface came before the answer.
        self.take(&mut sent)?;
        Ok(sent)
    }
    /// Takes packets that have left, by router; whether the kernel's answer to the mark is among them.
    fn take(&mut self, sent: &mut [Vec<(Side, Packet)>; 2]) -> Result<bool, Failed> {
        self.daemon.settle()?;
        let mut is_answered = false;
        for (interface, frame) in self.daemon.sent() {
            let packet = Packet::dissect(&frame);
            let text = packet.to_string();
            let (router, side) = match interface.as_str() {
                "pg0" => (0, Side::Inside),
                "pg1" => (0, Side::Outside),
                "pg2" => (1, Side::Inside),
                "pg3" => (1, Side::Outside),
                _ => continue,
            };
            if text.contains("echo-reply") && text.contains(MARK) {
                is_answered = true;
            } else if text.contains("/ ip4 ") {
                sent[router].push((side, packet));
            }
        }
        Ok(is_answered)
    }
    /// Names the number that both routers have chosen.
    pub fn learn(&mut self, name: &str) -> Result<(), Failed> {
        let number = |router: usize| -> Option<u16> {
            let (_, packet) = self.last[router].first()?;
            let text = packet.to_string();
            let layer = text.split(" / ").nth(2)?;
            let words: Vec<_> = layer.split(' ').collect();
            let at = if words[0] == "icmp" { words.iter().position(|word| *word == "id")? + 1 } else { 1 };
            words.get(at)?.parse().ok()
        };
        let (quivers, kernels) = (number(0).ok_or("Quiver sent nothing")?, number(1).ok_or("Linux sent nothing")?);
        self.learned.insert(name.into(), [quivers, kernels]);
        Ok(())
    }
    /// The text of a packet behind its Ethernet header, with the names of learned numbers if it left outside, and without the IP
    /// identifier, which Linux draws for its own packets.
    fn named(&self, router: usize, side: Side, packet: &Packet) -> String {
        let text = packet.to_string();
        let ip = text.split_once(" / ").map_or(text.as_str(), |(_, ip)| ip);
        let name = |word: &str| {
            let mut outside = self.learned.iter().filter(|_| side == Side::Outside);
            let named = outside.find(|(_, numbers)| word == numbers[router].to_string());
            named.map_or(word.to_owned(), |(name, _)| format!("{{{name}}}"))
        };
        let (header, rest) = ip.split_once(" / ").unwrap_or((ip, ""));
        let mut words: Vec<_> = header.split(' ').collect();
        if let Some(at) = words.iter().position(|word| *word == "id") {
            words.drain(at..at + 2);
        }
        words.into_iter().chain(["/"]).chain(rest.split(' ')).map(name).collect::<Vec<_>>().join(" ")
    }
    /// States of all flows that either router has.
    pub fn states(&mut self) -> Result<States, Failed> {
        let mut states: BTreeMap<String, [String; 2]> = BTreeMap::new();
        for (router, flows) in [self.quivers()?, self.kernels()?].into_iter().enumerate() {
            for (flow, state) in flows {
                states.entry(flow).or_insert_with(|| ["none", "none"].map(str::to_owned))[router] = state;
            }
        }
        Ok(states.into_iter().collect())
    }
    fn quivers(&mut self) -> Result<Vec<(String, String)>, Failed> {
        let shown = self.daemon.run("show session")?.json;
        let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_lowercase();
        let rows = shown.as_array().cloned().unwrap_or_default();
        let flow = |row: &Value| {
            let protocol = word(row, "protocol");
            let ends = [word(row, "initiator"), word(row, "responder")];
            let seconds = row["seconds"].as_f64().unwrap_or_default().round();
            (flow(&protocol, &ends), format!("{} {seconds}", word(row, "state")))
        };
        Ok(rows.iter().map(flow).collect())
    }
    fn kernels(&self) -> Result<Vec<(String, String)>, Failed> {
        // Not /proc/net: that is the one of the process's first thread.
        let text = self.kernel.within(|| fs::read_to_string("/proc/thread-self/net/nf_conntrack"))??;
        let entry = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            let values = |name: &str| -> Vec<String> {
                let values = words.iter().filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
                values.map(str::to_owned).collect()
            };
            let (sources, ports) = (values("src"), values("sport"));
            let port = |n: usize| ports.get(n).map_or(String::new(), |port| format!(":{port}"));
            // Both ends as the inside sees them: the second tuple is that of the answers.
            let [client, server] = [0, 1].map(|n| format!("{}{}", sources[n], port(n)));
            let protocol = if words[2] == "unknown" { words[3] } else { words[2] };
            let left: u64 = words[4].parse().unwrap_or_default();
            let timeout = TIMEOUTS.into_iter().find(|timeout| (left..left + STEP).contains(timeout)).unwrap_or(left);
            let state = match protocol {
                "tcp" => words[5].to_lowercase().replace('_', "-"),
                _ if words.contains(&"[UNREPLIED]") => "unreplied".into(),
                _ if words.contains(&"[ASSURED]") => "assured".into(),
                _ => "replied".into(),
            };
            (flow(protocol, &[client, server]), format!("{state} {timeout}"))
        };
        let is_mark = |line: &&str| line.contains("id=65535");
        Ok(text.lines().filter(|line| !is_mark(line)).map(entry).collect())
    }
    /// Ends both.
    pub fn finish(self) -> Result<(), Failed> {
        Ok(self.daemon.finish()?)
    }
}

/// Text of a flow. Protocols without ports have other numbers in their place, and not the same ones in both routers.
fn flow(protocol: &str, ends: &[String; 2]) -> String {
    let [client, server] = match protocol {
        "tcp" | "udp" => ends.clone(),
        _ => ends.each_ref().map(|end| end.split(':').next().unwrap_or_default().to_owned()),
    };
    format!("{protocol} {client} > {server}")
}
