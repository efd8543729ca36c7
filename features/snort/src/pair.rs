//! A queue pair: a worker offers packets to an inspector in shared memory, and holds them until it has their verdicts.
//!
//! Packets are copied into slots. The inspector may write anything anywhere in that memory at any time: numbers that come from
//! there are checked against what is held here, and bytes are copied out once. So a wrong verdict is the worst that it can do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};

use atomic_refcell::{AtomicRefCell, AtomicRefMut};
use quiver_engine::{Frame, Generations, Packet, Pool, Source};
use quiver_memif_protocol::{Interrupt, Region, Waker};

use crate::flows::Flows;
use crate::layout::{COOKIE, PACKET_MAX, Place, descriptor, header};
use crate::offered::OfferedBy;
use crate::verdict::Verdict;

/// Number of a client that is none.
pub const NO_CLIENT: u32 = u32::MAX;

/// The inspector holds as many packets as there are slots, or none is large enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// A packet whose verdict is awaited.
pub(crate) struct Held {
    /// The packet.
    pub packet: Packet,
    /// The node that offered it.
    pub by: OfferedBy,
    /// Generations of the interfaces that it names.
    generations: [u32; 2],
}

impl Held {
    /// Whether the interfaces that the packet names are still those that it met.
    pub fn is_current(&self, generations: &Generations) -> bool {
        self.generations == [self.packet.rx, self.packet.tx].map(|interface| generations.of(interface))
    }
}

/// A packet with its verdict.
pub(crate) struct Judged {
    /// The packet, and its node.
    pub held: Held,
    /// The verdict; None if the inspector wrote none of those that there are.
    pub verdict: Option<Verdict>,
}

/// The part of a pair that only its worker touches.
pub(crate) struct Own {
    /// Numbers of free descriptors.
    free: Vec<u16>,
    held: Box<[Option<Held>]>,
    /// Packets that were ever offered.
    offered: u64,
    /// Decided flows.
    pub flows: Flows,
    /// Room for the bytes of a packet.
    bytes: Vec<u8>,
    is_attached: bool,
    /// Number of the inspector's attachment: those of others differ.
    attachment: u32,
}

impl Own {
    /// Whether an inspector takes packets.
    pub fn is_attached(&self) -> bool {
        self.is_attached
    }
    /// Number of the inspector's attachment.
    pub fn attachment(&self) -> u32 {
        self.attachment
    }
}

/// Counts of a pair, which its worker writes.
#[derive(Default)]
pub struct Counts {
    /// Packets by verdict.
    pub verdicts: [AtomicU64; Verdict::COUNT],
    /// Packets that passed without an inspector.
    pub passed: AtomicU64,
    /// Packets of flows that an inspector had let pass, or denied.
    pub bypassed: [AtomicU64; 2],
    /// Packets for which there was no slot.
    pub full: AtomicU64,
    /// Packets that an inspector held when it went.
    pub lost: AtomicU64,
    /// Packets whose verdict came when their interface had gone, or their session had ended.
    pub late: AtomicU64,
    /// Descriptors and verdicts that an inspector made up.
    pub bad: AtomicU64,
}

/// Adds to a count that one thread writes.
pub(crate) fn add(count: &AtomicU64, by: u64) {
    count.store(count.load(Relaxed).wrapping_add(by), Relaxed);
}

/// Memory that an instance shares.
pub(crate) struct Memory {
    /// The mapping.
    pub region: Region,
    /// Its file.
    pub file: OwnedFd,
}

/// A queue pair.
pub struct Pair {
    /// The worker.
    pub worker: usize,
    /// Its number among the queues of the worker.
    pub queue: u16,
    memory: Arc<Memory>,
    /// Number of the memory, as clients know it.
    pool: u8,
    pub(crate) place: Place,
    size: usize,
    /// Wakes the inspector, and the worker.
    pub(crate) interrupts: [Arc<OwnedFd>; 2],
    waker: Arc<Waker>,
    own: AtomicRefCell<Own>,
    /// Verdicts that the worker has read.
    read: AtomicU64,
    /// Packets that are held.
    waiting: AtomicU32,
    /// Whether the worker may sleep, and the inspector was asked to wake it.
    is_armed: AtomicBool,
    /// The client, which control sets.
    pub(crate) client: AtomicU32,
    /// Counts.
    pub counts: Counts,
}

