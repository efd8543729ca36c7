//! Tables with lock-free readers and one writer.
//!
//! - [`epoch`]: when may memory be freed that a worker might still be reading (QSBR).
//! - [`snapshot`]: a cell whose value the control thread replaces while workers read it.
mod sync;

pub mod epoch;
pub mod snapshot;

pub use epoch::{Domain, Guard, Reader};
pub use snapshot::{Publisher, Snapshot};
