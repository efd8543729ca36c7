//! Parts the packets of a frame that leave a node by several arcs, and queues them at their next nodes.

use super::{Graph, Waiting};
use crate::column;
use crate::frame::Frame;
use crate::graph::Context;
use crate::graph::wiring::{NodeId, Reason, Side, Target};
use crate::vector::{Rows, TAKEN};

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
    /// Makes the rows wait that are behind the first ones that take a detour.
    pub(super) fn split(&mut self, cx: &Context, at: NodeId, frame: &mut Frame) {
        let n = frame.len();
        if frame.taken > 0 {
            return;
        }
        // PERF: what holds for an arc is found once for all of its rows.
        let (mut open, mut detours) = (Rows::first(n).0, 0);
        while let Some(first) = Rows(open).next() {
            let arc = frame.next[first];
            let its = open & column::rows_with(cx.level, &frame.next, n, arc);
            detours |= if self.is_detour(at, arc) { its } else { 0 };
            open &= !its;
        }
        // Those behind the first of them that take none.
        let behind_first = !(detours & detours.wrapping_neg()).wrapping_sub(1);
        let Some(rest) = Rows(behind_first & !detours & Rows::first(n).0).next() else { return };
        let mut behind = self.frame();
        behind.push_rows_of(frame, Rows(Rows::first(n).0 & !Rows::first(rest).0));
        behind.next[..n - rest].copy_from_slice(&frame.next[rest..n]);
        frame.len = rest;
        self.splits -= 1;
        self.waiting.push(Waiting::Behind(at, behind));
        self.is_busy = true;
    }
    /// Moves the packets of a frame along their arcs, which lead to several nodes. Packets to one node stay in order,
    /// by any of its arcs.
    pub(super) fn scatter(&mut self, cx: &mut Context, at: NodeId, frame: &mut Frame) {
        let targets = &self.wiring.shape.targets[at.index()];
        let n = frame.len();
        let mut open = Rows::first(n).0;
        if frame.taken > 0 {
            open = (0..n).fold(0, |rows, i| rows | u64::from(frame.buffer[i] != cx.pool.null) << i);
        }
        // The rows of each place, in the order in which the first ones come.
        let mut places = std::mem::take(&mut self.places);
        // PERF: what holds for an arc is found once for all of its rows.
        while let Some(first) = Rows(open).next() {
            let (arc, rx, tx) = (frame.next[first], frame.rx[first], frame.tx[first]);
            let mut its = open & column::rows_with(cx.level, &frame.next, n, arc);
            let place = match targets.get(usize::from(arc)).copied() {
                Some(Target::Node(place)) => Some(place),
                Some(Target::End(place)) => {
                    Rows(its).for_each(|i| frame.hop[i] = Reason::new(at, arc).0);
                    Some(place)
                }
                Some(Target::Features { arc, position }) => {
                    let table = &self.wiring.features[usize::from(arc)];
                    let (interface, of_rows) = if table.side == Side::Rx { (rx, &frame.rx) } else { (tx, &frame.tx) };
                    its &= column::rows_with(cx.level, of_rows, n, interface);
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
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, rows)) => rows.0 |= its,
                None => places.push((place, Rows(its))),
            }
        }
        for (place, mut rows) in places.drain(..) {
            self.entries[place.index()].previous = Some(at);
            while !rows.is_empty() {
                rows = self.room_at(place).push_rows_of(frame, rows);
            }
        }
        self.places = places;
    }
}
