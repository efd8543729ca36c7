//! Reachability of source addresses: by any path, and through an interface.

use quiver_control::Control;
use quiver_engine::{Guard, Paged, Snapshot};
use quiver_interface::Direction;
use quiver_ip::adjacency::AdjacencyTable;
use quiver_ip::fib::hop::{self, Continuation};
use quiver_ip::fib::rows::{BUCKETS, GroupRow, GroupRows};
use quiver_ip::node::again::LOOKUPS_MAX;
use quiver_ip::{Ingress, Ip, crossing};

use crate::config::{Checked, Mode, Setting};

/// State that all nodes of a direction read.
#[derive(Clone)]
pub struct CheckTables<F: Checked> {
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that addresses lead to.
    pub groups: Snapshot<GroupRows>,
    /// Adjacencies of the groups' next hops.
    pub adjacencies: Snapshot<AdjacencyTable<F>>,
    /// Checks of the interfaces, with their tables.
    pub words: Snapshot<Paged<Setting>>,
    /// Groups and adjacencies of the other family, whose neighbors may be next hops.
    pub others: (Snapshot<GroupRows>, Snapshot<AdjacencyTable<F::Other>>),
    /// The groups there that next hops of the other family are, by number, and those here that the other has.
    pub crossings: (Snapshot<Paged<u32>>, Snapshot<Paged<u32>>),
}

impl<F: Checked> CheckTables<F> {
    /// Snapshots of the current state, which follow later changes.
    pub(crate) fn new(control: &Control, words: Snapshot<Paged<Setting>>) -> CheckTables<F> {
        let (ip, other) = (control.room::<Ip<F>>(), control.room::<Ip<F::Other>>());
        let (groups, adjacencies) = (ip.fib.groups.snapshot(), ip.fib.adjacencies.snapshot());
        let others = (other.fib.groups.snapshot(), other.fib.adjacencies.snapshot());
        let crossings = (crossing::ways::<F>(control), crossing::ways::<F::Other>(control));
        CheckTables { ingress: ip.ingress(), groups, adjacencies, words, others, crossings }
    }
}

/// Reachability of a source address.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Reachability {
    /// Whether any path leads to it.
    pub any: bool,
    /// Whether a path uses the interface in question.
    pub back: bool,
}

impl Reachability {
    /// Reachability by a neighbor behind an interface.
    #[inline(always)]
    pub fn by(interface: u32, back: u32) -> Reachability {
        Reachability { any: true, back: interface == back }
    }
    /// Reachability by the paths of both.
    #[inline(always)]
    pub fn and(self, other: Reachability) -> Reachability {
        Reachability { any: self.any | other.any, back: self.back | other.back }
    }
    /// Whether a sender with such ways is good.
    #[inline(always)]
    pub fn are_good(self, direction: Direction, mode: Mode) -> bool {
        match (mode, direction) {
            (Mode::Loose, _) => self.any,
            (Mode::Strict, Direction::Rx) => self.back,
            (Mode::Strict, Direction::Tx) => self.any && !self.back,
        }
    }
}

/// Reads all ways again, after a frame's first look: a route may have been added since it began, and the groups have
/// grown for it.
pub struct Look<'f, F: Checked> {
    /// The ways there are.
    pub ways: &'f CheckTables<F>,
    /// The tables, as the frame reads them.
    pub ingress: &'f Ingress<F>,
    /// The frame's.
    pub guard: Guard<'f>,
    /// The sender.
    pub address: F::Bits,
    /// The interface in question.
    pub interface: u32,
}

