//! Simulated builds and recorded documents: equal ones are not told apart, and one that is 3 % slower is found.

use std::convert::Infallible;

use fastrand::Rng;
use quiver_compare::gate::{Bench, GateError, Plan, gate};
use quiver_compare::{Across, Alone, Comparison, Measure, Name, Selection, Summary, compare};
use quiver_result::Document;
use quiver_verdict::compare::{Confidence, Side};
use quiver_verdict::gate::{Better, Gate, Verdict};
use serde_json::{Value, json};

/// A plan in which one percent matters.
const PLAN: Plan =
    Plan { pairs: 20, gate: Gate { better: Better::Higher, smallest: 0.01 }, confidence: Confidence::HIGH, seed: 1 };

/// Half a percent of noise, and a machine that gets slower by 0.1 % each measurement.
struct Simulated {
    random: Rng,
    speed: f64,
    slower: f64,
}

impl Simulated {
    fn new(seed: u64, slower: f64) -> Simulated {
        Simulated { random: Rng::with_seed(seed), speed: 1e7, slower }
    }

    fn value(&mut self, side: Side) -> f64 {
        self.speed *= 0.999;
        let factor = if side == Side::Current { 1.0 - self.slower } else { 1.0 };
        // Nearly normal.
        let noise: f64 = (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0;
        self.speed * factor * (1.0 + 0.005 * noise)
    }
}

impl Bench for Simulated {
    type Error = Infallible;

