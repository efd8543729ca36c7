//! HDR histograms of delays, as documents hold them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use quiver_result::Latency;

/// A document's histogram of delays.
#[derive(Debug)]
pub struct Delays {
    histogram: Histogram<u64>,
    /// Of the histogram's unit in a microsecond.
    per_microsecond: f64,
}

impl Delays {
    /// Reads a histogram; none if its text holds none, or nothing was counted.
    ///
    /// Documents have microseconds, as CSIT's; those that Quiver wrote before December 2026 have nanoseconds. The greatest delay, which
    /// the document has in microseconds as well, says which.
    pub fn of(latency: &Latency) -> Option<Delays> {
        let bytes = STANDARD.decode(&latency.hdrh).ok()?;
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let (counted, told) = (histogram.max() as f64, latency.max.get() as f64);
        let is_nanoseconds = (counted / 1000.0 - told).abs() < (counted - told).abs();
        let per_microsecond = if is_nanoseconds { 1000.0 } else { 1.0 };
        (!histogram.is_empty()).then_some(Delays { histogram, per_microsecond })
    }

    /// A percentile, from 0 to 100, in microseconds.
    pub fn percentile(&self, percentile: f64) -> f64 {
        self.histogram.value_at_percentile(percentile) as f64 / self.per_microsecond
    }
}
