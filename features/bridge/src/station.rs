//! Stations: addresses in bridge domains, as keys and values of the table. The lower half of a value is an interface.

use quiver_engine::{Ahead, Isa, LANES, Lanes, Mask, Mask8, PacketLanes};
use quiver_interface::InterfaceId;
use quiver_table::ExactView;
use quiver_wire::MacAddress;

use crate::layer2::DomainIndex;

/// In a value: the entry was configured, and does not move or age.
pub(crate) const FIXED: u64 = 1 << 32;
/// In a value: frames to the address are dropped.
pub(crate) const FILTER: u64 = 1 << 33;
/// In a value: the interface is the domain's virtual one.
pub(crate) const VIRTUAL: u64 = 1 << 34;

/// A MAC address in a domain: the key of the table.
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

/// Fetches the table's lines for the addresses that begin at byte `AT` of each frame, in the domain that is the lower half of
/// `target`.
#[inline(always)]
pub(crate) fn prefetch<const AT: usize>(table: &ExactView<'_>, windows: Ahead<'_>, target: u32) {
    let domain = DomainIndex(target as u16);
    for i in 0..windows.len() {
        let mac = MacAddress(windows.window(i)[AT..].first_chunk().copied().unwrap_or_default());
        table.prefetch(Station { mac, domain }.key());
    }
}

/// The key of the address that begins at byte `AT` of the first frame, in that domain.
#[inline(always)]
pub(crate) fn first<const AT: usize>(windows: Ahead<'_>, target: u32) -> Option<u64> {
    let mac = (!windows.is_empty()).then(|| windows.window(0)[AT..].first_chunk())??;
    Some(Station { mac: MacAddress(*mac), domain: DomainIndex(target as u16) }.key())
}

/// The keys of eight frames' sources or destinations, in two halves.
#[derive(Clone, Copy)]
pub(crate) struct Keys<I: Isa> {
    high: Lanes<I>,
    low: Lanes<I>,
}

impl<I: Isa> Keys<I> {
    /// Keys of the destinations, the first six octets, in the frames' domains.
    #[inline(always)]
    pub fn of_destinations(p: &PacketLanes<I>) -> Keys<I> {
        Keys { high: p.header.word(0), low: p.header.word(4) & 0xffff_0000 | p.hop & 0xffff }
    }
    /// Keys of the sources, the next six octets.
    #[inline(always)]
    pub fn of_sources(p: &PacketLanes<I>) -> Keys<I> {
        let (first, second) = (p.header.word(4), p.header.word(8));
        Keys { high: first << 16 | second >> 16, low: second << 16 | p.hop & 0xffff }
    }
    /// The keys.
    #[inline(always)]
    pub fn array(self) -> [u64; LANES] {
        let (high, low, mut keys) = (self.high.array(), self.low.array(), [0; LANES]);
        for lane in 0..LANES {
            keys[lane] = u64::from(high[lane]) << 32 | u64::from(low[lane]);
        }
        keys
    }
    /// Whether all are this key.
    #[inline(always)]
    pub fn are(self, key: u64) -> bool {
        !(self.high.ne((key >> 32) as u32) | self.low.ne(key as u32)).any()
    }
    /// The lanes to be looked up of these: the first one where all have its key, as those of one conversation have.
    #[inline(always)]
    pub fn asked(self, lanes: Mask<I>) -> Mask8 {
        let all = lanes.bits();
        let first = all.0.trailing_zeros() as usize % LANES;
        let others = self.high.ne(self.high.array()[first]) | self.low.ne(self.low.array()[first]);
        if (others & lanes).any() { all } else { Mask8(all.0 & 1 << first) }
    }
}

/// Extends the result for the lanes that were looked up to all lanes.
#[inline(always)]
pub(crate) fn of_all(found: u8, asked: Mask8, lanes: Mask8) -> Mask8 {
    if asked == lanes || found == 0 { Mask8(found) } else { lanes }
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
        let interface = InterfaceId(value as u32);
        Place { interface, fixed: has(FIXED), filter: has(FILTER), bvi: has(VIRTUAL) }
    }
    /// The value.
    pub fn value(self) -> u64 {
        let flag = |on, flag| if on { flag } else { 0 };
        u64::from(self.interface.0) | flag(self.fixed, FIXED) | flag(self.filter, FILTER) | flag(self.bvi, VIRTUAL)
    }
}
