//! `acl-input-ip4`, `acl-input-ip6`, `acl-input-l2`, `acl-output-ip4`, `acl-output-ip6`, `acl-output-l2`: check the
//! packets that an interface receives and sends by its lists, in layer 3 or layer 2.
//!
//! Drops: `denied`, by the first matching rule, or because no rule matches; truncated packets match none; `session-table-full`, of a
//! packet whose rule begins a session for which there is no room. In layer 2, frames that carry neither IPv4 nor IPv6 pass.
//!
//! Packets of interfaces whose lists begin sessions take the slow path, in [`crate::sessions`].

use std::marker::PhantomData;

use quiver_engine::{
    ArcSpec, Body, Columns, Context, Frame, Guard, Isa, LANES, Mask, Mask8, MetadataKey, PacketLanes, Quarters, Rows,
    Seed, SlowPath, Snapshot, Stage, Windows, unlikely,
};
use quiver_interface::Direction;
use quiver_ip::upper::Upper;

use crate::lists::Lists;
use crate::look::{Attached, ListsOf, Look, Next};
use crate::sessions::Sessions;

/// A node.
#[derive(Clone)]
pub struct Check<L: Look, const SENT: bool> {
    attached: Snapshot<Attached>,
    lists: Snapshot<Lists>,
    upper: MetadataKey<Upper>,
    sessions: Sessions,
    worker: usize,
    look: PhantomData<L>,
}

impl<L: Look, const SENT: bool> Check<L, SENT> {
    /// A check with the lists by interface, the lists themselves, the key of the ports of later fragments, and sessions.
    pub fn new(
        attached: Snapshot<Attached>,
        lists: Snapshot<Lists>,
        upper: MetadataKey<Upper>,
        sessions: Sessions,
    ) -> Check<L, SENT> {
        Check { attached, lists, upper, sessions, worker: 0, look: PhantomData }
    }
    /// That of a worker.
    pub fn of(&self, seed: Seed) -> Check<L, SENT> {
        Check { worker: seed.worker, sessions: self.sessions.of(seed), ..self.clone() }
    }
    const DIRECTION: Direction = if SENT { Direction::Tx } else { Direction::Rx };
}

impl<L: Look, const SENT: bool> Stage for Check<L, SENT> {
    const NAME: &'static str = L::NODES[SENT as usize];
    const ARCS: &'static [ArcSpec] = Next::ARCS;
    type Body<'f> = CheckBody<'f, L, SENT>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> CheckBody<'f, L, SENT> {
        let (attached, lists) = (self.attached.read(guard), self.lists.read(guard));
        CheckBody { attached, lists, upper: self.upper, worker: self.worker, look: PhantomData }
    }
}

/// The node at work.
pub struct CheckBody<'f, L, const SENT: bool> {
    attached: &'f Attached,
    lists: &'f Lists,
    upper: MetadataKey<Upper>,
    worker: usize,
    look: PhantomData<L>,
}

