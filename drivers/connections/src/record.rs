//! One connection: 64 bytes, a line of the cache.
//!
//! Receive and transmit queue of an interface belong to one worker, which alone writes records. Control only reads them. So all
//! access is by plain loads and stores; fields are atomic because the two queues and control share the memory.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// No connection. Numbers of the last one stay, so that late packets of it are answered.
pub const FREE: u8 = 0;
/// TCP's handshake has begun.
pub const OPENING: u8 = 1;
/// Established, until both ends have closed.
pub const OPEN: u8 = 2;

/// An acknowledgement is due at once, in a packet of its own.
pub const ACK_ALONE: u16 = 1;
/// An acknowledgement is due, with data if there is some.
pub const ACK: u16 = 2;
/// In the list of connections with something to send.
pub const QUEUED: u16 = 4;
/// In the list of connections that wait for something.
pub const TIMED: u16 = 8;
/// FIN was sent.
pub const FIN_SENT: u16 = 16;
/// The peer's FIN has arrived.
pub const PEER_FIN: u16 = 32;
/// Packets go again, until the peer acknowledges something new.
pub const AGAIN: u16 = 64;
/// Payload has arrived.
pub const ANSWERED: u16 = 128;

macro_rules! record {
    ($($(#[$doc:meta])* $name:ident, $set:ident: $atomic:ty, $int:ty;)*) => {
        /// A connection.
        #[derive(Default, Debug)]
        #[repr(C, align(64))]
        pub struct Record {
            $($name: $atomic,)*
            address: [AtomicU64; 2],
        }
        impl Record {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $name(&self) -> $int {
                    self.$name.load(Relaxed)
                }
                /// Sets it.
                #[inline(always)]
                pub fn $set(&self, value: $int) {
                    self.$name.store(value, Relaxed);
                }
            )*
        }
    };
}

record! {
    /// [`FREE`], [`OPENING`] or [`OPEN`].
    state, set_state: AtomicU8, u8;
    /// Timeouts since the peer last acknowledged something new.
    tries, set_tries: AtomicU8, u8;
    /// See the constants.
    flags, set_flags: AtomicU16, u16;
    /// The peer's port, where the tuple does not follow from the record's number.
    port, set_port: AtomicU16, u16;
    /// Times that the record was used, modulo 256.
    incarnation, set_incarnation: AtomicU8, u8;
    /// How much of the blank line behind an HTTP header has arrived: 4 is all.
    blank, set_blank: AtomicU8, u8;
    /// The peer's initial sequence number.
    peer_first, set_peer_first: AtomicU32, u32;
    /// The sequence number that the peer sends next.
    expected, set_expected: AtomicU32, u32;
    /// The first sequence number that the peer has not acknowledged.
    unacknowledged, set_unacknowledged: AtomicU32, u32;
    /// The sequence number that is sent next.
    next, set_next: AtomicU32, u32;
    /// The next connection in the list of those that wait.
    timer, set_timer: AtomicU32, u32;
    /// The next connection in the list of those with something to send.
    queue, set_queue: AtomicU32, u32;
    /// When the wait is over, in units of 2^20 ns.
    deadline, set_deadline: AtomicU32, u32;
    /// CRC-32 of the payload that has arrived, where it is asked for.
    checksum, set_checksum: AtomicU32, u32;
    /// The server's number in the high 24 bits, where it does not follow from the record's number; below, when the connection began,
    /// in units of 64 ns.
    begun, set_begun: AtomicU64, u64;
}

/// Bits of the moment in `begun`.
const MOMENT: u32 = 40;
const MOMENT_MASK: u64 = (1 << MOMENT) - 1;

impl Record {
    /// Whether all of these flags are set.
    #[inline(always)]
    pub fn has(&self, flags: u16) -> bool {
        self.flags() & flags == flags
    }
    /// Sets flags.
    #[inline(always)]
    pub fn set(&self, flags: u16) {
        self.set_flags(self.flags() | flags);
    }
    /// Clears flags.
    #[inline(always)]
    pub fn clear(&self, flags: u16) {
        self.set_flags(self.flags() & !flags);
    }
    /// The peer's address, where it does not follow from the record's number.
    pub fn address(&self) -> u128 {
        let [high, low] = &self.address;
        u128::from(high.load(Relaxed)) << 64 | u128::from(low.load(Relaxed))
    }
    /// Sets it.
    pub fn set_address(&self, address: u128) {
        self.address[0].store((address >> 64) as u64, Relaxed);
        self.address[1].store(address as u64, Relaxed);
    }
    /// Notes when the connection begins, in nanoseconds, and the server's number.
    #[inline(always)]
    pub fn begin(&self, now: u64, host: u32) {
        self.set_begun(u64::from(host) << MOMENT | (now >> 6) & MOMENT_MASK);
    }
    /// The server's number.
    pub fn host(&self) -> u32 {
        (self.begun() >> MOMENT) as u32
    }
    /// Nanoseconds since the connection began.
    #[inline(always)]
    pub fn age(&self, now: u64) -> u64 {
        ((now >> 6).wrapping_sub(self.begun()) & MOMENT_MASK) << 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_line_of_the_cache() {
        assert_eq!((size_of::<Record>(), align_of::<Record>()), (64, 64));
    }

    #[test]
    fn moment_and_host_share_a_word() {
        let record = Record::default();
        record.begin(1_000_000_064, 262_143);
        assert_eq!((record.host(), record.age(1_000_064_064)), (262_143, 64_000));
        // The clock of a machine that has been up for a month has more bits than are kept.
        let month = 30 * 86_400 * 1_000_000_000;
        record.begin(month, 5);
        assert_eq!((record.host(), record.age(month + 6_400)), (5, 6_400));
        record.set_address(u128::MAX - 5);
        assert_eq!(record.address(), u128::MAX - 5);
    }
}
