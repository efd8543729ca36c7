//! Eventfds: how a sender wakes a receiver that sleeps.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::event::EventfdFlags;
use rustix::io::{Errno, ReadWriteFlags};

/// Operations on eventfds; the protocol passes them on as plain files.
pub struct Interrupt;

impl Interrupt {
    /// A new one.
    pub fn make() -> Result<Arc<OwnedFd>, Errno> {
        rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map(Arc::new)
    }
    /// Whether a peer's file is an eventfd: a pipe or a file would not wake the receiver, or would block a writer.
    pub fn is_one(file: impl AsFd) -> bool {
        let file = file.as_fd();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::read_link(path).is_ok_and(|link| link.as_os_str() == "anon_inode:[eventfd]")
    }
    /// Writes to an eventfd that no peer has; one that is shared is for a [`Waker`](crate::Waker).
    pub fn notify(file: impl AsFd) {
        // A counter that is full has woken it already.
        let _ = rustix::io::write(file, &1u64.to_ne_bytes());
    }
    /// Takes note of having been woken. Never waits, though a peer may have emptied the counter meanwhile, and cleared
    /// O_NONBLOCK, which belong to it as well.
    pub fn clear(file: impl AsFd) {
        let (mut count, here) = ([0u8; 8], u64::MAX);
        let read = rustix::io::preadv2(&file, &mut [IoSliceMut::new(&mut count)], here, ReadWriteFlags::NOWAIT);
        // Timers, which are never a peer's, know it from Linux 6.10 on, and eventfds from 5.8.
        if read == Err(Errno::OPNOTSUPP) {
            let _ = rustix::io::read(file, &mut count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec};

    #[test]
    fn an_eventfd_wakes_and_others_are_told_apart() {
        let interrupt = Interrupt::make().expect("eventfd");
        let is_readable = || {
            let mut poll = [PollFd::new(&*interrupt, PollFlags::IN)];
            rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
        };
        assert!(!is_readable() && Interrupt::is_one(&*interrupt));
        Interrupt::notify(&*interrupt);
        assert!(is_readable());
        Interrupt::clear(&*interrupt);
        assert!(!is_readable());
        assert!(!Interrupt::is_one(std::fs::File::open("/dev/null").expect("it is there")));
    }
}
