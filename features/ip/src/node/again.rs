//! `ip4-lookup-again`, `ip6-lookup-again`: packets whose route says to look them up in another table, by destination or
//! sender, or as if another interface had received them; and those whose next hop is of a kind that a room has registered, for whose
//! node they leave ([`crate::register_kind`]).
//!
//! They come from `ip4-rewrite`, which has no neighbour for them: what the lookup could not follow itself. What is found
//! is dealt with as `ip4-lookup` does, and counted by route where the table counts. Tables that send packets to each other in
//! a circle are left after [`LOOKUPS_MAX`] lookups.

use quiver_engine::{Context, Frame, Guard, Node, Snapshot, arcs};
use quiver_wire::{Header, IpHeader};

use crate::disposition::{Disposition, Dispositions};
use crate::family::Family;
use crate::fib::hop::{self, Continuation, KindHop};
use crate::fib::rows::{GroupRow, GroupRows};
use crate::fib::table::group_of;
use crate::fib::{Reader, View};
use crate::ingress::{Ingress, TableView};

/// Lookups of one packet at most, behind the first.
pub const LOOKUPS_MAX: usize = 4;

/// The arcs of kinds of next hops, by number.
pub type KindArcs = [u16; KindHop::KINDS];

/// The arcs while no room has registered a kind: those of IP's own.
pub const OWN_KINDS: KindArcs = {
    let mut arcs = [Next::Unresolved as u16; KindHop::KINDS];
    let mut kind = 0;
    while kind < hop::OWN as usize {
        // Looked up as often as may be, a packet is to be looked up once more.
        arcs[kind] = if kind == hop::CROSSING as usize { Next::Crossing as u16 } else { Next::Loop as u16 };
        kind += 1;
    }
    arcs
};

arcs! {
    /// Where packets go from `ip4-lookup-again`; behind these arcs come those of kinds of next hops.
    pub enum Next of F: Family {
        Rewrite => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        /// Senders are told why.
        Told => node (F::NAMES.error),
        Drop => drop "route-drop",
        OnLink => arc (F::ON_LINK),
        Unresolved => drop "unresolved-route",
        Loop => drop "lookup-loop",
        Crossing => node (F::NAMES.crossing),
    }
}

/// The node.
pub struct LookupAgain<F: Family> {
    /// The tables.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that leaves lead to.
    pub groups: Snapshot<GroupRows>,
    /// The arcs of kinds of next hops.
    pub kinds: Snapshot<KindArcs>,
    /// The worker, whose counters by route are written.
    pub worker: usize,
    /// Dispositions of packets that reach no neighbor.
    pub dispositions: Dispositions,
}

impl<F: Family> Node for LookupAgain<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (guard, worker) = (cx.guard, self.worker);
        let tables = Tables { ingress: self.ingress.read(guard), groups: self.groups.read(guard), guard, worker };
        let kinds = self.kinds.read(guard);
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i);
            // Input has looked at it.
            let Some((header, _)) = F::Header::parse(bytes) else {
                frame.next[i] = Next::Unresolved.into();
                continue;
            };
            let ends = (header.source(), header.destination());
            let (hop, rx) = tables.follow((frame.hop[i], frame.rx[i]), ends, bytes, header.packet_length());
            frame.rx[i] = rx;
            let disposition = match KindHop::of(hop) {
                Some(of_kind) => {
                    of_kind.interface().into_iter().for_each(|interface| frame.tx[i] = interface);
                    Disposition { arc: kinds[usize::from(of_kind.kind())], hop }
                }
                None if hop >= hop::FIRST_ADJACENCY => Disposition { arc: Next::Rewrite.into(), hop },
                None => self.dispositions.of_hop(hop),
            };
            (frame.next[i], frame.hop[i]) = (disposition.arc, disposition.hop);
        }
    }
}

/// The tables, as a frame sees them.
struct Tables<'f, F: Family> {
    ingress: &'f Ingress<F>,
    groups: &'f [GroupRow],
    guard: Guard<'f>,
    worker: usize,
}

impl<F: Family> Tables<'_, F> {
    /// Looks a packet between two `ends` up as often as its hop says so; the hop that it has in the end, and the interface that
    /// counts as the receiving one.
    fn follow(
        &self,
        (mut hop, mut rx): (u32, u32),
        (from, to): (F::Address, F::Address),
        packet: &[u8],
        length: usize,
    ) -> (u32, u32) {
        for _ in 0..LOOKUPS_MAX {
            let (slot, address) = match Continuation::of(hop) {
                None | Some(Continuation::Kind(_) | Continuation::Crossing(_)) => break,
                Some(Continuation::Destination(slot)) => (slot.into(), to),
                Some(Continuation::Source(slot)) => (slot.into(), from),
                Some(Continuation::Received(interface)) => {
                    rx = interface;
                    (self.ingress.word(rx), to)
                }
            };
            let table = self.ingress.table(slot);
            hop = table.map_or(hop::NO_ROUTE, |table| self.look_up(table, address, packet, length));
        }
        (hop, rx)
    }
    fn look_up(&self, table: &TableView<F>, address: F::Address, packet: &[u8], length: usize) -> u32 {
        let leaf = table.lpm.view(self.guard).lookup(F::bits(address));
        let group = table.counted.as_ref().map_or(leaf, |counted| {
            if let Some(row) = counted.rows.get(self.worker) {
                row.add(leaf, 1, length as u64);
            }
            group_of(counted.groups.read(self.guard), leaf)
        });
        let row = self.groups.get(group as usize);
        row.map_or(hop::NO_ROUTE, |row| row.hop(table.flows.hash_of::<F>(packet)))
    }
}
