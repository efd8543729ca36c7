//! A testbed: hosts, what each of them is for, and how they are joined.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::Shell;
use crate::reach::Reach;

/// Hosts on which one generator and one or two devices are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testbed {
    pub(crate) hosts: Vec<Host>,
    /// Where packets come from and return to.
    pub generator: Place,
    /// The devices in the order in which packets pass them: one, or two on separate hosts.
    pub devices: Vec<Place>,
    /// Links from the generator through all devices and back. Without any, all is on one host, and the lab makes the
    /// links: memif, tap or veth, as a case says.
    pub links: Vec<Link>,
}

/// A host of a testbed; [`Testbed::host`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub(crate) usize);

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name in the file.
    pub name: String,
    /// How commands get there.
    pub reach: Reach,
    /// Memory for device and generator; unknown if the file does not state it.
    pub memory_gib: Option<u16>,
    /// Where programs are that are not in `PATH`, by their names: `vpp`, `dpdk-testpmd`.
    pub programs: BTreeMap<String, PathBuf>,
    /// Ports that can be joined to other hosts.
    pub ports: Vec<Port>,
}

/// A CPU, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Core(pub u16);

/// Cores of a host for a device or the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host.
    pub host: HostId,
    /// Its cores for this, at least one; who needs fewer takes the first.
    pub cores: Vec<Core>,
}

/// Where a cable ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in the file.
    pub name: String,
    /// The host's identifier of the port.
    pub kind: PortKind,
}

/// A host's identifier of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// An interface of the kernel.
    Interface(String),
    /// A device on the PCI bus, for drivers in user space: `0000:3b:00.0`.
    Pci(String),
}

/// A port of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The host.
    pub host: HostId,
    /// Index in [`Host::ports`].
    pub port: usize,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The end nearer to where packets come from.
    pub from: PortRef,
    /// The other one.
    pub to: PortRef,
}

/// How many hosts packets pass, as CSIT tells topologies apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Generator and device on one host.
    OneNode,
    /// One device, on a host of its own.
    TwoNode,
    /// Two devices, one behind the other.
    ThreeNode,
}

impl Topology {
    /// How CSIT's names of suites begin on it; that of three nodes is the rule there, and not said.
    pub fn prefix(self) -> &'static str {
        match self {
            Topology::OneNode => "1n1l-",
            Topology::TwoNode => "2n1l-",
            Topology::ThreeNode => "",
        }
    }

    /// CSIT's tag.
    pub fn tag(self) -> &'static str {
        match self {
            Topology::OneNode => "1_NODE_SINGLE_LINK_TOPO",
            Topology::TwoNode => "2_NODE_SINGLE_LINK_TOPO",
            Topology::ThreeNode => "3_NODE_SINGLE_LINK_TOPO",
        }
    }
}

impl Testbed {
    /// This machine: the last of the cores that may be used is the generator's, the others are the device's. With one core
    /// both are on it, which [`Testbed::shares_cores`] tells; none is taken for core 0.
    pub fn here(cores: &[Core], memory_gib: Option<u16>) -> Testbed {
        let last = cores.last().copied().unwrap_or(Core(0));
        let rest = cores.split_last().map_or(&[][..], |(_, rest)| rest);
        let place = |cores: &[Core]| Place { host: HostId(0), cores: cores.to_vec() };
        let device = if rest.is_empty() { place(&[last]) } else { place(rest) };
        let (name, programs) = ("localhost".into(), BTreeMap::new());
        Testbed {
            hosts: vec![Host { name, reach: Reach::Here, memory_gib, programs, ports: Vec::new() }],
            generator: place(&[last]),
            devices: vec![device],
            links: Vec::new(),
        }
    }

    /// Its hosts, in the file's order.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &Host)> {
        self.hosts.iter().enumerate().map(|(index, host)| (HostId(index), host))
    }

    /// A host. An id of another testbed finds another host, or panics.
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.0]
    }

    /// A port. One of another testbed finds another port, or panics.
    pub fn port(&self, at: PortRef) -> &Port {
        &self.host(at.host).ports[at.port]
    }

    /// The shape: one, two or three nodes.
    pub fn topology(&self) -> Topology {
        match self.devices.as_slice() {
            [device] if device.host == self.generator.host => Topology::OneNode,
            [_] => Topology::TwoNode,
            _ => Topology::ThreeNode,
        }
    }

    /// Whether generator and device have to share a core, so that what is measured says little.
    pub fn shares_cores(&self) -> bool {
        let of = |place: &Place| place.cores.iter().map(|core| (place.host, *core)).collect::<Vec<_>>();
        let generator = of(&self.generator);
        self.devices.iter().flat_map(of).any(|core| generator.contains(&core))
    }
}

impl Host {
    /// Runs commands on the host.
    pub fn shell(&self) -> Shell {
        Shell::new(&self.name, &self.reach)
    }

    /// The path of a program, or its name, by which `PATH` has it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.get(name).cloned().unwrap_or_else(|| name.into())
    }
}

impl fmt::Display for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_keeps_a_core_for_the_generator() {
        let cores = |place: &Place| place.cores.iter().map(|core| core.0).collect::<Vec<_>>();
        let testbed = |cores: &[u16]| Testbed::here(&cores.iter().copied().map(Core).collect::<Vec<_>>(), Some(8));
        let four = testbed(&[2, 3, 6, 7]);
        assert_eq!((cores(&four.generator), cores(&four.devices[0])), (vec![7], vec![2, 3, 6]));
        assert_eq!((four.topology(), four.shares_cores()), (Topology::OneNode, false));
        assert_eq!(four.host(four.generator.host).program("vpp"), PathBuf::from("vpp"));
        for few in [&[5][..], &[]] {
            let one = testbed(few);
            assert_eq!(cores(&one.generator), cores(&one.devices[0]));
            assert!(one.shares_cores());
        }
    }
}
