//! `sfdp-lookup-ip4`, `sfdp-lookup-ip6`: the session of each packet, or a new one. Packets of sessions of another worker are handed
//! over to it.

use std::marker::PhantomData;

use quiver_engine::channel::Outbox;
use quiver_engine::trace::Record;
use quiver_engine::{BLOCK, Context, Frame, MetadataKey, Node, Pool, arcs};
use quiver_ip::node::describe;
use quiver_ip::upper::Upper;

use super::owner;
use super::pass::{Packet, Reads};
use crate::interface::Tracked;
use crate::key::{Flow, Format, Key, NoFlow, flow_of};
use crate::record::{Direction, OWNED_MAX};
use crate::sessions::{Found, Mark, Sessions};
use crate::tenant::TenantRow;

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        Owner => node "sfdp-handoff",
        Fragment => drop "fragment",
        Protocol => drop "unknown-protocol",
        IcmpError => drop "icmp-error",
        Malformed => drop "malformed",
        Full => drop "session-table-full",
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
    format: Format,
    upper: MetadataKey<Upper>,
    /// Hears of the first session.
    begun: Outbox<()>,
    parser: PhantomData<fn() -> P>,
}

impl<P: Parser> Lookup<P> {
    /// A node for keys of a format, which tells of the first session.
    pub fn new(reads: Reads, format: Format, upper: MetadataKey<Upper>, begun: Outbox<()>) -> Lookup<P> {
        Lookup { reads, format, upper, begun, parser: PhantomData }
    }
}

/// A row whose key is known.
#[derive(Clone, Copy)]
struct Keyed {
    key: Key,
    hash: u64,
    is_from_high: bool,
    is_error: bool,
}

impl<P: Parser> Node for Lookup<P> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let Some(work) = self.reads.begin(cx, Next::ARCS.len()) else {
            (0..frame.len()).for_each(|i| frame.next[i] = Next::NoTenant.into());
            return;
        };
        let rows = self.reads.rows.read(cx.guard);
        let mut keys: [Option<Keyed>; BLOCK] = [None; BLOCK];
        // PERF: the misses of a whole frame are under way together.
        for i in 0..frame.len() {
            let slot = frame.hop[i];
            // The tenant may have been deleted since the packet was received.
            let Some(tenant) = rows.get(slot as usize).filter(|tenant| tenant.is_there) else {
                frame.next[i] = Next::NoTenant.into();
                continue;
            };
            match P::flow(frame, cx.pool, i, self.upper) {
                Ok(flow) => {
                    let (key, is_from_high) = Key::new(flow.ends, tenant.context, (flow.protocol, self.format));
                    let hash = work.sessions.hash(&key);
                    work.sessions.prefetch(hash);
                    keys[i] = Some(Keyed { key, hash, is_from_high, is_error: flow.is_error });
                }
                Err(why) => frame.next[i] = Next::from(why).into(),
            }
        }
        for row in keys.iter().flatten() {
            work.sessions.prefetch_record(row.hash);
        }
        let now = work.ticks(cx);
        for i in 0..frame.len() {
            let Some(row) = keys[i] else { continue };
            let slot = frame.hop[i] as u16;
            let mut is_first = false;
            let found = match work.sessions.find(&row.key, row.hash) {
                Some(there) if usize::from(there.owner) == cx.worker => Found::Here(there.index),
                Some(there) => Found::There(there),
                None if row.is_error => {
                    frame.next[i] = Next::IcmpError.into();
                    continue;
                }
                None if cx.is_rehearsal() => {
                    // Nothing begins in a rehearsal: the packet passes the services that it would pass.
                    let mark = Mark {
                        index: OWNED_MAX as u32 - 1,
                        generation: 0,
                        direction: Direction::Forward,
                        position: 0,
                        is_first: true,
                        is_error: false,
                    };
                    frame.set_metadata(cx.pool, i, self.reads.mark, mark);
                    work.rehearse(cx, frame, i);
                    continue;
                }
                None => {
                    let Some(tenant) = rows.get(usize::from(slot)) else { continue };
                    is_first = true;
                    self.begin(work.sessions, cx, &row, (slot, tenant))
                }
            };
            match found {
                Found::Here(index) => {
                    let reference = work.sessions.own(cx.worker, index);
                    let mark = work.sessions.mark(reference, row.is_from_high);
                    let mark = mark.map(|mark| Mark { is_first, is_error: row.is_error, ..mark });
                    let packet = mark.and_then(|mark| Packet::of(work.owned, rows, mark));
                    let Some(packet) = packet else { continue };
                    if !cx.is_rehearsal() {
                        packet.touch(frame.length[i], now);
                    }
                    work.pass(cx, frame, i, packet);
                }
                Found::There(there) => {
                    let Some(mark) = work.sessions.mark(there, row.is_from_high) else { continue };
                    frame.set_metadata(cx.pool, i, self.reads.mark, Mark { is_error: row.is_error, ..mark });
                    if !cx.hand_off(frame, i, usize::from(there.owner), Next::Owner) {
                        frame.next[i] = Next::Busy.into();
                    }
                }
                Found::Full => frame.next[i] = Next::Full.into(),
            }
        }
    }
}

impl<P: Parser> Lookup<P> {
    #[cold]
    fn begin(&self, sessions: &Sessions, cx: &Context<'_>, row: &Keyed, tenant: (u16, &TenantRow)) -> Found {
        let found = sessions.begin(cx, (&row.key, row.hash), tenant, row.is_from_high);
        if matches!(found, Found::Here(_)) && sessions.is_first(cx.worker) {
            self.begun.send(());
        }
        found
    }
}
