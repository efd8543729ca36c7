//! Buffers: packet memory in fixed-size pieces, owned by exactly one holder at any time.
//!
//! A [`Buffers`] is the memory that all workers share; a [`Pool`] is one worker's way to it, with a free list of its own.
//! A packet is a row of a [`Frame`](crate::Frame), of a [`Batch`](crate::Batch), or a [`Packet`], the handle for whatever
//! outlives a frame. None of them can be copied, so a packet can be neither freed nor sent twice; a dropped handle gives
//! its buffers back. Ids of buffers never leave this crate but as addresses for plugins
//! ([`RawColumns`](crate::frame::RawColumns)), which is what makes access to their memory safe.

mod ledger;
mod lent;
mod memory;
mod metadata;
mod packet;
mod pool;
mod raw;
#[cfg(feature = "simulation")]
mod simulated;

pub use lent::{Burst, Lent};
pub use memory::{Backing, DATA, HEADROOM, Offload, SEGMENT_MAX, STRIDE};
pub use metadata::{METADATA_KEYS, Metadata, MetadataError, MetadataKey, MetadataKeys, PacketMetadata};
pub use packet::{Packet, Scatter};
pub(crate) use pool::{All, Place};
pub use pool::{Buffers, Pool, PoolError};
pub(crate) use raw::Raw;
pub use raw::{Flags, Span};