impl Pair {
    /// A pair of a worker, without a client.
    pub(crate) fn new(
        (worker, queue): (usize, u16),
        (memory, pool): (&Arc<Memory>, u8),
        (place, size): (Place, usize),
        interrupts: [Arc<OwnedFd>; 2],
        waker: &Arc<Waker>,
    ) -> Pair {
        let own = Own {
            free: vec![],
            held: (0..size).map(|_| None).collect(),
            offered: 0,
            flows: Flows::default(),
            bytes: vec![],
            is_attached: false,
            attachment: 0,
        };
        Pair {
            worker,
            queue,
            memory: memory.clone(),
            pool,
            place,
            size,
            interrupts,
            waker: waker.clone(),
            own: AtomicRefCell::new(own),
            read: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            is_armed: AtomicBool::new(false),
            client: AtomicU32::new(NO_CLIENT),
            counts: Counts::default(),
        }
    }
    /// The part that only the worker itself touches: in a turn, or by a letter.
    ///
    /// # Panics
    /// If it is borrowed already: a programming error.
    pub(crate) fn own(&self) -> AtomicRefMut<'_, Own> {
        self.own.borrow_mut()
    }
    /// The client's number, if there is one.
    pub fn client(&self) -> Option<u32> {
        Some(self.client.load(Relaxed)).filter(|client| *client != NO_CLIENT)
    }
    /// Packets that are held.
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Relaxed)
    }
    /// Packets of a queue.
    pub fn size(&self) -> usize {
        self.size
    }
    fn load(&self, at: usize) -> u64 {
        self.memory.region.word(self.place.header + at).map_or(0, |word| word.load(Acquire))
    }
    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.memory.region.word(self.place.header + at) {
            word.store(value, Release);
        }
    }
    /// Sets a flag of the header, and returns what it was.
    fn swap(&self, at: usize, value: u8) -> u8 {
        self.memory.region.flag(self.place.header + at).map_or(value, |flag| flag.swap(value, AcqRel))
    }
    /// The place of an entry of a ring.
    fn entry(&self, ring: usize, number: u64) -> usize {
        ring + (number as usize & (self.size - 1)) * 2
    }
    /// Begins to offer packets to a client. Each attachment has a number of its own.
    pub(crate) fn attach(&self, own: &mut Own, attachment: u32) {
        self.store(header::COOKIE, COOKIE);
        self.store(header::OFFERED, 0);
        self.store(header::JUDGED, 0);
        self.swap(header::OFFERED_PENDING, 0);
        self.swap(header::JUDGED_PENDING, 0);
        self.read.store(0, Relaxed);
        own.offered = 0;
        own.free.clear();
        own.free.extend((0..self.size as u32).rev().map(|number| number as u16));
        (own.is_attached, own.attachment) = (true, attachment);
    }
    /// Ends that, and takes back what the client holds.
    pub(crate) fn detach(&self, own: &mut Own) -> Vec<Held> {
        own.is_attached = false;
        own.flows.clear();
        let held: Vec<Held> = own.held.iter_mut().filter_map(Option::take).collect();
        self.waiting.store(0, Relaxed);
        held
    }
    /// Copies the packet of a row into a slot, and takes it out of the frame.
    pub(crate) fn offer(
        &self,
        own: &mut Own,
        pool: &Pool,
        (frame, i): (&mut Frame, usize),
        by: OfferedBy,
        generations: &Generations,
    ) -> Result<(), Full> {
        let skipped = by.skipped();
        let length = (frame.length[i] as usize).saturating_sub(skipped);
        if length > PACKET_MAX {
            return Err(Full);
        }
        let Some(number) = own.free.last().copied() else { return Err(Full) };
        let view = self.memory.region.view();
        let (packet, mut at, mut skip, mut is_written) = (self.place.packet(number), 0, skipped, true);
        for segment in frame.segments(pool, i) {
            let (_, bytes) = segment.split_at(skip.min(segment.len()));
            skip -= segment.len() - bytes.len();
            let bytes = &bytes[..bytes.len().min(length - at)];
            is_written &= view.write(packet + at, bytes);
            at += bytes.len();
        }
        let (rx, tx) = (frame.rx[i], frame.tx[i]);
        let hash = frame.bytes(pool, i).get(skipped..).map_or(0, quiver_wire::flow::hash_of_both);
        let interface = if by.is_output() { tx } else { rx };
        let words = [packet as u32, at as u32 | u32::from(self.pool) << 16, by.flags(), hash, interface, 0];
        let mut described = [0; descriptor::BYTES];
        for (place, word) in described.as_chunks_mut().0.iter_mut().zip(words) {
            *place = u32::to_ne_bytes(word);
        }
        is_written &= view.write(self.place.descriptor(number), &described);
        is_written &= view.write(self.entry(self.place.offered, own.offered), &number.to_ne_bytes());
        if !is_written {
            return Err(Full);
        }
        let Some(taken) = frame.take(pool, i) else { return Err(Full) };
        own.free.pop();
        let generations = [rx, tx].map(|interface| generations.of(interface));
        if let Some(place) = own.held.get_mut(usize::from(number)) {
            *place = Some(Held { packet: taken, by, generations });
        }
        own.offered = own.offered.wrapping_add(1);
        self.waiting.fetch_add(1, Relaxed);
        Ok(())
    }
    /// Shows the inspector what was offered, and wakes it if it sleeps.
    pub(crate) fn publish(&self, own: &Own) {
        self.store(header::OFFERED, own.offered);
        fence(SeqCst);
        if self.swap(header::OFFERED_PENDING, 1) == 0 {
            self.waker.wake(&*self.interrupts[0]);
        }
    }
    /// Takes up to `most` packets whose verdicts have come.
    pub(crate) fn judged(&self, own: &mut Own, pool: &mut Pool, most: usize, taken: &mut Vec<Judged>) {
        let (judged, mut read) = (self.load(header::JUDGED), self.read.load(Relaxed));
        let count = judged.wrapping_sub(read);
        if count > self.size as u64 {
            // There are not so many descriptors: nothing can be told from the ring.
            add(&self.counts.bad, 1);
            self.read.store(judged, Relaxed);
            return;
        }
        for _ in 0..count.min(most as u64) {
            let number = self.number(read);
            read = read.wrapping_add(1);
            let held =
                number.and_then(|number| own.held.get_mut(usize::from(number))?.take().map(|held| (number, held)));
            let Some((number, held)) = held else {
                add(&self.counts.bad, 1);
                continue;
            };
            own.free.push(number);
            self.waiting.fetch_sub(1, Relaxed);
            let verdict = self.verdict(number);
            match verdict {
                Some(verdict) => add(&self.counts.verdicts[verdict as usize], 1),
                None => add(&self.counts.bad, 1),
            }
            let mut judged = Judged { held, verdict };
            if verdict == Some(Verdict::Replace) {
                self.replace(own, pool, number, &mut judged.held);
            }
            if let (OfferedBy::Feature(_, Some(flow)), Some(passes)) =
                (judged.held.by, verdict.and_then(Verdict::of_flow))
            {
                own.flows.decide(flow, passes);
            }
            taken.push(judged);
        }
        self.read.store(read, Relaxed);
    }
    /// The descriptor's number in an entry of the ring of judged packets.
    fn number(&self, read: u64) -> Option<u16> {
        let mut number = [0; 2];
        let is_read = self.memory.region.view().read(self.entry(self.place.judged, read), &mut number);
        is_read.then(|| u16::from_ne_bytes(number))
    }
    fn verdict(&self, number: u16) -> Option<Verdict> {
        let mut verdict = [0; 4];
        let at = self.place.descriptor(number) + descriptor::METADATA;
        let is_read = self.memory.region.view().read(at, &mut verdict);
        Verdict::of(u32::from_ne_bytes(verdict)).filter(|_| is_read)
    }
    /// Takes over the bytes that the inspector has written. The packet keeps its length; one that was in several buffers is made
    /// anew, and stays as it was if there are too few buffers.
    fn replace(&self, own: &mut Own, pool: &mut Pool, number: u16, held: &mut Held) {
        let skipped = held.by.skipped();
        let length = held.packet.len().saturating_sub(skipped);
        own.bytes.resize(length, 0);
        if !self.memory.region.view().read(self.place.packet(number), &mut own.bytes) {
            return;
        }
        let first = pool.bytes_mut(&mut held.packet);
        if let Some(inspected) = first.get_mut(skipped..).filter(|inspected| inspected.len() == length) {
            return inspected.copy_from_slice(&own.bytes);
        }
        let front = first.get(..skipped).unwrap_or_default().to_vec();
        let Some(mut made) = pool.packet_of(&[&front, &own.bytes]) else { return };
        (made.rx, made.tx, made.hop) = (held.packet.rx, held.packet.tx, held.packet.hop);
        if let Some(offload) = pool.offload(&held.packet) {
            made.set_offload(pool, offload);
        }
        // Among it is the mark of a session's packet.
        pool.keep_metadata(&held.packet, &mut made);
        pool.free(std::mem::replace(&mut held.packet, made));
    }
}

impl Source for Pair {
    fn is_ready(&self) -> bool {
        if self.is_armed.load(Relaxed) {
            self.is_armed.store(false, Relaxed);
            Interrupt::clear(&*self.interrupts[1]);
            self.swap(header::JUDGED_PENDING, 1);
        }
        self.load(header::JUDGED) != self.read.load(Relaxed)
    }
    fn fd(&self) -> BorrowedFd<'_> {
        self.is_armed.store(true, Relaxed);
        self.swap(header::JUDGED_PENDING, 0);
        fence(SeqCst);
        // A verdict that came before was told by no interrupt.
        if self.load(header::JUDGED) != self.read.load(Relaxed) {
            self.waker.wake(&*self.interrupts[1]);
        }
        self.interrupts[1].as_fd()
    }
}
