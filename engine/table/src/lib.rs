//! Tables with lock-free readers and one writer.
//!
//! - [`epoch`]: when may memory be freed that a worker might still be reading (QSBR).
//! - [`snapshot`]: a cell whose value the control thread replaces while workers read it.
//! - [`lpm`]: longest prefix match for IPv4; [`routes`]: its control side, the ordered set of routes.
mod memory;
mod sync;

pub mod epoch;
pub mod lpm;
pub mod routes;
pub mod snapshot;

pub use epoch::{Domain, Guard, Reader};
pub use lpm::{Lpm, LpmConfig, LpmError, LpmView, LpmWriter};
pub use snapshot::{Publisher, Snapshot};
