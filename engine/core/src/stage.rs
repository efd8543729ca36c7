//! A stage: the body of a hot node, written once over sixteen lanes.
//!
//! A [`Stage`] is what a node keeps; for each frame it enters a [`Body`], which holds what the frame needs: references
//! into snapshots, valid as long as the guard, and the stage's own state. [`StageNode`] puts the frame's loop around a
//! stage and is the ordinary node; [`Chain`] joins stages into a fused product.

use crate::aside::Flows;
use crate::buffer::{Flags, Pool};
use crate::column;
use crate::frame::{Frame, VECTOR};
use crate::graph::{ArcSpec, Context, Node};
use crate::isa::{Isa, Kernel, Lanes, Mask, Mask16, quarter};
use crate::tx::{Ports, TxContext};
use quiver_table::Guard;
use quiver_table::simulation::seam;
use std::cell::Cell;

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
}

/// A window of 64 bytes of sixteen packets, as sixteen columns of words in host order.
#[derive(Clone, Copy)]
pub struct Header<I: Isa> {
    words: [Lanes<I>; 16],
}
impl<I: Isa> Header<I> {
    /// What stands for windows that nobody looks at.
    #[inline(always)]
    pub(crate) fn unread(isa: I) -> Self {
        Header { words: [Lanes::splat(isa, 0); 16] }
    }
    #[inline(always)]
    pub(crate) fn load(isa: I, packets: &[&[u8; 64]; 16]) -> Self {
        // Columns that the stages do not read are dead code, and vanish.
        let [a, b, c, d] = Lanes::four_columns(isa, |lane| quarter::<0>(packets[lane]));
        let [e, f, g, h] = Lanes::four_columns(isa, |lane| quarter::<16>(packets[lane]));
        let [i, j, k, l] = Lanes::four_columns(isa, |lane| quarter::<32>(packets[lane]));
        let [m, n, o, p] = Lanes::four_columns(isa, |lane| quarter::<48>(packets[lane]));
        Header { words: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] }
    }
    /// Puts what a stage may have changed of some packets' windows: bytes from a place in the window on.
    #[inline(always)]
    pub(crate) fn put(&self, lanes: Mask<I>, writes: Columns, mut put: impl FnMut(usize, usize, &[u8])) {
        let ([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p], lanes) = (self.words, lanes.bits());
        if lanes == Mask16(0) {
            return;
        }
        put_rows([a, b, c, d, e, f, g, h], lanes, |lane, row| put(lane, 0, row));
        if writes.has(Columns::MORE) {
            put_rows([i, j, k, l, m, n, o, p], lanes, |lane, row| put(lane, 32, &row[..16]));
        }
    }
    /// The field of every packet.
    #[inline(always)]
    pub fn get(&self, f: Field) -> Lanes<I> {
        let (word, skip) = (self.words[f.at / 4], (f.at % 4 * 8) as u32);
        match (f.bits, skip) {
            (32, 0) => word,
            (32, _) => word << skip | self.words[f.at / 4 + 1] >> (32 - skip),
            _ => word >> (32 - f.bits - skip) & ((1 << f.bits) - 1),
        }
    }
    /// Sets an 8 or 16-bit field of the first 32 bytes in every lane.
    #[inline(always)]
    pub fn set(&mut self, f: Field, value: Lanes<I>) {
        let shift = 32 - f.bits - (f.at % 4 * 8) as u32;
        let word = &mut self.words[f.at / 4];
        *word = *word & !(((1 << f.bits) - 1) << shift) | value << shift;
    }
    /// The aligned word at byte `at`.
    #[inline(always)]
    pub fn word(&self, at: usize) -> Lanes<I> {
        self.words[at / 4]
    }
    /// Sets the aligned word at byte `at` of the first 32.
    #[inline(always)]
    pub fn set_word(&mut self, at: usize, value: Lanes<I>) {
        self.words[at / 4] = value;
    }
}
/// Puts the rows of these lanes.
#[inline(always)]
fn put_rows<I: Isa>(columns: [Lanes<I>; 8], lanes: Mask16, mut put: impl FnMut(usize, &[u8; 32])) {
    Lanes::rows(columns, |lane, row| {
        if lanes.0 & 1 << lane != 0 {
            put(lane, &row);
        }
    });
}

