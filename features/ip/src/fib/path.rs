//! Paths: where a route may send packets, as it was configured.

use std::fmt;
use std::net::IpAddr;

use quiver_interface::InterfaceId;
use quiver_wire::IpFamily;

use super::kind::Kind;

/// The number of a table (VRF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

impl TableId {
    /// The table that is always there.
    pub const DEFAULT: TableId = TableId(0);
}

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Owner of a route. If a prefix has routes of several sources, the one with the lowest priority value is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Built-in routes of every table, such as those that drop martian destinations.
    Special,
    /// An interface's address: connected, local and broadcast routes.
    Interface,
    /// Configuration.
    Static,
    /// A host for which we answer on other links.
    Proxy,
    /// A router on a link that advertises itself.
    Router,
    /// A neighbour that was resolved or configured.
    Neighbor,
    /// A neighbour on a link to which a route of another table leads.
    Attached,
    /// The table itself: what becomes of packets that no other route takes. It is no way to a next hop.
    Default,
    /// A source that a client has added.
    Client {
        /// Its priority.
        priority: u8,
        /// Its number.
        id: u8,
    },
}

impl Source {
    /// Those that are always there.
    pub const OURS: [Source; 8] = [
        Source::Special,
        Source::Interface,
        Source::Static,
        Source::Proxy,
        Source::Router,
        Source::Neighbor,
        Source::Attached,
        Source::Default,
    ];

    /// The less, the more its routes count. Clients know these numbers from VPP.
    pub const fn priority(self) -> u8 {
        match self {
            Source::Special => 0x00,
            Source::Interface => 0x03,
            Source::Static => 0x80,
            Source::Proxy => 0xc0,
            Source::Router => 0xc1,
            Source::Neighbor => 0xd0,
            Source::Attached => 0xf0,
            Source::Default => 0xfd,
            Source::Client { priority, .. } => priority,
        }
    }
    /// By which clients' messages name it.
    pub const fn number(self) -> u8 {
        match self {
            Source::Special => 1,
            Source::Interface => 4,
            Source::Static => 8,
            Source::Proxy => 13,
            Source::Router => 14,
            Source::Neighbor => 15,
            Source::Attached => 17,
            Source::Default => 20,
            Source::Client { id, .. } => id,
        }
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Source) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Source {
    /// By priority; of equal ones, the source counts that was there first.
    fn cmp(&self, other: &Source) -> std::cmp::Ordering {
        (self.priority(), self.number()).cmp(&(other.priority(), other.number()))
    }
}

/// Clients know sources by these names from VPP.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Special => f.write_str("special"),
            Source::Interface => f.write_str("interface"),
            Source::Static => f.write_str("API"),
            Source::Proxy => f.write_str("IPv6-proxy-nd"),
            Source::Router => f.write_str("IPv6-nd"),
            Source::Neighbor => f.write_str("adjacency"),
            Source::Attached => f.write_str("attached_export"),
            Source::Default => f.write_str("default-route"),
            Source::Client { id, .. } => write!(f, "source {id}"),
        }
    }
}

/// Action for packets that are not forwarded to a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Special {
    /// They vanish.
    Drop,
    /// Their sender is told that the host is unreachable (RFC 1812, 5.2.7.1).
    Unreachable,
    /// Their sender is told that an administrator forbids it (RFC 1812, 5.2.7.1).
    Prohibit,
    /// They are for us.
    Local,
    /// They are for everybody on a link of ours; routers do not forward them unless told to (RFC 2644).
    Broadcast,
    /// They are for somebody on the link that they are on (RFC 4291, 2.5.6).
    LinkLocal,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::Drop => "drop",
            Special::Unreachable => "unreachable",
            Special::Prohibit => "prohibit",
            Special::Local => "local",
            Special::Broadcast => "broadcast",
            Special::LinkLocal => "link-local",
        })
    }
}

/// A next hop of the other family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrossFamilyHop {
    /// The interface that leads to it; without one it is looked up in that family's table 0.
    pub interface: Option<InterfaceId>,
    /// Its address.
    pub via: IpAddr,
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target<F: IpFamily> {
    /// To a router on a link.
    NextHop(InterfaceId, F::Address),
    /// To the destination itself, which is on a link.
    Link(InterfaceId),
    /// To wherever a table sends packets for this address.
    Recursive(TableId, F::Address),
    /// Nowhere else.
    Special(Special),
    /// To wherever another table sends packets for their own destinations.
    Lookup(TableId),
    /// To wherever another table sends packets for their senders.
    SourceLookup(TableId),
    /// To wherever packets go that this interface receives.
    Received(InterfaceId),
    /// To the next hop of this index, of a kind that a room has registered.
    Kind(Kind, u32),
    /// To a router known by an address of the other family (RFC 8950), by the number of the way to it.
    Crossing(u16, CrossFamilyHop),
}

/// One of the paths of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path<F: IpFamily> {
    /// Where it leads.
    pub target: Target<F>,
    /// Its share of the flows, relative to those of the route's other paths; 0 counts as 1.
    pub weight: u8,
    /// Of the paths that lead somewhere, those with the least of these numbers are used.
    pub preference: u8,
    /// Whether it was taken from the route. It keeps its place, so that the flows of the others keep theirs, and leads nowhere.
    pub gone: bool,
}

impl<F: IpFamily> Path<F> {
    /// The way to a next hop of the other family that it leads over.
    pub(crate) fn crossed(&self) -> Option<CrossFamilyHop> {
        match self.target {
            Target::Crossing(_, way) => Some(way),
            _ => None,
        }
    }
    /// The only path of a route, or one of equal weight.
    pub fn to(target: Target<F>) -> Path<F> {
        Path { target, weight: 1, preference: 0, gone: false }
    }
}

/// The paths of a route that had others before. Where paths were only taken away, or come back, what goes keeps its place
/// beside the rest as long as there is a choice among these: the flows on paths that stay do not move.
pub(super) fn in_place<F: IpFamily>(before: &[Path<F>], mut paths: Vec<Path<F>>) -> Vec<Path<F>> {
    let is = |path: &Path<F>, other: &Path<F>| Path { gone: false, ..*path } == *other;
    let all_known = paths.iter().all(|path| before.iter().any(|old| is(old, path)));
    if all_known && paths.len() > 1 {
        let gone = before.iter().filter(|old| !paths.iter().any(|path| is(old, path)));
        let gone: Vec<_> = gone.map(|old| Path { gone: true, ..*old }).collect();
        paths.extend(gone);
    }
    paths
}