impl<'f, F: Checked> Look<'f, F> {
    /// Where all ways of a group lead.
    pub fn group(&self, group: u32) -> Reachability {
        self.own(group, LOOKUPS_MAX)
    }
    /// The same, with so many steps to other tables or to the other family.
    fn own(&self, group: u32, steps: usize) -> Reachability {
        let row = self.ways.groups.read(self.guard).get(group as usize);
        each(row).map(|hop| self.hop(hop, steps)).fold(Reachability::default(), Reachability::and)
    }
    /// Where a hop leads.
    fn hop(&self, hop: u32, steps: usize) -> Reachability {
        let Some(again) = Continuation::of(hop) else {
            let row = |hop| self.ways.adjacencies.read(self.guard).row(hop).tx();
            return end(hop, self.interface, row);
        };
        let in_table = |slot: u32| match (steps.checked_sub(1), self.ingress.table(slot)) {
            (Some(steps), Some(table)) => self.own(table.group_of(self.guard, self.address), steps),
            _ => Reachability::default(),
        };
        match again {
            Continuation::Destination(slot) => in_table(slot.into()),
            Continuation::Received(interface) => in_table(self.ingress.word(interface)),
            Continuation::Crossing(number) => {
                steps.checked_sub(1).map_or(Reachability::default(), |steps| self.crossing(number, steps))
            }
            Continuation::Kind(of_kind) => match of_kind.interface() {
                Some(interface) => Reachability::by(interface, self.interface),
                // By whatever way, it is inside of other packets.
                None => Reachability { any: true, back: false },
            },
            // Where these go depends on who sends them.
            Continuation::Source(_) => Reachability { any: true, back: false },
        }
    }
    /// Where the way to a next hop of the other family leads.
    fn crossing(&self, number: u16, steps: usize) -> Reachability {
        let group = |crossings: &'f Snapshot<Paged<u32>>, number: u16| {
            crossings.read(self.guard).get(number.into()).copied().unwrap_or(0)
        };
        let rows = self.ways.others.0.read(self.guard);
        let row = rows.get(group(&self.ways.crossings.0, number) as usize);
        let hops = each(row).map(|hop| match (Continuation::of(hop), steps.checked_sub(1)) {
            (Some(Continuation::Crossing(number)), Some(steps)) => {
                self.own(group(&self.ways.crossings.1, number), steps)
            }
            (Some(Continuation::Kind(of_kind)), _) if of_kind.is_inside() => Reachability { any: true, back: false },
            // Tables and interfaces of the other family mean nothing to the packet.
            (Some(_), _) => Reachability::default(),
            (None, _) => end(hop, self.interface, |hop| self.ways.others.1.read(self.guard).row(hop).tx()),
        });
        hops.fold(Reachability::default(), Reachability::and)
    }
}

/// The hops of a group, those once that come one after the other: else each step would be sixteen.
fn each(row: Option<&GroupRow>) -> impl Iterator<Item = u32> {
    let hops: [u32; BUCKETS] = std::array::from_fn(|bucket| row.map_or(hop::NO_ROUTE, |row| row.hop(bucket as u32)));
    (0..BUCKETS).filter(move |&i| i == 0 || hops[i] != hops[i - 1]).map(move |i| hops[i])
}

/// Where a hop leads that says itself where.
#[inline(always)]
pub fn end(hop: u32, interface: u32, sends_by: impl Fn(u32) -> u32) -> Reachability {
    match hop {
        hop @ hop::FIRST_ADJACENCY..hop::AGAIN => Reachability::by(sends_by(hop), interface),
        hop::LOCAL => Reachability { any: true, back: false },
        // Whoever has such an address is on the link.
        hop::LINK_LOCAL => Reachability { any: true, back: true },
        _ => Reachability::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_wants_any_way_and_strict_the_right_one() {
        let [none, other, back] =
            [(false, false), (true, false), (true, true)].map(|(any, back)| Reachability { any, back });
        for (direction, mode, good) in [
            (Direction::Rx, Mode::Loose, [false, true, true]),
            (Direction::Tx, Mode::Loose, [false, true, true]),
            (Direction::Rx, Mode::Strict, [false, false, true]),
            (Direction::Tx, Mode::Strict, [false, true, false]),
        ] {
            assert_eq!([none, other, back].map(|leads| leads.are_good(direction, mode)), good, "{direction} {mode}");
        }
    }
}
