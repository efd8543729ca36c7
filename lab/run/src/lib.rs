//! The lab's runner: it starts a case's generator and device, drives the search, and writes the document.
//!
//! [`run`] does one case, [`connections`] loads devices with TCP and UDP connections; [`groups`] and [`compare`] are for devices that take turns. This crate knows no packets: generator and
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
pub use so_far::{SoFar, so_far};
pub use terms::Terms;
pub use turns::{Comparison, Peer, compare, groups};

use quiver_result::Document;
use quiver_search::Progress;
use quiver_suite::Case;
use quiver_suite::field::Search;
use terms::check;

/// Runs a case, and gives its document, which tells also of a failure. `tell` hears between any two trials.
///
/// # Errors
/// [`Error::Lacking`]: the machine cannot run it, and there is no document. [`Error::Figure`] and [`Error::Clock`]: there
/// cannot be one.
pub fn run(
    case: &Case,
    place: &Place,
    terms: &Terms,
    stop: &Stop,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Document, Error> {
    check(stop)?;
    let mut test = document::Test::new(document::Named::of(case), place)?;
    if case.search == Search::SpeedUp {
        let found = speed_up::run(case, place, terms, stop, &mut test, tell);
        return match found.map_err(|error| check(stop).err().unwrap_or(error)).map_err(unavailable) {
            Err(lacking @ Error::Lacking(_)) => Err(lacking),
            found => test.document(found),
        };
    }
    let found = match bed::Bed::start(case, place, terms, stop).map_err(unavailable) {
        Err(lacking @ Error::Lacking(_)) => return Err(lacking),
        Err(error) => Err(error),
        Ok(mut bed) => {
            let found = seek::seek(&mut bed, case.search, terms.lengths, &mut test.figures, tell);
            // Ctrl-C reaches the processes of this terminal, too: what fails then has been interrupted.
            let found = found.map_err(|error| check(stop).err().unwrap_or(error));
            test.learn(&mut bed);
            let ended = bed.end();
            found.and_then(|found| ended.map(|()| found))
        }
    };
    let found = found.map_err(|error| check(stop).err().unwrap_or(error));
    test.document(found)
}

/// A program that is not there, or a job that is not possible, is no failure of the device.
fn unavailable(error: Error) -> Error {
    use quiver_device::Error::{Impossible, Missing};
    match error {
        Error::Device(error @ (Missing { .. } | Impossible { .. })) => Error::Lacking(error.to_string()),
        Error::There { host, error } if matches!(*error, Missing { .. }) => Error::Lacking(format!("{host}: {error}")),
        other => other,
    }
}
