//! Delays for documents, which are in microseconds, of histograms in nanoseconds.

use std::num::NonZeroU64;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use quiver_result::{Latency, Microseconds};
use serde_json::Value;

/// Nanoseconds of a microsecond.
const MICROSECOND: f64 = 1000.0;
/// Digits of a histogram of documents.
const DIGITS: u8 = 3;

/// Delays as a generator tells them in nanoseconds, in whole microseconds; `counted` names the field with their number. None if there
/// are none.
pub(crate) fn delay(of: &Value, counted: &str) -> Option<Latency> {
    let micros = |field: &str| Some(rounded(of[field].as_f64()?));
    of[counted].as_u64().filter(|count| *count > 0)?;
    let max = NonZeroU64::new(micros("max")?.max(1))?;
    let hdrh = in_microseconds(of["hdrh"].as_str()?)?;
    Some(Latency { min: micros("min")?, avg: micros("mean")?, max, hdrh, unit: Microseconds::Unit })
}

/// The same histogram in whole microseconds. None if it is no histogram.
fn in_microseconds(hdrh: &str) -> Option<String> {
    let bytes = STANDARD.decode(hdrh).ok()?;
    let nanoseconds: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    let most = rounded(nanoseconds.max() as f64).max(2);
    let mut microseconds = Histogram::<u64>::new_with_bounds(1, most, DIGITS).ok()?;
    for step in nanoseconds.iter_recorded() {
        let time = rounded(nanoseconds.lowest_equivalent(step.value_iterated_to()) as f64).min(most);
        microseconds.record_n(time, step.count_at_value()).ok()?;
    }
    let mut bytes = vec![];
    V2DeflateSerializer::new().serialize(&microseconds, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

fn rounded(nanoseconds: f64) -> u64 {
    (nanoseconds / MICROSECOND).round() as u64
}

#[cfg(test)]
mod tests {
    use quiver_pg::histogram::{Counts, Summary};
    use serde_json::json;

    use super::*;

    /// Delays as `show packet-generator` tells them.
    fn told(times: &[u64]) -> Value {
        let counts = Counts::new();
        times.iter().for_each(|time| counts.record(*time));
        let all = Summary::of([&counts]);
        let (min, mean, max) = (all.least(), all.mean(), all.most());
        json!({"packets": all.count(), "min": min, "mean": mean, "max": max, "hdrh": all.encoded()})
    }

    #[test]
    fn a_documents_histogram_is_in_its_unit() {
        let delay = delay(&told(&[1_400, 9_600, 9_700, 250_000, 3_000_000_000]), "packets").expect("delays");
        assert_eq!((delay.min, delay.avg, delay.max.get()), (1, 600_054, 3_000_000));
        let bytes = STANDARD.decode(&delay.hdrh).expect("base64");
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
        let values: Vec<_> =
            histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        assert_eq!(values[..3], [(1, 1), (10, 2), (250, 1)]);
        // To three digits.
        assert!(histogram.equivalent(values[3].0, 3_000_000) && values.len() == 4, "{values:?}");
        assert!(histogram.equivalent(histogram.max(), delay.max.get()));
    }

    #[test]
    fn without_packets_there_are_no_delays() {
        assert_eq!(delay(&told(&[]), "packets"), None);
        assert_eq!(delay(&json!({"packets": 1, "min": 1, "mean": 1, "max": 1, "hdrh": "x"}), "packets"), None);
    }
}
