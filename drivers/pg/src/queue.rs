//! The queues of a generator's interface: where its packets come from, and where they go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_engine::channel::Outbox;
use quiver_engine::{Batch, Buffers, Flags, Frame, PacketRing, Pool, RxContext, RxQueue, TxContext, TxQueue};
use quiver_interface::Remarked;
use quiver_wire::MacAddress;

use crate::capture::Sent;
use crate::generator::Generator;
use crate::input::Next;
use crate::interface::{PgMode, header};
use crate::offload::Offloads;
use crate::sequence::{Receipt, STREAMS_MAX, Score, Scoreboard, Tracker};
use crate::tag::{StampedTag, Tag, last_of_parts};

/// Packets that wait to be received at most.
const RING: usize = 4096;

/// A receive queue: packets put there by hand, and those of streams.
pub struct Source {
    ring: PacketRing,
    /// Bytes that are put before each packet.
    header: Vec<u8>,
    streams: Vec<Generator>,
    /// The stream that has the first word in the next turn.
    first: usize,
    /// Packets that found no buffer, yet to be counted.
    no_buffer: u64,
}

impl Source {
    pub(crate) fn new(buffers: &Buffers, header: Vec<u8>) -> Source {
        Source { ring: PacketRing::new(RING, buffers), header, streams: vec![], first: 0, no_buffer: 0 }
    }
    /// Puts a packet in line. It is counted as lost if there is no buffer, or no room.
    pub(crate) fn put(&mut self, pool: &mut Pool, bytes: &[u8]) {
        match pool.packet(&[&self.header, bytes].concat()).map(|packet| self.ring.push(packet)) {
            Some(Ok(())) => {}
            Some(Err(packet)) => {
                pool.free(packet);
                self.no_buffer += 1;
            }
            None => self.no_buffer += 1,
        }
    }
    /// Starts a stream.
    pub(crate) fn start(&mut self, stream: Generator) {
        self.streams.push(stream);
    }
    /// Ends the stream in this slot, and gives it back to be freed elsewhere.
    pub(crate) fn stop(&mut self, slot: u16) -> Option<Generator> {
        let at = self.streams.iter().position(|stream| stream.is(slot))?;
        Some(self.streams.swap_remove(at))
    }
    /// The packets that wait, for a filling that costs the data path nothing.
    pub fn ring(&mut self) -> &mut PacketRing {
        &mut self.ring
    }
}

impl RxQueue for Source {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        cx.lose(Next::NoBuffer, std::mem::take(&mut self.no_buffer));
        self.ring.receive(cx.pool, frame, cx.interface, cx.most);
        for turn in 0..self.streams.len() {
            let at = (self.first + turn) % self.streams.len();
            self.streams[at].receive(cx, frame);
        }
        self.first = self.first.wrapping_add(1);
        frame.len()
    }
    fn is_empty(&self) -> bool {
        self.ring.is_empty() && self.streams.is_empty() && self.no_buffer == 0
    }
    fn wake_at(&self) -> Option<u64> {
        // Whoever fills the ring does so by a letter, which wakes the worker.
        let waiting = if self.ring.is_empty() { u64::MAX } else { 0 };
        Some(self.streams.iter().map(|stream| stream.wake_at()).fold(waiting, u64::min))
    }
}

/// A transmit queue: it looks at what it is given, and lets the engine free it; or keeps it in a ring.
pub struct Sink {
    name: Arc<str>,
    /// Bytes before each packet that do not go over the wire, and what they say of it.
    header: Vec<u8>,
    /// Offloads that the interface announces.
    takes: Offloads,
    /// Long packets that were sent though it does not take any.
    uncut: Remarked,
    capturing: Arc<AtomicBool>,
    to_control: Outbox<Sent>,
    board: Arc<Scoreboard>,
    /// The worker whose queue it is.
    worker: usize,
    trackers: Vec<Tracker>,
    /// Streams whose scores are not told yet, a bit for each.
    untold: u32,
    kept: Option<PacketRing>,
}

