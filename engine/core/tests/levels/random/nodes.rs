//! Nodes that follow rules: stages of all forms over eight lanes, and plain ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quiver_engine::*;

use super::rules::{Key, LEAST, Rule, cut};

/// The bytes by which a stage moves the current headers of packets.
#[derive(Clone, Copy)]
pub enum Move {
    None,
    /// All by so many bytes.
    By(i32),
    /// By 0 or 4 bytes.
    Mixed,
}

/// The constants of a stage, from which those of [`Body`] follow.
#[derive(Clone, Copy)]
pub struct Form {
    pub back: u32,
    /// The quarter of the window with the key; without one the hop is the key.
    pub reads: Option<usize>,
    pub rewrites: Option<usize>,
    pub moves: Move,
    pub tx: bool,
    pub hop: bool,
    pub cuts: bool,
    pub rx: bool,
    pub has_ordinary: bool,
    /// Whether the receiving interface is the key, which treats whole frames alike.
    pub is_alike: bool,
}
const PLAIN: Form = Form {
    back: 0,
    reads: Some(0),
    rewrites: None,
    moves: Move::None,
    tx: false,
    hop: false,
    cuts: false,
    rx: false,
    has_ordinary: false,
    is_alike: false,
};
/// All forms. The last one is that of plain nodes, which may do all of that.
pub const FORMS: [Form; 13] = [
    PLAIN,
    Form { back: 14, reads: Some(2), ..PLAIN },
    Form { reads: Some(1), moves: Move::Mixed, ..PLAIN },
    Form { back: 14, reads: Some(1), rewrites: Some(0), moves: Move::By(-4), ..PLAIN },
    Form { reads: Some(1), rewrites: Some(3), ..PLAIN },
    Form { tx: true, hop: true, ..PLAIN },
    Form { reads: None, tx: true, ..PLAIN },
    Form { tx: true, has_ordinary: true, ..PLAIN },
    Form { reads: Some(3), rewrites: Some(1), moves: Move::By(4), has_ordinary: true, ..PLAIN },
    Form { reads: None, tx: true, hop: true, is_alike: true, ..PLAIN },
    Form { rx: true, ..PLAIN },
    Form { back: 14, reads: Some(1), hop: true, cuts: true, has_ordinary: true, ..PLAIN },
    Form { rewrites: Some(1), moves: Move::Mixed, tx: true, hop: true, cuts: true, ..PLAIN },
];

const fn columns(form: Form) -> Columns {
    let mut all = Columns::NONE;
    if form.tx {
        all = all.and(Columns::TX);
    }
    if form.hop {
        all = all.and(Columns::HOP);
    }
    if form.rx {
        all = all.and(Columns::RX);
    }
    if form.cuts {
        all = all.and(Columns::LENGTH);
    }
    if !matches!(form.moves, Move::None) {
        all = all.and(Columns::OFFSET);
    }
    all
}
const fn quarter(number: Option<usize>) -> Quarters {
    match number {
        Some(number) => Quarters::of(16 * number, 16 * number + 16),
        None => Quarters::NONE,
    }
}

/// A value for each lane by its key.
#[inline(always)]
fn look_up<I: Isa>(keys: Lanes<I>, table: &[u32; 256]) -> Lanes<I> {
    keys.map_uniform(|key| table[(key & 255) as usize])
}
/// Writes the bytes that a rule names into the windows of some lanes. It is compiled once for all forms.
#[inline(never)]
fn write(rule: &Rule, windows: &mut Windows<'_>, lanes: Mask8) {
    for lane in lanes {
        let window = windows.of(lane);
        if let Some((at, value)) = rule.add {
            window[at] = window[at].wrapping_add(value);
        }
        if let Some(bytes) = rule.front {
            window[10..14].copy_from_slice(&bytes);
        }
    }
}

