//! Handles of added nodes, counters and events: numbers that the daemon gave.

use std::marker::PhantomData;

/// A node that was added.
pub struct NodeHandle<N> {
    pub(crate) number: u32,
    pub(crate) kind: PhantomData<fn() -> N>,
}

impl<N> Clone for NodeHandle<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for NodeHandle<N> {}

/// A vector of counters that was added.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    pub(crate) number: u32,
    pub(crate) length: u32,
}

/// The key of a value that is kept with packets.
#[derive(Clone, Copy, Debug)]
pub struct MetadataKey {
    pub(crate) number: u32,
}

/// An event that was added.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub(crate) number: u32,
}
