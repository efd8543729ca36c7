//! `ip4-rx-urpf-loose`, `ip4-rx-urpf-strict`, `ip4-tx-urpf-loose`, `ip4-tx-urpf-strict`, and the same of IPv6: is there a way
//! back to the sender?
//!
//! Loose (RFC 3704, 2.4): there is a route to its address that leads somewhere. Strict (RFC 3704, 2.2): what an interface
//! receives has senders to whom packets go by this interface, and what is sent by one has senders to whom they go by another.
//! Packets for groups and for all pass, and so do our own on their way out.

use quiver_engine::trace::Record;
use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_ip::Ingress;
use quiver_ip::adjacency::AdjacencyTable;
use quiver_ip::family::BACK;
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{BUCKETS, GroupRow, GroupRows};
use quiver_wire::{Header, IpHeader};

use crate::config::{Checked, Direction, Mode, OWN};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        NoWayBack => drop "no-reverse-path",
    }
}

/// A node.
#[derive(Clone)]
pub struct ReversePath<F: Checked> {
    /// Whether it sees what interfaces receive, or what they send.
    pub direction: Direction,
    /// How much it wants.
    pub mode: Mode,
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that addresses lead to.
    pub groups: Snapshot<GroupRows>,
    /// By which interfaces groups' hops send.
    pub adjacencies: Snapshot<AdjacencyTable<F>>,
    /// Slots of tables by interface, [`OWN`] for the interface's own.
    pub tables: Snapshot<Vec<u32>>,
}

/// Where the ways to an address lead.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Ways {
    /// Anywhere.
    any: bool,
    /// Out by the interface in question.
    back: bool,
}

impl Ways {
    fn of<F: Checked>(row: &GroupRow, adjacencies: &AdjacencyTable<F>, interface: u16) -> Ways {
        let mut ways = Ways::default();
        for bucket in 0..BUCKETS as u32 {
            match row.hop(bucket) {
                hop @ hop::FIRST_ADJACENCY.. => {
                    ways.any = true;
                    ways.back |= adjacencies.row(hop).tx() == interface;
                }
                hop::LOCAL => ways.any = true,
                // Whoever has such an address is on the link.
                hop::LINK_LOCAL => ways = Ways { any: true, back: true },
                _ => {}
            }
        }
        ways
    }
    fn are_good(self, direction: Direction, mode: Mode) -> bool {
        match (mode, direction) {
            (Mode::Loose, _) => self.any,
            (Mode::Strict, Direction::Rx) => self.back,
            (Mode::Strict, Direction::Tx) => self.any && !self.back,
        }
    }
}

/// Where the IP header begins, from where the node's packets begin.
fn start(direction: Direction) -> usize {
    match direction {
        Direction::Rx => 0,
        Direction::Tx => BACK as usize,
    }
}

impl<F: Checked> Node for ReversePath<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (guard, start) = (cx.guard, start(self.direction));
        // In this order: a group's row was there before a leaf led to it.
        let (ingress, tables) = (self.ingress.read(guard), self.tables.read(guard));
        let (groups, adjacencies) = (self.groups.read(guard), self.adjacencies.read(guard));
        for i in 0..frame.len() {
            let interface = match self.direction {
                Direction::Rx => frame.rx[i],
                Direction::Tx if frame.flags(i).has(Flags::LOCAL) => continue,
                Direction::Tx => frame.tx[i],
            };
            let bytes = frame.bytes(cx.pool, i).get(start..).unwrap_or_default();
            let Some((header, _)) = F::Header::parse(bytes) else { continue };
            if !F::is_host(header.destination()) {
                continue;
            }
            let slot = match tables.get(usize::from(interface)) {
                Some(slot) if *slot != OWN => *slot,
                _ => ingress.word(interface.into()),
            };
            let group = ingress.table(slot).map_or(0, |table| table.group(guard, header.source()));
            let ways = groups.get(group as usize).map(|row| Ways::of(row, adjacencies, interface));
            if !ways.unwrap_or_default().are_good(self.direction, self.mode) {
                frame.next[i] = Next::NoWayBack.into();
            }
        }
    }
}

/// What `show trace` says of a packet: its IP header, which on the way out another one stands before.
pub(crate) fn describer(direction: Direction, describe: fn(&Record) -> String) -> impl Fn(&Record) -> String + 'static {
    move |record| {
        let bytes = record.bytes.get(start(direction)..).unwrap_or_default().into();
        describe(&Record { bytes, ..record.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_wants_any_way_and_strict_the_right_one() {
        let [none, other, back] = [(false, false), (true, false), (true, true)].map(|(any, back)| Ways { any, back });
        for (direction, mode, good) in [
            (Direction::Rx, Mode::Loose, [false, true, true]),
            (Direction::Tx, Mode::Loose, [false, true, true]),
            (Direction::Rx, Mode::Strict, [false, false, true]),
            (Direction::Tx, Mode::Strict, [false, true, false]),
        ] {
            assert_eq!([none, other, back].map(|ways| ways.are_good(direction, mode)), good, "{direction} {mode}");
        }
    }
}