/// Sixteen packets on their way through a stage.
#[derive(Clone, Copy)]
pub struct PacketLanes<I: Isa> {
    /// 64 bytes from the stage's window on.
    pub header: Header<I>,
    /// Where the window begins in the buffer; see [`PacketLanes::cut_tag`].
    pub window: Lanes<I>,
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
    /// Lanes that have not left. Others still compute, but none of their header is written back.
    pub live: Mask<I>,
}
impl<I: Isa> PacketLanes<I> {
    /// Lanes in `mask` leave by an arc, unless they left before.
    #[inline(always)]
    pub fn leave(&mut self, mask: Mask<I>, arc: impl Into<u16>) {
        self.next = self.next.replace(mask & self.live, u32::from(arc.into()));
        self.live = self.live.without(mask);
    }
    /// Sets a flag in the lanes of `mask`, and takes it from the others.
    #[inline(always)]
    pub fn flag(&mut self, mask: Mask<I>, flag: Flags) {
        let flag = u32::from(flag.0);
        self.flags = (self.flags & !flag).replace(mask, self.flags | flag);
    }
    /// The lanes that have a flag.
    #[inline(always)]
    pub fn flagged(&self, flag: Flags) -> Mask<I> {
        (self.flags & u32::from(flag.0)).ne(0)
    }
    /// In the lanes of `mask` the current header begins `by` bytes further on. The window stays where it is.
    #[inline(always)]
    pub fn advance(&mut self, mask: Mask<I>, by: u32) {
        self.offset = self.offset.replace(mask, self.offset + by);
        self.length = self.length.replace(mask, self.length - by);
    }
    /// In the lanes of `mask` takes out the word behind the first 12 bytes of the window, where a tag stands: what is in
    /// front of it moves up. The window must begin with the current header.
    #[inline(always)]
    pub fn cut_tag(&mut self, mask: Mask<I>) {
        let [_, _, _, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.header.words;
        let w = &mut self.header.words;
        (w[3], w[4], w[5], w[6]) = (d.replace(mask, e), e.replace(mask, f), f.replace(mask, g), g.replace(mask, h));
        (w[7], w[8], w[9], w[10]) = (h.replace(mask, i), i.replace(mask, j), j.replace(mask, k), k.replace(mask, l));
        (w[11], w[12], w[13], w[14]) = (l.replace(mask, m), m.replace(mask, n), n.replace(mask, o), o.replace(mask, p));
        self.window = self.window.replace(mask, self.window + 4);
        self.advance(mask, 4);
    }
    /// Puts a word there; what is in front of it moves into the headroom, which the caller has seen to be large enough.
    #[inline(always)]
    pub fn put_tag(&mut self, mask: Mask<I>, tag: Lanes<I>) {
        let [_, _, _, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.header.words;
        let w = &mut self.header.words;
        (w[3], w[4], w[5], w[6]) = (d.replace(mask, tag), e.replace(mask, d), f.replace(mask, e), g.replace(mask, f));
        (w[7], w[8], w[9], w[10]) = (h.replace(mask, g), i.replace(mask, h), j.replace(mask, i), k.replace(mask, j));
        (w[11], w[12], w[13], w[14]) = (l.replace(mask, k), m.replace(mask, l), n.replace(mask, m), o.replace(mask, n));
        w[15] = p.replace(mask, o);
        self.window = self.window.replace(mask, self.window - 4);
        self.advance(mask, 4u32.wrapping_neg());
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
    /// Offset and length.
    pub const OFFSET: Columns = Columns(4);
    /// The first 32 bytes of the window, in lanes that are still live.
    pub const HEADER: Columns = Columns(8);
    /// The interface that received the packet.
    pub const RX: Columns = Columns(16);
    /// The 16 bytes behind them: of a stage that puts something in front of what others may have changed.
    pub const MORE: Columns = Columns(64);
    /// [`Flags`]; written only where one changed.
    pub const FLAGS: Columns = Columns(32);
    /// Both.
    #[must_use]
    pub const fn and(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }
    #[inline(always)]
    pub(crate) const fn has(self, other: Columns) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a hot node keeps between frames.
pub trait Stage: Clone + Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The node's arcs; arc 0 is the way on.
    const ARCS: &'static [ArcSpec];
    /// What works on a frame.
    type Body<'f>: Body;
    /// Takes what a frame needs: references into snapshots, the stage's own state.
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f>;
}

/// The work on a frame, or on what a fused product receives.
///
/// `step` has no effect but on the lanes, because in a chain a later stage may send a lane back to be processed again by
/// the nodes; `commit` then sees which lanes went all the way, and has the effects: counters, sessions, learning.
pub trait Body {
    /// Bytes before the current header at which the 64-byte window begins: 0 for layer 2, 14 for layer 3, so that an IP
    /// header lies at the same place of the window whatever tags stood before it.
    const BACK: u32 = 0;
    /// The columns that the body changes.
    const WRITES: Columns;
    /// Whether what it sends may be for interfaces that send by another one's port.
    const BY_PARTS: bool = false;
    /// Whether the windows of packets that these interfaces received are looked at. If not, they are not even loaded.
    #[inline(always)]
    fn reads<I: Isa>(&self, rx: Lanes<I>) -> bool {
        let _ = rx;
        true
    }
    /// What all packets of a flow have in common, of a packet's window: a product in which the stage is the first one lets
    /// no packet overtake another of its flow that it leaves to the nodes. By default all packets are of one flow.
    fn flow(window: &[u8; 64]) -> u32 {
        let _ = window;
        0
    }
    /// Of a stage that is a feature: the lanes for whose interface it is enabled; see [`Optional`].
    #[inline(always)]
    fn meets<I: Isa>(&self, p: &PacketLanes<I>) -> Mask<I> {
        p.live.with(Mask16::ALL)
    }
    /// Changes the lanes, and lets odd ones leave.
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>);
    /// Has the effects for the lanes that stayed. The last stage of a chain may put something in front of their headers even
    /// here, when the effects of those before it have looked at them.
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        let _ = p;
    }
    /// Whether [`Body::ahead`] is to be called for packets that this interface received.
    #[inline(always)]
    fn looks_ahead(&self, rx: u16) -> bool {
        let _ = rx;
        false
    }
    /// Called some [`AHEAD`] packets ahead with the packet's window and the interface that received it, to prefetch tables.
    #[inline(always)]
    fn ahead(&self, window: &[u8; 64], rx: u16) {
        let _ = (window, rx);
    }
}

/// `A`, then `B` for the packets that leave `A` by arc `ARC`, in registers. Other packets leave the product.
///
/// The window is that of `A`: a stage of layer 3 may follow one of layer 2 that advances by 14.
#[derive(Clone)]
pub struct Chain<A, const ARC: u16, B>(pub A, pub B);

/// The bodies of a [`Chain`].
pub struct ChainBody<A, const ARC: u16, B>(A, B);

impl<A: Stage, const ARC: u16, B: Stage> Stage for Chain<A, ARC, B> {
    const NAME: &'static str = A::NAME;
    const ARCS: &'static [ArcSpec] = A::ARCS;
    type Body<'f> = ChainBody<A::Body<'f>, ARC, B::Body<'f>>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f> {
        ChainBody(self.0.enter(guard), self.1.enter(guard))
    }
}
impl<A: Body, const ARC: u16, B: Body> Body for ChainBody<A, ARC, B> {
    const BACK: u32 = A::BACK;
    const WRITES: Columns = A::WRITES.and(B::WRITES);
    const BY_PARTS: bool = A::BY_PARTS || B::BY_PARTS;
    #[inline(always)]
    fn reads<I: Isa>(&self, rx: Lanes<I>) -> bool {
        self.0.reads(rx) || self.1.reads(rx)
    }
    fn flow(window: &[u8; 64]) -> u32 {
        A::flow(window)
    }
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let before = p.live;
        self.0.step(p);
        if ARC != 0 {
            let on = before & p.next.eq(u32::from(ARC));
            p.next = p.next.replace(on, 0);
            p.live = on;
        }
        self.1.step(p);
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        self.0.commit(p);
        self.1.commit(p);
    }
    #[inline(always)]
    fn looks_ahead(&self, rx: u16) -> bool {
        self.0.looks_ahead(rx) || self.1.looks_ahead(rx)
    }
    #[inline(always)]
    fn ahead(&self, window: &[u8; 64], rx: u16) {
        self.0.ahead(window, rx);
        self.1.ahead(window, rx);
    }
}

