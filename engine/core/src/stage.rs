//! A stage: the body of a hot node, written once over eight lanes.
//!
//! A [`Stage`] is what a node keeps; for each frame it enters a [`Body`], which holds what the frame needs: references
//! into snapshots, valid as long as the guard, and the stage's own state. [`StageNode`] puts the frame's loop around a
//! stage and is the ordinary node. Dispatch has stages that follow one another work on a frame in turn, while its columns
//! and header words are in the nearest cache: see [`Graph`](crate::graph::Graph).
//!
//! - `lanes`: eight packets in a stage's hands; `frame_loop`: the loop over a frame; `slow_path`: packets that are treated one by one.

mod alike;
mod frame_loop;
mod lanes;
mod slow_path;

pub use alike::Alike;
pub use frame_loop::StageNode;
pub use lanes::{Columns, Field, Header, PacketLanes, Quarters, Windows};
pub use slow_path::{SlowPath, SlowPathNode};

pub(crate) use frame_loop::node_kernel;
pub(crate) use lanes::Group;

use crate::buffer::Pool;
use crate::graph::ArcSpec;
use crate::isa::{Isa, LANES};
use crate::words::HeaderWords;
use quiver_table::Guard;

/// The state that a hot node keeps between frames.
pub trait Stage: Clone + Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The node's arcs; arc 0 is the way on.
    const ARCS: &'static [ArcSpec];
    /// The type that works on a frame.
    type Body<'f>: Body;
    /// Enters a frame with references into snapshots, and the stage's own state.
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> Self::Body<'f>;
}

/// The work on a frame.
pub trait Body {
    /// Bytes before the current header at which the 64-byte window begins: 0 for layer 2, 14 for layer 3, so that an IP
    /// header lies at the same place of the window whatever tags stood before it.
    const BACK: u32 = 0;
    /// The columns that the body changes.
    const WRITES: Columns;
    /// The bytes of the window that it reads.
    const READS: Quarters;
    /// Bytes by which the current headers of packets that go on by the first arc move, if that is the same for all.
    const MOVES: Option<i32> = None;
    /// Whether it has [`Body::ordinary`].
    const HAS_ORDINARY: bool = false;
    /// The bytes of the window that it changes by [`Windows`].
    const REWRITES: Quarters = Quarters::NONE;
    /// The bytes that it has changed of this frame.
    #[inline(always)]
    fn rewrote(&self) -> Quarters {
        Self::REWRITES
    }
    /// The least length of packets of which [`Body::alike`] is true.
    const LENGTH_MIN: u32 = 0;
    /// The treatment of all packets that interface `rx` received and interface `tx` is to send, where it depends on nothing else. `tx` is
    /// valid only behind a stage that has set it.
    #[inline(always)]
    fn alike(&mut self, rx: u32, tx: u32) -> Option<Alike> {
        let _ = (rx, tx);
        None
    }
    /// Called before the steps of a frame with the interface that received all of its packets, if one did, and the one that is to
    /// send them, which means something only behind a stage that has set it.
    #[inline(always)]
    fn begin(&mut self, rx: Option<u32>, tx: Option<u32>) {
        let _ = (rx, tx);
    }
    /// Bytes by which the current headers of packets move of which [`Body::ordinary`] is true; it does not move them itself.
    #[inline(always)]
    fn ordinary_moves(&self) -> i32 {
        Self::MOVES.unwrap_or(0)
    }
    /// The arc by which packets leave of which [`Body::ordinary`] is true.
    #[inline(always)]
    fn ordinary_arc(&self) -> u16 {
        0
    }
    /// Works on eight packets if all of them are ordinary, as [`Body::step`] would. If it returns false, it has had no
    /// effect: its changes of columns are discarded, and the packets are stepped.
    ///
    /// PERF: what it does is compiled apart from all that hardly any packet needs, which would take registers from it.
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        let _ = (p, windows);
        false
    }
    /// Works on eight packets: has lanes leave, counts, and changes columns and bytes.
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>);
    /// Called before the steps of a frame with the windows of its packets and the interface that received them all, to
    /// prefetch from tables that are too large for the caches: as many lookups are under way together as the frame has
    /// packets.
    #[inline(always)]
    fn ahead(&mut self, windows: Ahead<'_>, rx: u32) {
        let _ = (windows, rx);
    }
}

/// The windows of a frame's packets, before it is stepped.
#[derive(Clone, Copy)]
pub struct Ahead<'w> {
    pool: &'w Pool,
    words: &'w HeaderWords,
    len: usize,
}
impl<'w> Ahead<'w> {
    /// Packets.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
    /// The window of packet `i`.
    #[inline(always)]
    pub fn window(self, i: usize) -> &'w [u8; 64] {
        self.pool.at(self.words.places(i / LANES)[i % LANES])
    }
}
