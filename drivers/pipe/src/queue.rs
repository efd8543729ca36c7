//! The way through a pipe: packets that workers send by one end wait here until the worker that receives by the other
//! end takes them.
//!
//! It is a queue, and not an arc of the graph, so that packets that circle (a pipe between two interfaces of one bridge
//! domain) take a turn of the worker each time, and lose those that find no room.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crossbeam_queue::ArrayQueue;
use quiver_engine::buffer::Packet;
use quiver_engine::{Batch, Flags, Frame, RxContext, RxQueue, TxContext, TxQueue, arcs};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

arcs! {
    /// Arcs of `pipe-input`.
    pub enum Next {
        Received => features "device-input",
    }
}

/// Packets that wait in one direction at most.
const ROOM: usize = 1024;

/// One direction of a pipe.
pub(crate) struct Cable {
    packets: ArrayQueue<Packet>,
    /// Whether the pipe is up.
    is_open: AtomicBool,
    /// Whether the receiving worker waits, or is about to, and is to be woken.
    is_waiting: AtomicBool,
    /// Readable when packets have come meanwhile.
    bell: OwnedFd,
}

impl Cable {
    pub fn new() -> Result<Arc<Cable>, Errno> {
        let bell = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Arc::new(Cable {
            packets: ArrayQueue::new(ROOM),
            is_open: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
            bell,
        }))
    }
    /// Opens or closes it; packets on their way are dropped.
    pub fn open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        if !is_open {
            while self.packets.pop().is_some() {}
        }
    }
    /// Wakes the receiver if it waits. Called after the change that it is to find.
    fn wake(&self) {
        // Either the receiver sees the packets before it waits, or we see that it does.
        fence(Ordering::SeqCst);
        if self.is_waiting.load(Ordering::Relaxed) && self.is_waiting.swap(false, Ordering::Relaxed) {
            // It fails if the counter is full, which wakes as well.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// The receiving end of a direction.
pub struct Source {
    cable: Arc<Cable>,
    /// Whether the bell may have been rung since it was read.
    may_ring: Cell<bool>,
}

impl Source {
    pub(crate) fn new(cable: Arc<Cable>) -> Source {
        Source { cable, may_ring: Cell::new(false) }
    }
}

impl RxQueue for Source {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        if self.may_ring.take() {
            self.cable.is_waiting.store(false, Ordering::Relaxed);
            // Nothing to be read is no error: nobody rang.
            let _ = rustix::io::read(&self.cable.bell, &mut [0; 8]);
        }
        let mut received = 0;
        while received < cx.most
            && frame.room() > 0
            && let Some(mut packet) = self.cable.packets.pop()
        {
            (packet.rx, packet.tx, packet.hop) = (cx.interface, 0, 0);
            // All packets are of one pool, and there is room.
            if frame.push(packet).is_err() {
                break;
            }
            let row = frame.len() - 1;
            // What was said of it as it came by another interface, or from us.
            for said in [Flags::TRACED, Flags::LOCAL, Flags::LINK_GROUP] {
                frame.clear_flag(row, said);
            }
            received += 1;
        }
        received
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.may_ring.set(true);
        self.cable.is_waiting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !self.cable.packets.is_empty() {
            self.cable.wake();
        }
        Some(self.cable.bell.as_fd())
    }
}

/// The sending end of a direction; one for each worker.
pub struct Sink(Arc<Cable>);

impl Sink {
    pub(crate) fn new(cable: Arc<Cable>) -> Sink {
        Sink(cable)
    }
}

impl TxQueue for Sink {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        if !self.0.is_open.load(Ordering::Relaxed) {
            (0..batch.len()).for_each(|i| cx.refuse(batch.length(i)));
            return batch.len();
        }
        let (packets, mut sent) = (&self.0.packets, 0);
        // Only senders fill it: where there is room now, others may be first.
        while sent < batch.len() && !packets.is_full() {
            let Some(packet) = batch.take(cx.pool, sent) else { break };
            let length = batch.length(sent);
            sent += 1;
            if let Err(packet) = packets.push(packet) {
                cx.pool.free(packet);
                cx.refuse(length);
                break;
            }
        }
        self.0.wake();
        sent
    }
}
