//! `sfdp-lookup-ip4`, `sfdp-lookup-ip6`: the session of each packet, or a new one. Packets of sessions of another worker are handed
//! over to it.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::channel::Outbox;
use quiver_engine::isa::prefetch;
use quiver_engine::trace::Record;
use quiver_engine::{BLOCK, Context, Frame, MetadataKey, Node, Pool, Row, Rows, arcs};
use quiver_ip::node::describe;
use quiver_ip::upper::Upper;
use quiver_session_events::Reason;
use quiver_table::directory::Home;
use quiver_wire::IpProtocol;

use super::begin::{Sought, begin, go_on, refused, rehearse, takes_slow_path};
use super::owner;
use super::pass::{Known, Latest, Reads, Work};
use crate::effect::Effect;
use crate::interface::Tracked;
use crate::key::{Ends4, Flow, Format, Key, NoFlow, flow_of, plain_ip4, plain_ip6};
use crate::sessions::{Mark, Sessions};
use crate::slow_path::OddPackets;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Owner => node "sfdp-handoff",
        Fragment => drop "fragment",
        Protocol => drop "unknown-protocol",
        IcmpError => drop "icmp-error",
        Malformed => drop "malformed",
        Full => drop "session-table-full",
        Quota => drop "session-quota",
        SourceQuota => drop "session-source-quota",
        Busy => drop "handoff-full",
        NoTenant => drop "no-tenant",
    }
}

const _: () = assert!(Next::Owner as u16 == owner::ARC);

impl From<NoFlow> for Next {
    fn from(why: NoFlow) -> Next {
        match why {
            NoFlow::Fragment => Next::Fragment,
            NoFlow::Protocol => Next::Protocol,
            NoFlow::IcmpError => Next::IcmpError,
            NoFlow::Malformed => Next::Malformed,
        }
    }
}

impl From<Reason> for Next {
    fn from(reason: Reason) -> Next {
        refused(reason, [Next::Full, Next::Quota, Next::SourceQuota])
    }
}

/// Finds the flow of packets, whose ends are keys of one format.
pub trait Parser: 'static {
    /// Name of the node that finds the sessions of packets.
    const NODE: &'static str;
    /// The flow of a row of a frame. `upper` has the ports of later fragments.
    ///
    /// # Errors
    /// If the packet belongs to no flow.
    fn flow(frame: &Frame, pool: &Pool, i: usize, upper: MetadataKey<Upper>) -> Result<Flow, NoFlow>;
    /// Text of a packet in a trace.
    fn describe(record: &Record) -> String;
}

/// Flows of a family, by addresses and ports.
pub struct IpParser<F>(PhantomData<F>);

impl<F: Tracked> Parser for IpParser<F> {
    const NODE: &'static str = F::LOOKUP;
    fn flow(frame: &Frame, pool: &Pool, i: usize, upper: MetadataKey<Upper>) -> Result<Flow, NoFlow> {
        flow_of::<F>(frame, pool, i, upper)
    }
    fn describe(record: &Record) -> String {
        describe::<F>(record)
    }
}

/// The node.
pub struct Lookup<P> {
    reads: Reads,
    finder: Finder<P>,
    incoming: Arc<Row>,
    /// Keys of a frame's packets.
    rows: Box<KeyedRows>,
}

/// Finds the sessions of packets by keys of a format.
pub(crate) struct Finder<P> {
    format: Format,
    /// Hears of the first session.
    begun: Outbox<()>,
    parser: PhantomData<fn() -> P>,
}

impl<P> Finder<P> {
    /// For keys of a format; tells of the first session.
    pub(crate) fn new(format: Format, begun: Outbox<()>) -> Finder<P> {
        Finder { format, begun, parser: PhantomData }
    }
}

impl<P: Parser> Lookup<P> {
    /// The node, which counts packets of tenants.
    pub(crate) fn new(reads: Reads, incoming: Arc<Row>, finder: Finder<P>) -> Lookup<P> {
        let (key, _) = Key::ip4(Ends4::default(), 0, IpProtocol(0));
        let rows = KeyedRows { keyed: [Keyed::NONE; BLOCK], keys: [key; BLOCK] };
        Lookup { reads, finder, incoming, rows: Box::new(rows) }
    }
}

