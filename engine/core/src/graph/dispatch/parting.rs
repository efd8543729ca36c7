//! Where the packets of a frame go that leave a node by several arcs, and what waits for them.

use super::Graph;
use crate::frame::{BLOCK, Frame, Rows, TAKEN};
use crate::graph::Context;
use crate::graph::wiring::{NodeId, Reason, Side, Target};

impl Graph {
    /// Whether packets that leave a node by this arc come back behind others: they go to a node that is no stage and no end.
    fn is_detour(&self, at: NodeId, arc: u16) -> bool {
        match self.wiring.shape.targets[at.index()].get(usize::from(arc)) {
            Some(Target::Node(to)) => {
                !self.entries[to.index()].is_stage && !self.wiring.shape.targets[to.index()].is_empty()
            }
            // Features of an arc are on the way of all packets of an interface.
            Some(Target::End(_) | Target::Features { .. }) | None => false,
        }
    }
    /// Has those rows wait that are behind the first ones that take a detour.
    pub(super) fn split(&mut self, at: NodeId, frame: &mut Frame) {
        let n = frame.len();
        if frame.taken > 0 {
            return;
        }
        // PERF: a bit for each arc, and not a look at the wiring for each row.
        let arcs = 0..self.wiring.shape.targets[at.index()].len().min(64) as u16;
        let detours = arcs.fold(0u64, |detours, arc| detours | u64::from(self.is_detour(at, arc)) << arc);
        let is_detour = |i: &usize| match frame.next[*i] {
            arc @ 0..64 => detours >> arc & 1 != 0,
            arc => self.is_detour(at, arc),
        };
        let Some(odd) = (0..n).find(is_detour) else { return };
        let Some(rest) = (odd..n).find(|i| !is_detour(i)) else { return };
        let mut behind = self.frame();
        for i in rest..n {
            behind.push_from(frame, i);
            behind.next[i - rest] = frame.next[i];
        }
        frame.len = rest;
        self.splits -= 1;
        self.waiting.push((at, behind));
        self.is_busy = true;
    }
    /// Moves the packets of a frame along their arcs, which lead to several places. Those that go to one place stay in their order, by
    /// whatever arcs they go there.
    pub(super) fn scatter(&mut self, cx: &mut Context, at: NodeId, frame: &mut Frame) {
        let wiring = self.wiring.clone();
        let targets = &wiring.shape.targets[at.index()];
        let n = frame.len();
        let mut open = rows_that(n, |i| frame.buffer[i] != cx.pool.null);
        // The rows of each place, in the order in which the first ones come.
        let (mut places, mut found) = ([(at, 0u64); BLOCK], 0);
        // PERF: what holds for an arc is found once for all of its rows, and rows are compared without a branch for each.
        while let Some(first) = Rows(open).next() {
            let (arc, rx, tx) = (frame.next[first], frame.rx[first], frame.tx[first]);
            let mut its = open & rows_that(n, |i| frame.next[i] == arc);
            let place = match targets.get(usize::from(arc)).copied() {
                Some(Target::Node(place)) => Some(place),
                Some(Target::End(place)) => {
                    Rows(its).for_each(|i| frame.hop[i] = Reason::new(at, arc).0);
                    Some(place)
                }
                Some(Target::Features { arc, position }) => {
                    let table = &wiring.features[usize::from(arc)];
                    let (interface, of_rows) = if table.side == Side::Rx { (rx, &frame.rx) } else { (tx, &frame.tx) };
                    its &= rows_that(n, |i| of_rows[i] == interface);
                    Some(table.next(position, interface))
                }
                None => {
                    debug_assert!(arc == TAKEN, "a node sends by its own arcs");
                    Rows(its).for_each(|i| cx.pool.free_raw(frame.raw(i)));
                    None
                }
            };
            open &= !its;
            let Some(place) = place else { continue };
            self.entries[at.index()].counters.arc(arc, its.count_ones().into());
            match places[..found].iter_mut().find(|(known, _)| *known == place) {
                Some((_, rows)) => *rows |= its,
                None => {
                    places[found] = (place, its);
                    found += 1;
                }
            }
        }
        for (place, rows) in &places[..found] {
            let mut room = self.room_at(*place);
            for i in Rows(*rows) {
                if room.len == BLOCK {
                    room = self.room_at(*place);
                }
                room.push_from(frame, i);
            }
        }
    }
}

/// Those of the first `n` rows of which something is true.
#[inline(always)]
fn rows_that(n: usize, is_true: impl Fn(usize) -> bool) -> u64 {
    (0..n.min(BLOCK)).fold(0, |rows, i| rows | u64::from(is_true(i)) << i)
}
