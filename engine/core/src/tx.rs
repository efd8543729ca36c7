//! The ways out: a port for each interface with a queue of this worker's own. `output` is the node in front of them.

use crate::arcs;
use crate::buffer::{Flags, Offload, Packet, Pool, Raw};
use crate::capture::{Captures, Point};
use crate::column::{Rows, RowsMut};
use crate::complete::{Completion, Incomplete};
use crate::counters::{Counter, Row};
use crate::frame::Frame;
use crate::graph::{NodeCounters, NodeId, Reason};
use crate::vector::VECTOR;
use quiver_table::simulation::seam;
use std::any::Any;
use std::sync::Arc;

/// The name of the node in front of the ports.
pub const OUTPUT: &str = "interface-output";

arcs! {
    /// Arcs of `interface-output`. Those but `NoInterface` and `Down` are only counted, by the ports: a packet that is cut
    /// in software counts once for each segment.
    pub enum Next {
        Sent => out "sent",
        NoInterface => drop "no-such-interface",
        Down => drop "interface-down",
        Full => drop "tx-full",
        Refused => drop "tx-refused",
        BadOffload => drop "bad-offload",
        NoBuffer => drop "no-buffer",
        TooLong => drop "tx-too-long",
    }
}

/// Everything that a driver's transmit queue may access.
pub struct TxContext<'t> {
    /// This worker's buffers.
    pub pool: &'t mut Pool,
    /// Nanoseconds of the engine's clock.
    pub now: u64,
    /// Packets and bytes that were refused, and how many of these packets because they are too long.
    refused: (u64, u64),
    too_long: u64,
}
impl<'t> TxContext<'t> {
    pub(crate) fn new(pool: &'t mut Pool, now: u64) -> TxContext<'t> {
        TxContext { pool, now, refused: (0, 0), too_long: 0 }
    }
    /// Says of a packet of the batch, of `length` bytes, that was dealt with: the system refused to send it.
    pub fn refuse(&mut self, length: u32) {
        self.refused = (self.refused.0 + 1, self.refused.1 + u64::from(length));
    }
    /// The same of one that is longer than the system sends.
    pub fn refuse_too_long(&mut self, length: u32) {
        self.refuse(length);
        self.too_long += 1;
    }
}

/// A driver's transmit queue; each worker has its own for every interface.
pub trait TxQueue: Send + Any {
    /// Sends packets from the front of the batch; returns how many it dealt with. The engine frees those (unless the
    /// queue took them out), and drops the rest as `tx-full`. Never waits.
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize;
    /// Whether it passes [`Offload`]s on. If not, the engine fills in checksums and cuts packets before it gets them.
    fn carries_offload(&self) -> bool {
        false
    }
}

/// Packets on their way to a queue. The batch owns them.
pub struct Batch {
    len: usize,
    /// Packets that were taken out.
    taken: usize,
    /// Packets that were taken as columns: the first ones, whose rows are stale.
    gone: usize,
    /// All flags that any packet may have.
    any: Flags,
    buffer: [u32; VECTOR],
    offset: [u16; VECTOR],
    length: [u32; VECTOR],
    flags: [u16; VECTOR],
}
impl Batch {
    pub(crate) fn new() -> Batch {
        Batch {
            len: 0,
            taken: 0,
            gone: 0,
            any: Flags::NONE,
            buffer: [0; VECTOR],
            offset: [0; VECTOR],
            length: [0; VECTOR],
            flags: [0; VECTOR],
        }
    }
}
impl Batch {
    /// Packets in the batch.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len.min(VECTOR)
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline(always)]
    pub(crate) fn raw(&self, i: usize) -> Raw {
        Raw { buffer: self.buffer[i], offset: self.offset[i], length: self.length[i], flags: Flags(self.flags[i]) }
    }
    #[inline(always)]
    fn push(&mut self, raw: Raw) {
        let i = self.len & (VECTOR - 1);
        (self.buffer[i], self.offset[i], self.length[i], self.flags[i]) =
            (raw.buffer, raw.offset, raw.length, raw.flags.0);
        self.any = self.any.with(raw.flags);
        self.len = i + 1;
    }
    /// Takes the first rows of a frame from `from` on, as many as there is room for; returns how many.
    #[inline(never)]
    pub(crate) fn push_rows(&mut self, frame: &Frame, from: usize) -> usize {
        let (at, n) = (self.len(), (frame.len() - from).min(VECTOR - self.len()));
        let to = RowsMut {
            buffer: &mut self.buffer[at..],
            offset: &mut self.offset[at..],
            length: &mut self.length[at..],
            flags: &mut self.flags[at..],
        };
        to.copy(frame.rows(from), n, |_| {});
        self.any = self.any.with(frame.any);
        self.len = at + n;
        n
    }
    /// Bytes of packet `i`, over all its buffers.
    pub fn length(&self, i: usize) -> u32 {
        self.length[i]
    }
    /// Where packet `i` begins in its buffer; see [`Offload::checksum_start`].
    pub fn offset(&self, i: usize) -> u16 {
        self.offset[i]
    }
    /// Flags of packet `i`.
    pub fn flags(&self, i: usize) -> Flags {
        Flags(self.flags[i])
    }
    /// Whether something may be said of any packet; if not, it is said of none.
    #[inline(always)]
    pub fn may_have(&self, flag: Flags) -> bool {
        self.any.has(flag)
    }
    /// Bytes of packet `i` in its first buffer; all of them unless it is chained.
    #[inline(always)]
    pub fn bytes<'p>(&self, pool: &'p Pool, i: usize) -> &'p [u8] {
        pool.bytes_of(self.raw(i))
    }
    /// The same, to change.
    pub fn bytes_mut<'p>(&mut self, pool: &'p mut Pool, i: usize) -> &'p mut [u8] {
        pool.bytes_of_mut(self.raw(i))
    }
    /// The parts of packet `i` in their order.
    pub fn segments<'p>(&self, pool: &'p Pool, i: usize) -> impl Iterator<Item = &'p [u8]> {
        pool.segments_of(self.raw(i))
    }
    /// Where the parts of packet `i` lie in the memory that other processes map.
    pub fn spans<'p>(&self, pool: &'p Pool, i: usize) -> impl Iterator<Item = crate::buffer::Span> + use<'p> {
        pool.spans_of(self.raw(i))
    }
    /// Offload state of packet `i`.
    pub fn offload(&self, pool: &Pool, i: usize) -> Option<Offload> {
        pool.offload_of(self.raw(i))
    }
    /// Takes packet `i`. None if it was taken before.
    pub fn take(&mut self, pool: &Pool, i: usize) -> Option<Packet> {
        let raw = self.take_raw(pool, i)?;
        Some(Packet::own(raw, pool))
    }
    #[inline(always)]
    pub(crate) fn take_raw(&mut self, pool: &Pool, i: usize) -> Option<Raw> {
        let raw = self.raw(i);
        if i < self.gone || i >= self.len() || raw.buffer == pool.null {
            return None;
        }
        self.buffer[i] = pool.null;
        self.flags[i] = 0;
        self.taken += 1;
        Some(raw)
    }
    /// The packets' lengths.
    #[inline(always)]
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.length[..self.len()]
    }
    /// Where they begin in their buffers.
    #[inline(always)]
    pub(crate) fn offsets(&self) -> &[u16] {
        &self.offset[..self.len()]
    }
    /// Buffers, offsets and lengths of `N` packets from `n` on, if there are so many.
    #[inline(always)]
    pub(crate) fn columns<const N: usize>(&self, n: usize) -> Option<(&[u32; N], &[u16; N], &[u32; N])> {
        let end = self.len();
        let columns = (self.buffer.get(n..end)?, self.offset.get(n..end)?, self.length.get(n..end)?);
        Some((columns.0.first_chunk()?, columns.1.first_chunk()?, columns.2.first_chunk()?))
    }
    /// Whether no packet was taken out so far.
    pub(crate) fn is_whole(&self) -> bool {
        self.taken == 0
    }
    /// Takes the next packets into columns, as many as these are long; returns how many. Only of a batch that was whole: in the order
    /// from the first packet on.
    #[inline(never)]
    pub(crate) fn take_rows(&mut self, to: RowsMut<'_>) -> usize {
        let (from, end) = (self.gone.min(self.len()), self.len());
        let n = to.buffer.len().min(end - from);
        // No packet is traced any more when it is in other hands.
        if self.any.has(Flags::TRACED) {
            self.flags[from..from + n].iter_mut().for_each(|flags| *flags &= !Flags::TRACED.0);
        }
        let rows = Rows {
            buffer: &self.buffer[from..],
            offset: &self.offset[from..],
            length: &self.length[from..],
            flags: &self.flags[from..],
        };
        to.copy(rows, n, |_| {});
        (self.taken, self.gone) = (self.taken + n, from + n);
        n
    }
}

