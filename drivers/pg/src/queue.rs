//! The queues of a generator's interface: where its packets come from, and where they go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_engine::channel::Outbox;
use quiver_engine::{Batch, Buffers, Frame, PacketRing, Pool, RxContext, RxQueue, TxContext, TxQueue};

/// Packets that wait to be received at most.
const RING: usize = 4096;

/// A receive queue: packets put there by hand.
pub struct Source {
    ring: PacketRing,
    /// Packets that found no buffer, yet to be counted.
    no_buffer: u64,
}

impl Source {
    pub(crate) fn new(buffers: &Buffers) -> Source {
        Source { ring: PacketRing::new(RING, buffers), no_buffer: 0 }
    }
    /// Puts a packet in line. It is counted as lost if there is no buffer, or no room.
    pub(crate) fn put(&mut self, pool: &mut Pool, bytes: &[u8]) {
        match pool.packet(bytes).map(|packet| self.ring.push(packet)) {
            Some(Ok(())) => {}
            Some(Err(packet)) => {
                pool.free(packet);
                self.no_buffer += 1;
            }
            None => self.no_buffer += 1,
        }
    }
    /// The packets that wait, for a filling that costs the data path nothing.
    pub fn ring(&mut self) -> &mut PacketRing {
        &mut self.ring
    }
}

impl RxQueue for Source {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        cx.no_buffer += std::mem::take(&mut self.no_buffer);
        self.ring.receive(cx.pool, frame, cx.interface, cx.most)
    }
    fn wake_at(&self) -> Option<u64> {
        // Whoever fills the ring does so by a letter, which wakes the worker.
        Some(if self.ring.is_empty() { u64::MAX } else { 0 })
    }
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The name of the interface.
    pub interface: Arc<str>,
    /// Nanoseconds of the engine's clock.
    pub time: u64,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// A transmit queue: it frees what it is given, after a look.
pub struct Sink {
    name: Arc<str>,
    capturing: Arc<AtomicBool>,
    to_control: Outbox<Sent>,
}

impl Sink {
    pub(crate) fn new(name: Arc<str>, capturing: Arc<AtomicBool>, to_control: Outbox<Sent>) -> Sink {
        Sink { name, capturing, to_control }
    }
}

impl TxQueue for Sink {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        if self.capturing.load(Ordering::Relaxed) {
            for i in 0..batch.len() {
                let bytes = batch.segments(cx.pool, i).flatten().copied().collect();
                // A full queue loses the copy, and counts it.
                self.to_control.send(Sent { interface: self.name.clone(), time: cx.now, bytes });
            }
        }
        batch.len()
    }
}
