//! The result of a document as text.

use quiver_result::{Busy, Document, Figure, Outcome};
use quiver_run::{Error, LIMITED, OVERSUBSCRIBED, SoFar, headline, so_far};
use quiver_verdict::median;

/// The unit of what packets cost, where that is known so well.
pub const TICKS: &str = "ticks";

/// Parts of PDR at which latency is measured, in percent.
const PARTS: [u32; 4] = [0, 10, 50, 90];
/// Percentiles of latency, as figures and on the terminal.
const PERCENTILES: [(&str, &str); 5] =
    [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99_9", "p99.9"), ("max", "max")];

/// Cost of a packet, and its unit: the median of the trials at the result's load, or of all trials if there is none.
pub fn cost(document: &Document) -> Option<(f64, &'static str)> {
    let extension = document.quiver.as_ref()?;
    let busy = |at: Option<f64>| -> Vec<&Busy> {
        let counts = extension.trials.iter().filter(|trial| trial.repeated_because.is_none());
        let at_load = counts.filter(|trial| at.is_none_or(|load| trial.load_pps.get() == load));
        at_load.filter_map(|trial| trial.busy.as_ref()).collect()
    };
    let found = load(document).map(|load| busy(Some(load))).filter(|found| !found.is_empty());
    let found = found.unwrap_or_else(|| busy(None));
    let unit = match found.first()? {
        Busy::CpuTime { .. } => "ns of CPU",
        Busy::ThreadTicks { .. } | Busy::NodeClocks { .. } | Busy::CoreCycles { .. } => TICKS,
    };
    Some((median(found.iter().map(|busy| busy.amount().get()).collect())?, unit))
}

/// The load of one direction that the result is about, as trials have it: in whole packets per second.
fn load(document: &Document) -> Option<f64> {
    let figures = &document.quiver.as_ref()?.figures;
    let both = match &document.result {
        Outcome::Ndrpdr { ndr, .. } => ndr.lower.rate.value.get(),
        Outcome::Reconf { aggregate_rate, .. } => aggregate_rate.rate.value.get(),
        _ => figures.iter().find(|figure| figure.name == "endured_load")?.value.get(),
    };
    Some((both / 2.0).round())
}

/// The result of a document: a line, and one more for each direction of each load at which latency was measured.
pub fn told(document: &Document) -> String {
    let trials = document.quiver.as_ref().map_or(&[][..], |extension| &extension.trials);
    let figures = document.quiver.as_ref().map_or(&[][..], |extension| &extension.figures);
    let limited = figures.iter().find(|figure| figure.name == LIMITED).map_or(0.0, |figure| figure.value.get());
    let limited = match limited as u64 {
        0 => String::new(),
        1 => ", 1 result limited by the generator".to_owned(),
        results => format!(", {results} results limited by the generator"),
    };
    let shares = figures.iter().any(|figure| figure.name == OVERSUBSCRIBED);
    let limited = if shares { format!(", oversubscribed{limited}") } else { limited };
    let cost = cost(document).map(|(cost, unit)| format!(", {cost:.0} {unit} a packet"));
    let s = if trials.len() == 1 { "" } else { "s" };
    let found = found(document);
    let latencies = latencies(figures).map(|line| format!("\n  {line}")).collect::<String>();
    format!("{found}; {} trial{s}{limited}{}{latencies}", trials.len(), cost.unwrap_or_default())
}

/// The result itself; of a case that failed the reason, and what was found before.
fn found(document: &Document) -> String {
    match (&document.result, headline(document)) {
        (Outcome::Ndrpdr { ndr, pdr, .. }, _) => {
            let [ndr, pdr] = [ndr, pdr].map(|bounds| with_unit(bounds.lower.rate.value.get(), "pps"));
            format!("NDR {ndr}, PDR {pdr}")
        }
        (Outcome::Soak { critical_rate }, _) => {
            let lower = critical_rate.lower.rate.value.get();
            let upper = critical_rate.upper.as_ref().map(|upper| upper.rate.value.get());
            format!("critical rate {}", range(Some(lower), upper, "pps"))
        }
        (_, Some((name, value, unit))) => format!("{name} {}", with_unit(value, unit)),
        _ if document.passed => endured(document).unwrap_or_else(|| "done".into()),
        _ => {
            let is_interrupted = document.message == Error::Interrupted.to_string();
            let why =
                if is_interrupted { "interrupted".to_owned() } else { format!("failed: {}", brief(&document.message)) };
            let known = so_far(document)
                .into_iter()
                .map(|SoFar { name, lower, upper, unit }| format!("{name} {}", range(lower, upper, &unit)));
            let known = known.collect::<Vec<_>>().join(", ");
            if known.is_empty() { why } else { format!("{why}; so far {known}") }
        }
    }
}

/// A figure in as many digits as say something.
fn with_unit(value: f64, unit: &str) -> String {
    match value {
        1e6.. => format!("{:.3} M{unit}", value / 1e6),
        100.0.. => format!("{value:.0} {unit}"),
        _ => format!("{value:.3} {unit}"),
    }
}

/// The bounds of a result, or the one value that it has.
fn range(lower: Option<f64>, upper: Option<f64>, unit: &str) -> String {
    let text = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |value| with_unit(value, unit));
    if lower == upper { text(lower) } else { format!("{} to {}", text(lower), text(upper)) }
}