/// A feature in a chain: packets of interfaces on which it is enabled pass it by arc 0, others do not meet it.
///
/// The stage changes nothing in lanes that are not live.
#[derive(Clone)]
pub struct Optional<S> {
    stage: S,
    /// Packets that passed it.
    passed: u64,
}
impl<S> Optional<S> {
    /// The feature that this stage is.
    pub fn new(stage: S) -> Optional<S> {
        Optional { stage, passed: 0 }
    }
}
/// The body of an [`Optional`].
pub struct OptionalBody<'f, B> {
    body: B,
    /// The lanes that met it; from `step` to `commit`.
    met: Cell<Mask16>,
    passed: &'f mut u64,
}
impl<S: Stage> Stage for Optional<S> {
    const NAME: &'static str = S::NAME;
    const ARCS: &'static [ArcSpec] = S::ARCS;
    type Body<'f> = OptionalBody<'f, S::Body<'f>>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f> {
        OptionalBody { body: self.stage.enter(guard), met: Cell::new(Mask16(0)), passed: &mut self.passed }
    }
}
impl<B: Body> Body for OptionalBody<'_, B> {
    const BACK: u32 = B::BACK;
    const WRITES: Columns = B::WRITES;
    const BY_PARTS: bool = B::BY_PARTS;
    #[inline(always)]
    fn reads<I: Isa>(&self, rx: Lanes<I>) -> bool {
        self.body.reads(rx)
    }
    #[inline(always)]
    fn looks_ahead(&self, rx: u16) -> bool {
        self.body.looks_ahead(rx)
    }
    #[inline(always)]
    fn ahead(&self, window: &[u8; 64], rx: u16) {
        self.body.ahead(window, rx);
    }
    #[inline(always)]
    fn step<I: Isa>(&self, p: &mut PacketLanes<I>) {
        let met = self.body.meets(p) & p.live;
        self.met.set(met.bits());
        if !met.any() {
            return;
        }
        let others = p.live.without(met);
        p.live = met;
        self.body.step(p);
        p.live = p.live | others;
    }
    #[inline(always)]
    fn commit<I: Isa>(&mut self, p: &mut PacketLanes<I>) {
        self.body.commit(p);
        *self.passed += u64::from((self.met.get() & p.live.bits()).0.count_ones());
    }
}

