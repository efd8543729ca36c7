//! Hosts of a testbed with joined ports: connected to, and checked, before any measurement.

use std::fmt::Write as _;
use std::path::Path;

use quiver_device::{Error as Refusal, Site};
use quiver_stop::Stop;
use quiver_suite::Case;
use quiver_suite::field::Frame;
use quiver_testbed::{HostId, PortKind, PortRef, Reach, Testbed};
use serde_json::Value;
use tempfile::TempDir;

use crate::Error;
use crate::softnet::{SOFTNET, backlog_drops};

/// Bytes of a frame that an interface's MTU does not count: header, and the checksum that suites do.
const AROUND: u64 = 18;
/// Bytes of a VLAN tag.
const TAG: u64 = 4;
/// The longest frame of a mix.
const IMIX_MAX: u64 = 1518;

/// The hosts: all of them can be measured on.
pub struct Hosts {
    testbed: Testbed,
    /// The generator's, which is this machine.
    pub generator: Site,
    /// A device's each, in the order of the packets' way.
    pub devices: Vec<Site>,
    /// The least MTU of all ports.
    mtu: u64,
    // Behind the connections whose sockets are in it.
    _folder: TempDir,
}

impl Hosts {
    /// Goes to all hosts; `folder` is for files of the connections.
    ///
    /// # Errors
    /// One is not reached, or its ports cannot be taken.
    pub fn open(testbed: &Testbed, folder: TempDir, stop: &Stop) -> Result<Hosts, Error> {
        let own = testbed.host(testbed.generator.host);
        if own.reach != Reach::Here {
            return Err(refusal(
                &own.name,
                "the generator's host is reached by ssh",
                "run this command there, and leave 'ssh' out",
            ));
        }
        let open = |id: HostId, number: usize| {
            let socket = folder.path().join(format!("ssh{number}"));
            Site::open(testbed.host(id), &socket, stop).map_err(Error::from)
        };
        let generator = open(testbed.generator.host, 0)?;
        let devices = testbed.devices.iter().zip(1..).map(|(place, number)| open(place.host, number));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        let mut hosts = Hosts { testbed: testbed.clone(), generator, devices, mtu: u64::MAX, _folder: folder };
        for (at, of) in (0..=hosts.devices.len()).map(|at| (at, hosts.ends(at))).collect::<Vec<_>>() {
            for port in of {
                let mtu = hosts.mtu_of(hosts.site(at), port)?;
                hosts.mtu = hosts.mtu.min(mtu);
            }
        }
        Ok(hosts)
    }

    /// The generator's for 0, and then the devices'.
    fn site(&self, at: usize) -> &Site {
        at.checked_sub(1).and_then(|device| self.devices.get(device)).unwrap_or(&self.generator)
    }

    /// The two ports of the generator, for 0, or of a device from 1 on: the one nearer to where packets come from is the first.
    fn ends(&self, at: usize) -> [PortRef; 2] {
        let links = &self.testbed.links;
        match at.checked_sub(1) {
            None => [links[0].from, links[links.len() - 1].to],
            Some(device) => [links[device].to, links[device + 1].from],
        }
    }

    /// Kernel names of the ports of the generator, for 0, or of a device, from 1 on.
    pub fn interfaces(&self, at: usize) -> [String; 2] {
        self.ends(at).map(|port| match &self.testbed.port(port).kind {
            PortKind::Interface(name) | PortKind::Pci(name) => name.clone(),
        })
    }

    fn mtu_of(&self, site: &Site, at: PortRef) -> Result<u64, Error> {
        let port = self.testbed.port(at);
        let PortKind::Interface(name) = &port.kind else {
            let what = format!("port '{}' is a device on the PCI bus, which no driver of the lab takes yet", port.name);
            return Err(refusal(site.name(), &what, "name its interface of the kernel: {interface: eth1}"));
        };
        Ok(site.interface(&port.name, name)?["mtu"].as_u64().unwrap_or(u64::MAX))
    }

