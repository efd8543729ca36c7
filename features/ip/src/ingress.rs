//! State of each interface that the nodes read: whether it speaks the family, the table for its packets, and its
//! addresses.

use std::collections::BTreeSet;
use std::sync::Arc;

use quiver_engine::{Guard, LANES, Paged};
use quiver_interface::InterfaceId;
use quiver_wire::{InterfaceAddress, Prefix};

use crate::adjacency::{Link, PathMtus};
use crate::family::Family;
use crate::fib::table::{CountedView, group_of};
use crate::fib::{Reader, TableId, View};
use crate::flows::Flows;

/// State of one interface.
#[derive(Clone, Debug, PartialEq)]
pub struct IpInterface<F: Family> {
    /// The slot of its table, and [`ENABLED`] if it speaks the family.
    pub word: u32,
    /// Its addresses. The first is the source address of its own packets.
    pub addresses: Arc<[InterfaceAddress<F>]>,
    /// Its link-local address.
    pub link_local: Option<F::Address>,
    /// The glean adjacency of its link if it has a link-local address; else 0.
    pub link_hop: u32,
    /// Link header of the frames that it sends.
    pub link: Link,
    /// The groups that it is in for others.
    pub joined: Arc<[F::Address]>,
}

impl<F: Family> IpInterface<F> {
    /// All its addresses.
    pub fn own(&self) -> impl Iterator<Item = F::Address> + '_ {
        self.addresses.iter().map(InterfaceAddress::address).chain(self.link_local)
    }
    /// Whether it speaks the family.
    pub fn speaks(&self) -> bool {
        self.word & ENABLED != 0
    }
    /// The groups that it is in, each once: those of all routers, those of its addresses, and those that it is in for others.
    pub fn groups(&self) -> BTreeSet<F::Address> {
        let standing = F::GROUPS.iter().copied().filter(|_| self.speaks());
        standing.chain(self.own().filter_map(F::own_group)).chain(self.joined.iter().copied()).collect()
    }
    /// Whether it is in a group.
    pub fn is_in(&self, group: F::Address) -> bool {
        let is_standing = self.speaks() && F::GROUPS.contains(&group);
        is_standing || self.joined.contains(&group) || self.own().any(|own| F::own_group(own) == Some(group))
    }
}

impl<F: Family> Default for IpInterface<F> {
    fn default() -> IpInterface<F> {
        IpInterface {
            word: 0,
            addresses: Arc::new([]),
            link_local: None,
            link_hop: 0,
            link: Link::default(),
            joined: Arc::new([]),
        }
    }
}

/// Set in an interface's word: packets that it receives are forwarded.
pub const ENABLED: u32 = 1 << 16;

/// The slot of the table in an interface's word.
#[inline(always)]
pub fn slot_of(word: u32) -> u32 {
    word & 0xffff
}

/// A table as workers read it.
#[derive(Clone)]
pub struct TableView<F: Family> {
    /// Its number.
    pub id: TableId,
    /// From addresses to leaves.
    pub lpm: F::Reader,
    /// Mapping from leaves to groups in a table that counts by route; in other tables leaves are groups.
    pub counted: Option<CountedView>,
    /// Whether packets for one host that came in frames for many are forwarded (RFC 1812, 5.3.4, says no).
    pub forwards_broadcasts: bool,
    /// By what flows are told apart.
    pub flows: Flows,
}

impl<F: Family> TableView<F> {
    /// The group by which packets for an address go; 0 if there is no route. For nodes that look up packet by packet.
    pub fn group(&self, guard: Guard<'_>, to: F::Address) -> u32 {
        self.group_of(guard, F::bits(to))
    }
    /// The same, of an address as lookups take it.
    pub fn group_of(&self, guard: Guard<'_>, to: F::Bits) -> u32 {
        let leaf = self.lpm.view(guard).lookup(to);
        self.counted.as_ref().map_or(leaf, |counted| group_of(counted.groups.read(guard), leaf))
    }
    /// The groups of eight addresses.
    #[inline(always)]
    pub fn groups(&self, guard: Guard<'_>, to: &[F::Bits; LANES]) -> [u32; LANES] {
        let mut leaves = self.lpm.view(guard).lookup_each(to);
        if let Some(counted) = &self.counted {
            let groups = counted.groups.read(guard);
            for lane in 0..LANES {
                leaves[lane] = group_of(groups, leaves[lane]);
            }
        }
        leaves
    }
}

/// All interfaces and tables: one snapshot, so that a frame sees them in step.
#[derive(Clone)]
pub struct Ingress<F: Family> {
    /// By number of the interface. Each is large and shares lists, so that pages have few.
    pub interfaces: Paged<IpInterface<F>, 16>,
    /// By slot.
    pub tables: Arc<[Option<TableView<F>>]>,
    /// Whether some table counts by route.
    pub counting: bool,
    /// Whether some table tells flows apart otherwise than usual.
    pub choosing: bool,
    /// The prefixes of special use whose packets are forwarded like others, and whether there are any.
    pub ordinary: Arc<[Prefix<F>]>,
    /// See [`Ingress::ordinary`].
    pub lenient: bool,
    /// Addresses that are not to be used, by interface: nobody knows yet whether they are ours alone, or they are not (RFC 4862,
    /// 5.4).
    pub unusable: Arc<[(InterfaceId, F::Address)]>,
    /// Deprecated addresses, avoided as source of new traffic (RFC 4862, 5.5.4).
    pub deprecated: Arc<[(InterfaceId, F::Address)]>,
    /// Path MTUs, by the table in which the host is looked up and the host's address.
    pub path_mtus: PathMtus<F>,
}

