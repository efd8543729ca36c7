//! The pool: free lists, growth, and access to the bytes of packets.
#![allow(unsafe_code)]

use super::ledger::Ledger;
use super::memory::{Backing, DATA, END, HEADROOM, Header, Memory, Offload, SEGMENT_MAX, STRIDE};
use super::metadata::{Metadata, MetadataKey, PacketMetadata};
use super::raw::{Flags, Raw, Span};
use crate::isa::{Each, Isa, LANES, Lanes};
use crate::vector::VECTOR;
use crossbeam_queue::ArrayQueue;
use quiver_table::simulation::SIMULATED;
use std::io::IoSliceMut;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Buffers that move between the shared store and a worker's list at once.
const BATCH: usize = 64;
/// Buffers of the longest scattered read: 64 KB with the headers of layer 2.
pub(super) const SCATTER_MAX: usize = (65_536 + 64_usize).div_ceil(SEGMENT_MAX);
/// A worker's free list gives back batches above this length, so that its hot end stays in cache.
const LOCAL_MAX: usize = 8 * BATCH;

/// Why the pool cannot be made or grown.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The configured limit is reached.
    #[error("buffers: all {limit} of `buffers.limit` are in use; raise the limit")]
    AtLimit {
        /// Buffers at most.
        limit: u32,
    },
    /// There are not enough for each worker to begin with.
    #[error("buffers: {buffers} are too few for {workers} workers; make more at start, or start fewer workers")]
    TooFew {
        /// Buffers made.
        buffers: u32,
        /// Workers that want some.
        workers: usize,
    },
    /// The system gives no memory.
    #[error("buffers: the system refused {bytes} bytes ({source}); lower `buffers.limit` or free memory")]
    NoMemory {
        /// Bytes asked for.
        bytes: usize,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Byte that a simulation fills freed buffers with, so that a late reader is noticed.
const POISON: u8 = 0xdb;

type Ids = ([u32; BATCH], usize);

/// The memory shared by all workers, and the buffers that none of them holds.
#[derive(Clone)]
pub struct Buffers(pub(super) Arc<Shared>);

pub(super) struct Shared {
    memory: Memory,
    batches: ArrayQueue<Ids>,
    /// Buffers given back one by one, by handles that were dropped.
    singles: ArrayQueue<u32>,
    growth: Mutex<Backing>,
    /// Times that a worker found no buffer.
    starved: AtomicU64,
    pub(super) ledger: Ledger,
}

impl Buffers {
    /// Memory for at most `limit` buffers, with pages for `initial` of them.
    pub fn new(initial: u32, limit: u32) -> Result<Buffers, PoolError> {
        let no_memory = |source| PoolError::NoMemory { bytes: limit as usize * STRIDE, source };
        let buffers = Buffers::over(Memory::reserve(limit).map_err(no_memory)?, Backing::Huge);
        buffers.grow(initial.min(limit))?;
        Ok(buffers)
    }
    /// Memory for so many buffers that other processes can map: they may then read and write all packets.
    pub fn shared(buffers: u32) -> Result<Buffers, PoolError> {
        let no_memory = |source| PoolError::NoMemory { bytes: buffers as usize * STRIDE, source };
        let (memory, backing) = Memory::shared(buffers).map_err(no_memory)?;
        let buffers = Buffers::over(memory, backing);
        (0..buffers.count()).for_each(|id| buffers.0.store(id));
        Ok(buffers)
    }
    fn over(memory: Memory, backing: Backing) -> Buffers {
        let limit = memory.limit();
        Buffers(Arc::new(Shared {
            memory,
            batches: ArrayQueue::new(limit as usize / BATCH + 2),
            singles: ArrayQueue::new(limit as usize + 1),
            growth: Mutex::new(backing),
            starved: AtomicU64::new(0),
            ledger: Ledger::new(limit),
        }))
    }
    /// The file that other processes map to use buffers in place, and its bytes. None if the memory is ours alone.
    pub fn shared_file(&self) -> Option<(std::os::fd::BorrowedFd<'_>, u64)> {
        self.0.memory.file().map(|(file, bytes)| (file.as_fd(), *bytes))
    }
    /// Where the bytes of a buffer from `at` on lie in that file.
    pub(super) fn offset(&self, id: u32, at: usize) -> u64 {
        id as u64 * STRIDE as u64 + at as u64
    }
    /// Takes a buffer from the store, for callers without a pool.
    pub(super) fn take_one(&self) -> Option<u32> {
        let shared = &*self.0;
        let id = shared.singles.pop().or_else(|| {
            let (ids, len) = shared.batches.pop()?;
            let (first, others) = ids[..len].split_first()?;
            others.iter().for_each(|id| shared.store(*id));
            Some(*first)
        })?;
        shared.ledger.taken(id);
        Some(id)
    }
    /// Access to buffers is sound only through a pool of their own memory: two memories of one process are a programming
    /// error.
    pub(super) fn check(&self, pool: &Pool) {
        assert!(pool.home() == self.home(), "the buffers are of another pool");
    }
    /// Backs at least `more` further buffers, as far as the limit allows. For control: it asks the system for memory.
    pub fn grow(&self, more: u32) -> Result<u32, PoolError> {
        let shared = &*self.0;
        let mut backing = shared.growth.lock().unwrap_or_else(|e| e.into_inner());
        let (old, limit) = (shared.memory.count(), shared.memory.limit());
        if old == limit {
            return Err(PoolError::AtLimit { limit });
        }
        let bytes = more as usize * STRIDE;
        let backed = shared.memory.back(old.saturating_add(more), *backing);
        let (new, now) = backed.map_err(|source| PoolError::NoMemory { bytes, source })?;
        *backing = now.max(*backing);
        let grown = new.len() as u32;
        new.for_each(|id| shared.store(id));
        Ok(grown)
    }
    /// Backing of the buffers that were made last.
    pub fn backing(&self) -> Backing {
        *self.0.growth.lock().unwrap_or_else(|e| e.into_inner())
    }
    /// Buffers that have pages.
    pub fn count(&self) -> u32 {
        self.0.memory.count()
    }
    /// Buffers at most.
    pub fn limit(&self) -> u32 {
        self.0.memory.limit()
    }
    /// Buffers that lie in the shared store; workers hold more on their own lists.
    pub fn stored(&self) -> usize {
        self.0.batches.len() * BATCH + self.0.singles.len()
    }
    /// Times that a worker found no buffer.
    pub fn starved(&self) -> u64 {
        self.0.starved.load(Relaxed)
    }
    pub(crate) fn home(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
    pub(crate) fn give_back(&self, raw: Raw) {
        self.0.give_back_chain(raw);
    }
    /// A worker's pool. None while there is no buffer left for it at all.
    pub fn pool(&self) -> Option<Pool> {
        let mut pool = Pool { shared: self.0.clone(), free: Vec::with_capacity(LOCAL_MAX + VECTOR), null: END };
        pool.refill();
        pool.null = pool.free.pop()?;
        self.0.ledger.taken(pool.null);
        // Rows behind the last packet refer to it: in tests, which have debug assertions, what they find there is no packet.
        #[cfg(debug_assertions)]
        for (at, byte) in pool.data_mut(pool.null).iter_mut().enumerate() {
            *byte = (at.wrapping_mul(0x9d) ^ at >> 3) as u8;
        }
        Some(pool)
    }
}

impl Shared {
    /// Puts a free buffer into the store.
    fn store(&self, id: u32) {
        // The queue has room for every buffer there is.
        let _ = self.singles.push(id);
    }
    fn give_back(&self, id: u32) {
        if self.may_free(id) {
            self.store(id);
        }
    }
    /// Marks a buffer as free. False, in a simulation, if it was free already.
    #[inline(always)]
    fn may_free(&self, id: u32) -> bool {
        if SIMULATED {
            if !self.ledger.freed(id) {
                return false;
            }
            // SAFETY: the buffer lies in the memory, and its holder has just given it up.
            unsafe { self.memory.data(id).write_bytes(POISON, DATA) };
        }
        true
    }
    pub(super) fn give_back_chain(&self, raw: Raw) {
        let mut id = raw.buffer;
        if raw.flags.has(Flags::CHAINED) {
            // SAFETY: the caller owned the whole chain.
            while let next = unsafe { (*self.memory.header(id)).next }
                && next != END
            {
                self.give_back(id);
                id = next;
            }
        }
        self.give_back(id);
    }
}

/// One worker's buffers: allocation and freeing touch its own list only, and the shared store once per batch.
pub struct Pool {
    pub(super) shared: Arc<Shared>,
    free: Vec<u32>,
    /// A buffer that is never handed out; rows without a packet refer to it, so that access is always valid.
    pub(crate) null: u32,
}

/// Where 64 bytes of a buffer begin in the memory of its pool: 0 is the first of all buffers. It is made of a buffer's number by
/// [`Pool::places`] alone, and as good as that.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place(u64);

/// Stretches of 64 bytes of eight buffers, made by [`Pool::windows`] alone.
///
/// PERF: the address of the memory stays in a register, and is not read again for each packet.
pub(crate) struct Windows<'p, I: Isa> {
    /// Where the bytes of the first buffer begin.
    data: *const u8,
    pool: &'p Pool,
    ids: &'p [u32; LANES],
    offsets: Each<I>,
}
impl<'p, I: Isa> Windows<'p, I> {
    /// The window of a lane, modulo [`LANES`].
    #[inline(always)]
    pub(crate) fn at(&self, lane: usize) -> &'p [u8; 64] {
        let id = self.ids[lane % LANES];
        self.pool.shared.ledger.touched(id);
        // SAFETY: as `Pool::data`; `Pool::windows` has brought each offset so far into its buffer that 64 bytes are behind it.
        unsafe { &*self.data.add(id as usize * STRIDE + self.offsets.at(lane) as usize).cast() }
    }
}

