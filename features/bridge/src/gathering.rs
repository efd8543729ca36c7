//! Gathers the stations of the table a few at a time, so that others have their turns meanwhile: there may be millions.

use std::collections::BTreeMap;

use quiver_wire::MacAddress;

use crate::layer2::DomainIndex;
use crate::macs::Macs;
use crate::station::Station;

/// Stations by domain and address.
pub(crate) type Stations = BTreeMap<(DomainIndex, MacAddress), Station>;

/// Stations that were gathered so far, and the place to go on from.
pub(crate) struct Gathering {
    stations: Stations,
    from: Option<usize>,
    places: Option<usize>,
}

impl Gathering {
    pub fn new() -> Gathering {
        Gathering { stations: Stations::new(), from: Some(0), places: None }
    }

    /// Number of stations so far.
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// Gathers the stations of so many buckets, with up to three each. False if there are no more.
    pub fn step(&mut self, macs: &Macs, buckets: usize) -> bool {
        let Some(first) = self.from else { return false };
        // A table that grows has all of them in other places.
        let first = if self.places.replace(macs.places()) == Some(macs.places()) { first } else { 0 };
        let (some, next) = macs.some(first, buckets);
        self.stations.extend(some.map(|station| ((station.domain, station.mac), station)));
        self.from = next;
        next.is_some()
    }

    /// All of them.
    pub fn into_stations(self) -> Stations {
        self.stations
    }
}
