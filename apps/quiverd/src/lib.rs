//! What the daemon consists of beside its host: the list of its rooms, and upkeep. For the daemon, and for tests and
//! simulations of the whole.

pub mod features;
pub mod upkeep;