/// The index of no record.
const NOWHERE: u32 = u32::MAX;

/// A row whose key is known.
#[derive(Clone, Copy)]
struct Keyed {
    /// As records have them: addresses of IPv4, or the hash of another key; ports with context; kind.
    words: [u64; 3],
    home: Home,
    /// Index of the session of this worker that most likely has the key.
    candidate: u32,
    is_from_high: bool,
    is_error: bool,
    effect: Effect,
}

impl Keyed {
    const NONE: Keyed = Keyed {
        words: [0; 3],
        home: Home::NONE,
        candidate: NOWHERE,
        is_from_high: false,
        is_error: false,
        effect: Effect::Any,
    };
}

/// Rows of a frame by their keys.
struct KeyedRows {
    keyed: [Keyed; BLOCK],
    /// Those of other formats than IPv4's, whose words are more.
    keys: [Key; BLOCK],
}

impl KeyedRows {
    /// Notes a row's key, and fetches where the directory has it.
    #[inline(always)]
    fn note(
        &mut self,
        sessions: &Sessions,
        i: usize,
        (key, is_from_high): (Key, bool),
        (is_error, effect): (bool, Effect),
    ) {
        let hash = sessions.hash(&key);
        let mut first = key.address_words()[0];
        if !key.format().is_ip4() {
            first = hash;
            self.keys[i] = key;
        }
        let (words, home) = ([first, key.ports_word(), key.kind()], sessions.prefetch(hash));
        self.keyed[i] = Keyed { words, home, candidate: NOWHERE, is_from_high, is_error, effect };
    }
    /// The key of a row.
    fn key(&self, i: usize, format: Format) -> Key {
        let Keyed { words: [addresses, ports, kind], .. } = self.keyed[i];
        match format.is_ip4() {
            true => Key::of_words([addresses, 0, 0, 0], ports, (kind as u8, format)),
            false => self.keys[i],
        }
    }
}

impl<P: Parser> Node for Lookup<P> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (finder, rows) = (&self.finder, &mut *self.rows);
        let Some(work) = self.reads.begin(cx, Next::ARCS.len()) else {
            (0..frame.len()).for_each(|i| frame.next[i] = Next::NoTenant.into());
            return;
        };
        // PERF: the misses of a whole frame are under way together.
        let keyed = finder.keys(&work, (cx, frame), rows, &self.incoming);
        let (sessions, records) = (work.sessions, &work.owned.records);
        for i in keyed {
            let row = &mut rows.keyed[i];
            let Some(candidate) = sessions.candidate_of(&row.home) else { continue };
            if usize::from(candidate.owner) != cx.worker {
                sessions.prefetch_record(candidate);
            } else if let Some(record) = records.get(candidate.index) {
                prefetch(record);
                row.candidate = candidate.index;
            }
        }
        let (is_ip4, now, mut latest) = (finder.format.is_ip4(), work.ticks(cx), Latest::default());
        for i in keyed {
            let row = &rows.keyed[i];
            let found = records.get(row.candidate).filter(|record| record.has_words(&row.words));
            match found.filter(|record| is_ip4 || record.has_addresses(&rows.keys[i])) {
                Some(record) => {
                    let mark = Mark::of(row.candidate, record.identity(), row.is_from_high).error(row.is_error);
                    work.arrive((cx, frame, i), (Known { record, mark }, row.effect), (now, &mut latest));
                }
                None => finder.search(&work, (cx, frame, i), rows),
            }
        }
    }
}

/// Packets of one tenant, one after the other, as they are counted.
#[derive(Default)]
struct Run {
    slot: u32,
    context: u32,
    packets: u64,
    bytes: u64,
}

impl Run {
    #[inline(always)]
    fn end(&self, incoming: &Row, cx: &Context<'_>) {
        if self.packets > 0 && !cx.is_rehearsal() {
            incoming.add(self.slot, self.packets, self.bytes);
        }
    }
}

