//! Stations: addresses in bridge domains, as keys and values of the table.

use quiver_interface::InterfaceId;
use quiver_wire::MacAddress;

use crate::layer2::DomainIndex;

/// In a value: the entry was configured, and does not move or age.
pub(crate) const FIXED: u64 = 1 << 16;
/// In a value: frames to the address are dropped.
pub(crate) const FILTER: u64 = 1 << 17;
/// In a value: the interface is the domain's virtual one.
pub(crate) const VIRTUAL: u64 = 1 << 18;

/// An address in a domain: what the table is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// The address.
    pub mac: MacAddress,
    /// The domain.
    pub domain: DomainIndex,
}

impl Station {
    /// The station of a key.
    pub fn of(key: u64) -> Station {
        Station { mac: MacAddress::from_u64(key >> 16), domain: DomainIndex(key as u16) }
    }
    /// The key: the address above the domain.
    pub fn key(self) -> u64 {
        self.mac.to_u64() << 16 | u64::from(self.domain.0)
    }
}

/// Where a station is, and since when it is known to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Behind this interface.
    pub interface: InterfaceId,
    /// It was configured.
    pub fixed: bool,
    /// Frames to it are dropped.
    pub filter: bool,
    /// It is the domain's virtual interface.
    pub bvi: bool,
}

impl Place {
    /// Learned behind an interface.
    pub fn learned(interface: InterfaceId) -> Place {
        Place { interface, fixed: false, filter: false, bvi: false }
    }
    /// The place of a value.
    pub fn of(value: u64) -> Place {
        let has = |flag| value & flag != 0;
        let interface = InterfaceId(value as u16);
        Place { interface, fixed: has(FIXED), filter: has(FILTER), bvi: has(VIRTUAL) }
    }
    /// The value.
    pub fn value(self) -> u64 {
        let flag = |on, flag| if on { flag } else { 0 };
        u64::from(self.interface.0) | flag(self.fixed, FIXED) | flag(self.filter, FILTER) | flag(self.bvi, VIRTUAL)
    }
}
