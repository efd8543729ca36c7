//! A stage as a node: the loop over a frame's groups of eight packets.

use super::lanes::{Columns, Header, PacketLanes, Windows};
use super::{Ahead, Body, Stage};
use crate::buffer::{Flags, Pool};
use crate::column::{self, GROUPS, group, group_mut};
use crate::frame::Frame;
use crate::graph::{Context, Node};
use crate::isa::{Isa, Kernel, LANES, Lanes, Mask, Mask8};
use crate::vector::Rows;
use crate::words::HeaderWords;
use quiver_table::simulation::seam;

impl Frame {
    /// Loads the columns of group `g`.
    #[inline(always)]
    fn group<'w, I: Isa>(&self, isa: I, g: usize, live: Mask<I>, header: Header<'w, I>) -> PacketLanes<'w, I> {
        PacketLanes {
            header,
            offset: Lanes::widen(isa, group(&self.offset, g)),
            length: Lanes::new(isa, group(&self.length, g)),
            rx: Lanes::new(isa, group(&self.rx, g)),
            tx: Lanes::new(isa, group(&self.tx, g)),
            flags: Lanes::widen(isa, group(&self.flags, g)),
            hop: Lanes::new(isa, group(&self.hop, g)),
            next: Lanes::splat(isa, 0),
            live,
            any: self.any,
            one_rx: self.one_rx,
            one_tx: self.one_tx,
            reflagged: false,
            row: g * LANES,
        }
    }
    /// Writes back the columns that a stage changes of ordinary packets.
    #[inline(always)]
    fn keep_ordinary<I: Isa>(&mut self, g: usize, p: &PacketLanes<I>, writes: Columns, moves: i32) {
        if writes.has(Columns::OFFSET) {
            // PERF: halves of words are added as they are, and not widened before.
            for offset in group_mut(&mut self.offset, g) {
                *offset = offset.wrapping_add(moves as u16);
            }
        }
        self.keep(g, p, writes.without(Columns::OFFSET));
        if writes.has(Columns::LENGTH) {
            *group_mut(&mut self.length, g) = p.length.array();
        }
    }
    /// Writes back the columns that the stage changes. A column is meaningful on the stage's own arcs only.
    #[inline(always)]
    fn keep<I: Isa>(&mut self, g: usize, p: &PacketLanes<I>, writes: Columns) {
        if writes.has(Columns::FLAGS) && p.reflagged {
            let kept = group_mut(&mut self.flags, g);
            *kept = p.flags.narrow();
            for flags in kept {
                self.any = self.any.with(Flags(*flags));
            }
        }
        if writes.has(Columns::TX) {
            *group_mut(&mut self.tx, g) = p.tx.array();
        }
        if writes.has(Columns::RX) {
            *group_mut(&mut self.rx, g) = p.rx.array();
        }
        if writes.has(Columns::HOP) {
            *group_mut(&mut self.hop, g) = p.hop.array();
        }
        if writes.has(Columns::OFFSET) {
            *group_mut(&mut self.offset, g) = p.offset.narrow();
        }
        if writes.has(Columns::LENGTH) {
            *group_mut(&mut self.length, g) = p.length.array();
        }
    }
}