/// A stage of form `N`.
#[derive(Clone)]
struct Follow<const N: usize> {
    rule: Arc<Rule>,
    treated: Arc<AtomicU64>,
    /// Whether it has written bytes of the frame.
    has_written: bool,
    /// The sending interface of packets that the one interface received.
    tx: u32,
}
impl<const N: usize> Stage for Follow<N> {
    const NAME: &'static str = "follow";
    const ARCS: &'static [ArcSpec] = &[];
    type Body<'f> = &'f mut Follow<N>;
    fn enter<'f>(&'f mut self, _: Guard<'f>) -> &'f mut Follow<N> {
        self.has_written = false;
        self
    }
}
impl<const N: usize> Follow<N> {
    #[inline(always)]
    fn keys<I: Isa>(&self, p: &PacketLanes<I>) -> Lanes<I> {
        match self.rule.key {
            Key::Byte(at) => p.header.get(Field::new(at, 8)),
            Key::Hop => p.hop & 255,
            Key::Rx => p.rx & 255,
        }
    }
    /// Changes the packets of some lanes, but does not move their headers.
    #[inline(always)]
    fn change<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>, keys: Lanes<I>, lanes: Mask<I>) {
        let rule = &*self.rule;
        if FORMS[N].cuts {
            p.length = p.length.replace(lanes, p.length.with(&p.length.array().map(cut)));
        }
        if let Some(tx) = rule.tx.as_ref().filter(|_| FORMS[N].tx) {
            let chosen = match rule.tx_by_rx {
                true if p.has_one_rx() => p.rx.same(self.tx),
                true => look_up(p.rx, tx),
                false => look_up(keys, tx),
            };
            p.tx = p.tx.replace(lanes, chosen);
        }
        if let Some(hop) = rule.hop.as_ref().filter(|_| FORMS[N].hop) {
            p.hop = p.hop.replace(lanes, look_up(keys, hop));
        }
        if FORMS[N].rewrites.is_some() && (rule.add.is_some() || rule.front.is_some()) {
            write(rule, windows, lanes.bits());
            self.has_written = true;
        }
        if let Some(rx) = rule.rx.as_ref().filter(|_| FORMS[N].rx) {
            p.rx = p.rx.replace(lanes, look_up(keys, rx));
        }
    }
    /// Counts packets that are long enough.
    #[inline(always)]
    fn count<I: Isa>(&self, lanes: Mask<I>) {
        self.treated.fetch_add(lanes.bits().len() as u64, Ordering::Relaxed);
    }
    fn by(&self) -> i32 {
        match FORMS[N].moves {
            Move::By(by) => by,
            _ => 0,
        }
    }
}
impl<const N: usize> Body for &mut Follow<N> {
    const BACK: u32 = FORMS[N].back;
    const WRITES: Columns = columns(FORMS[N]);
    const READS: Quarters = quarter(FORMS[N].reads);
    const REWRITES: Quarters = quarter(FORMS[N].rewrites);
    const HAS_ORDINARY: bool = FORMS[N].has_ordinary;
    const LENGTH_MIN: u32 = LEAST;
    const MOVES: Option<i32> = match FORMS[N].moves {
        Move::By(by) => Some(by),
        _ => None,
    };
    fn rewrote(&self) -> Quarters {
        if self.has_written { Self::REWRITES } else { Quarters::NONE }
    }
    fn alike(&mut self, rx: u32, _: u32) -> Option<Alike> {
        // Of interface 2 the steps are to find it out.
        if !FORMS[N].is_alike || rx == 2 {
            return None;
        }
        let (rule, key) = (&*self.rule, rx as usize & 255);
        Some(Alike {
            arc: rule.arc(key),
            tx: rule.tx.as_ref().map(|tx| tx[key]),
            hop: rule.hop.as_ref().map(|hop| hop[key]),
        })
    }
    fn begin(&mut self, rx: Option<u32>, _: Option<u32>) {
        if let (Some(rx), Some(tx)) = (rx, &self.rule.tx) {
            self.tx = tx[rx as usize & 255];
        }
    }
    fn ordinary_moves(&self) -> i32 {
        if self.rule.ordinary == 0 || self.rule.is_early { self.by() } else { 0 }
    }
    fn ordinary_arc(&self) -> u16 {
        self.rule.ordinary
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        let keys = self.keys(p);
        let arcs = look_up(keys, &self.rule.arcs);
        if p.length.lt(LEAST).any() || !arcs.eq(u32::from(self.rule.ordinary)).all() {
            return false;
        }
        self.count(p.live);
        if self.rule.ordinary == 0 || self.rule.is_early {
            self.change(p, windows, keys, p.live);
            p.length = p.length - self.by() as u32;
        }
        true
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let rule = self.rule.clone();
        p.leave(p.length.lt(LEAST), rule.short);
        let (keys, whole) = (self.keys(p), p.live);
        self.count(whole);
        let arcs = look_up(keys, &rule.arcs);
        for arc in 1..rule.short {
            p.leave(arcs.eq(u32::from(arc)), arc);
        }
        let lanes = if rule.is_early { whole } else { p.live };
        self.change(p, windows, keys, lanes);
        match (FORMS[N].moves, &rule.moves) {
            (Move::By(by), _) => p.advance(lanes, by as u32),
            (Move::Mixed, Some(moves)) => p.advance(lanes, look_up(keys, moves)),
            _ => {}
        }
    }
}