struct Port {
    queue: Box<dyn TxQueue>,
    batch: Batch,
    up: bool,
    counters: Arc<Row>,
}

/// The way out of an interface without a queue: the port of another one.
pub(crate) struct Via {
    pub port: u32,
    pub up: bool,
    pub counters: Arc<Row>,
}

/// A worker's ports, by interface.
pub struct Ports {
    ports: Vec<Option<Box<Port>>>,
    /// Sub-interfaces and other interfaces that send by another one.
    pub(crate) via: Vec<Option<Via>>,
    /// Packets that an interface's queue had no room for.
    errors: Arc<Row<Counter>>,
    /// Ports with packets in their batch.
    waiting: Vec<u32>,
    counts: Arc<NodeCounters>,
    node: NodeId,
    completion: Completion,
    pub(crate) captures: Captures,
}

impl Ports {
    pub(crate) fn new(node: NodeId, counts: Arc<NodeCounters>, errors: Arc<Row<Counter>>) -> Ports {
        Ports {
            ports: vec![],
            via: vec![],
            errors,
            waiting: vec![],
            counts,
            node,
            completion: Completion::default(),
            captures: Captures::default(),
        }
    }
    pub(crate) fn attach(&mut self, interface: u32, queue: Box<dyn TxQueue>, counters: Arc<Row>) {
        let at = interface as usize;
        self.ports.resize_with(self.ports.len().max(at + 1), || None);
        self.ports[at] = Some(Box::new(Port { queue, batch: Batch::new(), up: false, counters }));
    }
    /// Lets an interface without a queue send by another's, once it is set up.
    pub(crate) fn attach_via(&mut self, interface: u32, port: Option<(u32, Arc<Row>)>) {
        let at = interface as usize;
        self.via.resize_with(self.via.len().max(at + 1), || None);
        self.via[at] = port.map(|(port, counters)| Via { port, up: false, counters });
    }
    pub(crate) fn detach(&mut self, interface: u32) -> Option<Box<dyn TxQueue>> {
        let port = self.ports.get_mut(interface as usize)?.take()?;
        Some(port.queue)
    }
    pub(crate) fn set_up(&mut self, interface: u32, up: bool) {
        if let Some(Some(port)) = self.ports.get_mut(interface as usize) {
            port.up = up;
        }
        if let Some(Some(via)) = self.via.get_mut(interface as usize) {
            via.up = up;
        }
    }
    /// An interface's queue, if it is of this type.
    pub(crate) fn queue_mut<Q: TxQueue>(&mut self, interface: u32) -> Option<&mut Q> {
        let queue: &mut dyn Any = &mut *self.ports.get_mut(interface as usize)?.as_mut()?.queue;
        queue.downcast_mut()
    }
    /// Whether an interface has an open port; if not, the arc to leave by.
    #[inline(always)]
    pub(crate) fn refusal(&self, interface: u32) -> Option<Next> {
        match self.ports.get(interface as usize) {
            Some(Some(port)) if port.up => None,
            Some(Some(_)) => Some(Next::Down),
            _ => Some(Next::NoInterface),
        }
    }
    #[inline(always)]
    pub(crate) fn push(&mut self, cx: &mut TxContext, interface: u32, raw: Raw) {
        let Some(Some(port)) = self.ports.get_mut(interface as usize) else {
            return cx.pool.free_raw(raw);
        };
        if port.batch.is_empty() {
            self.waiting.push(interface);
        }
        port.batch.push(raw);
        if port.batch.len() == VECTOR {
            self.flush_port(cx, interface);
        }
    }
    /// Frees packets that no queue has taken: for a worker that ends.
    pub(crate) fn free(&mut self, pool: &mut Pool) {
        for port in self.ports.iter_mut().flatten() {
            for i in port.batch.gone..std::mem::take(&mut port.batch.len) {
                if port.batch.buffer[i] != pool.null {
                    pool.free_raw(port.batch.raw(i));
                }
            }
        }
    }
    /// Takes a whole frame whose packets leave by one open port. Inlined into its one caller: a call costs 24 instructions a frame.
    #[inline]
    pub(crate) fn push_frame(&mut self, cx: &mut TxContext, interface: u32, frame: &mut Frame) {
        let mut from = 0;
        while from < frame.len() {
            let Some(Some(port)) = self.ports.get_mut(interface as usize) else { return };
            if port.batch.is_empty() {
                self.waiting.push(interface);
            }
            from += port.batch.push_rows(frame, from);
            if port.batch.len() == VECTOR {
                self.flush_port(cx, interface);
            }
        }
        frame.clear();
    }
    /// Hands every waiting batch to its queue.
    pub(crate) fn flush(&mut self, cx: &mut TxContext) {
        while let Some(interface) = self.waiting.pop() {
            self.send(cx, interface);
        }
    }
    fn flush_port(&mut self, cx: &mut TxContext, interface: u32) {
        self.waiting.retain(|waiting| *waiting != interface);
        self.send(cx, interface);
    }
    /// Hands a port's batch to its queue.
    fn send(&mut self, cx: &mut TxContext, interface: u32) {
        let Ports { ports, errors, counts, node, captures, completion, .. } = self;
        let Some(Some(port)) = ports.get_mut(interface as usize) else { return };
        seam("about to transmit");
        let mut way = Way { interface, counts, errors, node: *node, captures };
        if port.batch.any.has(Flags::OFFLOAD) && !port.queue.carries_offload() {
            port.complete(cx, &mut way, completion);
        }
        port.transmit(cx, &mut way);
    }
}