impl Sink {
    pub(crate) fn new(
        name: Arc<str>,
        (mode, takes): (PgMode, Offloads),
        uncut: Remarked,
        capturing: Arc<AtomicBool>,
        to_control: Outbox<Sent>,
        board: Arc<Scoreboard>,
        (worker, workers): (usize, usize),
    ) -> Sink {
        let header = header(mode, MacAddress::ZERO);
        let trackers = vec![Tracker::new(workers == 1); STREAMS_MAX];
        Sink { name, header, takes, uncut, capturing, to_control, board, worker, trackers, untold: 0, kept: None }
    }
    /// Keeps what is sent from now on in a ring, unseen; its owner empties it. None ends that.
    pub fn keep(&mut self, ring: Option<PacketRing>) {
        self.kept = ring;
    }
    /// The ring of kept packets.
    pub fn kept(&mut self) -> Option<&mut PacketRing> {
        self.kept.as_mut()
    }
    /// Score and tracker of the stream in a slot.
    #[inline]
    fn count(&mut self, slot: usize) -> Option<(&Score, &mut Tracker)> {
        Some((self.board.scores.get(slot)?, self.trackers.get_mut(slot)?))
    }
    /// Notes the packet that ends with these bytes, if a stream's tag is among them.
    #[inline]
    fn note(&mut self, bytes: &[u8], now: u64) {
        let slot = if let Some(tag) = Tag::of(bytes) {
            let slot = usize::from(tag.slot);
            let Some((score, tracker)) = self.count(slot) else { return };
            tracker.note(tag, score);
            slot
        } else if let Some(tag) = StampedTag::of(bytes) {
            let (slot, receipt) = (usize::from(tag.slot), Receipt { worker: self.worker, now });
            let Some((score, tracker)) = self.count(slot) else { return };
            tracker.note_stamped(tag, score, receipt);
            slot
        } else {
            return;
        };
        self.untold |= 1 << slot;
    }
    /// Tells the scores of the streams that packets of a batch were of.
    fn tell(&mut self) {
        while self.untold != 0 {
            let slot = self.untold.trailing_zeros() as usize;
            self.untold &= self.untold - 1;
            if let Some((score, tracker)) = self.count(slot) {
                tracker.tell(score);
            }
        }
    }
}

/// The ethertype of a frame.
fn carried(frame: &[u8]) -> Option<&[u8]> {
    frame.get(12..14)
}

impl TxQueue for Sink {
    /// The sink shows packets as they were sent to the interface, which is what VPP's users expect, not as a device
    /// would finish them. Packets that are kept for another consumer come whole.
    fn carries_offload(&self) -> bool {
        self.takes.segment.is_some() || self.kept.is_none()
    }
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        if let Some(ring) = &mut self.kept {
            return ring.transmit(cx.pool, batch);
        }
        let capturing = self.capturing.load(Ordering::Relaxed);
        for i in 0..batch.len() {
            if !self.header.is_empty() && carried(batch.bytes(cx.pool, i)) != carried(&self.header) {
                cx.refuse(batch.length(i));
                continue;
            }
            match batch.flags(i).has(Flags::CHAINED) {
                false => self.note(batch.bytes(cx.pool, i), cx.now),
                true => self.note(&last_of_parts(batch.segments(cx.pool, i)), cx.now),
            }
            let left = batch.offload(cx.pool, i).and_then(|left| left.to_virtio(batch.offset(i)));
            if left.is_some_and(|left| left.gso_type.is_segmented()) && self.takes.segment.is_none() {
                self.uncut.add(1);
            }
            if capturing {
                let mut bytes: Vec<u8> = batch.segments(cx.pool, i).flatten().copied().collect();
                if let Some(left) = left.filter(|_| self.takes == Offloads::default()) {
                    // A packet whose checksum lies outside of it stays as it is.
                    let _ = left.complete_checksum(&mut bytes);
                }
                bytes.drain(..self.header.len().min(bytes.len()));
                // A full queue loses the copy, and counts it.
                self.to_control.send(Sent { interface: self.name.clone(), time: cx.now, bytes });
            }
        }
        self.tell();
        batch.len()
    }
}