/// A node that a product stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The node.
    pub node: &'static str,
    /// The arc by which packets leave it.
    pub arc: u16,
    /// Whether it is a feature, which packets of some interfaces do not meet.
    pub is_optional: bool,
    /// Whether packets are received by a part of their interface from here on.
    pub finds_part: bool,
}

/// The nodes and arcs that a fused product stands for, from its entry on.
pub trait Path {
    /// Appends each stage; the last arc leads to the output.
    fn path(path: &mut Vec<Hop>, arc: u16);
    /// Says of each, in the same order, how many packets passed it, of so many that went all the way since the last call.
    fn tally(&mut self, through: u64, each: &mut dyn FnMut(u64));
}
impl<A: Path, const ARC: u16, B: Path> Path for Chain<A, ARC, B> {
    fn path(path: &mut Vec<Hop>, arc: u16) {
        A::path(path, ARC);
        B::path(path, arc);
    }
    fn tally(&mut self, through: u64, each: &mut dyn FnMut(u64)) {
        self.0.tally(through, each);
        self.1.tally(through, each);
    }
}
/// A link of a chain: a stage that every packet passes.
#[derive(Clone)]
pub struct Link<S>(pub S);
impl<S: Stage> Path for Link<S> {
    fn path(path: &mut Vec<Hop>, arc: u16) {
        let finds_part = <S::Body<'static> as Body>::WRITES.has(Columns::RX);
        path.push(Hop { node: S::NAME, arc, is_optional: false, finds_part });
    }
    fn tally(&mut self, through: u64, each: &mut dyn FnMut(u64)) {
        each(through);
    }
}
impl<S: Stage> Path for Optional<S> {
    fn path(path: &mut Vec<Hop>, arc: u16) {
        path.push(Hop { node: S::NAME, arc, is_optional: true, finds_part: false });
    }
    fn tally(&mut self, _: u64, each: &mut dyn FnMut(u64)) {
        each(std::mem::take(&mut self.passed));
    }
}
impl<S: Stage> Stage for Link<S> {
    const NAME: &'static str = S::NAME;
    const ARCS: &'static [ArcSpec] = S::ARCS;
    type Body<'f> = S::Body<'f>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f> {
        self.0.enter(guard)
    }
}

