//! Received packets of sessions that are there: all of a frame at once.

use quiver_engine::{BLOCK, Context, Frame, Rows};
use quiver_session::effect::Effect;
use quiver_session::key::{PLAIN4, plain_ip4};
use quiver_session::node::pass::{Latest, Work};
use quiver_session::translator::Search;

use super::rows::rewrite_plain_row;
use super::tables::{Own, Tables, context};
use crate::counters::Tally;
use crate::rules::Rules;

/// A packet that is searched for.
#[derive(Clone, Copy)]
struct Row {
    search: Search,
    effect: Effect,
}

/// The packets of a frame.
pub struct KnownRows(Box<[Row; BLOCK]>);

impl Default for KnownRows {
    fn default() -> KnownRows {
        KnownRows(Box::new([Row { search: Search::NONE, effect: Effect::Any }; BLOCK]))
    }
}

/// Time to live of a packet.
#[inline(always)]
pub(super) fn ttl(bytes: &[u8]) -> u8 {
    bytes.get(8).copied().unwrap_or_default()
}

impl KnownRows {
    /// Passes the plain packets of this worker's sessions on to their services; returns the other rows. Packets that come to `nat44-ed-rewrite`
    /// first are rewritten here; they leave by one of two arcs, as [`Way::turns`](super::session::Way::turns) says, or along their chain.
    ///
    /// PERF: the misses of a whole frame are under way together.
    #[inline(always)]
    pub fn pass_on(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        (tables, own, arcs): (&Tables, &Own, [u16; 2]),
        (work, rules): (&Work<'_>, &Rules),
    ) -> Rows {
        let Some(translator) = work.translator() else { return Rows::first(frame.len()) };
        let (mut plain, mut others) = (Rows::default(), Rows::default());
        let mut received = tables.received(cx.guard, frame.rx[0]);
        for i in 0..frame.len() {
            if frame.rx[i] != received.interface {
                received = tables.received(cx.guard, frame.rx[i]);
            }
            // One that is long may not fit its link; one that has a mark may come back to the inside.
            let is_new = |header: &&[u8; PLAIN4]| {
                let is_short = ttl(*header) > 1 && frame.length[i] <= rules.mtu_least;
                is_short && tables.reads.mark_of(cx, frame, i).is_none()
            };
            let Some((ends, protocol)) = frame.first(cx.pool, i).filter(is_new).and_then(plain_ip4) else {
                others.insert(i);
                continue;
            };
            let search = match received.is_from_inside(rules, ends.addresses as u32) {
                true => translator.first(ends, context(received.slot, false), (protocol, tables.format)),
                false => translator.second(ends, received.slot, protocol),
            };
            self.0[i] = Row { search, effect: Effect::ip4(cx, frame, i, protocol) };
            plain.insert(i);
        }
        for i in plain {
            translator.approach(&mut self.0[i].search);
        }
        let ingress = tables.routes.ingress.read(cx.guard);
        let (now, mut latest, mut tally) = (work.ticks(cx), Latest::default(), Tally::default());
        for i in plain {
            let Row { search, effect } = &self.0[i];
            let Some(known) = translator.found(search) else {
                others.insert(i);
                continue;
            };
            if !cx.is_rehearsal() {
                tally.count(&own.counters, search.is_from_inside(), (search.protocol(), frame.rx[i]));
            }
            let arrived = work.arrived((cx, frame, i), (known, *effect), (now, &mut latest));
            let packet = match arrived {
                Some((packet, None)) => packet,
                Some((packet, Some(service))) => {
                    work.send(cx, frame, i, (packet.mark, service));
                    continue;
                }
                None => continue,
            };
            let slot = |frame: &Frame| ingress.slot(frame.rx[i]);
            let plain = Some((&translator, &packet)).filter(|_| packet.is_at(tables.rewrite));
            match plain.and_then(|plain| rewrite_plain_row(cx, (frame, i), plain, slot)) {
                // It may come back, and is known by its mark then.
                Some(way) if way.turns(frame, i, arcs) => work.mark(cx, frame, i, packet),
                Some(_) => work.pass_settled(cx, frame, i, packet.passed()),
                None => work.pass_settled(cx, frame, i, packet),
            }
        }
        tally.end(&own.counters);
        others
    }
}
