//! Where a packet would leave: a new session depends on it, because only packets that leave by an outside interface are translated.

use quiver_control::Control;
use quiver_engine::{Guard, Snapshot};
use quiver_ip::adjacency::AdjacencyTable;
use quiver_ip::fib::hop::{self, Continuation};
use quiver_ip::fib::rows::GroupRows;
use quiver_ip::node::again::LOOKUPS_MAX;
use quiver_ip::{Ingress, Ip};
use quiver_wire::V4;

/// Tables of routes.
#[derive(Clone)]
pub struct Routes {
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<V4>>,
    groups: Snapshot<GroupRows>,
    adjacencies: Snapshot<AdjacencyTable<V4>>,
}

/// Where a packet would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// To us.
    Local,
    /// To a neighbor behind an interface.
    Interface(u32),
    /// Nowhere, or by a way that the route's owner decides.
    Other,
}

impl Routes {
    /// Snapshots of the current state, which follow later changes.
    pub fn new(control: &Control) -> Routes {
        let ip = control.room::<Ip<V4>>();
        Routes { ingress: ip.ingress(), groups: ip.fib.groups.snapshot(), adjacencies: ip.fib.adjacencies.snapshot() }
    }
    /// Where a packet to an address would leave, in the table of a slot. Of several paths the first one counts.
    pub fn egress(&self, guard: Guard<'_>, slot: u32, to: u32) -> Egress {
        let leaves = |hop: u32| Egress::Interface(self.adjacencies.read(guard).row(hop & !hop::MANY).tx());
        self.adjacency(guard, slot, to).map_or_else(|egress| egress, leaves)
    }
    /// Bytes that such a packet can have at most, if it would leave to a neighbor.
    pub fn mtu(&self, guard: Guard<'_>, slot: u32, to: u32) -> Option<u16> {
        let hop = self.adjacency(guard, slot, to).ok()?;
        Some(self.adjacencies.read(guard).row(hop & !hop::MANY).mtu())
    }
    /// The adjacency by which it would leave; the error says where it goes without one.
    fn adjacency(&self, guard: Guard<'_>, slot: u32, to: u32) -> Result<u32, Egress> {
        // In this order: a group's row was there before a leaf led to it.
        let ingress = self.ingress.read(guard);
        let (groups, mut slot) = (self.groups.read(guard), slot);
        for _ in 0..=LOOKUPS_MAX {
            let table = ingress.table(slot).ok_or(Egress::Other)?;
            let group = table.group(guard, to.into());
            let found = groups.get(group as usize).map_or(hop::NO_ROUTE, |row| row.hop(0));
            slot = match Continuation::of(found) {
                Some(Continuation::Destination(slot)) => slot.into(),
                Some(Continuation::Received(interface)) => ingress.slot(interface),
                Some(Continuation::Kind(kind)) => {
                    return Err(kind.interface().map_or(Egress::Other, Egress::Interface));
                }
                Some(_) => return Err(Egress::Other),
                None if found >= hop::FIRST_ADJACENCY => return Ok(found),
                None if matches!(found, hop::LOCAL | hop::BROADCAST | hop::LINK_LOCAL) => return Err(Egress::Local),
                None => return Err(Egress::Other),
            };
        }
        Err(Egress::Other)
    }
}