impl<P: Parser> Finder<P> {
    /// Notes the keys of a frame's rows, and where their sessions are, and counts them by tenant. Returns the rows that have a key; others
    /// leave.
    #[inline(always)]
    fn keys(
        &self,
        work: &Work<'_>,
        (cx, frame): (&Context<'_>, &mut Frame),
        rows: &mut KeyedRows,
        incoming: &Row,
    ) -> Rows {
        let mut keyed = Rows::default();
        // PERF: most frames have packets of one tenant.
        let mut run = Run::default();
        for i in 0..frame.len() {
            let slot = frame.hop[i];
            if slot != run.slot || run.packets == 0 {
                // The tenant may have been deleted since the packet was received.
                let Some(tenant) = work.rows.get(slot as usize).filter(|tenant| tenant.is_there) else {
                    frame.next[i] = Next::NoTenant.into();
                    continue;
                };
                run.end(incoming, cx);
                run = Run { slot, context: tenant.context, ..Run::default() };
            }
            let context = run.context;
            let plain = match self.format {
                Format::IP4 => {
                    let plain = frame.first(cx.pool, i).and_then(plain_ip4);
                    plain.map(|(ends, of)| (Key::ip4(ends, context, of), Effect::ip4(cx, frame, i, of)))
                }
                Format::IP6 => {
                    let plain = frame.first(cx.pool, i).and_then(plain_ip6);
                    plain.map(|(ends, of)| (Key::ip6(ends, context, of), Effect::ip6(cx, frame, i, of)))
                }
                _ => None,
            };
            match plain {
                Some((key, effect)) => rows.note(work.sessions, i, key, (false, effect)),
                None => match self.parse(work, cx, (frame, i), context) {
                    Ok((key, is_error)) => rows.note(work.sessions, i, key, (is_error, Effect::Any)),
                    Err(why) => {
                        let arc = work.slow_path(slot, OddPackets::without_flow(self.format, why));
                        frame.next[i] = arc.unwrap_or_else(|| Next::from(why).into());
                        continue;
                    }
                },
            }
            keyed.insert(i);
            run.packets += 1;
            run.bytes += u64::from(frame.length[i]);
        }
        run.end(incoming, cx);
        keyed
    }
    /// The key of a packet and whether its source is the higher end, and whether it is an ICMP error.
    #[inline(never)]
    fn parse(
        &self,
        work: &Work<'_>,
        cx: &Context<'_>,
        (frame, i): (&Frame, usize),
        context: u32,
    ) -> Result<((Key, bool), bool), NoFlow> {
        let flow = P::flow(frame, cx.pool, i, work.upper)?;
        Ok((Key::new(flow.ends, context, (flow.protocol, self.format)), flow.is_error))
    }
    /// Finds the session of a row elsewhere than it most likely is, or begins one, or has services judge the row before.
    #[cold]
    #[inline(never)]
    fn search(&self, work: &Work<'_>, (cx, frame, i): (&mut Context<'_>, &mut Frame, usize), rows: &KeyedRows) {
        let slot = frame.hop[i] as u16;
        let (key, Keyed { is_from_high, is_error, .. }) = (rows.key(i, self.format), rows.keyed[i]);
        let hash = work.sessions.hash(&key);
        let sought = Sought { key: &key, hash, is_from_high, is_error };
        let place = match (work.sessions.find(&key, hash), work.rows.get(usize::from(slot))) {
            (Some(there), _) => Ok((there, false)),
            _ if is_error => {
                let arc = work.slow_path(slot.into(), OddPackets::without_flow(self.format, NoFlow::IcmpError));
                frame.next[i] = arc.unwrap_or_else(|| Next::IcmpError.into());
                return;
            }
            (None, Some(tenant)) if tenant.is_judged_first() => {
                work.begin_judging((cx, frame, i), (slot, self.format), tenant);
                return;
            }
            _ if cx.is_rehearsal() => {
                rehearse(work, (cx, frame, i));
                return;
            }
            (None, Some(tenant)) => match begin(work, cx, sought, (slot, tenant), &self.begun) {
                Err(reason) if takes_slow_path(work, (frame, i), (slot, self.format), reason) => return,
                begun => begun.map_err(Next::from),
            },
            (None, None) => Err(Next::NoTenant),
        };
        let refused = match place {
            Ok(place) => go_on(work, (cx, frame, i), sought, place).then_some(()).ok_or(Next::Busy),
            Err(next) => Err(next),
        };
        if let Err(next) = refused {
            frame.next[i] = next.into();
        }
    }
}
