//! The other end of a simulated port: a ring each way between the daemon and a peer in memory, and an eventfd for the
//! interrupts, as shared-memory drivers have them.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quiver_engine::{Batch, Frame, RxContext, RxQueue, TxContext, TxQueue, arcs};
use rustix::event::EventfdFlags;

arcs! {
    /// Arcs of the node that stands for the ports' receive queues.
    pub enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
    }
}

/// Something that happened at a port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PortEvent {
    /// A worker took a packet off the ring.
    Taken(Vec<u8>),
    /// A worker took a packet off the ring, and had no buffer for it.
    NoBuffer(Vec<u8>),
    /// A worker put a packet onto the peer's ring.
    Sent(Vec<u8>),
}

/// Events at all ports, in order, with the ports' names.
pub type Journal = Arc<Mutex<Vec<(Arc<str>, PortEvent)>>>;

/// One port's wire.
pub struct Wire {
    name: Arc<str>,
    queues: Vec<Ring>,
    to_peer: Mutex<VecDeque<Vec<u8>>>,
    /// Packets that the peer's ring holds at most: a peer that is slow, or dead, is one that never empties it.
    room: AtomicUsize,
    journal: Journal,
}

struct Ring {
    packets: Mutex<VecDeque<Vec<u8>>>,
    interrupt: OwnedFd,
}

impl Wire {
    /// The wire of a port with so many receive queues.
    pub fn new(name: &str, queues: usize, journal: &Journal) -> Result<Arc<Wire>, std::io::Error> {
        let ring = || -> Result<Ring, std::io::Error> {
            let interrupt = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
            Ok(Ring { packets: Mutex::default(), interrupt })
        };
        let queues = (0..queues).map(|_| ring()).collect::<Result<_, _>>()?;
        let (to_peer, room) = (Mutex::default(), AtomicUsize::new(64));
        Ok(Arc::new(Wire { name: name.into(), queues, to_peer, room, journal: journal.clone() }))
    }
    /// The port's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
    /// Receive queues.
    pub fn queues(&self) -> usize {
        self.queues.len()
    }
    /// The peer puts a packet onto the ring of a queue. False if the ring is full.
    pub fn send(&self, queue: usize, packet: Vec<u8>) -> bool {
        let mut packets = lock(&self.queues[queue].packets);
        let room = packets.len() < 256;
        if room {
            packets.push_back(packet);
        }
        room
    }
    /// The peer signals the queue's descriptor.
    pub fn interrupt(&self, queue: usize) {
        // A counter that would overflow is as good as one that is raised.
        let _ = rustix::io::write(&self.queues[queue].interrupt, &1u64.to_ne_bytes());
    }
    /// The peer takes a packet off its ring.
    pub fn receive(&self) -> Option<Vec<u8>> {
        lock(&self.to_peer).pop_front()
    }
    /// How many packets the peer's ring holds at most from now on.
    pub fn set_room(&self, room: usize) {
        self.room.store(room, Relaxed);
    }
    /// Packets that wait for the daemon.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(|ring| lock(&ring.packets).len()).sum()
    }
    fn note(&self, seen: PortEvent) {
        lock(&self.journal).push((self.name.clone(), seen));
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The daemon's receive queue.
pub struct Receiver {
    wire: Arc<Wire>,
    queue: usize,
}

impl Receiver {
    /// The queue of this number.
    pub fn new(wire: &Arc<Wire>, queue: usize) -> Receiver {
        Receiver { wire: wire.clone(), queue }
    }
}

impl RxQueue for Receiver {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let ring = &self.wire.queues[self.queue];
        // Silenced first: what comes after that interrupts again.
        let _ = rustix::io::read(&ring.interrupt, &mut [0; 8]);
        let most = cx.most.min(frame.room());
        let mut packets = lock(&ring.packets);
        let taken: Vec<_> = (0..most).map_while(|_| packets.pop_front()).collect();
        if !packets.is_empty() {
            self.wire.interrupt(self.queue);
        }
        drop(packets);
        for packet in taken {
            if frame.push_bytes(cx.pool, &packet, cx.interface) {
                self.wire.note(PortEvent::Taken(packet));
            } else {
                cx.lose(Next::NoBuffer, 1);
                self.wire.note(PortEvent::NoBuffer(packet));
            }
        }
        frame.len()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.queues[self.queue].interrupt.as_fd())
    }
}

/// The daemon's transmit queue; all workers' queues of a port fill one ring.
pub struct Sender(pub Arc<Wire>);

impl TxQueue for Sender {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let mut ring = lock(&self.0.to_peer);
        let room = self.0.room.load(Relaxed).saturating_sub(ring.len());
        let n = batch.len().min(room);
        for i in 0..n {
            let bytes: Vec<u8> = batch.segments(cx.pool, i).flatten().copied().collect();
            self.0.note(PortEvent::Sent(bytes.clone()));
            ring.push_back(bytes);
        }
        n
    }
}
