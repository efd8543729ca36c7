//! The ends of an interface's rings.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quiver_memif_protocol::receiver::packets;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{Broken, Interrupt, Receiver, Transmitter, Waker};
use rustix::event::{PollFd, PollFlags, Timespec};

/// Bytes of a packet at most: an IP packet of 65,535 bytes and its headers before. Longer ones are dropped, so that a
/// hostile peer cannot make us allocate without end.
pub const PACKET_MAX: usize = (64 << 10) + 64;

/// Why nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The other end is gone, or the interface was closed. Its queues are of no use any more; new ones come with the
    /// next connection.
    #[error("the interface is not connected any more")]
    Disconnected,
    /// The peer broke the rules of the ring. The client ends the connection.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// A packet that does not fit even into an empty ring. Those before it were sent.
    #[error("packet {index} of the batch, with {length} bytes, is longer than the ring has room for")]
    TooLong {
        /// Its place among those given.
        index: usize,
        /// Its bytes.
        length: usize,
    },
}

/// State shared by a client and all queues of a connection.
pub(crate) struct Shared {
    end: OnceLock<QueueError>,
    /// Rung at the end.
    bell: Arc<OwnedFd>,
    /// Wakes the peer.
    waker: Arc<Waker>,
}
impl Shared {
    pub fn new(bell: Arc<OwnedFd>, waker: Arc<Waker>) -> Arc<Shared> {
        Arc::new(Shared { end: OnceLock::new(), bell, waker })
    }
    /// Why the connection has ended; None while it stands.
    pub fn end(&self) -> Option<QueueError> {
        self.end.get().copied()
    }
    /// Ends it; the first reason counts.
    pub fn close(&self, why: QueueError) {
        if self.end.set(why).is_ok() {
            Interrupt::notify(&*self.bell);
        }
    }
    fn check(&self) -> Result<(), QueueError> {
        self.end().map_or(Ok(()), Err)
    }
    fn checked<T>(&self, result: Result<T, Broken>) -> Result<T, QueueError> {
        result.map_err(|broken| {
            self.close(broken.into());
            broken.into()
        })
    }
}

/// Received packets, one behind the other; to be used again and again.
#[derive(Clone, Default, Debug)]
pub struct Packets {
    bytes: Vec<u8>,
    spans: Vec<Range<usize>>,
}
impl Packets {
    /// No packets.
    pub fn new() -> Packets {
        Packets::default()
    }
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.spans.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
    /// One of them.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.bytes.get(self.spans.get(index)?.clone())
    }
    /// One of them, to change in place.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(self.spans.get(index)?.clone())
    }
    /// All, in the order in which they came.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.spans.iter().map(|span| &self.bytes[span.clone()])
    }
    /// Forgets them, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }
}

