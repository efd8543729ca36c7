//! Work that waits for a node other than packets of a receive queue: answers of another process, for instance.

use std::os::fd::BorrowedFd;

/// A source of work for a node, on one worker. While it is ready, the node runs in every turn, if need be with an empty frame.
pub trait Source: Send + Sync {
    /// Whether the node has work. Called in every turn; never waits.
    fn is_ready(&self) -> bool;
    /// Descriptor that becomes readable when there is work. Called each time before a worker waits, so a source that has to ask its
    /// peer for interrupts does it here. The node makes it silent again.
    fn fd(&self) -> BorrowedFd<'_>;
}
