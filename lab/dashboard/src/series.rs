//! Series: the results of one test, device and machine over time.

use quiver_compare::Name;
use quiver_verdict::median;
use sha2::{Digest, Sha256};

use crate::trend::Trend;

/// A document in a series.
#[derive(Debug)]
pub struct Row {
    /// When the test began, in microseconds since 1970.
    pub time: i64,
    /// Number of the device's version.
    pub revision: u32,
    /// Numbers of the hosts, as one text.
    pub hosts: u32,
    /// Why it failed.
    pub message: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// Rates of the trials of an MRR test.
    pub samples: Vec<f64>,
    /// Where the document itself is: the file, and the place in it.
    pub document: (u32, u32),
    /// Figures by number.
    pub values: Vec<(u32, f64)>,
    /// Hz of the device's clock.
    pub clock: Option<f64>,
}

/// All results of a test, a device and a machine.
#[derive(Debug)]
pub struct Series {
    /// Test, device and machine.
    pub name: Name,
    /// CSIT's type of test.
    pub kind: String,
    /// Numbers of the tags of the latest document.
    pub tags: Vec<u32>,
    /// In the order of time.
    pub rows: Vec<Row>,
    /// By figure, as far as there are samples.
    pub trends: Vec<(u32, Trend)>,
}

impl Series {
    /// Begins one.
    pub fn new(name: Name) -> Series {
        Series { name, kind: String::new(), tags: Vec::new(), rows: Vec::new(), trends: Vec::new() }
    }

    /// The name of its file, which stays the same when the site is made again.
    pub fn id(&self) -> String {
        let device = self.name.device.as_deref().unwrap_or_default();
        let machine = self.name.machine.as_deref().unwrap_or_default();
        let digest = Sha256::digest(format!("{}\0{device}\0{machine}", self.name.test));
        digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The clock by which its figures are normalized: the median, so that it has one factor.
    pub fn clock(&self) -> Option<f64> {
        median(self.rows.iter().filter_map(|row| row.clock).collect())
    }

    /// The last document of a test that passed.
    pub fn latest(&self) -> Option<&Row> {
        self.rows.iter().rev().find(|row| row.message.is_none())
    }

    /// Samples of a figure, with the places of their rows.
    pub fn samples(&self, figure: u32) -> (Vec<usize>, Vec<f64>) {
        let of = |(at, row): (usize, &Row)| {
            row.values.iter().find(|(number, _)| *number == figure).map(|(_, value)| (at, *value))
        };
        self.rows.iter().enumerate().filter_map(of).unzip()
    }

    /// Numbers of all figures that some of its rows have, in order.
    pub fn figures(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows.iter().flat_map(|row| row.values.iter().map(|(number, _)| *number)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
