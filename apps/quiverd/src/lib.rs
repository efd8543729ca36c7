//! Parts of the daemon without its host: the list of its rooms, rehearsals, and upkeep. For the daemon, and for tests and
//! simulations of the whole.

pub mod features;
pub mod rehearsal;
pub mod upkeep;
