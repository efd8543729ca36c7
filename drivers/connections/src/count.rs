//! Statistics of a run. One worker counts, control reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quiver_pg::histogram;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Numbers of a run.
        #[derive(Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: Count,)*
        }
        impl Counts {
            /// All numbers with their names.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get())),*]
            }
        }
    };
}

counts! {
    /// Connections that were begun: by a client's first packet, or as it reached the server.
    attempted,
    /// Connections whose handshake is over: with UDP as `attempted`.
    established,
    /// Connections that have ended as they should.
    closed,
    /// Connections given up: no answer after all retries, or a reset.
    failed,
    /// Resets of the peer among those.
    reset,
    /// Connections in whose place their client opened another one, before the server had seen their end.
    superseded,
    /// Attempts that were due while all connections that came next were still open.
    busy,
    /// Packets with a sequence number that were sent once more.
    retransmitted,
    /// Packets that arrived before one with a lower number.
    out_of_order,
    /// Packets that had arrived before.
    duplicates,
    /// Packets that fit no connection.
    unexpected,
    /// Packets with a wrong checksum.
    bad_checksums,
    /// Packets of other protocols.
    foreign,
    /// Packets that waited because there was no buffer.
    no_buffer,
    /// Packets sent.
    packets_sent,
    /// Packets received that fit a connection.
    packets_received,
    /// Bytes of payload sent.
    bytes_sent,
    /// Bytes of payload received, each once.
    bytes_received,
    /// Connections that are open.
    open,
    /// When the first connection began, in nanoseconds; 0 before.
    first_at,
    /// When a connection closed last.
    last_at,
    /// Attempts that were due.
    due,
}

/// A number that one worker changes.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Its value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
    /// Replaces it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
    /// Adds to it.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
    /// Takes 1 from it.
    #[inline(always)]
    pub fn less(&self) {
        self.set(self.get().saturating_sub(1));
    }
}

/// Durations of connections, measured from the first packet.
#[derive(Debug)]
pub struct Times {
    /// To the end of the handshake.
    pub connect: histogram::Counts,
    /// To the first byte of the answer.
    pub first_byte: histogram::Counts,
    /// To their end.
    pub completion: histogram::Counts,
}

impl Times {
    /// No times.
    pub fn new() -> Times {
        let counts = histogram::Counts::new;
        Times { connect: counts(), first_byte: counts(), completion: counts() }
    }
}
