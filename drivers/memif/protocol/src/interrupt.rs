//! Eventfds: how a sender wakes a receiver that sleeps.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::event::EventfdFlags;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// What is done with eventfds; the protocol passes them on as plain files.
pub struct Interrupt;

impl Interrupt {
    /// A new one.
    pub fn make() -> Result<Arc<OwnedFd>, Errno> {
        rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map(Arc::new)
    }
    /// Whether a peer's file is an eventfd, and will not make us wait: a pipe, or a file that the peer has opened to
    /// wait, would stop whoever writes to it. A peer can still undo this later on; then it waits with us.
    pub fn is_one(file: impl AsFd) -> bool {
        let file = file.as_fd();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let is_eventfd = std::fs::read_link(path).is_ok_and(|link| link.as_os_str() == "anon_inode:[eventfd]");
        let flags = rustix::fs::fcntl_getfl(file);
        is_eventfd && flags.is_ok_and(|flags| rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK).is_ok())
    }
    /// Wakes the receiver.
    pub fn notify(file: impl AsFd) {
        // A counter that is full has woken it already.
        let _ = rustix::io::write(file, &1u64.to_ne_bytes());
    }
    /// Takes note of having been woken.
    pub fn clear(file: impl AsFd) {
        let _ = rustix::io::read(file, &mut [0u8; 8]);
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
        let file = OwnedFd::from(std::fs::File::open("/dev/null").expect("it is there"));
        assert!(!Interrupt::is_one(&file));
    }
}
