//! The statistics segment: counters in memory that other processes map, read by them without asking us.
//!
//! Its form is version 2 of VPP's, whatever client reads that. Workers write their counters right where clients read them,
//! so there is no copy, and what a worker has counted is seen at once. Everything else here is control's: the directory of
//! names, gauges, names of interfaces.
//!
//! - [`cell`]: what is counted in: a [`Counter`], or a [`Pair`] of them.
//! - [`memory`]: the memory file, and [`Block`]s of counters in it that never move; [`rows`]: those of a vector.
//! - [`layout`]: where which word lies.
//! - `space`: which words are free.
//! - [`description`]: what people read of entries.
//! - `directory`: the entries, as they are written for clients.
//! - [`segment`]: the whole: what rooms and workers use of it.

pub mod cell;
pub mod description;
mod directory;
mod index;
pub mod layout;
pub mod memory;
pub mod rows;
pub mod segment;
mod space;

pub use cell::{Counter, Pair};
pub use description::{Description, Index, Naming};
pub use memory::Block;
pub use rows::Cell;
pub use segment::{
    Edit, Entry, Gauge, LentVector, Names, Reading, Segment, Settings, Symlink, Target, Texts, Threads, Vector,
};
