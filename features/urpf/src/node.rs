//! `ip4-rx-urpf-loose`, `ip4-rx-urpf-strict`, `ip4-tx-urpf-loose`, `ip4-tx-urpf-strict`, and the same of IPv6: is there a way
//! back to the sender?
//!
//! Loose (RFC 3704, 2.4): the source address has a route that does not drop. Strict (RFC 3704, 2.2): the route to the
//! source of a received packet leads out of the receiving interface, and that of a sent packet leads out of another
//! interface than the sending one. Packets to groups and broadcast addresses pass, and so do our own packets on their
//! way out.

use quiver_engine::trace::Record;
use quiver_engine::{
    Ahead, ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, Lanes, Mask, Mask8, PacketLanes, Paged, Quarters, Slots,
    Stage, Windows, arcs,
};
use quiver_interface::Direction;
use quiver_ip::Ingress;
use quiver_ip::adjacency::{AdjacencyRow, AdjacencyRows, AdjacencyTable};
use quiver_ip::family::BACK;
use quiver_ip::fib::rows::{GroupRow, slots};
use quiver_ip::fib::{Reader, TrieView, View, hop};
use quiver_ip::ingress::TableView;

use crate::config::{Checked, Mode, Setting, node};
use crate::ways::{CheckTables, Look, Reachability, end};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        NoWayBack => drop "no-reverse-path",
    }
}

/// The stage for received or sent packets; strict or loose.
#[derive(Clone)]
pub struct ReversePath<F: Checked, const SENT: bool, const STRICT: bool>(pub CheckTables<F>);

impl<F: Checked, const SENT: bool, const STRICT: bool> ReversePath<F, SENT, STRICT> {
    const DIRECTION: Direction = if SENT { Direction::Tx } else { Direction::Rx };
    const MODE: Mode = if STRICT { Mode::Strict } else { Mode::Loose };
}

impl<F: Checked, const SENT: bool, const STRICT: bool> Stage for ReversePath<F, SENT, STRICT> {
    const NAME: &'static str = node::<F>(Self::DIRECTION, Self::MODE);
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = ReversePathBody<'f, F, SENT, STRICT>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> ReversePathBody<'f, F, SENT, STRICT> {
        let ways = &self.0;
        // In this order: a group's row was there before a leaf led to it.
        let (ingress, words) = (ways.ingress.read(guard), ways.words.read(guard));
        let (rows, adjacencies) = (ways.groups.read(guard), ways.adjacencies.read(guard));
        let (groups, known) = (slots(rows), AdjacencyRows::new(adjacencies));
        ReversePathBody { ways, ingress, words, rows, groups, adjacencies, known, guard, table: None, rx: 0, slot: 0 }
    }
}

/// The stage at work.
pub struct ReversePathBody<'f, F: Checked, const SENT: bool, const STRICT: bool> {
    /// Where more is found than the rest says.
    ways: &'f CheckTables<F>,
    ingress: &'f Ingress<F>,
    words: &'f Paged<Setting>,
    rows: &'f [GroupRow],
    groups: Slots<'f, GroupRow>,
    adjacencies: &'f AdjacencyTable<F>,
    known: AdjacencyRows<'f, F>,
    guard: Guard<'f>,
    /// The interface that received all of the frame, and the table in which ways to its senders are looked for, by its slot, too.
    rx: u32,
    slot: u32,
    table: Option<(&'f TableView<F>, TrieView<'f, F>)>,
}