/// The bytes of all buffers, lent by their pool.
pub(crate) struct All<'p> {
    /// Where those of the first buffer begin.
    data: *mut u8,
    pool: &'p Pool,
    lent: PhantomData<&'p mut Pool>,
}
impl All<'_> {
    /// The bytes of a packet in its first buffer.
    pub(crate) fn bytes_of_mut(&mut self, raw: Raw) -> &mut [u8] {
        self.pool.shared.ledger.touched(raw.buffer);
        let (range, start) = (self.pool.range(raw), raw.buffer as usize * STRIDE);
        // SAFETY: the range lies inside the buffer, as for `Pool::data`; and `self` has borrowed the pool from its only owner and is borrowed for
        // as long, so there is no other reference to its bytes.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(start + range.start), range.len()) }
    }
    /// The pool, to read bytes and metadata of packets.
    #[inline(always)]
    pub(crate) fn pool(&self) -> &Pool {
        self.pool
    }
    /// The 64 bytes at a place, to read.
    #[inline(always)]
    pub(crate) fn seen(&self, place: Place) -> &[u8; 64] {
        // SAFETY: `Pool::places` brings each offset into its buffer, so the 64 bytes lie in the pool's memory; and while `self` is
        // borrowed there is no reference that could write them.
        unsafe { &*self.data.add(place.0 as usize).cast() }
    }
    /// The 64 bytes at a place.
    #[inline(always)]
    pub(crate) fn at(&mut self, place: Place) -> &mut [u8; 64] {
        // SAFETY: `Pool::places` brings each offset into its buffer, so the 64 bytes lie in the pool's memory; and `self` has borrowed the
        // pool from its only owner and is borrowed for as long, so there is no other reference to them.
        unsafe { &mut *self.data.add(place.0 as usize).cast() }
    }
    /// The 64 bytes from an offset of a buffer on; the offset is brought into the buffer.
    #[inline(always)]
    pub(crate) fn window(&mut self, id: u32, offset: usize) -> &mut [u8; 64] {
        self.at(Place(u64::from(id) * STRIDE as u64 + offset.min(DATA - 64) as u64))
    }
}

