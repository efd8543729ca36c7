//! Tables with lock-free readers and one writer, and a directory of sessions with many.
//!
//! - [`epoch`]: when may memory be freed that a worker might still be reading (QSBR).
//! - [`snapshot`]: a cell whose value the control thread replaces while workers read it.
//! - [`lpm`], [`lpm6`]: longest prefix match for IPv4 and IPv6, with one writer, [`TrieWriter`], for both.
//! - [`address`]: addresses of either family; [`routes`]: an ordered set of routes, the control side of a table.
//! - [`prefixes`]: a map of prefixes, near those that they belong with.
//! - [`hash`]: exact match, for MAC addresses and hosts.
//! - [`directory`]: sessions by the hash of their key, with many writers; [`keyed`]: that hash.
//! - [`paged`]: rows by number, of which a changed copy shares what did not change.
//! - [`shared`]: a map of which a changed copy does.
//! - [`pool`]: generation-checked ids, for what outlives a frame.
//! - [`spsc`]: bounded rings from one thread to one other.
//! - [`waiting`]: changes of tables that are published together.
//! - [`simulation`]: seams between the steps of threads, and checks, for builds that are simulated.
mod memory;
mod sync;
mod trie;

pub mod address;
pub mod directory;
pub mod epoch;
pub mod hash;
pub mod keyed;
pub mod lpm;
pub mod lpm6;
pub mod paged;
pub mod pool;
pub mod prefixes;
pub mod routes;
pub mod shared;
pub mod simulation;
pub mod snapshot;
pub mod spsc;
pub mod waiting;

pub use address::Address;
pub use directory::{Directory, Inserted, Reference};
pub use epoch::{Domain, Guard, Reader, ReclaimOnDrop};
pub use hash::{Entry, ExactError, ExactTable, ExactView, ExactWriter, Keys64, Keys128, STILL};
pub use keyed::KeyedHash;
pub use lpm::{Lpm, LpmView, LpmWriter};
pub use lpm6::{Lpm6, Lpm6View, Lpm6Writer};
pub use memory::{Cells, in_huge_pages, room_in_huge_pages};
pub use paged::{PAGE, Paged};
pub use pool::{Id, PoolError, Rows, Slots};
pub use prefixes::PrefixMap;
pub use shared::SharedMap;
pub use snapshot::{Publisher, Snapshot};
pub use trie::{LpmConfig, LpmError, Trie, TrieWriter};
pub use waiting::Waiting;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
