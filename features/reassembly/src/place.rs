//! Places in the graph where packets are reassembled.

use std::marker::PhantomData;

use quiver_engine::{ArcSpec, To};

use crate::family::Reassembled;

/// A place.
pub trait Place: Send + Sync + 'static {
    /// The family that is reassembled there.
    type Family: Reassembled;
    /// The node.
    const NODE: &'static str;
    /// Where whole packets go.
    const WHOLE: ArcSpec;
    /// Whether the place is for local packets: only then all packets are fragments.
    const IS_LOCAL: bool;
}

/// Behind `ip4-local`: packets for us.
#[derive(Debug)]
pub struct Local<F>(PhantomData<F>);

/// On the arc in front of the lookup: packets that an interface receives, wherever they go.
#[derive(Debug)]
pub struct Received<F>(PhantomData<F>);

impl<F: Reassembled> Place for Local<F> {
    type Family = F;
    const NODE: &'static str = F::NAMES.reassembly;
    const WHOLE: ArcSpec = ArcSpec::to_node(F::NAMES.local);
    const IS_LOCAL: bool = true;
}

impl<F: Reassembled> Place for Received<F> {
    type Family = F;
    const NODE: &'static str = F::FULL;
    const WHOLE: ArcSpec = ArcSpec { name: "next-feature", to: To::NextFeature };
    const IS_LOCAL: bool = false;
}
