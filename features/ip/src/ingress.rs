//! What the nodes know of each interface: whether it takes IPv4, the table in which its packets are looked up, and its
//! addresses.

use std::net::Ipv4Addr;
use std::sync::Arc;

use quiver_engine::Paged;
use quiver_interface::InterfaceId;
use quiver_table::Lpm;
use quiver_wire::{InterfaceAddress, V4};

use crate::adjacency::Link;
use crate::fib::table::CountedView;

/// What is known of an interface.
#[derive(Clone, Debug, Default)]
pub struct Ip4Interface {
    /// The slot of its table, and [`ENABLED`] if it has an address.
    pub word: u32,
    /// Its addresses, the first of which its own packets have as source.
    pub addresses: Arc<[InterfaceAddress<V4>]>,
    /// What frames that it sends begin with.
    pub link: Link,
}

/// Set in an interface's word: packets that it receives are forwarded.
pub const ENABLED: u32 = 1 << 16;

/// A table as workers read it.
#[derive(Clone)]
pub struct TableView {
    /// From addresses to leaves.
    pub lpm: Lpm,
    /// How leaves lead to groups in a table that counts by route; in others they are groups.
    pub counted: Option<CountedView>,
    /// Whether packets for one host that came in frames for many are forwarded (RFC 1812, 5.3.4, says no).
    pub forwards_broadcasts: bool,
}

/// All interfaces and tables: one snapshot, so that a frame sees them in step.
#[derive(Clone, Default)]
pub struct Ingress {
    /// By number of the interface.
    pub interfaces: Paged<Ip4Interface>,
    /// By slot.
    pub tables: Arc<[Option<TableView>]>,
    /// Whether some table counts by route.
    pub counting: bool,
}

impl Ingress {
    /// The word of an interface.
    #[inline(always)]
    pub fn word(&self, interface: u32) -> u32 {
        self.interfaces.get(interface as usize).map_or(0, |interface| interface.word)
    }
    /// The table in which packets of an interface are looked up.
    #[inline(always)]
    pub fn table(&self, word: u32) -> Option<&TableView> {
        self.tables.get((word & 0xffff) as usize)?.as_ref()
    }
    /// What frames of an interface begin with.
    pub fn link(&self, interface: InterfaceId) -> Option<&Link> {
        self.interfaces.get(interface.index()).map(|interface| &interface.link)
    }
    /// The addresses of an interface.
    pub fn addresses(&self, interface: InterfaceId) -> &[InterfaceAddress<V4>] {
        self.interfaces.get(interface.index()).map_or(&[], |interface| &interface.addresses)
    }
    /// Whether an address is the interface's own.
    pub fn is_own(&self, interface: InterfaceId, address: Ipv4Addr) -> bool {
        self.addresses(interface).iter().any(|own| own.address() == address)
    }
    /// The address of an interface that is best to speak to `peer` with: one of the same subnet, else the first.
    pub fn source_for(&self, interface: InterfaceId, peer: Ipv4Addr) -> Option<Ipv4Addr> {
        let addresses = self.addresses(interface);
        let same_link = addresses.iter().find(|own| own.prefix().contains(peer));
        same_link.or(addresses.first()).map(InterfaceAddress::address)
    }
}
