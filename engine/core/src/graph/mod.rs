//! Nodes, arcs and dispatch. The graph is the fast path: packets that stay together go from stage to stage at once.
//!
//! - `node`: a node and its context; `ends`: the engine's own nodes at the ends of arcs; `arc`, `counters`: arcs and what is counted.
//! - `blueprint`: what rooms register; `claims`, `claiming`: numbers by which packets are told apart; `feature`: features and their
//!   order; `extension`: nodes that come later; `layout`: computes the `wiring` of all that.
//! - `dispatch`: a worker's instance; `chain`: the way that packets went last.
//! - `recollection`, `recall`: what rehearsed nodes ask of workers.

mod arc;
mod blueprint;
mod chain;
mod claiming;
mod claims;
mod counters;
mod dispatch;
mod ends;
mod error;
mod extension;
mod feature;
mod layout;
mod node;
mod recall;
mod recollection;
mod seed;
mod wiring;

pub use arc::{ArcSpec, To};
pub use blueprint::{Blueprint, FeatureArcSpec, FeaturePlace, NodeHandle, NodeSpec};
pub(crate) use chain::Chain;
pub use claims::{Claim, Number};
pub use counters::NodeCounters;
pub(crate) use dispatch::DispatchNext;
pub use dispatch::{DISPATCH, Graph};
pub use ends::Punted;
pub(crate) use ends::{Done, Punt};
pub use error::GraphError;
pub use feature::{FeatureSpec, Phase};
pub use node::{Context, Node};
pub(crate) use recollection::Answer;
pub use recollection::Recollection;
pub use seed::Seed;
pub(crate) use wiring::CurrentWiring;
pub use wiring::{NodeId, Reason, Side, Wiring};
