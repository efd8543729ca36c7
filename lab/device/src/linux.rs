//! The kernel's own bridge and router, between two interfaces of a namespace.
//!
//! The kernel forwards where a packet comes in: in the system call of whoever sent it. So that its work can be told from the
//! generator's, both ports steer what they receive to the job's cores (RPS), and what is measured is the softirq time of
//! these: receiving, bridging or routing, sending, and, where the port is a veth, handing over to the socket at its other
//! end. The kernel counts that by sampling, in steps of some milliseconds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use quiver_netns::{Error as Refusal, Namespace, run};
use quiver_suite::field::Function;
use quiver_suite::{LINK_LENGTH, Routes, Side, Traffic};
use serde_json::Value;

use crate::growth::Growth;
use crate::{Busy, Device, Error, Job, Measure, Port, Usage};

/// What errors call it.
const LINUX: &str = "linux";
/// The bridge.
const BRIDGE: &str = "quiver-br";
/// What `/proc/stat` counts in: Linux tells programs of hundredths of a second, whatever it ticks in.
const TICK: Duration = Duration::from_millis(10);
/// What `ip` says of a kind of link that the kernel does not have.
const NO_KIND: &str = "Unknown device type";
/// The column of softirq time there, behind the name.
const SOFTIRQ: usize = 6;

/// The kernel, configured.
pub struct Linux {
    /// The file of its namespace.
    namespace: String,
    folder: PathBuf,
    ports: Vec<String>,
    cpus: Vec<usize>,
    version: String,
    configuration: String,
    growth: Growth,
    /// Links that it made.
    made: Vec<String>,
}

impl Linux {
    /// Configures it.
    pub fn start(job: &Job<'_>) -> Result<Linux, Error> {
        let (Some(namespace), [Port::Host { name: first, .. }, Port::Host { name: second, .. }]) =
            (job.namespace(), &job.ports)
        else {
            return Err(Error::impossible(job, "driver 'memif'", "the kernel is joined by 'tap' or 'veth'"));
        };
        let release =
            fs::read_to_string("/proc/sys/kernel/osrelease").map_err(Error::file("/proc/sys/kernel/osrelease"))?;
        let traffic = Traffic::of(job.case);
        let mut linux = Linux {
            namespace: namespace.path(),
            folder: job.folder.to_owned(),
            ports: vec![first.clone(), second.clone()],
            cpus: job.cpus.clone(),
            version: format!("Linux {}", release.trim()),
            configuration: String::new(),
            growth: Growth::new(LINUX, &traffic),
            made: vec![],
        };
        linux.configure(namespace, job, &traffic.sides)?;
        Ok(linux)
    }

    fn configure(&mut self, namespace: &Namespace, job: &Job<'_>, sides: &[Side; 2]) -> Result<(), Error> {
        let ports = self.ports.clone();
        ports.iter().try_for_each(|port| self.steer(port))?;
        let parts = ports.iter().zip(sides).map(|(port, side)| self.part(port, side)).collect::<Result<Vec<_>, _>>();
        let parts = parts.map_err(|error| match error {
            Error::Program(Refusal::Failed { output, .. }) if output.contains(NO_KIND) => {
                Error::impossible(job, "a VLAN tag without the kernel's module 8021q", "let root run `modprobe 8021q`")
            }
            other => other,
        })?;
        if job.case.function != Function::Ip4 {
            self.ip(&format!("link add {BRIDGE} type bridge stp_state 0 forward_delay 0"))?;
            self.made.push(BRIDGE.to_owned());
            parts.iter().try_for_each(|part| self.ip(&format!("link set dev {part} master {BRIDGE}")))?;
            return self.ip(&format!("link set dev {BRIDGE} up"));
        }
        // Senders lie behind next hops, not on the link: an answer would go the same way, but not every kernel looks.
        let switches = [("ip_forward", "1"), ("conf/all/rp_filter", "0")];
        for (name, value) in switches {
            let path = format!("/proc/sys/net/ipv4/{name}");
            let _ = writeln!(self.configuration, "echo {value} > {path}");
            namespace.within(|| fs::write(&path, value))?.map_err(Error::file(&path))?;
        }
        for ((port, part), side) in ports.iter().zip(&parts).zip(sides) {
            self.ip(&format!("link set dev {port} address {}", side.gateway))?;
            self.ip(&format!("address add {}/{LINK_LENGTH} dev {part}", side.address))?;
            for (next_hop, station) in side.hops() {
                self.ip(&format!("neighbor replace {next_hop} lladdr {station} dev {part} nud permanent"))?;
            }
            self.routes(&side.routes)?;
        }
        Ok(())
    }