    fn measure(&mut self, side: Side) -> Result<f64, Infallible> {
        Ok(self.value(side))
    }
}

#[test]
fn builds_are_told_apart_where_they_differ() {
    let verdicts = |slower| -> Vec<Verdict> {
        (0..500)
            .map(|seed| gate(&mut Simulated::new(seed, slower), Plan { seed, ..PLAN }, |_, _| {}).unwrap().verdict)
            .collect()
    };
    let count = |verdicts: &[Verdict], verdict| verdicts.iter().filter(|own| **own == verdict).count();
    let (equal, slower, faster) = (verdicts(0.0), verdicts(0.03), verdicts(-0.03));
    println!(
        "equal: same {} of 500; 3 % slower: found {}",
        count(&equal, Verdict::Same),
        count(&slower, Verdict::Regression)
    );
    assert_eq!(count(&equal, Verdict::Regression) + count(&equal, Verdict::Progression), 0);
    assert!(count(&equal, Verdict::Same) >= 480);
    assert_eq!(count(&slower, Verdict::Regression), 500);
    assert_eq!(count(&faster, Verdict::Progression), 500);
}

#[test]
fn a_plan_without_a_verdict_measures_nothing() {
    struct Never;
    impl Bench for Never {
        type Error = Infallible;

        fn measure(&mut self, _: Side) -> Result<f64, Infallible> {
            panic!("this was measured");
        }
    }
    let error = gate(&mut Never, Plan { pairs: 7, ..PLAN }, |_, _| {}).unwrap_err();
    assert!(matches!(&error, GateError::Plan(_)), "{error}");
    assert_eq!(error.to_string(), "7 pairs say nothing at this confidence: 8 are the least");
}

#[test]
fn verdicts_add_up() {
    use Verdict::{Progression, Regression, Same, Undecided};
    assert_eq!(Summary::of([]), Summary::Undecided);
    assert_eq!(Summary::of([Some(Same), Some(Progression)]), Summary::Passes);
    assert_eq!(Summary::of([Some(Undecided), Some(Same)]), Summary::Undecided);
    assert_eq!(Summary::of([Some(Same), None]), Summary::Undecided);
    assert_eq!(Summary::of([None, Some(Undecided), Some(Regression)]), Summary::Regresses);
}

/// A document of a test that began at this second.
fn document(second: usize, device: &str, revision: &str, result: Value) -> Document {
    let word = if device == "quiver" { String::new() } else { format!("-{device}") };
    let name = format!("1n1l-memif-ethip4-ip4base{word}-mrr");
    let time = format!("2026-11-22T14:{:02}:{:02}Z", second / 60, second % 60);
    let text = json!({
        "duration": 0.0, "dut_type": device, "dut_version": revision, "start_time": time, "end_time": time,
        "hosts": ["perf1"], "telemetry": [], "message": "", "passed": true, "result": result, "tags": ["MRR"],
        "test_documentation": "", "test_id": format!("{name}.64b-1c-{name}"), "test_name_long": format!("64b-1c-{name}"),
        "test_name_short": name, "test_type": "mrr", "tg_type": "Quiver", "tg_version": "0.1.0", "version": "1.5.1",
    });
    Document::parse(text.to_string().as_bytes()).unwrap()
}

fn mrr(pps: f64) -> Value {
    let rate = json!({ "values": [pps], "avg": pps, "stdev": 0.0, "unit": "pps" });
    json!({ "type": "mrr", "receive_rate": { "rate": rate } })
}

#[test]
fn what_the_generator_is_counted_for_is_no_measure() {
    let mut document = document(0, "quiver", "1", mrr(1e7));
    let named = |name: &str| json!({ "name": name, "value": 1.0, "unit": "pps" });
    let machine =
        json!({ "architecture": "any", "processor": "any", "cores": 2, "memory_bytes": 1, "kernel": "Linux" });
    let extension = json!({
        "version": 1, "machine": machine, "versions": {}, "configuration": {}, "counters_before": {},
        "counters_after": {}, "trials": [],
        "figures": [named("generator_ceiling"), named(quiver_result::LIMITED), named("carried")],
    });
    document.quiver = Some(serde_json::from_value(extension).unwrap());
    let one = [document];
    let measures: Vec<_> = compared(&one, &one).rows.iter().map(|row| row.measure.to_string()).collect();
    assert_eq!(measures, ["MRR, pps", "carried, pps"]);
}

/// Equally many documents of both sides, in turns or one side after the other.
fn recorded(slower: f64, in_turns: bool) -> (Vec<Document>, Vec<Document>) {
    let mut simulated = Simulated::new(1, slower);
    let (mut parent, mut current) = (Vec::new(), Vec::new());
    for at in 0..40 {
        let side = match in_turns {
            true => {
                if at / 2 % 2 == at % 2 {
                    Side::Parent
                } else {
                    Side::Current
                }
            }
            false => {
                if at < 20 {
                    Side::Parent
                } else {
                    Side::Current
                }
            }
        };
        let result = mrr(simulated.value(side));
        match side {
            Side::Parent => parent.push(document(at, "quiver", "0.1.0-g1", result)),
            Side::Current => current.push(document(at, "quiver", "0.1.0-g2", result)),
        }
    }
    (parent, current)
}

fn compared(parent: &[Document], current: &[Document]) -> Comparison {
    compare(parent, current, Across::default(), 0.01, Confidence::HIGH)
}

#[test]
fn documents_are_compared_test_by_test() {
    for (slower, verdict) in [(0.0, Verdict::Same), (0.03, Verdict::Regression)] {
        let (parent, current) = recorded(slower, true);
        let comparison = compared(&parent, &current);
        let [row] = comparison.rows.as_slice() else { panic!("{comparison:?}") };
        assert_eq!((row.name.test.as_str(), &row.measure), ("64b-1c-1n1l-memif-ethip4-ip4base-mrr", &Measure::Mrr));
        assert_eq!((row.documents, row.is_paired), ((20, 20), true));
        assert_eq!(row.judgement.as_ref().unwrap().verdict, verdict, "{row:?}");
    }
    // One side behind the other, what the machine lost meanwhile is part of the ratio.
    let (parent, current) = recorded(0.0, false);
    let row = compared(&parent, &current).rows.remove(0);
    assert!(!row.is_paired);
    assert_eq!(row.judgement.unwrap().verdict, Verdict::Regression);
}

#[test]
fn peers_are_compared_in_the_same_test() {
    let documents: Vec<Document> = (0..20)
        .map(|at| match at % 2 {
            0 => document(at, "quiver", "0.1.0", mrr(3e7 + at as f64)),
            _ => document(at, "vpp", "26.06", mrr(1e7 + at as f64)),
        })
        .collect();
    let side = |text: &str| {
        let selection: Selection = text.parse().unwrap();
        documents.iter().filter(|document| selection.matches(document)).cloned().collect::<Vec<_>>()
    };
    let both = |one: &str, other: &str| {
        let across = Across::of(&one.parse().unwrap(), &other.parse().unwrap());
        compare(&side(one), &side(other), across, 0.01, Confidence::HIGH)
    };
    let comparison = both("device=VPP", "device=quiver,machine=perf1");
    let [row] = comparison.rows.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((&row.name.device, row.name.machine.as_deref()), (&None, Some("perf1")));
    assert!((row.judgement.as_ref().unwrap().ratio.estimate - 3.0).abs() < 1e-4 && row.is_paired, "{row:?}");
    assert!(side("machine=perf2").is_empty() && side("revision=26").len() == 10);
    assert_eq!((side("device=*").len(), side("device=*,machine=perf1").len()), (20, 20));
    // Who names no device on one side compares none with another.
    let comparison = both("device=vpp", "machine=perf1");
    let [row] = comparison.rows.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((row.name.device.as_deref(), row.documents), (Some("vpp"), (10, 10)));
    let [Alone { side: Side::Current, name, elsewhere }] = &comparison.alone[..] else { panic!("{comparison:?}") };
    assert_eq!((name.to_string().as_str(), name.keys(elsewhere).as_str()), ("quiver on perf1", "device="));
}

#[test]
fn what_has_no_counterpart_is_told() {
    let rate = |pps: f64| json!({ "rate": { "value": pps, "unit": "pps" } });
    let bounds = |pps: f64| json!({ "lower": rate(pps) });
    let ndrpdr = json!({ "type": "ndrpdr", "ndr": bounds(1e7), "pdr": bounds(1.1e7) });
    let zero = document(1, "quiver", "2", mrr(0.0));
    let mut failed = document(2, "quiver", "2", json!({ "type": "unknown" }));
    (failed.passed, failed.message) = (false, "the device did not start".into());
    let comparison = compared(&[document(0, "quiver", "1", ndrpdr.clone())], &[zero.clone(), failed]);
    // Nothing that both measured.
    assert!(comparison.rows.is_empty() && comparison.failed.len() == 1, "{comparison:?}");
    let comparison = compared(&[document(0, "quiver", "1", mrr(1e7))], &[zero]);
    assert!(comparison.rows[0].judgement.as_ref().unwrap_err().to_string().contains("above zero"));
    let comparison = compared(&[document(0, "quiver", "1", ndrpdr.clone())], &[]);
    let name = Name {
        test: "64b-1c-1n1l-memif-ethip4-ip4base-mrr".into(),
        device: Some("quiver".into()),
        machine: Some("perf1".into()),
    };
    assert_eq!(comparison.alone, [Alone { side: Side::Parent, name, elsewhere: Default::default() }]);
    let one = [document(0, "quiver", "1", ndrpdr)];
    let rows = compared(&one, &one).rows;
    assert_eq!(rows.iter().map(|row| row.measure.to_string()).collect::<Vec<_>>(), ["NDR, pps", "PDR, pps"]);
    assert_eq!(rows[0].judgement.as_ref().unwrap().verdict, Verdict::Undecided);
}

/// The same document of another machine: of its hosts, its processor, or the links of its testbed.
fn moved(document: Document, host: &str, processor: &str, link: &str) -> Document {
    let mut value = serde_json::to_value(&document).unwrap();
    value["hosts"] = json!([host]);
    value["quiver"] = json!({
        "version": 1, "machine": { "architecture": "x86_64", "processor": processor, "cores": 2, "memory_bytes": 1_u64 << 33,
            "kernel": "Linux 6.12.0" },
        "versions": {}, "configuration": { "testbed": link }, "counters_before": {}, "counters_after": {}, "figures": [],
        "trials": [],
    });
    Document::parse(value.to_string().as_bytes()).unwrap()
}

#[test]
fn machines_and_testbeds_are_never_mixed() {
    let bed = |host, processor, link| -> Vec<Document> {
        (0..10).map(|at| moved(document(at, "quiver", "1", mrr(1e7 + at as f64)), host, processor, link)).collect()
    };
    let here = bed("perf1", "EPYC", "link: a to b\n");
    for there in [
        bed("perf2", "EPYC", "link: a to b\n"),
        bed("perf1", "Xeon", "link: a to b\n"),
        bed("perf1", "EPYC", "link: a to c\n"),
    ] {
        let comparison = compared(&here, &there);
        let [Alone { name, elsewhere, .. }, other] = &comparison.alone[..] else { panic!("{comparison:?}") };
        assert!(comparison.rows.is_empty() && name.keys(elsewhere) == "machine=", "{comparison:?}");
        assert_eq!((elsewhere.first(), other.elsewhere.first()), (Some(&other.name), Some(name)));
        // Where one side has both, only what the other one has is compared.
        let both: Vec<Document> = here.iter().chain(&there).cloned().collect();
        let comparison = compared(&here, &both);
        let [row] = comparison.rows.as_slice() else { panic!("{comparison:?}") };
        assert_eq!((row.documents, &row.name), ((10, 10), name));
        // A test is gone only if it is compared nowhere.
        assert_eq!(compared(&both, &here).summary(), Summary::Passes);
        assert_eq!(compared(&here, &there).summary(), Summary::Undecided);
        let across = Across { machines: true, ..Across::default() };
        assert_eq!(compare(&here, &there, across, 0.01, Confidence::HIGH).rows[0].documents, (10, 10));
    }
}
