//! A stage: the body of a hot node, written once over eight lanes.
//!
//! A [`Stage`] is what a node keeps; for each frame it enters a [`Body`], which holds what the frame needs: references
//! into snapshots, valid as long as the guard, and the stage's own state. [`StageNode`] puts the frame's loop around a
//! stage and is the ordinary node. Dispatch has stages that follow one another work on a frame in turn, while its columns
//! and header words are in the nearest cache: see [`Graph`](crate::graph::Graph).

use crate::buffer::{All, Flags, Place, Pool};
use crate::column::{self, GROUPS, group, group_mut};
use crate::frame::Frame;
use crate::graph::{ArcSpec, Context, Node};
use crate::isa::{Isa, Kernel, LANES, Lanes, Mask, Mask8, Operand};
use crate::words::{Group, Words};
use quiver_table::Guard;
use quiver_table::simulation::seam;
use std::fmt;

/// A field of the first 64 bytes, in network byte order.
#[derive(Clone, Copy)]
pub struct Field {
    at: usize,
    bits: u32,
}
impl Field {
    /// `bits` is 8, 16 or 32; a 16-bit field may not straddle a word.
    pub const fn new(at: usize, bits: u32) -> Field {
        assert!(matches!(bits, 8 | 16 | 32) && (bits == 32 || at % 4 + bits as usize / 8 <= 4));
        Field { at, bits }
    }
    /// Where it lies.
    pub const fn at(self) -> usize {
        self.at
    }
}

/// A window of 64 bytes of eight packets, as sixteen columns of words in host order.
///
/// PERF: a reference to the columns and no copy, so that each word is read where it is used, and none takes a register before.
#[derive(Clone, Copy)]
pub struct Header<'w, I: Isa> {
    isa: I,
    words: &'w Group,
    #[cfg(debug_assertions)]
    reads: Quarters,
}
impl<'w, I: Isa> Header<'w, I> {
    /// The words of a group, for a stage that reads these quarters of them.
    #[inline(always)]
    pub(crate) fn of(isa: I, words: &'w Group, reads: Quarters) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = reads;
        Header {
            isa,
            words,
            #[cfg(debug_assertions)]
            reads,
        }
    }
    /// The field of every packet.
    #[inline(always)]
    pub fn get(&self, f: Field) -> Lanes<I> {
        let (word, skip) = (self.word(f.at / 4 * 4), (f.at % 4 * 8) as u32);
        match (f.bits, skip) {
            (32, 0) => word,
            (32, _) => word << skip | self.word(f.at / 4 * 4 + 4) >> (32 - skip),
            (bits, skip) if bits + skip == 32 => word & ((1 << bits) - 1),
            (bits, 0) => word >> (32 - bits),
            (bits, _) => word >> (32 - bits - skip) & ((1 << bits) - 1),
        }
    }
    /// The aligned word at byte `at`.
    #[inline(always)]
    pub fn word(&self, at: usize) -> Lanes<I> {
        #[cfg(debug_assertions)]
        assert!(self.reads.has(at / 16), "byte {at} of the window is not among the stage's READS: {}", self.reads);
        Lanes::new(self.isa, &self.words[at / 4 % 16])
    }
}

