//! What a document found, in a line.

use quiver_result::{Busy, Document, Outcome};
use quiver_run::{LIMITED, OVERSUBSCRIBED, headline};
use quiver_verdict::median;

/// The unit of what packets cost, where that is known so well.
pub const TICKS: &str = "ticks";

/// What a packet cost, and in what: the median of the trials at the result's load; of all, where it has none of its own.
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

/// What a document found, in a line.
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
    let found = match headline(document) {
        Some((name, value, unit)) if value >= 1e6 => format!("{name} {:.3} M{unit}", value / 1e6),
        Some((name, value, unit)) if value < 100.0 => format!("{name} {value:.3} {unit}"),
        Some((name, value, unit)) => format!("{name} {value:.0} {unit}"),
        None if document.passed => endured(document).unwrap_or_else(|| "done".into()),
        None => format!("failed: {}", brief(&document.message)),
    };
    let s = if trials.len() == 1 { "" } else { "s" };
    format!("{found}; {} trial{s}{limited}{}", trials.len(), cost.unwrap_or_default())
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