/// Action of a node beside its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extra {
    Nothing,
    /// Emits copies of packets with odd keys that go on, and notes in these that they were copied.
    Copies,
    /// Takes packets with odd keys that go on, and emits them.
    Takes,
}

/// The byte that tells a packet from its copy.
pub const COPIED: usize = 40;

/// A node that is no stage.
struct Plain(Arc<Rule>, Extra, Arc<AtomicU64>);
impl Node for Plain {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let rule = &*self.0;
        for i in 0..frame.len() {
            if frame.length[i] < LEAST {
                frame.next[i] = rule.short;
                continue;
            }
            self.2.fetch_add(1, Ordering::Relaxed);
            let key = match rule.key {
                Key::Byte(at) => usize::from(frame.bytes(cx.pool, i)[at]),
                Key::Hop => (frame.hop[i] & 255) as usize,
                Key::Rx => frame.rx[i] as usize & 255,
            };
            let arc = rule.arc(key);
            frame.next[i] = arc;
            if arc == 0 || rule.is_early {
                change(rule, cx.pool, frame, i, key);
            }
            if arc == 0 && key % 2 == 1 {
                let made = match self.1 {
                    Extra::Nothing => None,
                    Extra::Copies => {
                        let copy = frame.copy(cx.pool, i);
                        frame.bytes_mut(cx.pool, i)[COPIED] ^= 0xff;
                        copy
                    }
                    Extra::Takes => frame.take(cx.pool, i),
                };
                made.into_iter().for_each(|packet| cx.emit(0u16, packet));
            }
        }
    }
}
fn change(rule: &Rule, pool: &mut Pool, frame: &mut Frame, i: usize, key: usize) {
    if rule.cuts {
        frame.truncate(i, cut(frame.length[i]));
    }
    if let Some(tx) = &rule.tx {
        frame.tx[i] = tx[if rule.tx_by_rx { frame.rx[i] as usize & 255 } else { key }];
    }
    if let Some(hop) = &rule.hop {
        frame.hop[i] = hop[key];
    }
    if let Some((at, value)) = rule.add {
        let byte = &mut frame.bytes_mut(pool, i)[at];
        *byte = byte.wrapping_add(value);
    }
    if let Some(moves) = &rule.moves {
        assert!(frame.advance(pool, i, moves[key] as i32 as isize), "there is room");
    }
    if let Some(rx) = &rule.rx {
        frame.rx[i] = rx[key];
    }
}

/// A node of a form that follows a rule; None makes it a plain one. It counts what it treats, packets that are too short apart.
pub fn spec(
    name: &'static str,
    arcs: &'static [ArcSpec],
    form: Option<usize>,
    rule: &Arc<Rule>,
    extra: Extra,
    treated: &Arc<AtomicU64>,
) -> NodeSpec {
    let (rule, treated) = (rule.clone(), treated.clone());
    macro_rules! forms {
        ($($n:literal)+) => {
            match form {
                $(Some($n) => NodeSpec::new(name, arcs, move |_| {
                    StageNode(Follow::<$n> { rule: rule.clone(), treated: treated.clone(), has_written: false, tx: 0 })
                }),)+
                _ => NodeSpec::new(name, arcs, move |_| Plain(rule.clone(), extra, treated.clone())),
            }
        };
    }
    forms!(0 1 2 3 4 5 6 7 8 9 10 11)
}
