//! Ctrl-C, caught while a command of the shell runs.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Ctrl-C, caught while this lives.
pub struct Interrupt {
    signals: SigSet,
    file: SignalFd,
}

impl Interrupt {
    /// Catches it from now on.
    pub fn catch() -> io::Result<Interrupt> {
        Interrupt::of([Signal::SIGINT].into_iter().collect())
    }

    /// Catches Ctrl-C and the request to end, as service managers send it.
    pub fn catch_ending() -> io::Result<Interrupt> {
        Interrupt::of([Signal::SIGINT, Signal::SIGTERM].into_iter().collect())
    }

    fn of(signals: SigSet) -> io::Result<Interrupt> {
        signals.thread_block()?;
        let file = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        Ok(Interrupt { signals, file: file? })
    }

    /// Waits for Ctrl-C, for something to read if there is a file, or for the time to pass; whether it was Ctrl-C.
    pub fn comes_before(&self, other: Option<BorrowedFd<'_>>, timeout: PollTimeout) -> io::Result<bool> {
        let mut files = vec![PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        files.extend(other.map(|other| PollFd::new(other, PollFlags::POLLIN)));
        poll(&mut files, timeout)?;
        Ok(files[0].any().unwrap_or(false))
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // A signal that was not taken would end the program once it is unblocked.
        while let Ok(Some(_)) = self.file.read_signal() {}
        let _ = self.signals.thread_unblock();
    }
}