/// The receiving end of a ring.
pub struct RxQueue {
    receiver: Receiver,
    interrupt: Arc<OwnedFd>,
    shared: Arc<Shared>,
    dropped: u64,
    is_armed: bool,
}
impl RxQueue {
    pub(crate) fn new(mut receiver: Receiver, interrupt: Arc<OwnedFd>, shared: Arc<Shared>) -> RxQueue {
        receiver.start();
        // Nobody sleeps yet.
        receiver.ring().set_interrupt(false);
        RxQueue { receiver, interrupt, shared, dropped: 0, is_armed: false }
    }
    /// Copies up to `most` waiting packets out of the ring in place of what `packets` held, gives their buffers back to
    /// the peer, and returns how many there are. Never waits. At most 256 buffers are read at once: 0 says that nothing
    /// waits, fewer than `most` does not.
    pub fn receive(&mut self, packets: &mut Packets, most: usize) -> Result<usize, QueueError> {
        packets.clear();
        self.shared.check()?;
        // Packets that were dropped do not end what waits behind them.
        while packets.is_empty() && self.shared.checked(self.receiver.receive(most).map(|burst| !burst.is_empty()))? {
            self.copy(packets);
            self.receiver.release();
        }
        Ok(packets.len())
    }
    fn copy(&mut self, into: &mut Packets) {
        for packet in self::packets(self.receiver.burst()) {
            let start = into.bytes.len();
            let whole = packet.iter().all(|fragment| {
                let (at, length) = (into.bytes.len(), fragment.place.length as usize);
                if at - start + length > PACKET_MAX {
                    return false;
                }
                into.bytes.resize(at + length, 0);
                self.receiver.read(fragment, &mut into.bytes[at..])
            });
            // A last fragment with a next one: the peer cut the packet short.
            if whole && packet.last().is_some_and(|last| !last.has_next) {
                into.spans.push(start..into.bytes.len());
            } else {
                into.bytes.truncate(start);
                self.dropped += 1;
            }
        }
    }
    /// Packets that were dropped: cut short, longer than [`PACKET_MAX`], or not in the shared memory.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
    /// Asks the peer to wake us ([`AsFd`] becomes readable) when packets come. False if some wait already.
    pub(crate) fn arm(&mut self) -> Result<bool, QueueError> {
        self.shared.check()?;
        self.receiver.ring().set_interrupt(true);
        self.is_armed = true;
        Ok(self.shared.checked(self.receiver.waiting())? == 0)
    }
    /// Asks the peer not to wake us.
    pub(crate) fn disarm(&mut self) {
        if !std::mem::take(&mut self.is_armed) {
            return;
        }
        self.receiver.ring().set_interrupt(false);
        Interrupt::clear(&*self.interrupt);
    }
    /// Waits until packets have come, or `timeout` is over; whether there are some. For a queue with a thread of its own;
    /// [`crate::Client::wait`] waits for all queues that the client keeps. Looks for the end of the connection four times
    /// a second.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<bool, QueueError> {
        let end = timeout.map(|timeout| std::time::Instant::now() + timeout);
        let waits = loop {
            if !self.arm()? {
                break true;
            }
            let look = Duration::from_millis(250);
            let left = end.map_or(look, |end| end.saturating_duration_since(std::time::Instant::now()).min(look));
            if left.is_zero() {
                break false;
            }
            // Interrupted or not, what counts is whether packets wait.
            let _ = poll(self.interrupt.as_fd(), left);
        };
        self.disarm();
        Ok(waits)
    }
}
impl AsFd for RxQueue {
    /// The eventfd that the peer writes to.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.interrupt.as_fd()
    }
}

fn poll(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    rustix::event::poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout))?;
    Ok(())
}

/// The sending end of a ring.
pub struct TxQueue {
    transmitter: Transmitter,
    interrupt: Arc<OwnedFd>,
    shared: Arc<Shared>,
}
impl TxQueue {
    pub(crate) fn new(transmitter: Transmitter, interrupt: Arc<OwnedFd>, shared: Arc<Shared>) -> TxQueue {
        TxQueue { transmitter, interrupt, shared }
    }
    /// Copies packets into the ring until it is full, shows them to the peer, and wakes it if it sleeps. Returns how many
    /// were taken. Never waits.
    pub fn send<'p>(&mut self, packets: impl IntoIterator<Item = &'p [u8]>) -> Result<usize, QueueError> {
        self.shared.check()?;
        let result = self.fill(packets.into_iter());
        // What went before an error is on its way all the same.
        if self.transmitter.publish() {
            self.shared.waker.wake(&*self.interrupt);
        }
        result
    }
    fn fill<'p>(&mut self, packets: impl Iterator<Item = &'p [u8]>) -> Result<usize, QueueError> {
        self.shared.checked(self.transmitter.begin())?;
        let mut sent = 0;
        for packet in packets {
            match self.shared.checked(self.transmitter.send(packet.len(), std::iter::once(packet)))? {
                Sent::Yes => sent += 1,
                Sent::Full => break,
                Sent::TooLong => return Err(QueueError::TooLong { index: sent, length: packet.len() }),
            }
        }
        Ok(sent)
    }
}
