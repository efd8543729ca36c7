//! The plan for the kernel: steps of `keeper.sh`, and routes.

use std::fmt::Write as _;

use quiver_suite::field::{Feature, Function};
use quiver_suite::{Routes, Side, Traffic};

use crate::Job;

/// The bridge.
const BRIDGE: &str = "quiver-br";
/// The table of a test's routes on a host, and how early it is looked at there.
const TABLE: u32 = 4739;
const PREFERENCE: u32 = 1;
/// The table of rules of its filter.
const FILTER: &str = "inet quiver_lab";

/// All steps, and where routes go.
pub struct Plan {
    steps: Vec<Step>,
    /// The part of each port that frames of its side belong to.
    parts: [String; 2],
    /// Behind a route, where it is not for the table that all packets go by.
    table: String,
}

/// A line of the plan.
struct Step {
    does: String,
    /// Command that undoes the step; none if the step's function undoes itself.
    undone: Option<String>,
}

impl Plan {
    /// The plan of a case between two ports.
    pub fn of(job: &Job<'_>, ports: &[String; 2], traffic: &Traffic) -> Plan {
        let mut plan = Plan { steps: Vec::new(), parts: ports.clone(), table: String::new() };
        plan.does("renew_sys".to_owned());
        for port in ports {
            plan.does(format!("steer {port} {}", mask(&job.cpus)));
        }
        plan.parts = [0, 1].map(|at| plan.part(&ports[at], &traffic.sides[at]));
        match job.case.function {
            Function::Ip4 | Function::Ip6 => {
                plan.router(job.case.function == Function::Ip6, job.site.is_some(), ports, &traffic.sides);
                if job.case.feature == Feature::Conntrack {
                    plan.track();
                }
            }
            Function::Bridge | Function::CrossConnect => plan.bridge(),
        }
        plan
    }

    fn does(&mut self, does: String) {
        self.steps.push(Step { does, undone: None });
    }

    fn ip(&mut self, does: &str, undone: &str) {
        self.steps.push(Step { does: format!("ip {does}"), undone: Some(undone.to_owned()) });
    }

    /// The part of a port that frames of a side belong to; made where they are tagged.
    fn part(&mut self, port: &str, side: &Side) -> String {
        let mut part = port.to_owned();
        for (index, tag) in side.tags.iter().enumerate() {
            let protocol = if index == 0 && side.tags.len() == 2 { "802.1ad" } else { "802.1Q" };
            let of = std::mem::replace(&mut part, format!("q{tag}"));
            self.ip(
                &format!("link add link {of} name {part} type vlan proto {protocol} id {tag}"),
                &format!("ip link delete {part}"),
            );
            self.does(format!("silence {part}"));
            self.ip(&format!("link set dev {part} up"), "");
        }
        part
    }

    fn bridge(&mut self) {
        self.ip(
            &format!("link add {BRIDGE} type bridge stp_state 0 forward_delay 0"),
            &format!("ip link delete {BRIDGE}"),
        );
        self.does(format!("silence {BRIDGE}"));
        for part in self.parts.clone() {
            self.ip(&format!("link set dev {part} master {BRIDGE}"), &format!("ip link set dev {part} nomaster"));
        }
        self.ip(&format!("link set dev {BRIDGE} up"), "");
    }

    /// Tracks connections: the kernel does so in namespaces with rules that look at their state.
    fn track(&mut self) {
        let add = format!("nft add table {FILTER}");
        self.steps.push(Step { does: add, undone: Some(format!("nft delete table {FILTER}")) });
        self.does(format!("rule add chain {FILTER} forward '{{ type filter hook forward priority 0; }}'"));
        self.does(format!("rule add rule {FILTER} forward ct state invalid counter drop"));
    }

