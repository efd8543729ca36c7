//! Units of metrics.

/// Units that names end in.
const UNITS: [&str; 7] = ["bytes", "packets", "ticks", "clocks", "seconds", "ns", "kbps"];

/// The unit that a metric's name ends in.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    let (_, last) = name.rsplit_once('_')?;
    UNITS.into_iter().find(|unit| *unit == last)
}

/// A unit in the words of OTLP, which are UCUM's.
pub(crate) fn ucum(unit: &str) -> &str {
    match unit {
        "bytes" => "By",
        "seconds" => "s",
        "kbps" => "kbit/s",
        "packets" => "{packet}",
        "ticks" | "clocks" => "{tick}",
        unit => unit,
    }
}