/// Eight packets on their way through a stage. Lanes that are not live hold arbitrary values.
#[derive(Clone, Copy)]
pub struct PacketLanes<'w, I: Isa> {
    /// 64 bytes from the stage's window on, of which the quarters are loaded that the stage reads.
    pub header: Header<'w, I>,
    /// Where the current header begins in the buffer; see [`PacketLanes::advance`].
    pub offset: Lanes<I>,
    /// Bytes from `offset` on.
    pub length: Lanes<I>,
    /// The interface that received the packet.
    pub rx: Lanes<I>,
    /// The interface that is to send it.
    pub tx: Lanes<I>,
    /// [`Flags`].
    pub flags: Lanes<I>,
    /// What a lookup chose.
    pub hop: Lanes<I>,
    /// The arc taken by lanes that left; arc 0 is the way on.
    pub next: Lanes<I>,
    /// Lanes that have not left.
    pub live: Mask<I>,
    /// Flags that some packet of the frame may have.
    pub any: Flags,
    /// Whether one interface received all packets of the frame, and whether one is to send them.
    one_rx: bool,
    one_tx: bool,
    /// Whether `flags` may have changed.
    reflagged: bool,
    /// The row of the first lane.
    pub row: usize,
}
impl<I: Isa> PacketLanes<'_, I> {
    /// Something of the interface that received each packet: what is known of the one that received all of the frame
    /// ([`Body::begin`]), or what is found of each.
    #[inline(always)]
    pub fn of_rx(&self, known: u32, look_up: impl Fn(u32) -> u32) -> Lanes<I> {
        if self.one_rx { self.rx.same(known) } else { self.rx.map_uniform(look_up) }
    }
    /// The same of the interface that is to send each packet.
    #[inline(always)]
    pub fn of_tx(&self, known: u32, look_up: impl Fn(u32) -> u32) -> Lanes<I> {
        if self.one_tx { self.tx.same(known) } else { self.tx.map_uniform(look_up) }
    }
    /// Whether one interface received all packets of the frame.
    #[inline(always)]
    pub fn has_one_rx(&self) -> bool {
        self.one_rx
    }
    /// Lanes in `mask` leave by an arc, unless they left before.
    #[inline(always)]
    pub fn leave(&mut self, mask: Mask<I>, arc: impl Into<u16>) {
        self.next = self.next.replace(mask & self.live, u32::from(arc.into()));
        self.live = self.live.without(mask);
    }
    /// Whether one interface is to send all packets of the frame.
    #[inline(always)]
    pub fn has_one_tx(&self) -> bool {
        self.one_tx
    }
    /// Sets a flag in the lanes of `mask`, and takes it from the others.
    #[inline(always)]
    pub fn flag(&mut self, mask: Mask<I>, flag: Flags) {
        let flag = u32::from(flag.0);
        self.flags = (self.flags & !flag).replace(mask, self.flags | flag);
        self.reflagged = true;
    }
    /// Takes a flag from all lanes.
    #[inline(always)]
    pub fn unflag(&mut self, flag: Flags) {
        if self.any.has(flag) {
            self.flags = self.flags & !u32::from(flag.0);
            self.reflagged = true;
        }
    }
    /// The lanes that have a flag.
    #[inline(always)]
    pub fn flagged(&self, flag: Flags) -> Mask<I> {
        match self.any.has(flag) {
            true => (self.flags & u32::from(flag.0)).ne(0),
            false => self.live.with(Mask8(0)),
        }
    }
    /// In the lanes of `mask` the current header begins `by` bytes further on.
    #[inline(always)]
    pub fn advance(&mut self, mask: Mask<I>, by: impl Operand<I>) {
        let by = self.offset.with(&[0; LANES]).replace(mask, by);
        self.offset = self.offset + by;
        self.length = self.length - by;
    }
}

/// The columns that a stage changes; the node writes back only these.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Columns(u8);
impl Columns {
    /// Only the arc.
    pub const NONE: Columns = Columns(0);
    /// The interface to send by.
    pub const TX: Columns = Columns(1);
    /// What a lookup chose.
    pub const HOP: Columns = Columns(2);
    /// Where the current header begins; with it [`Columns::LENGTH`] changes.
    pub const OFFSET: Columns = Columns(4 | 32);
    /// Bytes from there on.
    pub const LENGTH: Columns = Columns(32);
    /// The interface that received the packet.
    pub const RX: Columns = Columns(8);
    /// [`Flags`]; written only where one changed.
    pub const FLAGS: Columns = Columns(16);
    /// Both.
    #[must_use]
    pub const fn and(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }
    #[inline(always)]
    const fn without(self, other: Columns) -> Columns {
        Columns(self.0 & !other.0)
    }
    #[inline(always)]
    pub(crate) const fn has(self, other: Columns) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The quarters of a window, of 16 bytes each, that a stage reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Quarters(u8);
impl Quarters {
    /// No byte.
    pub const NONE: Quarters = Quarters(0);
    /// Whether there are none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
    /// All 64 bytes.
    pub const ALL: Quarters = Quarters(15);
    /// Those from byte `from` up to byte `to`.
    pub const fn of(from: usize, to: usize) -> Quarters {
        let (mut n, mut all) = (from / 16, 0);
        while n < to.div_ceil(16) {
            all |= 1 << n;
            n += 1;
        }
        Quarters(all)
    }
    /// The number of quarters from the start of the window up to the last one of the set.
    #[inline(always)]
    pub(crate) const fn end(self) -> u32 {
        u8::BITS - self.0.leading_zeros()
    }
    #[inline(always)]
    pub(crate) const fn has(self, n: usize) -> bool {
        self.0 & 1 << n != 0
    }
    #[inline(always)]
    pub(crate) const fn without(self, other: Quarters) -> Quarters {
        Quarters(self.0 & !other.0)
    }
    #[inline(always)]
    pub(crate) const fn and(self, other: Quarters) -> Quarters {
        Quarters(self.0 | other.0)
    }
}

impl fmt::Display for Quarters {
    /// The first and the last byte of each run of quarters: `0-15, 32-63`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |n: usize| !self.has(n + 1) || n == 3;
        let mut separator = "";
        for first in (0..4).filter(|n| self.has(*n) && (*n == 0 || !self.has(n - 1))) {
            let last = (first..4).find(|n| ends(*n)).unwrap_or(3);
            write!(f, "{separator}{}-{}", 16 * first, 16 * last + 15)?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The bytes of eight packets, for stages that write.
pub struct Windows<'w> {
    bytes: All<'w>,
    buffer: &'w [u32; LANES],
    places: &'w [Place; LANES],
}
impl Windows<'_> {
    /// The window of a packet, for a stage that reads windows.
    #[inline(always)]
    pub fn of(&mut self, lane: usize) -> &mut [u8; 64] {
        self.bytes.at(self.places[lane % LANES])
    }
    /// 64 bytes of a packet's buffer from an offset on; the offset is brought into the buffer.
    #[inline(always)]
    pub fn at(&mut self, lane: usize, offset: u32) -> &mut [u8; 64] {
        self.bytes.window(self.buffer[lane % LANES], offset as usize)
    }
}

/// The treatment that a stage gives to all packets of a frame at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alike {
    /// The arc that they take.
    pub arc: u16,
    /// The interface that is to send them, if the stage says so.
    pub tx: Option<u16>,
    /// The value that the stage writes into the `hop` column, if it does.
    pub hop: Option<u32>,
}

