//! The list of the daemon's rooms, for whoever wants all of them: the daemon, and tests of the whole.

pub mod features;
