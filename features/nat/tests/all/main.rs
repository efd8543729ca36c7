//! The integration tests of this crate, in one program, for each costs a link.

mod known;
mod limits;
mod mapped;
mod pool;
mod requirements;
mod router;
