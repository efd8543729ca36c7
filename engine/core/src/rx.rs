//! Receive queues, as drivers provide them.

use crate::buffer::Pool;
use crate::dataplane::RxRows;
use crate::frame::Frame;
use crate::graph::NodeCounters;
use std::any::Any;
use std::os::fd::BorrowedFd;

/// Everything that a driver's receive queue may access.
pub struct RxContext<'t> {
    /// This worker's buffers.
    pub pool: &'t mut Pool,
    /// Nanoseconds of the engine's clock at the start of this turn.
    pub now: u64,
    /// The interface that receives.
    pub interface: u32,
    /// Packets to be received at most.
    pub most: usize,
    /// Counters of the node that stands for the queue.
    pub(crate) counters: &'t NodeCounters,
    /// Counters of the interface.
    pub(crate) rows: &'t RxRows,
    /// Whether packets were lost.
    pub(crate) has_lost: bool,
}
impl RxContext<'_> {
    /// Counts packets that are lost, or errors in place of packets: the reason is an arc of the node that stands for the
    /// queue ([`Blueprint::input`](crate::Blueprint::input)).
    #[inline(always)]
    pub fn lose(&mut self, reason: impl Into<u16>, packets: u64) {
        if packets > 0 {
            self.note_lost(reason.into(), packets);
        }
    }
    #[cold]
    fn note_lost(&mut self, reason: u16, packets: u64) {
        self.counters.arc(reason, packets);
        self.rows.lost(self.interface, reason, packets);
        self.has_lost = true;
    }
}

/// When a worker looks at a receive queue; the most eager mode of its queues decides when it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum RxMode {
    /// In every turn; the worker never sleeps.
    Polling,
    /// In every turn, too; but the worker sleeps when little comes: until there is something, or, where waking up for each
    /// packet would cost more, for a while.
    #[default]
    Adaptive,
    /// When its descriptor has said that packets wait; the worker sleeps as soon as there are none.
    Interrupt,
}

/// A driver's receive queue, polled by one worker.
pub trait RxQueue: Send + Any {
    /// Appends waiting packets to the frame, at most `cx.most`; returns how many. Never waits.
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize;
    /// Whether it is known, without a look at the device, that nothing waits and nothing was lost.
    fn is_empty(&self) -> bool {
        false
    }
    /// Descriptor that becomes readable when packets wait; None if the queue has none and must be polled. Called each
    /// time before a worker waits, so a queue that has to ask its peer for interrupts does it here.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Called when the fd reports an error instead of packets; it repeats the error until the queue has read its cause.
    fn failed(&mut self) {}
    /// Nanoseconds of the engine's clock at which the queue must be polled in any case; the fd is not watched then.
    /// `u64::MAX` is never: a queue whose device is gone.
    fn wake_at(&self) -> Option<u64> {
        None
    }
}

/// Packets and bytes that a turn received.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Harvest {
    pub packets: usize,
    pub bytes: u64,
}
