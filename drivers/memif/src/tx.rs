//! Sending: packets are copied into buffers that the peer reads.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use quiver_engine::isa::{Isa, Kernel};
use quiver_engine::lines::Group as BatchGroup;
use quiver_engine::{Batch, Flags, Lent, Level, Pool, TxContext, TxQueue};
use quiver_memif_protocol::region::{GROUP, LINE};
use quiver_memif_protocol::transmitter::{Burst, Group, Lines, Sent};
use quiver_memif_protocol::{Broken, Place, Store, Transmitter, Waker};
use quiver_wire::{EthernetHeader, Header};

use crate::handover::Holder;
use crate::rx::place;
use crate::store::Chooser;

/// Number of attempts to get a ring that another worker is using. After that the worker drops the batch as `tx-full`;
/// it never waits.
const TRIES: u32 = 2000;

/// A ring for sending. Workers share it where there are fewer rings than workers.
pub(crate) struct TxRing {
    transmitter: Transmitter,
    waker: Arc<Waker>,
    interrupt: Arc<OwnedFd>,
    chooser: Chooser,
    /// Packets that the master reads, of a slave without copies.
    lent: Option<Lent>,
    /// Room to put a packet's parts together.
    parts: Vec<Place>,
}

/// A ring that several workers may send by, one at a time.
pub(crate) type SharedRing = Arc<Mutex<TxRing>>;

impl TxRing {
    pub fn new(transmitter: Transmitter, waker: Arc<Waker>, interrupt: Arc<OwnedFd>, lent: Option<Lent>) -> SharedRing {
        Arc::new(Mutex::new(TxRing { transmitter, waker, interrupt, chooser: Chooser::new(), lent, parts: vec![] }))
    }
    /// The current method of writing bytes.
    pub fn store(&self) -> Store {
        self.chooser.chosen()
    }
    /// Sends packets from the front of the batch; returns the number of packets handled.
    fn send(&mut self, cx: &mut TxContext, level: Level, batch: &mut Batch, is_ip: bool) -> Result<usize, Broken> {
        match self.lent {
            Some(_) => self.send_in_place(cx, batch, is_ip),
            None => self.send_copies(cx, level, batch, is_ip),
        }
    }
    /// Lends packets to the master, which reads them where they are, and takes back those that it has read.
    fn send_in_place(&mut self, cx: &mut TxContext, batch: &mut Batch, is_ip: bool) -> Result<usize, Broken> {
        let TxRing { transmitter, lent: Some(lent), parts, .. } = self else { return Ok(0) };
        // Packets of several parts need room for all of them.
        let parts_at_most = if batch.may_have(Flags::CHAINED) { usize::MAX } else { batch.len() };
        if transmitter.is_to_reclaim(parts_at_most) {
            transmitter.reclaim()?.for_each(|slot| lent.give_back(slot, cx.pool));
        }
        let mut done = 0;
        if !is_ip && !batch.may_have(Flags::CHAINED) {
            let count = batch.len();
            let keep = |i, slot| lent.keep(slot, cx.pool, batch, i).map(place).unwrap_or_default();
            done = transmitter.send_parts(count, keep);
        }
        while done < batch.len() {
            let i = done;
            parts.clear();
            parts.extend(batch.spans(cx.pool, i).map(place));
            if is_ip {
                let header = EthernetHeader::LENGTH as u32;
                match parts.first_mut().filter(|first| first.length > header && is_ip_packet(cx, batch, i)) {
                    Some(first) => (first.offset, first.length) = (first.offset + header, first.length - header),
                    None => parts.clear(),
                }
            }
            if parts.is_empty() {
                // It is no packet of IP.
                cx.refuse(batch.length(i));
                done += 1;
                continue;
            }
            match transmitter.send_in_place(parts) {
                // All of a packet comes back with its last part.
                Sent::Yes => {
                    lent.keep(transmitter.last_slot(), cx.pool, batch, i);
                }
                Sent::Full => break,
                Sent::TooLong => cx.refuse_too_long(batch.length(i)),
            }
            done += 1;
        }
        if transmitter.publish() && done > 0 {
            self.waker.wake(&*self.interrupt);
        }
        Ok(done)
    }
    fn send_copies(
        &mut self,
        cx: &mut TxContext,
        level: Level,
        batch: &mut Batch,
        is_ip: bool,
    ) -> Result<usize, Broken> {
        self.send_burst(|transmitter| {
            if !is_ip {
                // Packets in one piece each.
                let (mut too_long, mut sent) = (vec![], None);
                level.run(SendLines { transmitter, pool: cx.pool, batch, too_long: &mut too_long, sent: &mut sent });
                too_long.into_iter().for_each(|length| cx.refuse_too_long(length));
                if let Some(sent) = sent {
                    return sent;
                }
            }
            transmitter.begin()?;
            let (mut done, mut lines) = (0, 0);
            for i in 0..batch.len() {
                let length = batch.length(i) as usize;
                let sent = if is_ip {
                    let Some(length) =
                        length.checked_sub(EthernetHeader::LENGTH).filter(|_| is_ip_packet(cx, batch, i))
                    else {
                        cx.refuse(batch.length(i));
                        done += 1;
                        continue;
                    };
                    let mut segments = batch.segments(cx.pool, i);
                    let first = segments.next().and_then(|first| first.get(EthernetHeader::LENGTH..));
                    transmitter.send(length, first.into_iter().chain(segments))?
                } else if batch.flags(i).has(Flags::CHAINED) {
                    transmitter.send(length, batch.segments(cx.pool, i))?
                } else {
                    transmitter.send(length, std::iter::once(batch.bytes(cx.pool, i)))?
                };
                match sent {
                    Sent::Yes => lines += length.div_ceil(64) as u64,
                    Sent::Full => break,
                    Sent::TooLong => cx.refuse_too_long(batch.length(i)),
                }
                done += 1;
            }
            Ok((done, lines))
        })
    }
    /// Copies a burst into the ring and shows it to the peer. `send` says how many packets it dealt with, and of how many
    /// lines those are that it sent.
    #[inline(always)]
    fn send_burst(
        &mut self,
        send: impl FnOnce(&mut Transmitter) -> Result<(usize, u64), Broken>,
    ) -> Result<usize, Broken> {
        let TxRing { transmitter, chooser, .. } = self;
        transmitter.set_store(chooser.begin());
        let (done, lines) = send(transmitter)?;
        let wants_interrupt = transmitter.publish();
        chooser.end(done, lines);
        if wants_interrupt && done > 0 {
            self.waker.wake(&*self.interrupt);
        }
        Ok(done)
    }
}

