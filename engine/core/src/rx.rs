//! Receive queues, as drivers provide them.

use crate::buffer::Pool;
use crate::frame::Frame;
use std::any::Any;
use std::os::fd::BorrowedFd;

/// What a driver's receive queue may touch.
pub struct RxContext<'t> {
    /// This worker's buffers.
    pub pool: &'t mut Pool,
    /// Nanoseconds of the engine's clock at the start of this turn.
    pub now: u64,
    /// The interface that receives.
    pub interface: u16,
    /// Packets to be received at most.
    pub most: usize,
    /// To be raised for each packet lost because the pool had no buffer.
    pub no_buffer: u64,
}

/// A driver's receive queue, polled by one worker.
pub trait RxQueue: Send + Any {
    /// Appends waiting packets to the frame, at most `cx.most`; returns how many. Never waits.
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize;
    /// What becomes readable when packets wait; None if the queue cannot say, and must be polled.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Nanoseconds of the engine's clock at which the queue has something to do whether or not its fd says so.
    fn wake_at(&self) -> Option<u64> {
        None
    }
}
