//! Routes that are added under load.

use quiver_suite::{Routes, Traffic};

use crate::Error;

/// Where the next ones begin.
pub struct Growth {
    device: &'static str,
    traffic: Traffic,
    grown: u32,
}

impl Growth {
    /// For a device that has none of these routes yet.
    pub fn new(device: &'static str, traffic: &Traffic) -> Growth {
        Growth { device, traffic: traffic.clone(), grown: 0 }
    }

    /// Returns the next `entries` routes.
    ///
    /// # Errors
    /// The case routes nothing.
    pub fn next(&mut self, entries: u32) -> Result<Routes, Error> {
        if self.traffic.sides.iter().all(|side| side.routes.is_empty()) {
            let (command, answer) = ("add routes".to_owned(), "the case routes nothing".to_owned());
            return Err(Error::Refused { device: self.device, command, answer });
        }
        let routes = self.traffic.unused(self.grown, entries);
        self.grown = self.grown.saturating_add(entries);
        Ok(routes)
    }
}
