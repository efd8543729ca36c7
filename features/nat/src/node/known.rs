//! Received packets of sessions that are there: all of a frame at once.

use quiver_engine::{BLOCK, Context, Frame, Rows};
use quiver_session::key::{PLAIN4, plain_ip4};
use quiver_session::node::pass::{Latest, Work};
use quiver_session::translator::Search;

use super::tables::{Own, Tables, context};
use crate::counters::Tally;
use crate::rules::Rules;

/// The keys of a frame's packets.
pub struct KnownRows(Box<[Search; BLOCK]>);

impl Default for KnownRows {
    fn default() -> KnownRows {
        KnownRows(Box::new([Search::NONE; BLOCK]))
    }
}

/// Time to live of a packet.
#[inline(always)]
pub(super) fn ttl(bytes: &[u8]) -> u8 {
    bytes.get(8).copied().unwrap_or_default()
}

impl KnownRows {
    /// Passes the plain packets of this worker's sessions on to their services; returns the other rows.
    ///
    /// PERF: the misses of a whole frame are under way together.
    #[inline(always)]
    pub fn pass_on(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        (tables, own): (&Tables, &Own),
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
            self.0[i] = match received.is_from_inside(rules, ends.addresses as u32) {
                true => translator.first(ends, context(received.slot, false), (protocol, tables.format)),
                false => translator.second(ends, received.slot, protocol),
            };
            plain.insert(i);
        }
        for i in plain {
            translator.approach(&mut self.0[i]);
        }
        let (now, mut latest, mut tally) = (work.ticks(cx), Latest::default(), Tally::default());
        for i in plain {
            let search = &self.0[i];
            let Some(known) = translator.found(search) else {
                others.insert(i);
                continue;
            };
            if !cx.is_rehearsal() {
                tally.count(&own.counters, search.is_from_inside(), (search.protocol(), frame.rx[i]));
            }
            work.arrive((cx, frame, i), known, (now, &mut latest));
        }
        tally.end(&own.counters);
        others
    }
}
