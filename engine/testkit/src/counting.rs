//! Helpers of the control side, in place of threads.

use std::cell::Cell;
use std::future::ready;

use quiver_control::LocalFuture;
use quiver_control::files::Helper;

/// A helper that does its work at once, and counts it.
#[derive(Default)]
pub struct Counting(Cell<usize>);

impl Counting {
    /// Pieces of work since the last call.
    pub fn take(&self) -> usize {
        self.0.take()
    }
}

impl Helper for Counting {
    fn help(&self, work: Box<dyn FnOnce() + Send>) -> LocalFuture<()> {
        self.0.set(self.0.get() + 1);
        work();
        Box::pin(ready(()))
    }
}