impl Frame {
    /// The sixteen packets from row `base` on, as a body wants them.
    #[inline(always)]
    fn lanes<I: Isa, B: Body>(&self, isa: I, base: usize, body: &B, pool: &Pool) -> PacketLanes<I> {
        let mut p = self.columns(isa, base, B::BACK);
        if B::WRITES.has(Columns::HEADER) || body.reads(p.rx) {
            p.header = self.header(isa, base, p.window, pool);
        }
        p
    }
    /// The windows of sixteen packets, transposed into columns.
    #[inline(always)]
    fn header<I: Isa>(&self, isa: I, base: usize, window: Lanes<I>, pool: &Pool) -> Header<I> {
        let (at, mut windows) = (window.array(), [pool.window(self.buffer[base], 0); 16]);
        for lane in 0..16 {
            windows[lane] = pool.window(self.buffer[base + lane], at[lane] as usize);
        }
        Header::load(isa, &windows)
    }
    /// What the frame says of sixteen packets.
    #[inline(always)]
    fn columns<I: Isa>(&self, isa: I, base: usize, back: u32) -> PacketLanes<I> {
        let offset = widen(isa, &self.offset, base);
        PacketLanes {
            header: Header::unread(isa),
            window: if back == 0 { offset } else { offset.replace(offset.lt(back), back) - back },
            offset,
            length: long(isa, &self.length, base),
            rx: widen(isa, &self.rx, base),
            tx: widen(isa, &self.tx, base),
            flags: widen(isa, &self.flags, base),
            hop: long(isa, &self.hop, base),
            next: Lanes::splat(isa, 0),
            live: Mask::new(isa, Mask16::first(self.len - base)),
        }
    }
    /// Writes back the columns that the stage changes. What it fills in means something on its own arcs only.
    #[inline(always)]
    pub(crate) fn keep<I: Isa>(&mut self, base: usize, p: &PacketLanes<I>, flags: Lanes<I>, writes: Columns) {
        if writes.has(Columns::FLAGS) && p.flags.ne(flags).any() {
            narrow(p.flags, &mut self.flags[base..base + 16]);
            for flags in &self.flags[base..base + 16] {
                self.any = self.any.with(Flags(*flags));
            }
        }
        if writes.has(Columns::TX) {
            narrow(p.tx, &mut self.tx[base..base + 16]);
        }
        if writes.has(Columns::RX) {
            narrow(p.rx, &mut self.rx[base..base + 16]);
        }
        if writes.has(Columns::HOP) {
            self.hop[base..base + 16].copy_from_slice(&p.hop.array());
        }
        if writes.has(Columns::OFFSET) {
            narrow(p.offset, &mut self.offset[base..base + 16]);
            self.length[base..base + 16].copy_from_slice(&p.length.array());
        }
    }
    /// Writes the first bytes of the live lanes' windows, where these begin by now.
    #[inline(always)]
    pub(crate) fn keep_header<I: Isa>(&self, base: usize, p: &PacketLanes<I>, writes: Columns, pool: &mut Pool) {
        let windows = p.window.array();
        p.header.put(p.live, writes, |lane, at, bytes| {
            let window = pool.window_mut(self.buffer[base + lane], windows[lane] as usize);
            window[at..at + bytes.len()].copy_from_slice(bytes);
        });
    }
}
#[inline(always)]
fn widen<I: Isa>(isa: I, column: &[u16; VECTOR], base: usize) -> Lanes<I> {
    let mut a = [0; 16];
    for (x, y) in a.iter_mut().zip(&column[base..base + 16]) {
        *x = u32::from(*y);
    }
    Lanes::new(isa, &a)
}
#[inline(always)]
fn long<I: Isa>(isa: I, column: &[u32; VECTOR], base: usize) -> Lanes<I> {
    let mut a = [0; 16];
    a.copy_from_slice(&column[base..base + 16]);
    Lanes::new(isa, &a)
}
#[inline(always)]
pub(crate) fn narrow<I: Isa>(lanes: Lanes<I>, column: &mut [u16]) {
    for (x, y) in column.iter_mut().zip(lanes.array()) {
        *x = y as u16;
    }
}

