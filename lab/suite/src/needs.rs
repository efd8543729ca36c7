//! Requirements of a case, and the part of them that a machine lacks.

use std::fmt;

use serde::Serialize;

/// A requirement beside programs, cores and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A device that makes the packets itself: no machine has one yet.
    OwnPackets,
    /// `/dev/vhost-net`, without which VPP has no TAP.
    VhostNet,
    /// The kernel's VLANs, its module 8021q.
    Vlans,
    /// The right to make network namespaces, in which the kernel's interfaces of a case are.
    Namespaces,
}

impl Part {
    /// The remedy where it is missing.
    pub fn remedy(self) -> &'static str {
        match self {
            Part::OwnPackets => "choose cases of another driver",
            Part::VhostNet => "let root run `modprobe vhost_net`",
            Part::Vlans => "let root run `modprobe 8021q`",
            Part::Namespaces => "run it as root, or where users may make user namespaces",
        }
    }
}

/// Formats the missing part.
impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Part::OwnPackets => "devices are not told yet to make their packets themselves",
            Part::VhostNet => "no /dev/vhost-net, which VPP's TAP takes",
            Part::Vlans => "no module 8021q, which the kernel's VLANs take",
            Part::Namespaces => "no right to make network namespaces",
        })
    }
}

/// Requirements of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// A program that is to be installed.
    pub program: Option<&'static str>,
    /// Cores of device and generator.
    pub cores: u16,
    /// Memory, in GiB.
    pub memory_gib: u16,
    /// Further requirements.
    pub parts: Vec<Part>,
    /// Whether it is measured with fewer cores, too, and marked as oversubscribed.
    #[serde(skip)]
    pub may_share_cores: bool,
}

/// Resources of a machine.
#[derive(Clone, Copy)]
pub struct Machine<'probe> {
    /// Cores that may be used.
    pub cores: usize,
    /// Memory, in GiB.
    pub memory_gib: u64,
    /// Whether there is a program of this name.
    pub has_program: &'probe dyn Fn(&str) -> bool,
    /// Whether there is this.
    pub has_part: &'probe dyn Fn(Part) -> bool,
}

/// A missing requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A program.
    Program(&'static str),
    /// Cores.
    Cores {
        /// Cores that a case needs.
        needed: u16,
        /// Cores of the machine.
        there: usize,
    },
    /// Memory, in GiB.
    Memory {
        /// GiB that a case needs.
        needed: u16,
        /// GiB of the machine.
        there: u64,
    },
    /// Something else.
    Part(Part),
}

impl Needs {
    /// Whether device and generator have fewer cores than they want.
    pub fn is_oversubscribed(&self, cores: usize) -> bool {
        usize::from(self.cores) > cores
    }

    /// The requirements that a machine lacks.
    pub fn lacking(&self, machine: Machine<'_>) -> Vec<Lack> {
        let program = self.program.filter(|program| !(machine.has_program)(program)).map(Lack::Program);
        let (needed, there) = (self.cores, machine.cores);
        let lacks_cores = self.is_oversubscribed(there) && !self.may_share_cores;
        let cores = lacks_cores.then_some(Lack::Cores { needed, there });
        let (needed, there) = (self.memory_gib, machine.memory_gib);
        let memory = (u64::from(needed) > there).then_some(Lack::Memory { needed, there });
        let parts = self.parts.iter().copied().filter(|part| !(machine.has_part)(*part)).map(Lack::Part);
        [program, cores, memory].into_iter().flatten().chain(parts).collect()
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Program(program) => write!(out, "no program {program}"),
            Lack::Cores { needed, there } => write!(out, "{needed} cores needed, {there} here"),
            Lack::Memory { needed, there } => write!(out, "{needed} GiB of memory needed, {there} here"),
            Lack::Part(part) => write!(out, "{part}: {}", part.remedy()),
        }
    }
}
