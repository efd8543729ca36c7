//! Quiver's engine: packets move in vectors through a graph of nodes.
//!
//! - [`buffer`]: packet memory, owned by exactly one holder at any time.
//! - [`Frame`]: up to 64 packets, their metadata in columns; `vector`: sizes of frames and vectors.
//! - [`stage`]: bodies of hot nodes over eight lanes; [`isa`] has the lanes for every instruction set.
//! - [`graph`]: nodes, arcs, feature arcs, dispatch; `words`: the first bytes of packets in columns, which stages share.
//! - [`rx`], [`tx`], `output`, [`ring`], [`lines`]: queues of drivers, and copies from and to memory of others; [`complete`]: offloads carried out where a port cannot pass them on.
//! - [`worker`]: a value with `turn`, its receive queues (`place`, `intake`), and other work of nodes (`source`); [`thread`] calls it at a `pace`; [`mailbox`] and [`channel`] join it with control; `letters`, `sleeper`: what a mailbox consists of.
//! - `handoff`: packets that go on with another worker; `lead`: a worker's clock that goes ahead when control's does.
//! - [`dataplane`]: the control thread's view of all workers.
//! - [`counters`], [`trace`], [`capture`]: what can be seen.

pub mod buffer;
pub mod capture;
pub mod channel;
mod column;
pub mod complete;
pub mod counters;
pub mod dataplane;
pub mod frame;
pub mod graph;
mod handoff;
mod intake;
pub mod isa;
mod lead;
mod letters;
pub mod lines;
pub mod mailbox;
mod output;
mod pace;
mod place;
pub mod ring;
pub mod rx;
mod sleeper;
mod source;
pub mod stage;
mod sync;
pub mod thread;
pub mod trace;
pub mod tx;
mod vector;
mod words;
pub mod worker;

pub use buffer::{Backing, Buffers, Burst, Flags, Lent, Offload, Packet, Pool, PoolError, Scatter};
pub use buffer::{METADATA_KEYS, Metadata, MetadataError, MetadataKey, MetadataKeys, PacketMetadata};
pub use counters::{Counter, Counters, LaneRow, Row, Traffic};
pub use dataplane::{
    Dataplane, DataplaneError, Injected, InterfaceCounters, KNOWN_AS, OtherName, Parts, PlacementError, RehearsalError,
    Settings,
};
pub use frame::{Frame, RawColumns};
pub use graph::{
    ArcSpec, Blueprint, Claim, Context, DISPATCH, FeatureArcSpec, FeatureSpec, GraphError, Node, NodeHandle, NodeId,
    NodeSpec, Number, Phase, Punted, Reason, Recollection, Seed, Side, To,
};
pub use handoff::Generations;
pub use isa::{Each, Isa, LANES, Lanes, Level, LevelError, Mask, Mask8, Picked, Slots, unlikely};
pub use lead::Lead;
pub use place::QueueId;
pub use quiver_stats as stats;
pub use quiver_table::{Domain, Guard, Paged, Publisher, Snapshot};
pub use ring::PacketRing;
pub use rx::{RxContext, RxMode, RxQueue};
pub use source::Source;
pub use stage::{
    Ahead, Alike, Body, Columns, Field, Header, PacketLanes, Quarters, SlowPath, SlowPathNode, Stage, StageNode,
    Windows,
};
pub use tx::{Batch, TxContext, TxQueue};
pub use vector::{BLOCK, INTERFACES_MAX, Rows, VECTOR};
pub use worker::Worker;