impl<F: Checked, const SENT: bool, const STRICT: bool> ReversePathBody<'_, F, SENT, STRICT> {
    /// The check on an interface.
    #[inline(always)]
    fn word(&self, interface: u32) -> Setting {
        self.words.get(interface as usize).copied().unwrap_or_default()
    }
    /// The slot of the table in which ways are looked for.
    #[inline(always)]
    fn slot(&self, interface: u32) -> u32 {
        self.word(interface).slot.map_or_else(|| self.ingress.slot(interface), u32::from)
    }
    /// The groups that eight senders have in the tables of these slots.
    #[inline(always)]
    fn groups<I: Isa>(&self, slots: Lanes<I>, live: Mask<I>, from: &[F::Bits; LANES]) -> [u32; LANES] {
        let all = slots.array();
        if (slots.ne(all[0]) & live).any() {
            return self.groups_of_several(&all, from);
        }
        match self.ingress.table(all[0]) {
            Some(table) => table.groups(self.guard, from),
            None => [0; LANES],
        }
    }
    #[cold]
    fn groups_of_several(&self, slots: &[u32; LANES], from: &[F::Bits; LANES]) -> [u32; LANES] {
        let mut groups = [0; LANES];
        for lane in 0..LANES {
            let table = self.ingress.table(slots[lane]);
            groups[lane] = table.map_or(0, |table| table.group_of(self.guard, from[lane]));
        }
        groups
    }
    /// Of the lanes that fail this node's check, those that fail the current configuration. The configuration changes
    /// at once, while workers learn later which nodes their packets meet. Meanwhile a check that is over, whose table
    /// may be gone, drops nothing.
    #[cold]
    fn still_bad(
        &self,
        bad: Mask8,
        groups: &[u32; LANES],
        from: &[F::Bits; LANES],
        interfaces: &[u32; LANES],
    ) -> Mask8 {
        let mut still = 0;
        for lane in bad {
            let is_bad = match self.word(interfaces[lane]).mode {
                Some(mode) if mode == Self::MODE => true,
                Some(mode) => {
                    !self.reachability(groups[lane], (from[lane], interfaces[lane])).are_good(Self::DIRECTION, mode)
                }
                None => false,
            };
            still |= u8::from(is_bad) << lane;
        }
        Mask8(still)
    }
    /// Whether a sender of this group is good. Of most groups the first way says all there is to know.
    #[inline(always)]
    fn is_good(&self, group: u32, sender: (F::Bits, u32)) -> bool {
        let first = self.rows.get(group as usize).map_or(hop::NO_ROUTE, |row| row.hop(0));
        let first = end(first, sender.1, |hop| self.adjacencies.row(hop).tx());
        // More ways can only add to what the first one is, and spoil nothing but this.
        let is_settled = !(SENT && STRICT) && first.are_good(Self::DIRECTION, Self::MODE);
        is_settled || self.is_good_by_all(group, sender)
    }
    #[cold]
    fn is_good_by_all(&self, group: u32, sender: (F::Bits, u32)) -> bool {
        self.reachability(group, sender).are_good(Self::DIRECTION, Self::MODE)
    }
    /// Reachability by all paths of a group, for a sender's address and the interface in question.
    fn reachability(&self, group: u32, sender: (F::Bits, u32)) -> Reachability {
        let (address, interface) = sender;
        Look { ways: self.ways, ingress: self.ingress, guard: self.guard, address, interface }.group(group)
    }
    const DIRECTION: Direction = ReversePath::<F, SENT, STRICT>::DIRECTION;
    const MODE: Mode = ReversePath::<F, SENT, STRICT>::MODE;
}

impl<F: Checked, const SENT: bool, const STRICT: bool> Body for ReversePathBody<'_, F, SENT, STRICT> {
    // What is sent begins with the link's header, and what was received behind it.
    const BACK: u32 = if SENT { 0 } else { BACK };
    const WRITES: Columns = Columns::NONE;

    const READS: Quarters = F::HEADER;
    const HAS_ORDINARY: bool = !SENT;

    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        if let Some(rx) = rx.filter(|_| !SENT) {
            self.rx = rx;
            self.slot = self.slot(rx);
            let table = self.ingress.table(self.slot);
            self.table = table.map(|table| (table, table.lpm.view(self.guard)));
        }
    }
    /// A sender is ordinary if the first way to it leads to a neighbor, in strict mode one behind the receiving interface. Other ways can
    /// only add to that.
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        let Some((table, lpm)) = self.table.filter(|_| p.has_one_rx()) else { return false };
        let leaves = lpm.leaves(p.hop, &F::sources(p));
        let groups = match &table.counted {
            Some(counted) => leaves.with(&counted.groups_of(self.guard, leaves)),
            None => leaves,
        };
        let (rows, mut first) = (groups.pick(self.groups), [0; LANES]);
        for lane in 0..LANES {
            first[lane] = rows.row(lane).hop(0);
        }
        let hops = groups.with(&first);
        if (hop::others(hops) | groups.gt(self.groups.last())).any() {
            return false;
        }
        if !STRICT {
            return true;
        }
        let Some(rows) = self.known.pick(hops) else { return false };
        let mut by = [0; LANES];
        for lane in 0..LANES {
            by[lane] = rows.row(lane).sending();
        }
        !(hops.with(&by) & AdjacencyRow::TX).ne(self.rx).any()
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let interfaces = if SENT { p.tx } else { p.rx };
        let slots = match SENT {
            true => interfaces.map_uniform(|interface| self.slot(interface)),
            false => p.of_rx(self.slot, |rx| self.slot(rx)),
        };
        let from = F::sources(p);
        let groups = self.groups(slots, p.live, &from);
        let (each, mut bad) = (interfaces.array(), 0);
        for lane in 0..LANES {
            bad |= u8::from(!self.is_good(groups[lane], (from[lane], each[lane]))) << lane;
        }
        let others = if SENT { p.live.without(p.flagged(Flags::LOCAL)) } else { p.live };
        let bad = Mask8(bad) & others.bits();
        if bad != Mask8(0) {
            let bad = p.live.with(self.still_bad(bad, &groups, &from, &each));
            p.leave(bad & F::for_hosts(p), Next::NoWayBack);
        }
    }
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, _: u32) {
        // A hint only: whatever lies there is taken for a sender. What few routes need is near by as it is. `begin` found the table.
        if let Some((table, _)) = self.table
            && table.lpm.is_far()
        {
            for i in 0..windows.len() {
                table.lpm.prefetch_first(self.guard, F::source_in(windows.window(i)));
            }
        }
    }
}

/// Trace text of a packet: its IP header. On the way out the link header stands before it.
pub(crate) fn describer(sent: bool, describe: fn(&Record) -> String) -> impl Fn(&Record) -> String + 'static {
    let start = if sent { BACK as usize } else { 0 };
    move |record| {
        let bytes = record.bytes.get(start..).unwrap_or_default().into();
        describe(&Record { bytes, ..record.clone() })
    }
}