impl<'f, L: Look, const SENT: bool> CheckBody<'f, L, SENT> {
    #[inline(always)]
    fn of(&self, interface: u32) -> ListsOf<'f> {
        ListsOf::of(self.attached, self.lists, interface)
    }
    /// The packets of interfaces that let packets of sessions pass.
    #[inline(always)]
    fn reflecting<I: Isa>(&self, p: &PacketLanes<I>) -> Mask<I> {
        let interfaces = if SENT { p.tx } else { p.rx };
        interfaces.map_uniform(|interface| self.lists.reflects(interface).into()).ne(0) & p.live
    }
    /// Asks the lists of interfaces about eight packets. Returns those that pass, and those of which the windows do not say enough.
    #[inline(always)]
    fn ask<I: Isa>(&self, p: &PacketLanes<I>) -> [Mask<I>; 2] {
        let mut at_window = *p;
        at_window.length = p.length + if SENT { 0 } else { L::BACK };
        let interfaces = if SENT { p.tx } else { p.rx };
        let (mut open, mut passed, mut odd) = (p.live, p.live.with(Mask8(0)), p.live.with(Mask8(0)));
        // Mostly one interface has all of them.
        while let Some(lane) = open.bits().into_iter().next() {
            let interface = interfaces.array()[lane % LANES];
            let those = interfaces.eq(interface) & open;
            let lists = self.of(interface);
            if lists.is_empty() {
                passed = passed | those;
            } else {
                let [now, unsaid] = L::ask(&at_window, those, lists);
                (passed, odd) = (passed | now, odd | unsaid);
            }
            open = open.without(those);
        }
        [passed, odd]
    }
    /// Checks each of `packets` by itself, and returns those that pass.
    #[cold]
    #[inline(never)]
    fn pass_each<I: Isa>(&self, p: &PacketLanes<I>, packets: Mask8, windows: &Windows<'_>) -> Mask8 {
        let (interfaces, lengths) = (if SENT { p.tx } else { p.rx }.array(), p.length.array());
        let mut passed = Mask8(0);
        for lane in packets {
            let (packet, noted) = (windows.packet(p, lane), windows.metadata(p, lane, self.upper));
            let lists = self.of(interfaces[lane]);
            let count = |rule| {
                if self.lists.are_counted {
                    lists.count(self.worker, rule, lengths[lane]);
                }
            };
            let passes = lists.is_empty() || lists.passes::<L>(packet, Check::<L, SENT>::DIRECTION, noted, count);
            passed = passed | Mask8(u8::from(passes) << lane);
        }
        passed
    }
}

impl<L: Look, const SENT: bool> Body for CheckBody<'_, L, SENT> {
    const BACK: u32 = if SENT { 0 } else { L::BACK };
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = L::READS;
    const HAS_ORDINARY: bool = true;

    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) -> bool {
        // All of them pass. Where matches are counted, and where there are sessions, each packet is looked at by itself.
        let is_each = self.lists.are_counted || self.lists.reflects_any && self.reflecting(p).any();
        !is_each && !p.live.without(self.ask(p)[0]).any()
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        if self.lists.reflects_any {
            unlikely();
            p.leave(self.reflecting(p), SLOW);
        }
        let [mut passed, odd] = if self.lists.are_counted { [p.live.with(Mask8(0)), p.live] } else { self.ask(p) };
        if odd.any() {
            unlikely();
            passed = passed | p.live.with(self.pass_each(p, odd.bits(), windows));
        }
        p.leave(!passed, Next::Denied);
    }
}

/// The arc of packets that take the slow path.
const SLOW: Next = Next::Full;

impl<L: Look, const SENT: bool> SlowPath for Check<L, SENT> {
    const SLOW: u16 = SLOW as u16;
    fn treat(&mut self, cx: &mut Context, frame: &mut Frame, rows: Rows) {
        let (attached, lists) = (self.attached.read(cx.guard), self.lists.read(cx.guard));
        let interface = |frame: &Frame, i: usize| if SENT { frame.tx[i] } else { frame.rx[i] };
        // PERF: most packets are plain ones of sessions of this worker.
        let rows = self.sessions.pass_known(cx, frame, rows, |cx, frame, i| {
            Some((interface(frame, i), SENT, L::plain(frame.bytes(cx.pool, i), Self::DIRECTION)?))
        });
        if rows.is_empty() {
            return;
        }
        self.sessions.seek(cx, frame, rows, |cx, frame, i| {
            let fields = L::fields(frame.bytes(cx.pool, i), Self::DIRECTION);
            let noted = frame.metadata(cx.pool, i, self.upper);
            let fields = fields.map(|fields| fields.map(|fields| fields.or(noted)));
            (interface(frame, i), SENT, fields)
        });
        self.sessions.treat(cx, frame, |interface| ListsOf::of(attached, lists, interface), lists.are_counted);
    }
}
