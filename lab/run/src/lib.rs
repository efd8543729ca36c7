//! The lab's runner: it starts a case's generator and device, drives the search, and writes what was found.
//!
//! [`run`] does one case; [`groups`] and [`compare`] are for devices that take turns. This crate knows no packets: generator and
//! device are processes.
#![forbid(unsafe_code)]

mod bed;
mod document;
mod error;
mod lengths;
mod machine;
mod seek;
mod turns;

pub use bed::Stop;
pub use document::headline;
pub use error::Error;
pub use lengths::Lengths;
pub use turns::{Comparison, compare, groups};

use quiver_result::Document;
use quiver_search::Progress;
use quiver_suite::Case;

/// Runs a case, and gives its document, which tells also of a failure. `tell` hears between any two trials.
///
/// # Errors
/// [`Error::Lacking`]: the machine cannot run it, and there is no document. [`Error::Figure`] and [`Error::Clock`]: there
/// cannot be one.
pub fn run(case: &Case, lengths: Lengths, stop: &Stop, tell: &mut dyn FnMut(&Progress)) -> Result<Document, Error> {
    stop.check()?;
    let mut test = document::Test::new(case)?;
    let found = match bed::Bed::start(case, lengths, stop) {
        Err(lacking @ Error::Lacking(_)) => return Err(lacking),
        // A program that is not there, or a job that is not possible, is no failure of the device.
        Err(Error::Device(
            error @ (quiver_device::Error::Missing { .. } | quiver_device::Error::Impossible { .. }),
        )) => {
            return Err(Error::Lacking(error.to_string()));
        }
        Err(error) => Err(error),
        Ok(mut bed) => {
            let found = seek::seek(&mut bed, case.search, lengths, &mut test.figures, tell);
            // Ctrl-C reaches the processes of this terminal, too: what fails then has been interrupted.
            let found = found.map_err(|error| stop.check().err().unwrap_or(error));
            test.learn(&mut bed);
            let ended = bed.end();
            found.and_then(|found| ended.map(|()| found))
        }
    };
    let found = found.map_err(|error| stop.check().err().unwrap_or(error));
    test.document(found)
}