/// Percentiles of latency, a line for each direction at each part of PDR.
fn latencies(figures: &[Figure]) -> impl Iterator<Item = String> {
    let parts = PARTS.iter().flat_map(|part| ["forward", "reverse"].map(|direction| (part, direction)));
    parts.filter_map(move |(part, direction)| {
        let micros = |percentile: &str| {
            let name = format!("latency_{direction}_pdr_{part}_{percentile}");
            Some(figures.iter().find(|figure| figure.name == name)?.value.get() / 1e3)
        };
        let each = PERCENTILES.iter().map(|(name, text)| Some(format!("{text} {:.1}", micros(name)?)));
        let each = each.collect::<Option<Vec<_>>>()?.join(", ");
        Some(format!("latency at {part} % of PDR, {direction}: {each} us"))
    })
}

/// A message whose device said much, in two lines: what failed, and the last that was said. The document has all of it.
fn brief(message: &str) -> String {
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => format!("{first}\n  ... {}", last.trim()),
        None => first.to_owned(),
    }
}

/// Which series of an endurance test went one way, and how fast.
fn endured(document: &Document) -> Option<String> {
    let figures = &document.quiver.as_ref()?.figures;
    let find = |name: &str| figures.iter().find(|figure| figure.name == name);
    let (trials, lost) = (find("endured_trials")?.value.get(), find("endured_lost")?.value.get());
    let drifting = figures.iter().filter(|figure| figure.value.get() > 0.0);
    let drifting = drifting.filter_map(|figure| figure.name.strip_suffix("_drifts"));
    let drifts: Vec<String> = drifting
        .filter_map(|name| {
            let by = ["rise", "fall"].iter().find_map(|way| Some((way, find(&format!("{name}_{way}"))?)));
            by.map(|(way, figure)| format!("{name} {way}s by {:.3} {}", figure.value.get(), figure.unit))
        })
        .collect();
    let drifts = if drifts.is_empty() { "all is steady".into() } else { drifts.join(", ") };
    Some(format!("endured, {trials} trials, {lost} packets lost, {drifts}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A document with these trials' ticks a packet at loads, and these figures.
    fn document(trials: &[(f64, f64)], figures: &[(&str, f64, &str)]) -> Document {
        let time = "2026-11-22T14:00:00Z";
        let name = "1n1l-memif-eth-l2xcbase-mrr";
        let trials: Vec<Value> = trials
            .iter()
            .map(|(load, ticks)| {
                json!({
                    "start_time": time, "device": "quiver", "load_pps": load, "intended_seconds": 1.0,
                    "effective_seconds": 1.0, "sent_packets": 1, "received_packets": 1, "losses": {},
                    "is_limited_by_generator": true, "busy": {"measure": "thread-ticks", "ticks_per_packet": ticks},
                })
            })
            .collect();
        let figures: Vec<Value> =
            figures.iter().map(|(name, value, unit)| json!({"name": name, "value": value, "unit": unit})).collect();
        let machine =
            json!({"architecture": "x86_64", "processor": "any", "cores": 2, "memory_bytes": 1, "kernel": "Linux"});
        let rate = json!({"values": [2e6], "avg": 2e6, "stdev": 0.0, "unit": "pps"});
        let text = json!({
            "duration": 0.0, "dut_type": "quiver", "dut_version": "1", "start_time": time, "end_time": time,
            "hosts": ["perf1"], "telemetry": [], "message": "", "passed": true,
            "result": {"type": "mrr", "receive_rate": {"rate": rate}}, "tags": ["MRR"], "test_documentation": "",
            "test_id": format!("{name}.64b-1c-{name}"), "test_name_long": format!("64b-1c-{name}"),
            "test_name_short": name, "test_type": "mrr", "tg_type": "quiver", "tg_version": "1", "version": "1.5.1",
            "quiver": {
                "version": 1, "machine": machine, "versions": {}, "configuration": {}, "counters_before": {},
                "counters_after": {}, "figures": figures, "trials": trials,
            },
        });
        Document::parse(text.to_string().as_bytes()).expect("a document")
    }

    #[test]
    fn who_was_the_limit_is_told_of_results_and_once() {
        let told = |limited| told(&document(&[(1e6, 90.0)], &[(LIMITED, limited, "results")]));
        assert_eq!(told(0.0), "MRR 2.000 Mpps; 1 trial, 90 ticks a packet");
        assert_eq!(told(1.0), "MRR 2.000 Mpps; 1 trial, 1 result limited by the generator, 90 ticks a packet");
        assert_eq!(told(2.0), "MRR 2.000 Mpps; 1 trial, 2 results limited by the generator, 90 ticks a packet");
    }

    fn outcome(value: Value) -> Outcome {
        serde_json::from_value(value).expect("an outcome")
    }

    #[test]
    fn searches_tell_all_of_their_bounds_and_percentiles() {
        let rate = |pps: f64| json!({"rate": {"value": pps, "unit": "pps"}});
        let bounds = |lower, upper| json!({"lower": rate(lower), "upper": rate(upper)});
        let figure = |field: &str, ns| (format!("latency_reverse_pdr_50_{field}"), ns, "ns");
        let figures = [("p50", 1500.0), ("p90", 2e3), ("p99", 3e3), ("p99_9", 4e3), ("max", 123_456.0)];
        let figures = figures.map(|(field, ns)| figure(field, ns));
        let figures: Vec<_> = figures.iter().map(|(name, ns, unit)| (name.as_str(), *ns, *unit)).collect();
        let mut found = document(&[(1e6, 90.0)], &figures);
        found.result = outcome(json!({"type": "ndrpdr", "ndr": bounds(2e6, 3e6), "pdr": bounds(2.5e6, 3e6)}));
        let latency = "latency at 50 % of PDR, reverse: p50 1.5, p90 2.0, p99 3.0, p99.9 4.0, max 123.5 us";
        assert_eq!(told(&found), format!("NDR 2.000 Mpps, PDR 2.500 Mpps; 1 trial, 90 ticks a packet\n  {latency}"));
        let mut found = document(&[(1e6, 90.0)], &[]);
        found.result = outcome(json!({"type": "soak", "critical_rate": bounds(2e6, 3e6)}));
        assert_eq!(told(&found), "critical rate 2.000 Mpps to 3.000 Mpps; 1 trial, 90 ticks a packet");
    }

    #[test]
    fn an_interrupted_search_tells_its_bounds_so_far() {
        let interrupted = |figures: &[(&str, f64, &str)]| {
            let mut found = document(&[(1e6, 90.0)], figures);
            (found.passed, found.result) = (false, outcome(json!({"type": "unknown"})));
            found.message = Error::Interrupted.to_string();
            told(&found)
        };
        let bounds =
            [("ndr_lower_so_far", 2e6, "pps"), ("ndr_upper_so_far", 3e6, "pps"), ("pdr_lower_so_far", 2.5e6, "pps")];
        let known = "NDR 2.000 Mpps to 3.000 Mpps, PDR 2.500 Mpps to ?";
        assert_eq!(interrupted(&bounds), format!("interrupted; so far {known}; 1 trial, 90 ticks a packet"));
        let rates = [("receive_rate", 2e6, "pps"), ("receive_rate", 3e6, "pps")];
        assert_eq!(interrupted(&rates), "interrupted; so far MRR 2.500 Mpps; 1 trial, 90 ticks a packet");
        assert_eq!(interrupted(&[]), "interrupted; 1 trial, 90 ticks a packet");
        let frames = [("burst_frames_so_far", 90.0, "frames")];
        assert_eq!(interrupted(&frames), "interrupted; so far burst frames 90.000 frames; 1 trial, 90 ticks a packet");
    }

    #[test]
    fn a_packet_costs_the_median_at_the_results_load() {
        let trials = [(2e6, 10.0), (1e6, 90.0), (1e6, 80.0), (1e6, 20.0), (3e6, 500.0)];
        assert_eq!(cost(&document(&trials, &[("endured_load", 2e6, "pps")])), Some((80.0, TICKS)));
        // Nothing says which: of all.
        assert_eq!(cost(&document(&trials, &[])), Some((80.0, TICKS)));
        assert_eq!(cost(&document(&trials[..1], &[("endured_load", 8e6, "pps")])), Some((10.0, TICKS)));
        let mut repeated = document(&trials[..2], &[("endured_load", 2e6, "pps")]);
        let extension = repeated.quiver.as_mut().expect("it has one");
        extension.trials.push(quiver_result::Trial {
            repeated_because: Some("a reason".to_owned()),
            busy: extension.trials[0].busy,
            ..extension.trials[1].clone()
        });
        assert_eq!(cost(&repeated), Some((90.0, TICKS)));
    }

    #[test]
    fn a_device_that_dies_takes_two_lines() {
        let said = "quiver has ended (signal: 9); the last that it said: one\n two\n\n three\n";
        assert_eq!(brief(said), "quiver has ended (signal: 9); the last that it said: one\n  ... three");
        assert_eq!(brief("interrupted"), "interrupted");
    }
}
