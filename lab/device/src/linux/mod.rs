//! The kernel's own bridge and router, between two interfaces of a namespace, or of a host of a testbed.
//!
//! The kernel forwards where a packet comes in: in the system call of whoever sent it, or where the port's interrupt is. So that
//! its work can be told from the generator's, both ports steer what they receive to the job's cores (RPS), and what is measured
//! is the softirq time of these: receiving, bridging or routing, sending, and, where the port is a veth, handing over to the
//! socket at its other end. The kernel counts that by sampling, in steps of some milliseconds.
//!
//! All that it is told is told, and undone, by a [`Keeper`].

mod plan;
mod statistics;

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_suite::Part;
use quiver_suite::field::Feature;
use serde_json::Value;

use crate::ground::Ground;
use crate::growth::Growth;
use crate::keeper::Keeper;
use crate::process::Progress;
use crate::{Busy, Device, Error, Job, Measure, Port, Usage};
use plan::Plan;

/// Name of the device in errors.
const LINUX: &str = "linux";
/// Error text of `ip` for a kind of link that the kernel does not support.
const NO_KIND: &str = "Unknown device type";
/// Command that lists the ports with their counters.
const LINKS: &str = "ip -json -statistics link show";
/// The side that routes lead to that are added.
const UPLINK: usize = 1;

/// The kernel, configured.
pub struct Linux {
    ground: Ground,
    keeper: Keeper,
    ports: [String; 2],
    cpus: Vec<usize>,
    version: String,
    configuration: String,
    plan: Plan,
    growth: Growth,
    is_tracking: bool,
}

impl Linux {
    /// Configures it.
    pub fn start(job: &Job<'_>) -> Result<Linux, Error> {
        let [Port::Host { name: first, .. }, Port::Host { name: second, .. }] = &job.ports else {
            return Err(Error::impossible(job, "driver 'memif'", "the kernel is joined by 'tap' or 'veth'"));
        };
        let (ports, ground, traffic) = ([first.clone(), second.clone()], Ground::of(job), job.traffic());
        let plan = Plan::of(job, &ports, &traffic);
        let version = ground.ask("uname -sr")?.trim().to_owned();
        let (mut lines, mut configuration) = (plan.lines(), plan.told());
        for (at, side) in traffic.sides.iter().enumerate().filter(|(_, side)| !side.routes.is_empty()) {
            let batch = plan.routes(at, &side.routes);
            configuration += &plan::told(&batch);
            let path = ground.write(&format!("routes{at}"), &batch)?;
            lines += &format!("routes '{}'\n", path.display());
        }
        let keeper = Keeper::start(LINUX, job, &["unshare", "--mount", "sh"], &lines);
        let keeper = keeper.map_err(|error| without_vlans(job, error))?;
        let growth = Growth::new(LINUX, &traffic);
        let cpus = job.cpus.clone();
        let is_tracking = job.case.feature == Feature::Conntrack;
        Ok(Linux { ground, keeper, ports, cpus, version, configuration, plan, growth, is_tracking })
    }
}

/// The ports in the answer of `ip`, with their counters.
fn links(ports: &[String; 2], answer: &str) -> Result<[Value; 2], Error> {
    let foreign = || foreign(LINKS, "its ports", answer);
    let links: Vec<Value> = serde_json::from_str(answer).map_err(|_| foreign())?;
    let find = |port: &String| links.iter().find(|link| link["ifname"] == port.as_str()).cloned();
    let [first, second] = ports.each_ref().map(find);
    first.zip(second).map(<[Value; 2]>::from).ok_or_else(foreign)
}

/// Tags need a module, which the kernel may not have: of hosts behind ssh, this is how it is known.
fn without_vlans(job: &Job<'_>, error: Error) -> Error {
    match &error {
        Error::Refused { command, answer, .. } if command.contains("type vlan") && answer.contains(NO_KIND) => {
            Error::impossible(job, "a VLAN tag without the kernel's module 8021q", Part::Vlans.remedy())
        }
        _ => error,
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
        let Linux { ground, keeper, ports, .. } = self;
        keeper.wait_until("the link of both ports", within, || {
            let links = links(ports, &ground.ask(LINKS)?)?;
            let is_up = links.iter().all(|link| link["operstate"] == "UP" || link["operstate"] == "UNKNOWN");
            Ok(if is_up { Progress::Done } else { Progress::NotYet(Value::from(links.to_vec()).to_string()) })
        })
    }

    fn usage(&mut self) -> Result<Usage, Error> {
        self.keeper.check()?;
        // One question: on a host it may have to wait for a core each time.
        let answer = self.ground.ask(&format!("cat /proc/stat && {LINKS}"))?;
        let (stat, listed) = answer.split_once("\n[").unwrap_or((&answer, ""));
        let cpu = statistics::softirq(stat, &self.cpus);
        let cpu = cpu.ok_or_else(|| foreign("/proc/stat", "softirq time of the device's cores", stat))?;
        let links = links(&self.ports, &format!("[{listed}"))?;
        let packets = links.iter().filter_map(|link| link["stats64"]["rx"]["packets"].as_u64()).sum();
        let busy = Busy { measure: Measure::CpuTime, spent: cpu.as_nanos() as f64, off_core: None, packets };
        Ok(Usage { cpu, busy: Some(busy) })
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        self.keeper.check()?;
        let answer = self.ground.ask(&format!("cat /proc/net/snmp && {LINKS}"))?;
        let (snmp, listed) = answer.split_once("\n[").unwrap_or((&answer, ""));
        let mut counters = statistics::ip_drops(snmp);
        if self.is_tracking {
            counters.extend(statistics::tracked(&self.ground.ask("cat /proc/net/stat/nf_conntrack")?));
        }
        for (port, link) in self.ports.iter().zip(links(&self.ports, &format!("[{listed}"))?) {
            for direction in ["rx", "tx"] {
                for (name, count) in link["stats64"][direction].as_object().into_iter().flatten() {
                    counters.extend(count.as_u64().map(|count| (format!("{port} {direction} {name}"), count)));
                }
            }
        }
        Ok(counters)
    }

    fn grow(&mut self, entries: u32) -> Result<(), Error> {
        let batch = self.plan.routes(UPLINK, &[self.growth.next(entries)?]);
        self.configuration += &plan::told(&batch);
        let path = self.ground.write("routes", &batch)?;
        self.ground.ask(&format!("ip -batch '{}'", path.display())).map(drop)
    }

    fn stop(self: Box<Self>) -> Result<(), Error> {
        self.keeper.stop()
    }
}

fn foreign(command: &str, lacking: &str, answer: &str) -> Error {
    Error::Foreign { device: LINUX, command: command.into(), lacking: lacking.into(), answer: answer.into() }
}
