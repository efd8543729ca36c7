//! The lab's runner: it starts a case's generator and device, drives the search, and writes the document.
//!
//! [`Sequence`] runs cases, [`connections`] loads devices with TCP and UDP connections; [`groups`] and [`compare`] are for devices that take turns. This crate knows no packets: generator and
//! device are processes.
#![forbid(unsafe_code)]

mod bed;
pub mod connections;
mod cores;
mod delays;
mod devices;
mod distance;
mod document;
mod endure;
mod error;
mod expected;
mod figure;
mod hosts;
mod lengths;
mod limits;
mod links;
mod losses;
mod machine;
mod place;
mod seek;
mod sequence;
mod so_far;
mod softnet;
mod speed_up;
mod terms;
mod turns;

pub use bed::OVERSUBSCRIBED;
pub use distance::{Cost, Distance, NEAR_NS, costs};
pub use document::headline;
pub use error::Error;
pub use expected::expected;
pub use lengths::{Lengths, TRIAL_MIN};
pub use place::Place;
pub use quiver_result::LIMITED;
pub use quiver_stop::Stop;
pub use sequence::{Sequence, gather};
pub use so_far::{SoFar, so_far};
pub use terms::Terms;
pub use turns::{Comparison, Peer, compare, groups};

/// A program that is not there, or a job that is not possible, is no failure of the device.
fn unavailable(error: Error) -> Error {
    use quiver_device::Error::{Impossible, Missing};
    match error {
        Error::Device(error @ (Missing { .. } | Impossible { .. })) => Error::Lacking(error.to_string()),
        Error::There { host, error } if matches!(*error, Missing { .. }) => Error::Lacking(format!("{host}: {error}")),
        other => other,
    }
}