/// Packets on their way into a ring by whole lines, if a batch can be sealed for that.
struct SendLines<'a> {
    transmitter: &'a mut Transmitter,
    pool: &'a mut Pool,
    batch: &'a Batch,
    too_long: &'a mut Vec<u32>,
    sent: &'a mut Option<Result<(usize, u64), Broken>>,
}
impl Kernel for SendLines<'_> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let SendLines { transmitter, pool, batch, too_long, sent } = self;
        if batch.seal(isa, pool) {
            let refuse = |packet: Lines| too_long.push(packet.length as u32);
            *sent = Some(transmitter.send_all(Sealed { batch, pool, isa, next: 0 }, refuse));
        }
    }
}

/// Packets of a sealed batch, the next one by its number.
struct Sealed<'b, I> {
    batch: &'b Batch,
    pool: &'b Pool,
    isa: I,
    next: usize,
}
impl<'b, I: Isa> Burst for Sealed<'b, I> {
    type Packet = Lines<'b>;
    type Group<'g>
        = Eight<'b, I>
    where
        Self: 'g;
    #[inline(always)]
    fn left(&self) -> usize {
        self.batch.len() - self.next
    }
    #[inline(always)]
    fn next(&mut self) -> Option<Lines<'b>> {
        if self.next >= self.batch.len() {
            return None;
        }
        let (lines, length) = self.batch.lines(self.pool, self.next);
        self.next += 1;
        Some(Lines { lines, length })
    }
    #[inline(always)]
    fn group(&self) -> Option<Eight<'b, I>> {
        self.batch.group(self.pool, self.next).map(|group| Eight(group, self.isa))
    }
    #[inline(always)]
    fn skip_group(&mut self) {
        self.next += GROUP;
    }
}

/// Eight packets that follow one another.
#[derive(Clone, Copy)]
struct Eight<'b, I>(BatchGroup<'b, GROUP>, I);
impl<I: Isa> Group for Eight<'_, I> {
    #[inline(always)]
    fn lengths(&self) -> &[u32; GROUP] {
        self.0.lengths()
    }
    #[inline(always)]
    fn each_first(&self, see: impl FnMut(usize, &[u8; LINE])) {
        self.0.each_first(self.1, see);
    }
    #[inline(always)]
    fn line(&self, i: usize, line: usize) -> Option<&[u8; LINE]> {
        Some(self.0.line(i, line))
    }
}

/// Whether behind the header is an IP packet, which needs none on this link.
fn is_ip_packet(cx: &TxContext, batch: &Batch, i: usize) -> bool {
    batch.bytes(cx.pool, i).get(12..14).is_some_and(|kind| kind == [0x08, 0x00] || kind == [0x86, 0xdd])
}

/// A worker's transmit queue. It outlives connections.
pub(crate) struct Tx {
    holder: Holder<SharedRing>,
    is_ip: bool,
    /// The instruction set that the copies are compiled for.
    level: Level,
}

impl Tx {
    pub fn new(holder: Holder<SharedRing>, is_ip: bool, level: Level) -> Tx {
        Tx { holder, is_ip, level }
    }
}

/// The ring, if no other worker has it for long. What a worker that panicked left there is a ring like any other.
fn acquire(ring: &SharedRing) -> Option<MutexGuard<'_, TxRing>> {
    for _ in 0..TRIES {
        match ring.try_lock() {
            Ok(ring) => return Some(ring),
            Err(TryLockError::Poisoned(ring)) => return Some(ring.into_inner()),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    None
}

impl Tx {
    /// Sends by the ring; None if no peer is connected.
    #[inline]
    fn send(&mut self, send: impl FnOnce(&mut TxRing) -> Result<usize, Broken>) -> Option<usize> {
        let Some(mut held) = acquire(self.holder.get()?) else { return Some(0) };
        let sent = send(&mut held);
        drop(held);
        Some(sent.unwrap_or_else(|broken| {
            tracing::warn!("memif: {broken}; the connection ends");
            self.holder.broken();
            0
        }))
    }
}

impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let (is_ip, level) = (self.is_ip, self.level);
        self.send(|ring| ring.send(cx, level, batch, is_ip)).unwrap_or_else(|| {
            (0..batch.len()).for_each(|i| cx.refuse(batch.length(i)));
            batch.len()
        })
    }
}
