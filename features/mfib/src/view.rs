//! State for workers: routes by table and group.
//!
//! A leaf of a table's prefixes is the number of a *group*: its route for all senders, or the next shorter one's, and those
//! for single senders. So the longest match is one lookup and a search among a group's senders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_engine::{Guard, Paged};
use quiver_ip::Family;
use quiver_ip::fib::{Reader, View as _};
use quiver_wire::Prefix;

/// Flags of an entry, with the numbers that VPP's clients know them by.
pub mod entry {
    /// Packets are told to clients.
    pub const SIGNAL: u8 = 1;
    /// Packets are dropped.
    pub const DROP: u8 = 2;
    /// Packets of senders on the receiving link are told to clients.
    pub const CONNECTED: u8 = 4;
    /// Packets may come from anywhere.
    pub const ACCEPT_ALL: u8 = 8;
}

/// Flags of an interface of an entry, with the numbers that VPP's clients know them by.
pub mod port {
    /// Inverts the entry's signal flag for this interface.
    pub const NEGATE_SIGNAL: u8 = 1;
    /// Packets may come from here.
    pub const ACCEPT: u8 = 2;
    /// Packets go there.
    pub const FORWARD: u8 = 4;
    /// A signal waits to be read. It follows from packets, and is not configured.
    pub const SIGNAL_PRESENT: u8 = 8;
    /// Signals are without the packet.
    pub const DONT_PRESERVE: u8 = 16;
}

/// An interface of an entry.
#[derive(Clone, Debug)]
pub struct Port {
    /// The interface, by its number.
    pub interface: u32,
    /// Flags of the interface: [`port`].
    pub flags: u8,
    /// Whether a signal waits to be read: then there is no other.
    pub signalled: Arc<AtomicBool>,
}

impl Port {
    /// Whether a signal waits to be read.
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed)
    }
}

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// The sending interface.
    pub interface: u32,
    /// The adjacency.
    pub hop: u32,
    /// Whether the adjacency is a router's, and not all the link's.
    pub to_router: bool,
}

/// A route.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Flags of the route: [`entry`].
    pub flags: u8,
    /// Whether it is for us, too.
    pub local: bool,
    /// Its interfaces, in their order.
    pub ports: Box<[Port]>,
    /// Where copies go.
    pub outs: Box<[Out]>,
    /// Where its packets are counted.
    pub counter: u32,
    /// Which it is, of all that ever were.
    pub serial: u64,
}

impl Entry {
    /// Flags and state of an interface of the route.
    pub fn port(&self, interface: u32) -> Option<&Port> {
        let place = self.ports.binary_search_by_key(&interface, |port| port.interface).ok()?;
        self.ports.get(place)
    }
}

/// The routes of a prefix of groups.
#[derive(Clone, Debug)]
pub struct Group<F: Family> {
    /// The groups.
    pub prefix: Prefix<F>,
    /// The (*, G) route of this prefix, or of the next shorter one that has one.
    pub any: Option<Arc<Entry>>,
    /// (S, G) routes, in the order of their sources.
    pub sources: Box<[(F::Address, Arc<Entry>)]>,
}

impl<F: Family> Group<F> {
    /// The route of a sender's packets.
    pub fn find(&self, source: F::Address) -> Option<&Entry> {
        let single = self.sources.binary_search_by_key(&source, |(source, _)| *source);
        let single = single.ok().and_then(|place| self.sources.get(place)).map(|(_, entry)| entry);
        single.or(self.any.as_ref()).map(|entry| &**entry)
    }
}

/// All routes of a family.
#[derive(Clone)]
pub struct View<F: Family> {
    /// Tables from groups to numbers, by the slot of the table.
    pub tables: Vec<Option<F::Reader>>,
    /// Groups by number.
    pub groups: Paged<Option<Arc<Group<F>>>>,
}

impl<F: Family> Default for View<F> {
    fn default() -> View<F> {
        View { tables: vec![], groups: Paged::default() }
    }
}

impl<F: Family> View<F> {
    /// The number of the longest prefix that a group is in, in the table of this slot; 0 if there is none.
    pub fn leaf(&self, guard: Guard<'_>, slot: usize, group: F::Address) -> u32 {
        let table = self.tables.get(slot).and_then(Option::as_ref);
        table.map_or(0, |table| table.view(guard).lookup(F::bits(group)))
    }
    /// The routes of a number that a group has led to. None of a number that was another's when this was published.
    pub fn group(&self, leaf: u32, group: F::Address) -> Option<&Group<F>> {
        let found = self.groups.get(leaf as usize)?.as_ref()?;
        Some(&**found).filter(|found| found.prefix.contains(group))
    }
}