    /// Whether the ports carry the frames of a case.
    ///
    /// # Errors
    /// They are too long.
    pub fn check(&self, case: &Case, tags: usize) -> Result<(), Error> {
        let bytes = match case.frame {
            Frame::Bytes(bytes) => u64::from(bytes),
            Frame::Imix => IMIX_MAX,
        };
        let needed = bytes + TAG * tags as u64 - AROUND;
        match needed <= self.mtu {
            true => Ok(()),
            false => Err(Error::Lacking(format!("an MTU of {needed} needed, a port of the testbed has {}", self.mtu))),
        }
    }

    /// Whether a device is on another machine.
    pub fn are_away(&self) -> bool {
        self.devices.iter().any(Site::is_away)
    }

    /// Their names, the generator's first.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for site in std::iter::once(&self.generator).chain(&self.devices) {
            if !names.iter().any(|name| name == site.name()) {
                names.push(site.name().to_owned());
            }
        }
        names
    }

    /// Hosts, their links, and the measurements that are missing there.
    pub fn told(&self) -> String {
        let mut text = String::new();
        let end = |port: PortRef| {
            let (PortKind::Interface(name) | PortKind::Pci(name)) = &self.testbed.port(port).kind;
            format!("{}.{} ({name})", self.testbed.host(port.host).name, self.testbed.port(port).name)
        };
        let _ = writeln!(text, "generator: {}, {}", self.generator.name(), self.generator.kernel());
        for site in &self.devices {
            let _ = writeln!(text, "device: {}, {}", site.name(), site.kernel());
        }
        for link in &self.testbed.links {
            let _ = writeln!(text, "link: {} to {}", end(link.from), end(link.to));
        }
        if self.are_away() {
            text += "not measured: energy, clocks and round trips of cores on hosts behind ssh, whose sensors and cores are not \
                reached from here; load and steal are those of the generator's host\n";
        }
        text
    }

    /// Losses of the kernels between the hosts up to now, by host where there are several kernels.
    pub fn losses(&self) -> Result<Vec<(String, u64)>, Error> {
        let (mut losses, mut kernels) = (Vec::new(), Vec::new());
        for (at, site) in std::iter::once(&self.generator).chain(&self.devices).enumerate() {
            // One question a host: it may have to wait for its core each time.
            let said = site.ask(&format!("ip -json -statistics -statistics link show && cat {}", SOFTNET))?;
            let (links, softnet) = said.split_once('\n').unwrap_or((&said, ""));
            let missed = missed(links, &self.interfaces(at)).ok_or_else(|| {
                let (what, remedy) = ("`ip -json` does not answer in JSON", "install another iproute2 there");
                refusal(site.name(), what, remedy)
            })?;
            if !kernels.contains(&site.boot()) {
                kernels.push(site.boot());
                losses.push((format!("{} kernel backlog-full", site.name()), backlog_drops(softnet)));
            }
            let names = self.interfaces(at).into_iter().map(|name| format!("{} {name} missed", site.name()));
            losses.extend(names.zip(missed));
        }
        Ok(losses)
    }
}

/// Packets for which the rings of these interfaces had no room, from the output of `ip`.
fn missed(links: &str, interfaces: &[String; 2]) -> Option<[u64; 2]> {
    let links: Vec<Value> = serde_json::from_str(links).ok()?;
    Some(interfaces.each_ref().map(|name| {
        let link = links.iter().find(|link| link["ifname"] == name.as_str());
        link.and_then(|link| link["stats64"]["rx"]["missed_errors"].as_u64()).unwrap_or(0)
    }))
}

fn refusal(host: &str, what: &str, remedy: &str) -> Error {
    Error::Device(Refusal::Site { host: host.to_owned(), what: what.to_owned(), remedy: remedy.to_owned() })
}

/// Where the sockets of connections are made.
pub fn folder(files: &Path) -> Result<TempDir, Error> {
    Ok(tempfile::Builder::new().prefix("quiver-bed-").tempdir_in(files)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rings_of_ports_missed_is_told_by_ip() {
        let said = r#"[{"ifname":"lo"},{"ifname":"eth1","stats64":{"rx":{"dropped":9,"missed_errors":7}}}]"#;
        let ports = ["eth1", "eth2"].map(str::to_owned);
        assert_eq!(missed(said, &ports), Some([7, 0]));
        assert_eq!(missed("Usage: ip", &ports), None);
    }
}