impl Pool {
    #[cold]
    fn refill(&mut self) {
        while self.free.len() < BATCH {
            if let Some((ids, len)) = self.shared.batches.pop() {
                self.free.extend_from_slice(&ids[..len]);
            } else if let Some(id) = self.shared.singles.pop() {
                self.free.push(id);
            } else {
                return;
            }
        }
    }
    /// Whether so many buffers can be allocated now.
    #[inline(always)]
    pub(super) fn has(&mut self, buffers: usize) -> bool {
        if self.free.len() < buffers {
            self.refill();
        }
        self.free.len() >= buffers
    }
    /// Lets the chain that ends with a buffer go on in another.
    pub(super) fn append(&mut self, last: u32, next: u32) {
        self.header_mut(last).next = next;
    }
    #[inline(always)]
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            self.refill();
            if self.free.is_empty() {
                self.shared.starved.fetch_add(1, Relaxed);
                return None;
            }
        }
        let id = self.free.pop()?;
        self.shared.ledger.taken(id);
        Some(id)
    }
    /// `N` buffers, those first that were freed last; None, and none taken, if the pool has none of its own left for all of them.
    #[inline(always)]
    pub(crate) fn allocate_group<const N: usize>(&mut self) -> Option<[u32; N]> {
        if self.free.len() < N {
            self.refill();
        }
        let ids = *self.free.last_chunk()?;
        self.free.truncate(self.free.len() - N);
        ids.iter().for_each(|id| self.shared.ledger.taken(*id));
        Some(ids)
    }
    #[inline(always)]
    pub(crate) fn free_one(&mut self, id: u32) {
        if !self.shared.may_free(id) {
            return;
        }
        self.free.push(id);
        if self.free.len() > LOCAL_MAX {
            self.spill();
        }
    }
    /// Frees many, none of which is a chain.
    pub(crate) fn free_all(&mut self, ids: &[u32]) {
        if SIMULATED {
            ids.iter().for_each(|id| self.free_one(*id));
            return;
        }
        self.free.extend_from_slice(ids);
        if self.free.len() > LOCAL_MAX {
            self.spill();
        }
    }
    #[cold]
    fn spill(&mut self) {
        while self.free.len() > LOCAL_MAX / 2 {
            let mut ids = [0; BATCH];
            // The cold end goes.
            for (to, id) in ids.iter_mut().zip(self.free.drain(..BATCH)) {
                *to = id;
            }
            if let Err((ids, len)) = self.shared.batches.push((ids, BATCH)) {
                ids[..len].iter().for_each(|id| self.shared.store(*id));
            }
        }
    }
    /// Frees a row's buffers; a chain is followed.
    #[inline(always)]
    pub(crate) fn free_raw(&mut self, raw: Raw) {
        if raw.flags.has(Flags::CHAINED) {
            return self.free_chain(raw.buffer);
        }
        self.free_one(raw.buffer);
    }
    #[cold]
    fn free_chain(&mut self, mut id: u32) {
        while id != END {
            let next = self.header(id).next;
            self.free_one(id);
            id = next;
        }
    }
    #[inline(always)]
    pub(crate) fn header(&self, id: u32) -> &Header {
        self.shared.ledger.touched(id);
        // SAFETY: ids come from this pool's memory, and whoever holds one owns the buffer; `&self` lends it.
        unsafe { &*self.shared.memory.header(id) }
    }
    #[inline(always)]
    pub(crate) fn header_mut(&mut self, id: u32) -> &mut Header {
        self.shared.ledger.touched(id);
        // SAFETY: as above, and `&mut self` lends it to one borrower of this worker only.
        unsafe { &mut *self.shared.memory.header(id) }
    }
    /// All data bytes of a buffer, headroom included.
    #[inline(always)]
    pub(crate) fn data(&self, id: u32) -> &[u8; DATA] {
        self.shared.ledger.touched(id);
        // SAFETY: as `header`; a buffer has `DATA` bytes.
        unsafe { &*self.shared.memory.data(id).cast() }
    }
    #[inline(always)]
    pub(crate) fn data_mut(&mut self, id: u32) -> &mut [u8; DATA] {
        self.shared.ledger.touched(id);
        // SAFETY: as `header_mut`.
        unsafe { &mut *self.shared.memory.data(id).cast() }
    }
    /// Where the data of the first buffer begin.
    pub(crate) fn first_data(&mut self) -> *mut u8 {
        // SAFETY: this pool holds its null buffer, so there is a first one.
        unsafe { self.shared.memory.data(0) }
    }
    /// Several buffers' bytes behind the headroom at once, for a scattered read with a header in front.
    pub(super) fn scatter<R>(
        &mut self,
        header: &mut [u8],
        ids: &[u32],
        read: impl FnOnce(&mut [IoSliceMut]) -> R,
    ) -> R {
        let mut slices: [_; 1 + SCATTER_MAX] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        slices[0] = IoSliceMut::new(header);
        for (slice, id) in slices[1..].iter_mut().zip(ids) {
            // SAFETY: the ids are distinct buffers of one holder, so the slices do not overlap; they end with this call.
            let data: &mut [u8; DATA] = unsafe { &mut *self.shared.memory.data(*id).cast() };
            *slice = IoSliceMut::new(&mut data[HEADROOM..]);
        }
        read(&mut slices[..1 + ids.len().min(SCATTER_MAX)])
    }
    /// The 64 bytes from an offset on, wherever the packet ends; the offset is brought into the buffer.
    #[inline(always)]
    pub(crate) fn window(&self, id: u32, offset: usize) -> &[u8; 64] {
        let at = offset.min(DATA - 64);
        // SAFETY: `at + 64` is inside the buffer.
        unsafe { &*self.data(id).as_ptr().add(at).cast() }
    }
    #[inline(always)]
    pub(crate) fn window_mut(&mut self, id: u32, offset: usize) -> &mut [u8; 64] {
        let at = offset.min(DATA - 64);
        // SAFETY: as above.
        unsafe { &mut *self.data_mut(id).as_mut_ptr().add(at).cast() }
    }
    /// Where the windows at these offsets of buffers begin; the offsets are brought into the buffers.
    #[inline(always)]
    pub(crate) fn places(&self, ids: &[u32; LANES], offsets: &[u16; LANES]) -> [Place; LANES] {
        let mut places = [Place(0); LANES];
        for lane in 0..LANES {
            self.shared.ledger.touched(ids[lane]);
            let offset = u64::from(offsets[lane].min(DATA as u16 - 64));
            places[lane] = Place(u64::from(ids[lane]) * STRIDE as u64 + offset);
        }
        places
    }
    /// The windows at these offsets of buffers, to read one after the other; the offsets are brought into the buffers.
    #[inline(always)]
    pub(crate) fn windows<'p, I: Isa>(
        &'p self,
        isa: I,
        ids: &'p [u32; LANES],
        offsets: &[u16; LANES],
    ) -> Windows<'p, I> {
        let offsets = Lanes::widen(isa, offsets).min(DATA as u32 - 64).each();
        // SAFETY: this pool holds its null buffer, so there is a first one.
        Windows { data: unsafe { self.shared.memory.data(0) }, pool: self, ids, offsets }
    }
    /// The 64 bytes at a place.
    #[inline(always)]
    pub(crate) fn at(&self, place: Place) -> &[u8; 64] {
        // SAFETY: as `data`; a place is inside the buffer that it was made of.
        unsafe { &*self.shared.memory.data(0).add(place.0 as usize).cast() }
    }
    /// All bytes, to change.
    ///
    /// PERF: the address of the memory stays in a register, and is not read again for each packet.
    #[inline(always)]
    pub(crate) fn all(&mut self) -> All<'_> {
        let data = self.first_data();
        All { data, pool: self, lent: PhantomData }
    }
    #[inline(always)]
    fn range(&self, raw: Raw) -> std::ops::Range<usize> {
        let start = usize::from(raw.offset).min(DATA);
        let end = if raw.flags.has(Flags::CHAINED) {
            usize::from(self.header(raw.buffer).end).max(start)
        } else {
            start + raw.length as usize
        };
        start..end.min(DATA)
    }
    /// The first bytes of a packet, if its first buffer has so many.
    #[inline(always)]
    pub(crate) fn first_of<const N: usize>(&self, raw: Raw) -> Option<&[u8; N]> {
        let start = usize::from(raw.offset);
        // PERF: most packets have one buffer, so that its end is not read.
        if raw.flags.has(Flags::CHAINED) || start > DATA.saturating_sub(N) {
            return self.bytes_of(raw).first_chunk();
        }
        if (raw.length as usize) < N { None } else { self.data(raw.buffer)[start..].first_chunk() }
    }
    /// The same, to be changed.
    #[inline(always)]
    pub(crate) fn first_of_mut<const N: usize>(&mut self, raw: Raw) -> Option<&mut [u8; N]> {
        let start = usize::from(raw.offset);
        if raw.flags.has(Flags::CHAINED) || start > DATA.saturating_sub(N) {
            return self.bytes_of_mut(raw).first_chunk_mut();
        }
        if (raw.length as usize) < N { None } else { self.data_mut(raw.buffer)[start..].first_chunk_mut() }
    }
    #[inline(always)]
    pub(crate) fn bytes_of(&self, raw: Raw) -> &[u8] {
        &self.data(raw.buffer)[self.range(raw)]
    }
    #[inline(always)]
    pub(crate) fn bytes_of_mut(&mut self, raw: Raw) -> &mut [u8] {
        let range = self.range(raw);
        &mut self.data_mut(raw.buffer)[range]
    }
    pub(crate) fn segments_of(&self, raw: Raw) -> impl Iterator<Item = &[u8]> {
        let mut next = if raw.flags.has(Flags::CHAINED) { self.header(raw.buffer).next } else { END };
        let mut first = Some(self.bytes_of(raw));
        std::iter::from_fn(move || {
            if first.is_some() {
                return first.take();
            }
            if next == END {
                return None;
            }
            let (id, header) = (next, *self.header(next));
            next = header.next;
            self.data(id).get(usize::from(header.start)..usize::from(header.end))
        })
    }
    /// All bytes of a packet, in place of what was there.
    pub(crate) fn gather(&self, raw: Raw, to: &mut Vec<u8>) {
        to.clear();
        to.reserve(raw.length as usize);
        self.segments_of(raw).for_each(|part| to.extend_from_slice(part));
    }
    /// Where the parts of a packet lie in the memory that other processes map.
    pub(crate) fn spans_of(&self, raw: Raw) -> impl Iterator<Item = Span> {
        let mut next = if raw.flags.has(Flags::CHAINED) { self.header(raw.buffer).next } else { END };
        let mut part = Some((raw.buffer, self.range(raw)));
        std::iter::from_fn(move || {
            let (id, range) = part.take()?;
            if next != END {
                let header = self.header(next);
                part = Some((next, usize::from(header.start)..usize::from(header.end)));
                next = header.next;
            }
            let offset = id as u64 * STRIDE as u64 + range.start as u64;
            Some(Span { offset, length: range.len() as u32 })
        })
    }
    /// Where the first part of a packet lies there; of one buffer, all of it.
    #[inline(always)]
    pub(super) fn first_span(&self, raw: Raw) -> Span {
        let range = self.range(raw);
        Span { offset: raw.buffer as u64 * STRIDE as u64 + range.start as u64, length: range.len() as u32 }
    }
    pub(crate) fn offload_of(&self, raw: Raw) -> Option<Offload> {
        raw.flags.has(Flags::OFFLOAD).then(|| self.header(raw.buffer).offload)
    }
    #[inline(always)]
    pub(crate) fn metadata_of(&self, raw: Raw) -> Option<&PacketMetadata> {
        raw.flags.has(Flags::METADATA).then(|| &self.header(raw.buffer).metadata)
    }
    /// Keeps a value with a packet, whose flags say so from then on.
    #[inline(always)]
    pub(crate) fn set_metadata_of<T: Metadata>(&mut self, raw: Raw, key: MetadataKey<T>, value: T) {
        let kept = &mut self.header_mut(raw.buffer).metadata;
        if !raw.flags.has(Flags::METADATA) {
            // What there was of another packet.
            *kept = PacketMetadata::default();
        }
        kept.set(key, value);
    }
    /// Makes a packet of bytes, a chain if they need more than one buffer. None when the pool has too few buffers.
    pub(crate) fn raw_from(&mut self, mut bytes: &[u8]) -> Option<Raw> {
        self.raw_filled(bytes.len(), |part| {
            let (these, rest) = bytes.split_at(part.len());
            part.copy_from_slice(these);
            bytes = rest;
            true
        })
    }
    /// Makes a packet of `length` bytes that `fill` writes, buffer by buffer. None when the pool has too few buffers, or
    /// when `fill` returns false.
    #[inline(always)]
    pub(crate) fn raw_filled(&mut self, length: usize, mut fill: impl FnMut(&mut [u8]) -> bool) -> Option<Raw> {
        let first = length.min(SEGMENT_MAX);
        let mut raw =
            Raw { buffer: self.allocate()?, offset: HEADROOM as u16, length: length as u32, flags: Flags::NONE };
        if !fill(&mut self.data_mut(raw.buffer)[HEADROOM..HEADROOM + first]) {
            self.free_one(raw.buffer);
            return None;
        }
        if first < length {
            raw.flags = Flags::CHAINED;
            self.link(raw.buffer, END, first);
            self.fill_chain(raw.buffer, length - first, &mut fill)?;
        }
        Some(raw)
    }
    /// The same for a packet of one buffer, of which `fill` gets all that may be written.
    #[inline(always)]
    pub(crate) fn raw_of_lines(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> bool) -> Option<Raw> {
        let raw = Raw { buffer: self.allocate()?, offset: HEADROOM as u16, length: length as u32, flags: Flags::NONE };
        if !fill(&mut self.data_mut(raw.buffer)[HEADROOM..]) {
            self.free_one(raw.buffer);
            return None;
        }
        Some(raw)
    }
    /// The bytes of a buffer from an offset on.
    #[inline(always)]
    pub(crate) fn data_from(&self, id: u32, offset: usize) -> &[u8] {
        &self.data(id)[offset.min(DATA)..]
    }
    /// Appends buffers for the `left` bytes that do not fit into the first one. Frees all if that is not possible.
    fn fill_chain(&mut self, first: u32, mut left: usize, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> Option<()> {
        let mut last = first;
        while left > 0 {
            let Some(id) = self.allocate() else {
                self.free_chain(first);
                return None;
            };
            let here = left.min(SEGMENT_MAX);
            self.header_mut(last).next = id;
            self.link(id, END, here);
            if !fill(&mut self.data_mut(id)[HEADROOM..HEADROOM + here]) {
                self.free_chain(first);
                return None;
            }
            (last, left) = (id, left - here);
        }
        Some(())
    }
    pub(super) fn link(&mut self, id: u32, next: u32, length: usize) {
        let header = self.header_mut(id);
        (header.next, header.start, header.end) = (next, HEADROOM as u16, (HEADROOM + length) as u16);
    }
    pub(crate) fn copy_raw(&mut self, raw: Raw) -> Option<Raw> {
        let mut copy = if raw.flags.has(Flags::CHAINED) {
            let mut bytes = vec![];
            self.gather(raw, &mut bytes);
            self.raw_from(&bytes)?
        } else {
            let id = self.allocate()?;
            let range = self.range(raw);
            // SAFETY: two distinct buffers, the new one just allocated.
            unsafe {
                let (from, to) = (self.data(raw.buffer).as_ptr(), self.data_mut(id).as_mut_ptr());
                std::ptr::copy_nonoverlapping(from.add(range.start), to.add(range.start), range.len());
            }
            Raw { buffer: id, ..raw }
        };
        let kept = Flags::OFFLOAD.with(Flags::LOCAL).with(Flags::TRACED).with(Flags::METADATA);
        copy.flags = copy.flags.with(raw.flags.only(kept));
        if raw.flags.has(Flags::TRACED) {
            // Its records belong to those of the packet.
            self.header_mut(copy.buffer).trace = self.header(raw.buffer).trace;
        }
        if raw.flags.has(Flags::METADATA) {
            self.header_mut(copy.buffer).metadata = self.header(raw.buffer).metadata;
        }
        if raw.flags.has(Flags::OFFLOAD) {
            let mut offload = self.header(raw.buffer).offload;
            // The copy may begin at another place of its buffer, from which the checksum's place is counted.
            let start = i32::from(offload.checksum_start) + i32::from(copy.offset) - i32::from(raw.offset);
            offload.checksum_start = start.clamp(0, i32::from(u16::MAX)) as u16;
            self.header_mut(copy.buffer).offload = offload;
        }
        Some(copy)
    }
    /// Free buffers that are kept here: the worker's list, and the null buffer.
    pub(crate) fn cached(&self) -> usize {
        self.free.len() + 1
    }
    /// Which pool this is a worker's part of.
    pub(crate) fn home(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }
    /// Whether the simulation planted a double free for itself to find.
    #[inline(always)]
    pub(crate) fn plants_double_free(&self) -> bool {
        self.shared.ledger.plants_double_free()
    }
    /// Whether it planted a lost hand-off.
    #[inline(always)]
    pub(crate) fn plants_lost_handoff(&self) -> bool {
        self.shared.ledger.plants_lost_handoff()
    }
    /// Buffers on this worker's own list.
    pub fn local(&self) -> usize {
        self.free.len()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.free.drain(..).for_each(|id| self.shared.store(id));
        if self.null != END {
            self.shared.give_back(self.null);
        }
    }
}
