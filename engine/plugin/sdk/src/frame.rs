//! A vector of packets.
#![allow(unsafe_code)]

use quiver_plugin_abi as abi;

/// Flags of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flags(pub u16);

impl Flags {
    /// The packet goes on in further buffers.
    pub fn is_chained(self) -> bool {
        self.0 & abi::FLAG_CHAINED != 0
    }
    /// A checksum is to be filled in, or segments to be cut.
    pub fn has_offload(self) -> bool {
        self.0 & abi::FLAG_OFFLOAD != 0
    }
    /// It was made here, not received.
    pub fn is_local(self) -> bool {
        self.0 & abi::FLAG_LOCAL != 0
    }
}

/// Up to 64 packets, their metadata in columns. All methods panic if there is no such row.
pub struct Frame<'f>(&'f mut abi::Frame);

impl<'f> Frame<'f> {
    pub(crate) fn new(frame: &'f mut abi::Frame) -> Frame<'f> {
        Frame(frame)
    }
    /// Packets in the frame.
    pub fn len(&self) -> usize {
        self.0.rows as usize
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A row's place in a column.
    fn at<T>(&self, column: *mut T, row: usize) -> *mut T {
        assert!(row < self.len(), "row {row} of {}", self.len());
        // SAFETY: columns have a value for each row.
        unsafe { column.add(row) }
    }
    fn get<T: Copy>(&self, column: *const T, row: usize) -> T {
        // SAFETY: inside the column, which the frame lends to this value alone.
        unsafe { self.at(column.cast_mut(), row).read() }
    }
    fn set<T>(&mut self, column: *mut T, row: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.at(column, row).write(value) }
    }
    fn start(&self, row: usize) -> *mut u8 {
        let (buffer, offset) = (self.get(self.0.buffer, row), self.get(self.0.offset, row));
        // SAFETY: by the contract the row's bytes begin here, and `advance` keeps them inside the buffer.
        unsafe { self.0.data.add(buffer as usize * self.0.stride + usize::from(offset)) }
    }
    /// Bytes of a row's packet in its first buffer, from the current header on: all of them unless it is chained.
    pub fn bytes(&self, row: usize) -> &[u8] {
        // SAFETY: by the contract so many bytes lie there, and no other row has them.
        unsafe { std::slice::from_raw_parts(self.start(row), self.get(self.0.first, row).into()) }
    }
    /// The same, to change.
    pub fn bytes_mut(&mut self, row: usize) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start(row), self.get(self.0.first, row).into()) }
    }
    /// Bytes of the whole packet, from the current header on.
    pub fn length(&self, row: usize) -> u32 {
        self.get(self.0.length, row)
    }
    /// Moves the start of a row: forward over a header, or back into the headroom. False, and nothing changed, if packet or
    /// headroom are too short.
    pub fn advance(&mut self, row: usize, by: isize) -> bool {
        let (offset, first) = (self.get(self.0.offset, row) as isize + by, self.get(self.0.first, row) as isize - by);
        if offset < 0 || first < 0 {
            return false;
        }
        let length = self.length(row) as isize - by;
        self.set(self.0.offset, row, offset as u16);
        self.set(self.0.first, row, first as u16);
        self.set(self.0.length, row, length as u32);
        true
    }
    /// Cuts a packet that is not chained to a length.
    pub fn truncate(&mut self, row: usize, length: u32) {
        if !self.flags(row).is_chained() && length < self.length(row) {
            self.set(self.0.length, row, length);
            self.set(self.0.first, row, length as u16);
        }
    }
    /// The interface that received the packet.
    pub fn rx(&self, row: usize) -> u32 {
        self.get(self.0.rx, row)
    }
    /// The interface that is to send it.
    pub fn tx(&self, row: usize) -> u32 {
        self.get(self.0.tx, row)
    }
    /// Sets it.
    pub fn set_tx(&mut self, row: usize, interface: u32) {
        self.set(self.0.tx, row, interface);
    }
    /// Flags of the packet.
    pub fn flags(&self, row: usize) -> Flags {
        Flags(self.get(self.0.flags, row))
    }
    /// Result of a lookup.
    pub fn hop(&self, row: usize) -> u32 {
        self.get(self.0.hop, row)
    }
    /// Chooses it.
    pub fn set_hop(&mut self, row: usize, hop: u32) {
        self.set(self.0.hop, row, hop);
    }
    /// The arc by which the packet leaves.
    pub fn set_next(&mut self, row: usize, arc: impl Into<u16>) {
        self.set(self.0.next, row, arc.into());
    }
}
