//! A vector of packets: their metadata in columns, their bytes in buffers.

use crate::buffer::{DATA, Flags, HEADROOM, Metadata, MetadataKey, Offload, Packet, Pool, Raw, STRIDE};
use crate::column::{self, group_mut};
use crate::isa::LANES;
use crate::stage::Alike;
use crate::vector::{BLOCK, Rows, TAKEN};
use std::ops::Range;

/// Up to 64 packets. Columns are always 64 long; rows from `len` on are stale and ignored.
///
/// A frame owns the buffers of its rows. Nodes set `next` for each row; the engine moves the rows.
pub struct Frame {
    /// The pool whose packets these are.
    home: usize,
    pub(crate) len: usize,
    /// Rows whose packet was taken.
    pub(crate) taken: usize,
    /// All flags that any row may have: a frame without odd ones is worked on without looking.
    pub(crate) any: Flags,
    pub(crate) buffer: [u32; BLOCK],
    /// Where the header that the current node reads begins, in the buffer.
    pub offset: [u16; BLOCK],
    /// Bytes of the packet from `offset` on, over all its buffers.
    pub length: [u32; BLOCK],
    /// The interface that received the packet.
    pub rx: [u32; BLOCK],
    /// The interface that is to send it.
    pub tx: [u32; BLOCK],
    pub(crate) flags: [u16; BLOCK],
    /// Result of a lookup, for the node that acts on it; behind a drop arc, the reason.
    pub hop: [u32; BLOCK],
    /// The arc by which each packet leaves the node.
    pub next: [u16; BLOCK],
    /// Rows that left a stage by another arc than the first, a bit for each.
    pub(crate) left: u64,
    /// Whether one interface is known to have received all packets; whether one is known to send them; and whether all are known
    /// to have left the last stage by one arc.
    pub(crate) one_rx: bool,
    pub(crate) one_tx: bool,
    pub(crate) one_next: bool,
}

/// The columns of a frame as addresses, for a node of foreign make: a plugin's. They hold until the frame is used again.
///
/// The bytes of row `i` begin at `data + buffer[i] * stride + offset[i]`; no two rows have a buffer in common.
#[derive(Clone, Copy, Debug)]
pub struct RawColumns {
    /// The first byte behind the header of the first of all buffers.
    pub data: *mut u8,
    /// Bytes from one buffer to the next.
    pub stride: usize,
    /// Bytes of a buffer that packets may use, headroom included.
    pub size: usize,
    /// The rows' buffers.
    pub buffer: *const u32,
    /// As [`Frame::offset`].
    pub offset: *mut u16,
    /// As [`Frame::length`].
    pub length: *mut u32,
    /// As [`Frame::rx`].
    pub rx: *const u32,
    /// As [`Frame::tx`].
    pub tx: *mut u32,
    /// The rows' [`Flags`].
    pub flags: *const u16,
    /// As [`Frame::hop`].
    pub hop: *mut u32,
    /// As [`Frame::next`].
    pub next: *mut u16,
}