    fn router(&mut self, is_ip6: bool, is_host: bool, ports: &[String; 2], sides: &[Side; 2]) {
        let ip = if is_ip6 { "-6 " } else { "" };
        match is_ip6 {
            // Nothing is forwarded, whatever an interface says, unless all may.
            true => self.does("switch /proc/sys/net/ipv6/conf/all/forwarding 1".to_owned()),
            // Senders lie behind next hops, not on the link: an answer would go the same way, but not every kernel looks.
            false => self.does("switch /proc/sys/net/ipv4/conf/all/rp_filter 0".to_owned()),
        }
        if is_host {
            self.does(format!("table {TABLE} {ip}").trim_end().to_owned());
            self.table = format!(" table {TABLE}");
        }
        let parts = self.parts.clone();
        for ((port, part), side) in ports.iter().zip(&parts).zip(sides) {
            let switches = match is_ip6 {
                // It has addresses, and forwards, but neither looks for routers nor asks whether others have its addresses.
                true => [("ipv6", "disable_ipv6", 0), ("ipv6", "accept_ra", 0), ("ipv6", "forwarding", 1)].as_slice(),
                false => &[("ipv4", "rp_filter", 0), ("ipv4", "forwarding", 1)],
            };
            for (family, name, value) in switches {
                self.does(format!("switch /proc/sys/net/{family}/conf/{part}/{name} {value}"));
            }
            if is_host {
                let rule = format!("pref {PREFERENCE} iif {part} lookup {TABLE}");
                self.ip(&format!("{ip}rule add {rule}"), &format!("ip {ip}rule delete {rule}"));
            }
            self.does(format!("station {port} {}", side.gateway));
            // All routes of a link go with its last address, in one turn of the kernel.
            let address = format!("{}/{} dev {part}", side.address, side.link_length());
            let at_once = if is_ip6 { " nodad" } else { "" };
            self.ip(&format!("address add {address} noprefixroute{at_once}"), &format!("ip address delete {address}"));
            for (next_hop, station) in side.hops() {
                let neighbor = format!("{next_hop} dev {part}");
                self.ip(
                    &format!("neighbor replace {neighbor} lladdr {station} nud permanent"),
                    &format!("ip neighbor delete {neighbor}"),
                );
            }
        }
    }

    /// For the shell.
    pub fn lines(&self) -> String {
        let mut lines = String::new();
        for Step { does, undone } in &self.steps {
            let _ = match undone {
                Some(undone) => writeln!(lines, "step '{undone}' {does}"),
                None => writeln!(lines, "{does}"),
            };
        }
        lines
    }

    /// The plan in words, for documents.
    pub fn told(&self) -> String {
        self.steps.iter().fold(String::new(), |told, step| told + &step.does + "\n")
    }

    /// Routes that lead out by one of the two ports, as `ip -batch` takes them.
    pub fn routes(&self, at: usize, routes: &[Routes]) -> String {
        let (mut batch, part, table) = (String::new(), &self.parts[at], &self.table);
        for of @ Routes { length, count, next_hop, .. } in routes {
            for number in 0..*count {
                let address = of.prefix(number);
                let _ = writeln!(batch, "route add {address}/{length} via {next_hop} dev {part} onlink{table}");
            }
        }
        batch
    }
}

/// Summary of a batch of routes for the document: the first route, and their number.
pub fn told(batch: &str) -> String {
    match batch.lines().next() {
        Some(first) => format!("ip {first}, and {} in all\n", batch.lines().count()),
        None => String::new(),
    }
}

/// Cores as the kernel takes them: in words of 32 bits, and no more of them than it has cores for.
fn mask(cpus: &[usize]) -> String {
    let last = cpus.iter().max().map_or(0, |core| core / 32);
    let word =
        |word: usize| cpus.iter().filter(|core| **core / 32 == word).fold(0u32, |bits, core| bits | 1 << (core % 32));
    (0..=last).rev().map(|index| format!("{:08x}", word(index))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_words_of_the_kernel() {
        assert_eq!((mask(&[0, 3]), mask(&[33])), ("00000009".into(), "00000002,00000000".into()));
    }
}
