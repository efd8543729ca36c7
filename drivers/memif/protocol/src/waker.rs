//! Waking a peer by an eventfd that it shares with us, without ever waiting for it.
//!
//! A write to an eventfd waits while its counter is full, unless the open file says O_NONBLOCK. Counter and flag are the
//! peer's as much as ours, so that looking at them first, or setting the flag, helps against everything but a hostile peer. The
//! kernel adds to the counter without waiting when it has something to tell: so it is asked for a read of no bytes, which is
//! over at once, and to tell so by the eventfd (io_submit(2), IOCB_FLAG_RESFD).
#![allow(unsafe_code)]

use std::ffi::{c_long, c_ulong};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use crate::interrupt::Interrupt;

/// Largest number of requests with unread results; then all results are read at once.
const REQUESTS: usize = 128;
/// Number of attempts per request: other threads may take the room that was just made.
const TRIES: usize = 8;

/// Wakes any number of peers, for any number of threads.
pub struct Waker {
    /// None where the system has no such requests.
    requests: Option<Requests>,
}

struct Requests {
    /// The kernel's number for our queue of requests.
    context: c_ulong,
    /// A file of zero bytes; each request reads it.
    nothing: OwnedFd,
}

/// A request, as io_submit(2) has it.
#[repr(C)]
#[derive(Default)]
struct Request {
    data: u64,
    key_and_flags: u64,
    operation: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}
const READ: u16 = 0;
const TELL_BY_EVENTFD: u32 = 1;

/// Result of a request; it is never read.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Outcome([u64; 4]);

impl Waker {
    /// For peers of this process. Where the kernel does not offer what it takes, [`Waker::wake`] writes after a look.
    pub fn new() -> Waker {
        Waker { requests: Requests::new().ok() }
    }
    /// Wakes the waiter of this eventfd. Never blocks, whatever the peer does with the eventfd.
    pub fn wake(&self, interrupt: impl AsFd) {
        let interrupt = interrupt.as_fd();
        if !self.requests.as_ref().is_some_and(|requests| requests.tell(interrupt)) {
            write_if_there_is_room(interrupt);
        }
    }
}
impl Default for Waker {
    fn default() -> Waker {
        Waker::new()
    }
}

/// A full counter has woken its reader already. A peer that fills it between the look and the write, and has cleared
/// O_NONBLOCK, makes us wait: hence the requests.
fn write_if_there_is_room(interrupt: BorrowedFd<'_>) {
    let mut poll = [PollFd::from_borrowed_fd(interrupt, PollFlags::OUT)];
    if rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1) {
        Interrupt::notify(interrupt);
    }
}

/// A system call's answer, or the reason why not.
fn checked(answer: c_long) -> Result<usize, Errno> {
    usize::try_from(answer).map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

impl Requests {
    fn new() -> Result<Requests, Errno> {
        let nothing = rustix::fs::memfd_create("nothing", MemfdFlags::CLOEXEC)?;
        let mut context: c_ulong = 0;
        // SAFETY: io_setup(2) writes the context's number, to which the pointer is valid.
        checked(unsafe { libc::syscall(libc::SYS_io_setup, REQUESTS, &raw mut context) })?;
        Ok(Requests { context, nothing })
    }
    /// Whether the kernel has told.
    fn tell(&self, interrupt: BorrowedFd<'_>) -> bool {
        let request = Request {
            operation: READ,
            file: self.nothing.as_raw_fd().cast_unsigned(),
            flags: TELL_BY_EVENTFD,
            eventfd: interrupt.as_raw_fd().cast_unsigned(),
            ..Request::default()
        };
        for _ in 0..TRIES {
            let list = [&raw const request];
            // SAFETY: io_submit(2) reads one request by the list, and nothing of either after it returns: a read of no bytes is
            // over by then, and has no buffer. Both files are open while this is called.
            let answer = unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1, list.as_ptr()) };
            match checked(answer) {
                Ok(submitted) => return submitted == 1,
                Err(Errno::AGAIN) => self.forget(),
                Err(_) => return false,
            }
        }
        false
    }
    /// Makes room by taking what became of the requests so far.
    fn forget(&self) {
        let mut outcomes = [Outcome::default(); REQUESTS];
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let (least, most) = (0, REQUESTS);
        // SAFETY: io_getevents(2) writes `most` outcomes at most, for which there is room, and does not wait for any.
        let _ = unsafe {
            libc::syscall(libc::SYS_io_getevents, self.context, least, most, outcomes.as_mut_ptr(), &raw const at_once)
        };
    }
}
impl Drop for Requests {
    fn drop(&mut self) {
        // SAFETY: the context is ours; no request is under way, since each was over when it was submitted.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the counter and resets it to zero.
    fn count(interrupt: &OwnedFd) -> u64 {
        let mut count = [0; 8];
        let _ = rustix::io::read(interrupt, &mut count);
        u64::from_ne_bytes(count)
    }

    #[test]
    fn every_wake_counts_with_the_kernels_requests_and_without() {
        assert_eq!((size_of::<Request>(), size_of::<Outcome>()), (64, 32));
        let interrupt = Interrupt::make().expect("an eventfd");
        // Of its own accord a test machine must not take the other way.
        let by_requests = Waker { requests: Some(Requests::new().expect("the kernel offers requests")) };
        for waker in [by_requests, Waker { requests: None }] {
            // Far more than there is room for.
            (0..10 * REQUESTS).for_each(|_| waker.wake(&*interrupt));
            assert_eq!(count(&interrupt), 10 * REQUESTS as u64);
        }
    }

    #[test]
    fn threads_share_a_waker() {
        let (waker, interrupt) = (Waker::new(), Interrupt::make().expect("an eventfd"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2000).for_each(|_| waker.wake(&*interrupt)));
            }
        });
        assert_eq!(count(&interrupt), 8000);
    }
}