    /// The part of a port that frames of a side belong to; made where they are tagged.
    fn part(&mut self, port: &str, side: &Side) -> Result<String, Error> {
        let mut part = port.to_owned();
        for (index, tag) in side.tags.iter().enumerate() {
            let protocol = if index == 0 && side.tags.len() == 2 { "802.1ad" } else { "802.1Q" };
            let of = std::mem::replace(&mut part, format!("q{tag}"));
            self.ip(&format!("link add link {of} name {part} type vlan proto {protocol} id {tag}"))?;
            self.made.push(part.clone());
            self.ip(&format!("link set dev {part} up"))?;
        }
        Ok(part)
    }

    /// Has packets that come by a port dealt with on the job's cores.
    fn steer(&mut self, port: &str) -> Result<(), Error> {
        // The kernel takes words of 32 bits, and no more of them than it has cores for.
        let last = self.cpus.iter().max().map_or(0, |core| core / 32);
        let word = |word: usize| {
            self.cpus.iter().filter(|core| **core / 32 == word).fold(0u32, |bits, core| bits | 1 << (core % 32))
        };
        let words: Vec<_> = (0..=last).rev().map(|index| format!("{:08x}", word(index))).collect();
        let words = words.join(",");
        let line = format!("echo {words} > /sys/class/net/{port}/queues/rx-0/rps_cpus");
        let _ = writeln!(self.configuration, "{line}");
        // What /sys shows are the interfaces of the namespace in which it was mounted.
        let script = format!("mount -t sysfs sysfs /sys && {line}");
        run(self.inside("unshare").args(["--mount", "sh", "-c", &script]))?;
        Ok(())
    }

    fn ip(&mut self, words: &str) -> Result<(), Error> {
        let _ = writeln!(self.configuration, "ip {words}");
        run(self.inside("ip").args(words.split_whitespace()))?;
        Ok(())
    }

    /// Adds routes, all at once.
    fn routes(&mut self, routes: &[Routes]) -> Result<(), Error> {
        let mut batch = String::new();
        let (of, count) = (routes.first(), routes.iter().map(|routes| routes.count).sum::<u32>());
        if let Some(Routes { first, length, next_hop, .. }) = of {
            let _ = writeln!(self.configuration, "ip route add {first}/{length} via {next_hop}, and {count} in all");
        }
        for Routes { first, length, count, next_hop, .. } in routes {
            for number in 0..*count {
                let address = first.to_bits() + (number << (32 - length));
                let _ = writeln!(batch, "route add {}/{length} via {next_hop}", std::net::Ipv4Addr::from_bits(address));
            }
        }
        let path = self.folder.join("routes");
        fs::write(&path, batch).map_err(Error::file(&path))?;
        run(self.inside("ip").arg("-batch").arg(&path))?;
        Ok(())
    }

    fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.namespace)).arg("--").arg(program);
        command
    }

    /// What `ip` says of its ports, with their counters.
    fn links(&self) -> Result<Vec<Value>, Error> {
        let answer = run(self.inside("ip").args(["-json", "-statistics", "link", "show"]))?;
        let foreign = || foreign("ip -json -statistics link show", "its ports", &answer);
        let links: Vec<Value> = serde_json::from_str(&answer).map_err(|_| foreign())?;
        let find = |port: &String| links.iter().find(|link| link["ifname"] == port.as_str()).cloned();
        self.ports.iter().map(find).collect::<Option<_>>().ok_or_else(foreign)
    }
}

impl Device for Linux {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn configuration(&self) -> &str {
        &self.configuration
    }

    fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            let links = self.links()?;
            if links.iter().all(|link| link["operstate"] == "UP" || link["operstate"] == "UNKNOWN") {
                return Ok(());
            }
            if start.elapsed() > within {
                let (awaited, seconds) = ("the link of both ports".to_owned(), within.as_secs());
                return Err(Error::NotReady { device: LINUX, awaited, seconds, said: Value::from(links).to_string() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn usage(&mut self) -> Result<Usage, Error> {
        let text = fs::read_to_string("/proc/stat").map_err(Error::file("/proc/stat"))?;
        let cpu = softirq(&text, &self.cpus).ok_or_else(|| foreign("/proc/stat", "softirq time", &text))?;
        let received = self.links()?.iter().filter_map(|link| link["stats64"]["rx"]["packets"].as_u64()).sum();
        let busy = Busy { measure: Measure::CpuTime, spent: cpu.as_nanos() as f64, off_core: None, packets: received };
        Ok(Usage { cpu, busy: Some(busy) })
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let mut counters = BTreeMap::new();
        for (port, link) in self.ports.iter().zip(self.links()?) {
            for direction in ["rx", "tx"] {
                for (name, count) in link["stats64"][direction].as_object().into_iter().flatten() {
                    counters.extend(count.as_u64().map(|count| (format!("{port} {direction} {name}"), count)));
                }
            }
        }
        counters.extend(ip_drops(&run(self.inside("cat").arg("/proc/net/snmp"))?));
        Ok(counters)
    }

    fn grow(&mut self, entries: u32) -> Result<(), Error> {
        let routes = self.growth.next(entries)?;
        self.routes(&[routes])
    }

    fn stop(mut self: Box<Self>) -> Result<(), Error> {
        while let Some(link) = self.made.pop() {
            run(self.inside("ip").args(["link", "delete", &link]))?;
        }
        Ok(())
    }
}

impl Drop for Linux {
    fn drop(&mut self) {
        for link in self.made.iter().rev() {
            // Its namespace may be gone by now, and the link with it.
            let _ = run(self.inside("ip").args(["link", "delete", link]));
        }
    }
}

fn foreign(command: &str, lacking: &str, answer: &str) -> Error {
    Error::Foreign { device: LINUX, command: command.into(), lacking: lacking.into(), answer: answer.into() }
}

/// The softirq time of these cores.
fn softirq(stat: &str, cpus: &[usize]) -> Option<Duration> {
    let of = |core: &usize| {
        let name = format!("cpu{core}");
        let mut words = stat.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(&name)).then_some(words)
        })?;
        words.nth(SOFTIRQ)?.parse::<u32>().ok()
    };
    let ticks = cpus.iter().map(of).sum::<Option<u32>>()?;
    Some(TICK * ticks)
}

/// What its router threw away, by the kernel's names: of two lines that begin with `Ip:`, the first has names, the second counts.
fn ip_drops(snmp: &str) -> BTreeMap<String, u64> {
    const DROPS: [&str; 8] = [
        "InHdrErrors",
        "InAddrErrors",
        "InUnknownProtos",
        "InDiscards",
        "OutDiscards",
        "OutNoRoutes",
        "ReasmFails",
        "FragFails",
    ];
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip:")).map(str::split_whitespace);
    let (names, counts) = (lines.next(), lines.next());
    let pairs = names.into_iter().flatten().zip(counts.into_iter().flatten());
    let drops = pairs.filter(|(name, _)| DROPS.contains(name));
    drops.filter_map(|(name, count)| Some((format!("ip {name}"), count.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softirq_time_is_that_of_the_cores_set_aside() {
        let stat = "cpu  9 9 9 9 9 9 300 0 0 0\ncpu0 1 2 3 4 5 6 100 0 0 0\ncpu1 1 2 3 4 5 6 200 0 0 0\nintr 5\n";
        assert_eq!(softirq(stat, &[1]), Some(Duration::from_secs(2)));
        assert_eq!(softirq(stat, &[0, 1]), Some(Duration::from_secs(3)));
        assert_eq!(softirq(stat, &[2]), None);
    }

    #[test]
    fn drops_of_the_router_have_its_names() {
        let snmp = "Ip: Forwarding InReceives InAddrErrors OutNoRoutes\nIp: 1 90 7 0\nIcmp: InMsgs\nIcmp: 4\n";
        let drops = [("ip InAddrErrors".to_owned(), 7), ("ip OutNoRoutes".to_owned(), 0)];
        assert_eq!(ip_drops(snmp), BTreeMap::from(drops));
    }
}