/// A stage with the frame's loop around it: an ordinary node.
pub struct StageNode<S>(pub S);
impl<S: Stage> Node for StageNode<S> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (level, pool, words) = (cx.level, &mut *cx.pool, &mut *cx.words);
        let mut body = self.0.enter(cx.guard);
        if frame.one_rx
            && frame.one_tx
            && let Some(alike) = body.alike(frame.rx[0], frame.tx[0])
            && column::all_reach(&frame.length, frame.len(), <S::Body<'_> as Body>::LENGTH_MIN)
        {
            return frame.treat(alike);
        }
        frame.pad(pool.null);
        body.begin(frame.one_rx.then_some(frame.rx[0]), frame.one_tx.then_some(frame.tx[0]));
        if uses_windows::<S>() {
            words.load(level, frame, pool, <S::Body<'_> as Body>::READS, <S::Body<'_> as Body>::BACK as u16);
            if frame.one_rx {
                let len = frame.len();
                body.ahead(Ahead { pool, words, len }, frame.rx[0]);
            }
        }
        level.run(FrameLoop { body, pool, words, frame });
    }
    fn is_stage(&self) -> bool {
        true
    }
}
/// Whether a stage looks at windows at all, or writes them.
const fn uses_windows<S: Stage>() -> bool {
    !<S::Body<'static> as Body>::READS.is_none() || !<S::Body<'static> as Body>::REWRITES.is_none()
}
/// The type of a stage's loop as a node.
pub(crate) fn node_kernel<S: Stage>() -> &'static str {
    std::any::type_name::<FrameLoop<'static, S::Body<'static>>>()
}
struct FrameLoop<'a, B> {
    body: B,
    pool: &'a mut Pool,
    words: &'a mut HeaderWords,
    frame: &'a mut Frame,
}
impl<B: Body> Kernel for FrameLoop<'_, B> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let FrameLoop { mut body, pool, words, frame } = self;
        let len = frame.len();
        let groups = len.div_ceil(LANES);
        let (all, last) = (Mask::first(isa, LANES), Mask::first(isa, len - len.saturating_sub(1) / LANES * LANES));
        let full = len / LANES;
        let mut stepped = Mask8::first(groups);
        if B::HAS_ORDINARY {
            stepped = stepped & !Mask8::first(full);
            for g in 0..GROUPS {
                if g >= full {
                    break;
                }
                seam("about to work on eight packets");
                let mut p = frame.group(isa, g, all, words.header(isa, g, B::READS));
                let places = words.places(g);
                let mut windows = Windows { bytes: pool.all(), buffer: group(&frame.buffer, g), places };
                if body.ordinary(&mut p, &mut windows) {
                    frame.keep_ordinary(g, &p, B::WRITES, body.ordinary_moves());
                } else {
                    stepped = stepped | Mask8(1 << g);
                }
            }
        }
        let (mut left, mut parted) = (0, Parted::new(isa));
        let arc = body.ordinary_arc();
        let stepped_groups = stepped.len();
        let ordinary = groups - stepped_groups;
        if arc != 0 && ordinary > 0 {
            if stepped_groups == 0 {
                frame.next[0] = arc;
                left = Rows::first(len).0;
            } else {
                column::fill(&mut frame.next, arc, len);
                for g in Mask8::first(groups) & !stepped {
                    left |= 0xff << (g * LANES);
                }
            }
        }
        for g in stepped {
            seam("about to step eight packets");
            let live = if g + 1 == groups { last } else { all };
            let mut p = frame.group(isa, g, live, words.header(isa, g, B::READS));
            let offset = p.offset;
            body.step(
                &mut p,
                &mut Windows { bytes: pool.all(), buffer: group(&frame.buffer, g), places: words.places(g) },
            );
            let gone = live.without(p.live);
            if gone.any() {
                if left == 0 {
                    frame.begin_arcs();
                }
                *group_mut(&mut frame.next, g) = p.next.narrow();
                left |= u64::from(gone.bits().0) << (g * LANES);
                parted.arcs.note(parted.groups, p.next, live);
                parted.moves.note(parted.groups, p.offset - offset, live);
                parted.groups += 1;
            } else {
                if left != 0 {
                    *group_mut(&mut frame.next, g) = [0; LANES];
                }
                if B::WRITES.has(Columns::OFFSET) && B::MOVES.is_none() {
                    parted.others.note(parted.stayed, p.offset - offset, live);
                    parted.stayed += 1;
                }
            }
            frame.keep(g, &p, B::WRITES);
        }
        frame.left = left;
        frame.one_next = (ordinary == 0 || arc != 0 && parted.groups == 0 || parted.arcs.first() == u32::from(arc))
            && parted.groups == stepped_groups
            && parted.arcs.is_one();
        if B::WRITES.has(Columns::TX) {
            frame.one_tx = column::uniform(&frame.tx, len);
        }
        if B::WRITES.has(Columns::RX) {
            frame.one_rx = column::uniform(&frame.rx, len);
        }
        if B::WRITES.has(Columns::OFFSET) {
            let known = (ordinary > 0).then(|| body.ordinary_moves());
            match parted.all_move(stepped_groups, B::MOVES, known) {
                Some(by) => words.stay(by),
                None => words.forget(),
            }
        }
        if !B::REWRITES.is_none() {
            words.forget_quarters(body.rewrote());
        }
    }
}

/// Arcs and header moves of the stepped groups: of those that packets leave, and of the others if the stage does not fix the move.
struct Parted<I: Isa> {
    groups: usize,
    stayed: usize,
    arcs: Uniform<I>,
    moves: Uniform<I>,
    others: Uniform<I>,
}
impl<I: Isa> Parted<I> {
    #[inline(always)]
    fn new(isa: I) -> Self {
        Parted { groups: 0, stayed: 0, arcs: Uniform::new(isa), moves: Uniform::new(isa), others: Uniform::new(isa) }
    }
    /// Bytes by which all headers moved, if that is the same for all. `stepped` groups were stepped; headers of those that no packet left
    /// moved by `stay` bytes, if the stage says so; those of ordinary groups, if there are any, by `ordinary`.
    #[inline(always)]
    fn all_move(&self, stepped: usize, stay: Option<i32>, ordinary: Option<i32>) -> Option<i32> {
        let one = |moves: &Uniform<I>| moves.is_one().then(|| moves.first() as i32);
        let mut all = ordinary;
        if self.groups > 0 {
            let by = one(&self.moves)?;
            all = (all.unwrap_or(by) == by).then_some(by);
            all?;
        }
        if stepped > self.groups {
            let by = stay.or_else(|| one(&self.others))?;
            all = (all.unwrap_or(by) == by).then_some(by);
        }
        all
    }
}

/// Whether all values of a column are the same, as far as it has been written.
struct Uniform<I: Isa> {
    first: Lanes<I>,
    others: Mask<I>,
}
impl<I: Isa> Uniform<I> {
    #[inline(always)]
    fn new(isa: I) -> Self {
        Uniform { first: Lanes::splat(isa, 0), others: Mask::first(isa, 0) }
    }
    #[inline(always)]
    fn note(&mut self, g: usize, values: Lanes<I>, present: Mask<I>) {
        if g == 0 {
            self.first = values.all_as_first();
        }
        self.others = self.others | (values.ne(self.first) & present);
    }
    #[inline(always)]
    fn is_one(&self) -> bool {
        !self.others.any()
    }
    #[inline(always)]
    fn first(&self) -> u32 {
        self.first.array()[0]
    }
}