/// A stage with the frame's loop around it: an ordinary node.
pub struct StageNode<S>(pub S);
impl<S: Stage> Node for StageNode<S> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let level = cx.level;
        level.run(FrameLoop { body: self.0.enter(cx.guard), pool: cx.pool, frame });
    }
}
/// The type of a stage's loop as a node.
pub(crate) fn node_kernel<S: Stage>() -> &'static str {
    std::any::type_name::<FrameLoop<'static, S::Body<'static>>>()
}
struct FrameLoop<'a, B> {
    body: B,
    pool: &'a mut Pool,
    frame: &'a mut Frame,
}
impl<B: Body> Kernel for FrameLoop<'_, B> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let FrameLoop { mut body, pool, frame } = self;
        frame.pad(pool.null);
        let len = frame.len();
        for base in (0..len).step_by(16) {
            seam("about to step sixteen packets");
            look_ahead(&body, pool, frame, base);
            let mut p = frame.lanes(isa, base, &body, pool);
            let flags = p.flags;
            body.step(&mut p);
            body.commit(&mut p);
            narrow(p.next, &mut frame.next[base..base + 16]);
            frame.keep(base, &p, flags, B::WRITES);
            if B::WRITES.has(Columns::HEADER) {
                frame.keep_header(base, &p, B::WRITES, pool);
            }
        }
    }
}

/// How many packets ahead tables are fetched, beyond the sixteen that are next: so many that six lookups, each of which
/// needs what the one before it finds, can follow one another sixteen packets apart.
pub(crate) const AHEAD: usize = 96;

/// Prefetches the tables for the packets [`AHEAD`] rows ahead. Their headers are near by then: a driver that did not just write
/// them prefetches what it receives. PERF: doing it here cost 4 of a cross-connect's 20 ticks (three nodes, Zen 4).
#[inline(always)]
fn look_ahead<B: Body>(body: &B, pool: &Pool, frame: &Frame, base: usize) {
    let first = if base == 0 { 0 } else { base + AHEAD };
    let end = (base + AHEAD + 16).min(frame.len());
    for base in (first..end).step_by(16) {
        // PERF: sixteen packets of one interface, as most are, for whom nothing is to be fetched, cost a look. Without a way
        // out of the loop it is no code at all for bodies that fetch nothing.
        let rx = frame.rx.get(base..).and_then(|rx| rx.first_chunk::<16>());
        if rx.is_some_and(|rx| body.looks_ahead(rx[0]) || !column::is_one(rx)) {
            for i in base..(base + 16).min(end) {
                let at = usize::from(frame.offset[i]).saturating_sub(B::BACK as usize);
                body.ahead(pool.window(frame.buffer[i], at), frame.rx[i]);
            }
        }
    }
}

/// The type of a product's loop.
pub(crate) fn product_kernel<S: Stage>() -> &'static str {
    std::any::type_name::<ProductLoop<'static, S::Body<'static>>>()
}
/// The product's loop: packets that go all the way are handed to the output; odd ones, and those behind them that are of
/// their flows, stay in the frame untouched.
pub(crate) struct ProductLoop<'a, B> {
    pub body: B,
    pub pool: &'a mut Pool,
    pub frame: &'a mut Frame,
    pub flows: &'a mut Flows,
    pub output: &'a mut Ports,
    pub now: u64,
}
impl<B: Body> Kernel for ProductLoop<'_, B> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let ProductLoop { mut body, pool, frame, flows, output, now } = self;
        frame.pad(pool.null);
        let (len, mut kept) = (frame.len(), 0);
        for base in (0..len).step_by(16) {
            seam("about to step sixteen packets");
            look_ahead(&body, pool, frame, base);
            let mut p = frame.lanes(isa, base, &body, pool);
            let present = p.live;
            if frame.any.has(Flags::ODD) {
                p.live = p.live.without(p.flagged(Flags::ODD));
            }
            body.step(&mut p);
            let port = if B::BY_PARTS { output.ports_of(p.tx) } else { p.tx };
            p.live = p.live & output.accepts(port);
            let mut left = present.without(p.live).bits();
            if left != Mask16(0) || !flows.is_empty() {
                left = frame.hold_back((base, B::BACK), pool, (present.bits(), left), flows, B::flow);
                p.live = p.live.without(p.live.with(left));
            }
            body.commit(&mut p);
            if B::WRITES.has(Columns::HEADER) {
                frame.keep_header(base, &p, B::WRITES, pool);
            }
            if B::BY_PARTS {
                output.count_parts(&p);
                p.tx = port;
            }
            output.push_group(&mut TxContext::new(pool, now), frame, base, &p);
            for lane in left {
                frame.shift(kept, base + lane);
                kept += 1;
            }
        }
        match kept {
            0 => frame.clear(),
            _ => frame.len = kept,
        }
    }
}
