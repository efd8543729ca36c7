//! State that the layer-2 nodes read: the mode of each interface, and the members of each bridge domain.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use quiver_engine::Paged;
use quiver_interface::InterfaceId;
use quiver_wire::MacAddress;

/// A bridge domain's number in the data plane, for address lookups and floods. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainIndex(pub u16);

/// An interface as the nodes see it: two words, so that eight packets' modes are two lookups.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Port {
    /// The split-horizon group in the lowest byte, then the flags of the interface, then those of its domain.
    pub(crate) word: u32,
    /// The domain, or the peer of a cross-connect.
    pub(crate) target: u32,
}

impl Port {
    /// Interfaces of the same group, other than 0, send nothing to each other.
    pub(crate) const GROUP: u32 = 0xff;
    /// Cross-connect: all frames go to the peer.
    pub(crate) const CONNECTED: u32 = 1 << 8;
    /// The virtual interface of its domain, and set up.
    pub(crate) const VIRTUAL: u32 = 1 << 10;
    /// Nothing leaves by it.
    pub(crate) const BLOCKED: u32 = 1 << 11;
    /// The domain learns addresses.
    pub(crate) const LEARN: u32 = 1 << 16;
    /// The domain forwards to known addresses.
    pub(crate) const FORWARD: u32 = 1 << 17;
    /// The domain floods to groups.
    pub(crate) const FLOOD: u32 = 1 << 18;
    /// The domain floods to unknown addresses.
    pub(crate) const UNKNOWN: u32 = 1 << 19;
    /// The domain has an interface for frames to unknown addresses, which get them instead of all others.
    pub(crate) const DIVERT: u32 = 1 << 20;
    /// The domain answers questions for addresses that it was told.
    pub(crate) const ANSWER: u32 = 1 << 21;
    /// Bits of the word that `hop` carries above the domain.
    pub(crate) const CARRIED: u32 =
        Port::LEARN | Port::FORWARD | Port::FLOOD | Port::UNKNOWN | Port::DIVERT | Port::ANSWER;
}

/// A member of a domain, as floods see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The interface.
    pub interface: InterfaceId,
    /// Its split-horizon group.
    pub group: u8,
    /// Whether it is the domain's virtual interface.
    pub bvi: bool,
}

/// All of it, published as one value, so that a frame sees one state.
#[derive(Clone, Default)]
pub struct Layer2 {
    pub(crate) ports: Paged<Port>,
    /// Members by domain.
    pub(crate) members: Paged<Arc<[Member]>>,
    /// Interface for frames to unknown addresses, by domain, where there is one.
    pub(crate) unknown: Paged<u32>,
    /// Hosts that a domain answers for, by domain.
    pub(crate) hosts: Paged<Arc<Hosts>>,
}

/// IP addresses for which a domain answers, with their MAC addresses.
pub(crate) type Hosts = HashMap<IpAddr, MacAddress>;

impl Layer2 {
    #[inline(always)]
    pub(crate) fn port(&self, interface: u32) -> Port {
        self.ports.get(interface as usize).copied().unwrap_or_default()
    }
    #[inline(always)]
    pub(crate) fn word(&self, interface: u32) -> u32 {
        self.ports.get(interface as usize).map_or(0, |port| port.word)
    }
    #[inline(always)]
    pub(crate) fn target(&self, interface: u32) -> u32 {
        self.ports.get(interface as usize).map_or(0, |port| port.target)
    }
    /// Value of `hop` behind `l2-input`: the flags and the number of the interface's domain.
    #[inline(always)]
    pub(crate) fn carried(&self, interface: u32) -> u32 {
        self.word(interface) & Port::CARRIED | self.target(interface) & 0xffff
    }
    pub(crate) fn unknown(&self, domain: u16) -> u32 {
        self.unknown.get(usize::from(domain)).copied().unwrap_or_default()
    }
    pub(crate) fn host(&self, domain: u16, address: IpAddr) -> Option<MacAddress> {
        self.hosts.get(usize::from(domain))?.get(&address).copied()
    }
    pub(crate) fn members(&self, domain: u16) -> &[Member] {
        self.members.get(usize::from(domain)).map_or(&[], |members| members)
    }
}
