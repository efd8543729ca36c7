//! Energy of a trial: joules where the machine has a sensor, else CPU seconds, named so.
//!
//! A [`Meter`] finds the sensors of Linux below a folder, which is `/sys` outside of tests. Who measures takes a
//! [`Reading`] before and after a trial, with the time and the CPU time of its own, since there is no clock here, and
//! gets an [`Energy`].
#![forbid(unsafe_code)]

mod energy;
mod meter;
mod missing;
mod sensor;

pub use energy::{Cost, Energy, Share};
pub use meter::{Meter, Moment, Reading, Unordered};
pub use missing::Missing;
pub use sensor::Origin;

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