/// Everything that a port needs to send its batch.
struct Way<'w> {
    interface: u32,
    counts: &'w NodeCounters,
    errors: &'w Row<Counter>,
    node: NodeId,
    captures: &'w mut Captures,
}
impl Way<'_> {
    /// Counts packets that were not sent.
    fn dropped(&self, reason: Next, packets: u64) {
        self.counts.arc(reason as u16, packets);
        self.errors.add(self.interface, packets);
    }
    /// Counts packets that the queue refused, some of them because they are too long.
    #[cold]
    fn refused(&self, packets: u64, too_long: u64) {
        for (reason, packets) in [(Next::TooLong, too_long), (Next::Refused, packets.saturating_sub(too_long))] {
            if packets > 0 {
                self.dropped(reason, packets);
            }
        }
    }
    /// Counts `n` packets, of which the queue dealt with so many, of `bytes` together, and refused some of these.
    #[inline(always)]
    fn account(&self, counters: &Row, n: usize, dealt_with: usize, bytes: u64, cx: &TxContext<'_>) {
        let (refused, refused_bytes) = cx.refused;
        let sent = (dealt_with as u64).saturating_sub(refused);
        counters.add(self.interface, sent, bytes.saturating_sub(refused_bytes));
        self.counts.arc(Next::Sent as u16, sent);
        if refused > 0 {
            self.refused(refused, cx.too_long);
        }
        if dealt_with < n {
            self.dropped(Next::Full, (n - dealt_with) as u64);
        }
    }
}

