//! The searches of the lab: at which load does a device still do what it is asked?
//!
//! Each one is a [`Search`], a state machine that has neither a clock nor traffic: it says which [`Trial`] it wants next,
//! and is told the [`TrialResult`]. Who calls owns the generator, the time, and the right to stop: what is known so far can
//! be read between any two trials, by [`Search::progress`] and by the searches' own methods.
//!
//! | module | question | after |
//! |---|---|---|
//! | [`mrr`] | how much comes through when everything is sent? | CSIT's MRR |
//! | [`mlr`] | up to which load is the loss within a goal, for several goals at once? | draft-ietf-bmwg-mlrsearch, RFC 2544, TST009 |
//! | [`plr`] | at which load is a very small part lost in the long run? | draft-vpolak-bmwg-plrsearch |
//! | [`latency`] | how long do packets take at parts of that load? | CSIT |
//! | [`burst`] | how long may a burst at the line's rate be? | RFC 9004 |
//! | [`cores`] | what are more cores good for? | CSIT |
//! | [`reconf`] | for how long does a change of the configuration block? | CSIT |
//! | [`endurance`] | what drifts or leaks in hours? | |
//! | [`device`] | simulated devices, for tests and for trying searches out | |

pub mod burst;
mod checked;
pub mod cores;
pub mod device;
pub mod endurance;
mod error;
pub mod latency;
pub mod mlr;
pub mod mrr;
pub mod plr;
mod quantity;
pub mod reconf;
mod search;
mod trial;

/// The example of the room's page runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;

pub use error::Error;
pub use quantity::{Load, Seconds};
pub use search::{Bounds, Progress, Search, Step};
pub use trial::{Trial, TrialResult};