impl Frame {
    /// The columns as addresses. Writes through them must keep to the rows there are, and to what [`Frame`] promises.
    pub fn raw_columns(&mut self, pool: &mut Pool) -> RawColumns {
        RawColumns {
            data: pool.first_data(),
            stride: STRIDE,
            size: DATA,
            buffer: self.buffer.as_ptr(),
            offset: self.offset.as_mut_ptr(),
            length: self.length.as_mut_ptr(),
            rx: self.rx.as_ptr(),
            tx: self.tx.as_mut_ptr(),
            flags: self.flags.as_ptr(),
            hop: self.hop.as_mut_ptr(),
            next: self.next.as_mut_ptr(),
        }
    }
    /// An empty frame for the packets of a pool. Nodes cannot make frames, so that none of them leaves its worker.
    pub(crate) fn new(home: usize) -> Frame {
        let (zero, long) = ([0; BLOCK], [0; BLOCK]);
        Frame {
            home,
            len: 0,
            taken: 0,
            any: Flags::NONE,
            buffer: long,
            offset: zero,
            length: long,
            rx: long,
            tx: long,
            flags: zero,
            hop: long,
            next: zero,
            left: !0,
            one_rx: true,
            one_tx: true,
            one_next: false,
        }
    }
    /// Packets in the frame.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len.min(BLOCK)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Rows still free.
    #[inline]
    pub fn room(&self) -> usize {
        BLOCK - self.len()
    }
    /// The interface that received all packets, if one is known to have.
    #[inline(always)]
    pub fn one_rx(&self) -> Option<u32> {
        self.one_rx.then_some(self.rx[0])
    }
    /// The arc by which all packets left the last stage, if that is one.
    #[inline(always)]
    pub(crate) fn way_out(&self) -> Option<u16> {
        match self.left {
            0 => Some(0),
            _ => self.one_next.then_some(self.next[0]),
        }
    }
    /// Nothing is known any more of interfaces and arcs of all rows.
    pub fn set_mixed(&mut self) {
        (self.one_rx, self.one_tx, self.one_next) = (false, false, false);
    }
    /// A node that is no stage has changed interfaces: looks whether all rows have the same ones.
    pub fn compare_interfaces(&mut self) {
        let [rx, tx] = [&self.rx, &self.tx].map(|column| column::uniform(column, self.len));
        (self.one_rx, self.one_tx, self.one_next) = (rx, tx, false);
    }
    /// Rows that left the stage that worked on the frame last by another arc than its first.
    #[inline(always)]
    pub fn left(&self) -> Rows {
        Rows(self.left)
    }
    /// The rows among those that left the stage by this arc.
    #[inline(always)]
    pub(crate) fn left_by(&self, arc: u16) -> Rows {
        match self.way_out() {
            Some(all) if all != arc => Rows(0),
            Some(_) => self.left(),
            None => self.some_left_by(arc),
        }
    }
    #[cold]
    fn some_left_by(&self, arc: u16) -> Rows {
        let by_arc = self.left().filter(|row| self.next[*row] == arc);
        Rows(by_arc.fold(0, |rows, row| rows | 1 << row))
    }
    /// Flags of row `i`.
    #[inline(always)]
    pub fn flags(&self, i: usize) -> Flags {
        Flags(self.flags[i])
    }
    /// Flags that some row may have.
    #[inline(always)]
    pub fn any(&self) -> Flags {
        self.any
    }
    /// Removes a flag that is no longer true, such as an offload that was carried out.
    pub fn clear_flag(&mut self, i: usize, flag: Flags) {
        // A chain stays a chain: whoever freed it without its links would lose buffers.
        self.flags[i] &= !flag.without(Flags::CHAINED).0;
    }
    /// Sets a flag; `CHAINED` is the engine's own and ignored.
    #[inline(always)]
    pub fn set_flag(&mut self, i: usize, flag: Flags) {
        let flag = flag.without(Flags::CHAINED);
        self.flags[i] |= flag.0;
        self.any = self.any.with(flag);
    }
    #[inline(always)]
    pub(crate) fn raw(&self, i: usize) -> Raw {
        Raw { buffer: self.buffer[i], offset: self.offset[i], flags: Flags(self.flags[i]), length: self.length[i] }
    }
    #[inline(always)]
    pub(crate) fn push_raw(&mut self, raw: Raw, rx: u32) {
        let i = self.len;
        if i >= BLOCK {
            debug_assert!(false, "callers look at room() first");
            return;
        }
        self.buffer[i] = raw.buffer;
        (self.offset[i], self.length[i], self.flags[i]) = (raw.offset, raw.length, raw.flags.0);
        (self.rx[i], self.tx[i], self.hop[i], self.next[i]) = (rx, 0, 0, 0);
        self.one_rx &= rx == self.rx[0];
        self.one_tx &= self.tx[0] == 0;
        self.any = self.any.with(raw.flags);
        self.len = i + 1;
    }
    /// Appends `N` packets of one buffer each; there is room for them, and [`Frame::expect`] was told of them.
    #[inline(always)]
    pub(crate) fn push_group<const N: usize>(&mut self, buffers: &[u32; N], lengths: &[u32; N], offset: u16, rx: u32) {
        // There is room, so this changes nothing; but it tells that all rows are there.
        let at = self.len().min(BLOCK.saturating_sub(N));
        set_group(&mut self.buffer, at, *buffers);
        set_group(&mut self.length, at, *lengths);
        set_group(&mut self.offset, at, [offset; N]);
        set_group(&mut self.flags, at, [0; N]);
        set_group(&mut self.rx, at, [rx; N]);
        set_group(&mut self.tx, at, [0; N]);
        set_group(&mut self.hop, at, [0; N]);
        set_group(&mut self.next, at, [0; N]);
        self.len = (at + N).min(BLOCK);
    }
    /// All packets that are appended from now on come by this interface, so whether it is the only one is known now; and so with that which
    /// sends them, of which nothing is known yet.
    pub(crate) fn expect(&mut self, rx: u32) {
        if self.len > 0 {
            self.one_rx &= rx == self.rx[0];
            self.one_tx &= self.tx[0] == 0;
        }
    }
    /// Appends packets by their columns: the first `n` rows, or as many as fit.
    ///
    /// PERF: out of line, so that addresses of columns are not computed beforehand for each group of rows.
    #[inline(never)]
    pub(crate) fn push_rows(&mut self, rows: column::Rows<'_>, n: usize, rx: u32) {
        let (at, n) = (self.len(), n.min(self.room()));
        let to = column::RowsMut {
            buffer: &mut self.buffer[at..],
            offset: &mut self.offset[at..],
            length: &mut self.length[at..],
            flags: &mut self.flags[at..],
        };
        let (rxs, txs, hops, nexts) = (&mut self.rx, &mut self.tx, &mut self.hop, &mut self.next);
        let by_groups = to.copy(rows, n, |g| {
            *group_mut(rxs, g) = [rx; LANES];
            *group_mut(txs, g) = [0; LANES];
            *group_mut(hops, g) = [0; LANES];
            *group_mut(nexts, g) = [0; LANES];
        });
        if !by_groups {
            self.rx[at..at + n].fill(rx);
            self.tx[at..at + n].fill(0);
            self.hop[at..at + n].fill(0);
            self.next[at..at + n].fill(0);
        }
        let mut any = 0;
        for flags in &self.flags[at..at + n] {
            any |= flags;
        }
        self.any = self.any.with(Flags(any));
        self.one_rx &= rx == self.rx[0];
        self.one_tx &= self.tx[0] == 0;
        self.len = at + n;
    }
    /// The metadata of the packets from a row on.
    #[inline(always)]
    pub(crate) fn rows(&self, from: usize) -> column::Rows<'_> {
        column::Rows {
            buffer: &self.buffer[from..],
            offset: &self.offset[from..],
            length: &self.length[from..],
            flags: &self.flags[from..],
        }
    }
    /// Appends a packet. Gives it back if the frame is full, or of another pool.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.room() == 0 || packet.home() != self.home {
            return Err(packet);
        }
        let i = self.len;
        let (rx, tx, hop) = (packet.rx, packet.tx, packet.hop);
        self.push_raw(packet.disown(), rx);
        (self.tx[i], self.hop[i]) = (tx, hop);
        self.one_tx = (i == 0 || self.one_tx) && tx == self.tx[0];
        Ok(())
    }
    /// Appends a packet made of bytes. False when the frame is full or the pool has too few buffers.
    pub fn push_bytes(&mut self, pool: &mut Pool, bytes: &[u8], rx: u32) -> bool {
        if self.room() == 0 {
            return false;
        }
        let raw = pool.raw_from(bytes);
        raw.inspect(|raw| self.push_raw(*raw, rx)).is_some()
    }
    /// Appends a packet of `length` bytes that `fill` writes, buffer by buffer: one call unless it is longer than a
    /// buffer. False when the frame is full, the pool has too few buffers, or `fill` returns false.
    #[inline(always)]
    pub fn push_filled(
        &mut self,
        pool: &mut Pool,
        length: usize,
        rx: u32,
        fill: impl FnMut(&mut [u8]) -> bool,
    ) -> bool {
        if self.room() == 0 {
            return false;
        }
        let raw = pool.raw_filled(length, fill);
        raw.inspect(|raw| self.push_raw(*raw, rx)).is_some()
    }
    /// Takes the packet of row `i` out of the graph. None if it was taken before.
    pub fn take(&mut self, pool: &Pool, i: usize) -> Option<Packet> {
        if i >= self.len || self.buffer[i] == pool.null {
            return None;
        }
        let packet = Packet::own(self.raw(i), pool);
        self.buffer[i] = pool.null;
        self.flags[i] = 0;
        self.next[i] = TAKEN;
        self.taken += 1;
        Some(packet.with_columns(self.rx[i], self.tx[i], self.hop[i]))
    }
    /// Puts a packet in the place of row `i`'s, which is freed; the row's arc stays. If the row was taken, the packet is freed instead.
    pub fn replace(&mut self, pool: &mut Pool, i: usize, packet: Packet) {
        pool.check(&packet);
        if i >= self.len || self.buffer[i] == pool.null {
            return pool.free(packet);
        }
        pool.free_raw(self.raw(i));
        (self.rx[i], self.tx[i], self.hop[i]) = (packet.rx, packet.tx, packet.hop);
        let raw = packet.disown();
        (self.buffer[i], self.offset[i], self.length[i], self.flags[i]) =
            (raw.buffer, raw.offset, raw.length, raw.flags.0);
        self.any = self.any.with(raw.flags);
        (self.one_rx, self.one_tx) = (false, false);
    }
    /// Traces a packet made of row `i` together with it, if row `i` is traced.
    pub fn trace_on(&self, pool: &mut Pool, i: usize, made: &mut Packet) {
        if i < self.len && self.flags(i).has(Flags::TRACED) && self.buffer[i] != pool.null {
            let number = pool.header(self.buffer[i]).trace;
            made.set_traced(pool, number);
        }
    }
    /// A copy of row `i`'s packet with its columns.
    pub fn copy(&self, pool: &mut Pool, i: usize) -> Option<Packet> {
        let raw = pool.copy_raw(self.raw(i))?;
        Some(Packet::own(raw, pool).with_columns(self.rx[i], self.tx[i], self.hop[i]))
    }
    /// Appends rows of another frame, as many as there is room for, and returns the rest. The other frame owns the appended rows no more.
    ///
    /// PERF: a column that has one value is filled, and arcs are not copied, for the next node sets them.
    pub(crate) fn push_rows_of(&mut self, other: &Frame, mut rows: Rows) -> Rows {
        let (at, mut n) = (self.len(), self.len());
        let moved = rows;
        while n < BLOCK
            && let Some(i) = rows.next()
        {
            (self.buffer[n], self.offset[n], self.length[n]) = (other.buffer[i], other.offset[i], other.length[i]);
            self.hop[n] = other.hop[i];
            n += 1;
        }
        let moved = Rows(moved.0 & !rows.0);
        self.one_rx &= append(&mut self.rx, at..n, &other.rx, moved, other.one_rx);
        self.one_tx &= append(&mut self.tx, at..n, &other.tx, moved, other.one_tx);
        append(&mut self.flags, at..n, &other.flags, moved, other.any == Flags::NONE);
        self.any = self.any.with(other.any);
        self.len = n;
        rows
    }
    /// Gives all rows the arc, the interface and the hop that a stage has for all of them.
    #[inline]
    pub(crate) fn treat(&mut self, alike: Alike) {
        let n = self.len();
        if let Some(tx) = alike.tx {
            column::fill(&mut self.tx, tx, n);
            self.one_tx = true;
        }
        if let Some(hop) = alike.hop {
            column::fill(&mut self.hop, hop, n);
        }
        self.left = 0;
        if alike.arc != 0 {
            self.next[0] = alike.arc;
            self.left = Rows::first(n).0;
        }
        self.one_next = true;
    }
    /// The first row is about to leave a stage: the others have arc 0 until they do.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_arcs(&mut self) {
        let n = self.len();
        column::fill(&mut self.next, 0, n);
    }
    /// Fills in the arcs of a frame whose rows have all left by one: a stage writes that of the first row at most.
    #[inline(always)]
    pub(crate) fn fill_arcs(&mut self) {
        if let Some(arc) = self.way_out() {
            let n = self.len();
            column::fill(&mut self.next, arc, n);
        }
    }
    /// Rows up to the next multiple of [`LANES`] refer to the null buffer, so that whole groups can be loaded. Their interfaces
    /// are those of the first row, so that a group whose packets have one interface in common is seen to.
    #[inline(always)]
    pub(crate) fn pad(&mut self, null: u32) {
        let len = self.len();
        if len.is_multiple_of(LANES) {
            return;
        }
        let (rx, tx) = (self.rx[0], self.tx[0]);
        column::pad(&mut self.buffer, len, null);
        column::pad(&mut self.offset, len, HEADROOM as u16);
        column::pad(&mut self.flags, len, 0);
        column::pad(&mut self.rx, len, rx);
        column::pad(&mut self.tx, len, tx);
        #[cfg(debug_assertions)]
        self.make_noise(len);
    }
    /// Fills the rows behind the last one with random values where debug assertions are on: stages must not depend on
    /// them.
    #[cfg(debug_assertions)]
    fn make_noise(&mut self, len: usize) {
        let mut x = u64::from(self.buffer[0]) << 32 | u64::from(self.length[0]) << 8 | len as u64;
        for i in len..len.next_multiple_of(LANES) {
            // Xorshift (Marsaglia, 2003), of what the frame holds, so that a run of the simulation can be repeated.
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (self.length[i], self.hop[i], self.flags[i], self.next[i]) =
                (x as u32, (x >> 32) as u32, (x >> 16) as u16, (x >> 48) as u16);
        }
    }
    /// Bytes of row `i` in its first buffer; all of them unless the packet is chained.
    #[inline(always)]
    pub fn bytes<'p>(&self, pool: &'p Pool, i: usize) -> &'p [u8] {
        pool.bytes_of(self.raw(i))
    }
    /// The same, to change.
    #[inline(always)]
    pub fn bytes_mut<'p>(&mut self, pool: &'p mut Pool, i: usize) -> &'p mut [u8] {
        pool.bytes_of_mut(self.raw(i))
    }
    /// The first `N` bytes of row `i` as an array, if the first buffer has so many.
    #[inline(always)]
    pub fn first<'p, const N: usize>(&self, pool: &'p Pool, i: usize) -> Option<&'p [u8; N]> {
        pool.first_of(self.raw(i))
    }
    /// The same, to be changed.
    #[inline(always)]
    pub fn first_mut<'p, const N: usize>(&mut self, pool: &'p mut Pool, i: usize) -> Option<&'p mut [u8; N]> {
        pool.first_of_mut(self.raw(i))
    }
    /// Puts all bytes of row `i`'s packet there, in place of what was there.
    pub fn gather(&self, pool: &Pool, i: usize, to: &mut Vec<u8>) {
        pool.gather(self.raw(i), to);
    }
    /// The parts of row `i`'s packet in their order.
    pub fn segments<'p>(&self, pool: &'p Pool, i: usize) -> impl Iterator<Item = &'p [u8]> {
        pool.segments_of(self.raw(i))
    }
    /// The same from the beginning of the frame that was received: all of them begin behind the headroom, however far nodes
    /// have gone past their headers since.
    pub(crate) fn received<'p>(&self, pool: &'p Pool, i: usize) -> impl Iterator<Item = &'p [u8]> {
        let mut raw = self.raw(i);
        let past = raw.offset.saturating_sub(HEADROOM as u16);
        raw.offset -= past;
        raw.length += u32::from(past);
        pool.segments_of(raw)
    }
    /// Offload state of row `i`.
    pub fn offload(&self, pool: &Pool, i: usize) -> Option<Offload> {
        pool.offload_of(self.raw(i))
    }
    /// Replaces the offload of row `i`.
    pub fn set_offload(&mut self, pool: &mut Pool, i: usize, offload: Offload) {
        self.set_flag(i, Flags::OFFLOAD);
        pool.header_mut(self.buffer[i]).offload = offload;
    }
    /// Metadata of row `i` by its key.
    #[inline(always)]
    pub fn metadata<T: Metadata>(&self, pool: &Pool, i: usize, key: MetadataKey<T>) -> Option<T> {
        pool.metadata_of(self.raw(i))?.get(key)
    }
    /// Gives a packet that was made of row `i`, a fragment of it for instance, what rooms keep with it.
    pub fn hand_on_metadata(&self, pool: &mut Pool, i: usize, packet: &mut Packet) {
        pool.hand_on_metadata(self.raw(i), packet);
    }
    /// Keeps a value with row `i`.
    #[inline(always)]
    pub fn set_metadata<T: Metadata>(&mut self, pool: &mut Pool, i: usize, key: MetadataKey<T>, value: T) {
        pool.set_metadata_of(self.raw(i), key, value);
        self.set_flag(i, Flags::METADATA);
    }
    /// Moves the start of row `i` by `by` bytes: forward over a header, or back into the headroom. False, and nothing
    /// changed, if the packet or the headroom is too short.
    #[inline(always)]
    pub fn advance(&mut self, pool: &Pool, i: usize, by: isize) -> bool {
        let first = self.bytes(pool, i).len() as isize;
        let (offset, length) = (self.offset[i] as isize + by, self.length[i] as isize - by);
        if offset < 0 || by > first || length > i32::MAX as isize {
            return false;
        }
        (self.offset[i], self.length[i]) = (offset as u16, length as u32);
        true
    }
    /// Cuts row `i` to `length` bytes (Ethernet padding behind a short IP packet). Chained packets are left alone.
    pub fn truncate(&mut self, i: usize, length: u32) {
        if !self.flags(i).has(Flags::CHAINED) {
            self.length[i] = self.length[i].min(length);
        }
    }
    /// Frees all packets.
    pub(crate) fn free(&mut self, pool: &mut Pool) {
        for i in 0..self.len() {
            if self.buffer[i] != pool.null {
                pool.free_raw(self.raw(i));
            }
        }
        self.clear();
    }
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        (self.len, self.taken, self.any, self.left) = (0, 0, Flags::NONE, !0);
        (self.one_rx, self.one_tx, self.one_next) = (true, true, false);
    }
}

#[inline(always)]
fn set_group<T, const N: usize>(column: &mut [T; BLOCK], at: usize, rows: [T; N]) {
    if let Some(place) = column.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = rows;
    }
}

/// Copies rows of a column to places of another one. `is_one` says that all rows have the value of the first one. Returns whether
/// what was copied is what the first place has.
#[inline(always)]
fn append<T: Copy + PartialEq>(
    column: &mut [T; BLOCK],
    to: Range<usize>,
    from: &[T; BLOCK],
    rows: Rows,
    is_one: bool,
) -> bool {
    let Some(places) = column.get_mut(to.clone()) else { return false };
    if is_one {
        places.fill(from[0]);
        return column[0] == from[0];
    }
    places.iter_mut().zip(rows).for_each(|(place, i)| *place = from[i]);
    let first = column[0];
    column[to].iter().all(|value| *value == first)
}