impl Port {
    /// Hands the batch to the queue, counts sent and refused packets, and frees the rest.
    fn transmit(&mut self, cx: &mut TxContext, way: &mut Way) {
        let (n, batch) = (self.batch.len(), &mut self.batch);
        if n == 0 {
            return;
        }
        for capture in way.captures.at(Point::Tx) {
            (0..n).for_each(|i| capture.take(Point::Tx, way.interface, cx.now, batch.segments(cx.pool, i), None));
        }
        (cx.refused, cx.too_long) = ((0, 0), 0);
        let dealt_with = self.queue.transmit(cx, batch).min(n);
        // Those of a whole batch are far fewer than a word can count.
        let mut bytes = 0u32;
        for length in &batch.length[..dealt_with] {
            bytes = bytes.wrapping_add(*length);
        }
        way.account(&self.counters, n, dealt_with, bytes.into(), cx);
        if dealt_with < n {
            let reason = Reason::new(way.node, Next::Full as u16);
            for capture in way.captures.at(Point::Drop) {
                for i in dealt_with..n {
                    capture.take(Point::Drop, way.interface, cx.now, batch.segments(cx.pool, i), Some(reason));
                }
            }
        }
        if batch.taken == 0 && !batch.any.has(Flags::CHAINED) {
            cx.pool.free_all(&batch.buffer[..n]);
        } else if batch.taken < n {
            for i in batch.gone..n {
                if batch.buffer[i] != cx.pool.null {
                    cx.pool.free_raw(batch.raw(i));
                }
            }
        }
        if batch.taken < n && cx.pool.plants_double_free() && dealt_with < n {
            cx.pool.free_one(batch.raw(n - 1).buffer);
        }
        (batch.len, batch.taken, batch.gone, batch.any) = (0, 0, 0, Flags::NONE);
    }
    /// Replaces packets with an offload by their segments, in order; sends full batches on the way.
    #[cold]
    fn complete(&mut self, cx: &mut TxContext, way: &mut Way, completion: &mut Completion) {
        let mut given = std::mem::replace(&mut self.batch, Batch::new());
        for i in 0..given.len() {
            if self.batch.len() == VECTOR {
                self.transmit(cx, way);
            }
            let Some(raw) = given.take_raw(cx.pool, i) else { continue };
            if !raw.flags.has(Flags::OFFLOAD) {
                self.batch.push(raw);
                continue;
            }
            let now = cx.now;
            let packet = Packet::own(raw, cx.pool);
            let completed = completion.complete(cx.pool, packet, |pool, packet| {
                if self.batch.len() == VECTOR {
                    self.transmit(&mut TxContext::new(pool, now), way);
                }
                self.batch.push(packet.disown());
            });
            match completed {
                Ok(()) => {}
                Err(Incomplete::Malformed) => way.dropped(Next::BadOffload, 1),
                Err(Incomplete::NoBuffer) => way.dropped(Next::NoBuffer, 1),
            }
        }
    }
}
