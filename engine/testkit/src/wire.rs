//! A wire in memory: the queues of an interface whose other end a test holds in its hand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quiver_engine::buffer::HEADROOM;
use quiver_engine::{Batch, Frame, Offload, RxContext, RxQueue, TxContext, TxQueue, arcs};
use quiver_wire::VirtioNetHeader;

arcs! {
    /// Arcs of the node that stands for the receiving queues of wires.
    pub enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
    }
}

/// A packet on a wire, with what is left to do for it.
pub type OnWire = (Vec<u8>, Option<Offload>);

/// One direction of a wire, as long as it need be. Copies are the same wire.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<VecDeque<OnWire>>>);

impl Wire {
    /// A wire without packets.
    pub fn new() -> Wire {
        Wire::default()
    }
    fn packets(&self) -> MutexGuard<'_, VecDeque<OnWire>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Puts a packet on it.
    pub fn put(&self, bytes: impl Into<Vec<u8>>) {
        self.packets().push_back((bytes.into(), None));
    }
    /// Puts a packet on it that leaves something to be done.
    ///
    /// # Panics
    /// If the header contradicts itself.
    pub fn put_offload(&self, bytes: impl Into<Vec<u8>>, header: &VirtioNetHeader) {
        let offload = Offload::from_virtio(header, HEADROOM as u16).unwrap_or_else(|error| panic!("{error:?}"));
        self.packets().push_back((bytes.into(), offload));
    }
    /// Takes all packets off it, with their offloads.
    pub fn take_all(&self) -> Vec<OnWire> {
        self.packets().drain(..).collect()
    }
    /// Takes all packets off it.
    pub fn take(&self) -> Vec<Vec<u8>> {
        self.packets().drain(..).map(|(bytes, _)| bytes).collect()
    }
    /// A queue that receives what is on it.
    pub fn rx(&self) -> Box<dyn RxQueue> {
        Box::new(Rx(self.clone()))
    }
    /// A queue that sends to it, with offloads.
    pub fn tx(&self) -> Box<dyn TxQueue> {
        self.tx_within(Limits::default())
    }
    /// A queue that sends to it what it can.
    pub fn tx_within(&self, limits: Limits) -> Box<dyn TxQueue> {
        Box::new(Tx { wire: self.clone(), limits })
    }
}

/// Capabilities of a transmit queue.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Whether it passes offloads on.
    pub carries_offload: bool,
    /// Packets that fit into one batch.
    pub room: usize,
    /// Length in bytes of the longest packet that it accepts.
    pub longest: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { carries_offload: true, room: usize::MAX, longest: u32::MAX }
    }
}

struct Rx(Wire);
impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, mut packets) = (frame.len(), self.0.packets());
        let most = packets.len().min(cx.most).min(frame.room());
        for (bytes, offload) in packets.drain(..most) {
            if !frame.push_bytes(cx.pool, &bytes, cx.interface) {
                cx.lose(Next::NoBuffer, 1);
            } else if let Some(offload) = offload {
                let i = frame.len() - 1;
                frame.set_offload(cx.pool, i, offload);
            }
        }
        frame.len() - before
    }
}

struct Tx {
    wire: Wire,
    limits: Limits,
}
impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let n = batch.len().min(self.limits.room);
        for i in 0..n {
            if batch.length(i) > self.limits.longest {
                cx.refuse(batch.length(i));
                continue;
            }
            let bytes = batch.segments(cx.pool, i).flatten().copied().collect();
            self.wire.packets().push_back((bytes, batch.offload(cx.pool, i)));
        }
        n
    }
    fn carries_offload(&self) -> bool {
        self.limits.carries_offload
    }
}