impl<F: Family> Default for Ingress<F> {
    fn default() -> Ingress<F> {
        Ingress {
            interfaces: Paged::default(),
            tables: Arc::new([]),
            counting: false,
            choosing: false,
            ordinary: Arc::new([]),
            lenient: false,
            unusable: Arc::new([]),
            deprecated: Arc::new([]),
            path_mtus: PathMtus::<F>::default(),
        }
    }
}

impl<F: Family> Ingress<F> {
    /// Whether packets of an address of special use are forwarded like others.
    pub fn is_ordinary(&self, address: F::Address) -> bool {
        self.ordinary.iter().any(|prefix| prefix.contains(address))
    }
    /// The word of an interface.
    #[inline(always)]
    pub fn word(&self, interface: u32) -> u32 {
        self.interfaces.get(interface as usize).map_or(0, |interface| interface.word)
    }
    /// The slot of the table in which packets of an interface are looked up.
    #[inline(always)]
    pub fn slot(&self, interface: u32) -> u32 {
        slot_of(self.word(interface))
    }
    /// The table in which packets of an interface are looked up.
    #[inline(always)]
    pub fn table(&self, word: u32) -> Option<&TableView<F>> {
        self.tables.get(slot_of(word) as usize)?.as_ref()
    }
    /// Path MTU to a host for packets that this interface received, if known.
    pub fn path_mtu(&self, interface: u32, to: F::Address) -> Option<u16> {
        if self.path_mtus.is_empty() {
            return None;
        }
        let table = self.table(self.word(interface))?.id;
        self.path_mtus.get(&(table, to)).copied()
    }
    /// Link header of the frames that an interface sends.
    pub fn link(&self, interface: InterfaceId) -> Option<&Link> {
        self.interfaces.get(interface.index()).map(|interface| &interface.link)
    }
    /// The addresses of an interface.
    pub fn addresses(&self, interface: InterfaceId) -> &[InterfaceAddress<F>] {
        self.interfaces.get(interface.index()).map_or(&[], |interface| &interface.addresses)
    }
    /// Whether an address is the interface's own.
    pub fn is_own(&self, interface: InterfaceId, address: F::Address) -> bool {
        self.interfaces.get(interface.index()).is_some_and(|own| own.own().any(|own| own == address))
    }
    /// Whether an address of an interface may be used.
    pub fn is_usable(&self, interface: InterfaceId, address: F::Address) -> bool {
        !self.unusable.contains(&(interface, address))
    }
    /// Whether an address is one that may not be used, of an interface that looks up in the same table as this one.
    pub fn is_withheld(&self, interface: InterfaceId, address: F::Address) -> bool {
        let slot = self.slot(interface.0);
        self.unusable.iter().any(|(id, own)| *own == address && self.slot(id.0) == slot)
    }
    /// The address of an interface that is best to speak to `peer` with: one of the same scope and, if there is one, of the
    /// same subnet (RFC 6724, 5); none that may not be used, and a deprecated one only if there is no other.
    pub fn source_for(&self, interface: InterfaceId, peer: F::Address) -> Option<F::Address> {
        let id = interface;
        let interface = self.interfaces.get(id.index())?;
        let link_local = interface.link_local.filter(|own| self.is_usable(id, *own));
        if F::is_link_local(peer) {
            return link_local;
        }
        let usable = || interface.addresses.iter().filter(|own| self.is_usable(id, own.address()));
        let is_preferred = |own: &&InterfaceAddress<F>| !self.deprecated.contains(&(id, own.address()));
        let on_subnet = |own: &&InterfaceAddress<F>| own.prefix().contains(peer);
        // RFC 6724, 5: rule 3 comes before rule 8.
        let preferred = usable().filter(is_preferred).find(on_subnet).or_else(|| usable().find(is_preferred));
        let best = preferred.or_else(|| usable().find(on_subnet)).or_else(|| usable().next());
        best.map(InterfaceAddress::address).or(link_local)
    }
    /// The same, to a peer that may be on another link: where the interface has nothing but its address for its own link, one of
    /// another interface that looks up in the same table (RFC 6724, 4; RFC 7404, 2.2).
    pub fn source_beyond(&self, interface: InterfaceId, peer: F::Address) -> Option<F::Address> {
        let means_something = |own: &F::Address| !F::is_link_local(*own) || F::is_link_local(peer);
        let word = self.word(interface.0);
        let own = self.source_for(interface, peer).filter(means_something);
        let others = (0..).map(InterfaceId).zip(self.interfaces.iter()).filter(|(_, other)| other.word == word);
        let usable = |(id, other): (InterfaceId, &IpInterface<F>)| {
            other.addresses.iter().map(InterfaceAddress::address).find(|own| self.is_usable(id, *own))
        };
        own.or_else(|| others.into_iter().find_map(usable))
    }
}