/// The state that a hot node keeps between frames.
pub trait Stage: Clone + Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The node's arcs; arc 0 is the way on.
    const ARCS: &'static [ArcSpec];
    /// The type that works on a frame.
    type Body<'f>: Body;
    /// Takes what a frame needs: references into snapshots, the stage's own state.
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f>;
}

/// The work on a frame.
pub trait Body {
    /// Bytes before the current header at which the 64-byte window begins: 0 for layer 2, 14 for layer 3, so that an IP
    /// header lies at the same place of the window whatever tags stood before it.
    const BACK: u32 = 0;
    /// The columns that the body changes.
    const WRITES: Columns;
    /// The bytes of the window that it reads.
    const READS: Quarters;
    /// Bytes by which the current headers of packets that go on by the first arc move, if that is the same for all.
    const MOVES: Option<i32> = None;
    /// Whether it has [`Body::ordinary`].
    const HAS_ORDINARY: bool = false;
    /// The bytes of the window that it changes by [`Windows`].
    const REWRITES: Quarters = Quarters::NONE;
    /// The least length of packets of which [`Body::alike`] is true.
    const LENGTH_MIN: u32 = 0;
    /// The treatment of all packets that interface `rx` received and interface `tx` is to send, where it depends on nothing else. `tx` is
    /// valid only behind a stage that has set it.
    #[inline(always)]
    fn alike(&mut self, rx: u16, tx: u16) -> Option<Alike> {
        let _ = (rx, tx);
        None
    }
    /// Called before the steps of a frame with the interface that received all of its packets, if one did, and the one that is to
    /// send them, which means something only behind a stage that has set it.
    #[inline(always)]
    fn begin(&mut self, rx: Option<u16>, tx: Option<u16>) {
        let _ = (rx, tx);
    }
    /// Bytes by which the current headers of packets move of which [`Body::ordinary`] is true; it does not move them itself.
    #[inline(always)]
    fn ordinary_moves(&self) -> i32 {
        Self::MOVES.unwrap_or(0)
    }
    /// The arc by which packets leave of which [`Body::ordinary`] is true.
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        0
    }
    /// Works on eight packets if all of them are ordinary, as [`Body::step`] would. If it returns false, it has had no effect, and what it
    /// has done to columns is forgotten; they are stepped then.
    ///
    /// PERF: what it does is compiled apart from all that hardly any packet needs, which would take registers from it.
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        let _ = (p, windows);
        false
    }
    /// Works on eight packets: has lanes leave, counts, and changes columns and bytes.
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>);
    /// Called before the steps of a frame with the windows of its packets and the interface that received them all, to fetch what
    /// lies in tables too large for the caches: as many lookups are under way together as the frame has packets.
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u16) {
        let _ = (windows, rx);
    }
}

/// The windows of a frame's packets, before it is stepped.
#[derive(Clone, Copy)]
pub struct Ahead<'w> {
    pool: &'w Pool,
    words: &'w Words,
    len: usize,
}
impl<'w> Ahead<'w> {
    /// Packets.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
    /// The window of packet `i`.
    #[inline(always)]
    pub fn window(self, i: usize) -> &'w [u8; 64] {
        self.pool.at(self.words.places(i / LANES)[i % LANES])
    }
}

impl Frame {
    /// What the frame says of the packets of group `g`.
    #[inline(always)]
    fn group<'w, I: Isa>(&self, isa: I, g: usize, live: Mask<I>, header: Header<'w, I>) -> PacketLanes<'w, I> {
        PacketLanes {
            header,
            offset: Lanes::widen(isa, group(&self.offset, g)),
            length: Lanes::new(isa, group(&self.length, g)),
            rx: Lanes::widen(isa, group(&self.rx, g)),
            tx: Lanes::widen(isa, group(&self.tx, g)),
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
    /// Writes back what a stage changes of ordinary packets.
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
    /// Writes back the columns that the stage changes. What it fills in means something on its own arcs only.
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
            *group_mut(&mut self.tx, g) = p.tx.narrow();
        }
        if writes.has(Columns::RX) {
            *group_mut(&mut self.rx, g) = p.rx.narrow();
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
    words: &'a mut Words,
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
            column::fill(&mut frame.next, arc, len);
            for g in Mask8::first(groups) & !stepped {
                left |= 0xff << (g * LANES);
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
            words.forget_quarters(B::REWRITES);
        }
    }
}

/// What is noted of groups from which packets leave, and of how far the headers of the others move where the stage does not say.
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
