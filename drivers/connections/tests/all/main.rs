//! The integration tests of this crate. They are one program, for each costs a link.

mod ends;
mod losses;
mod packets;
mod pair;
mod replay;
mod tshark;
