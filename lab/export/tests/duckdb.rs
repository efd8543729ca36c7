//! The file, as DuckDB reads it, against the documents that it was made of.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_export::{Export, ReadError, columns::COLUMNS, read};
use quiver_oracle::{Packages, answer};
use quiver_result::{Document, Stored};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let requirements = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "duckdb", requirements);
    let trials = vec![
        packages.test("sums_and_counts_are_the_documents", sums),
        packages.test("types_are_as_the_page_says", types),
        Trial::test("a_file_is_whole_or_not_there", whole),
        Trial::test("documents_come_out_as_they_went_in", there_and_back),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A document with as many trials and figures as its number says, some without what may be left out.
fn document(number: u64) -> Stored {
    let rate = |pps: f64| json!({ "rate": { "value": pps, "unit": "pps" } });
    let pps = 1e6 + number as f64 * 0.25;
    let result = match number % 4 {
        0 => json!({ "type": "unknown" }),
        1 => {
            json!({ "type": "mrr", "receive_rate": { "rate": { "values": [pps], "avg": pps, "stdev": 0.5, "unit": "pps" } } })
        }
        2 => {
            json!({ "type": "ndrpdr", "ndr": { "lower": rate(pps) }, "pdr": { "lower": rate(pps), "upper": rate(pps + 1.0) } })
        }
        _ => json!({ "type": "reconf", "aggregate_rate": rate(pps), "loss": {
            "packet": { "value": number, "unit": "packets" }, "time": { "value": 0.5, "unit": "s" } } }),
    };
    let trials = (0..number % 5).map(|trial| {
        let mut value = json!({
            "start_time": "2026-11-22T14:00:00.250001Z", "device": "quiver", "load_pps": pps, "intended_seconds": 1.0,
            "effective_seconds": 1.02, "sent_packets": number * 1000 + trial, "received_packets": number * 999,
            "losses": { "a/b": number, "c": trial }, "is_limited_by_generator": trial == 1,
        });
        if trial % 2 == 0 {
            value["busy"] = json!({ "measure": "thread-ticks", "ticks_per_packet": 40.5 });
            value["energy"] = json!({ "measure": "cpu-seconds", "cpu_seconds": 0.25, "because": ["none"] });
        } else {
            value["repeated_because"] = "the cores' round trip changed".into();
            let share = json!({ "sensor": "package-0", "joules": 30.5 });
            value["energy"] =
                json!({ "measure": "joules", "joules": 30.5, "origin": "rapl-packages", "sensors": [share] });
        }
        value
    });
    let figures = (0..number % 3).map(|figure| json!({ "name": format!("f{figure}"), "value": pps, "unit": "pps" }));
    let mut document = json!({
        "duration": 0.5, "dut_type": "Quiver", "dut_version": format!("0.1.0-g{}", number % 7), "message": "",
        "start_time": "2026-11-22T14:00:00Z", "end_time": "2026-11-22T14:00:00.5Z", "hosts": ["a", "b"], "telemetry": [],
        "passed": true, "result": result, "tags": vec!["T"; (number % 3) as usize], "test_documentation": "",
        "test_id": "suite.case", "test_name_long": "64b-\u{e4}-case", "test_name_short": "case", "test_type": "ndrpdr",
        "tg_type": "Quiver", "tg_version": "0.1.0", "version": "1.5.1",
    });
    // Published results of CSIT's have no part of ours.
    if !number.is_multiple_of(11) {
        document["quiver"] = json!({
            "version": 1, "machine": { "architecture": "x86_64", "processor": "made up", "cores": 2,
                "memory_bytes": u64::MAX, "kernel": "Linux 6.12.0" },
            "versions": {}, "configuration": {}, "counters_before": {}, "counters_after": {},
            "figures": figures.collect::<Vec<_>>(), "trials": trials.collect::<Vec<_>>(),
        });
    }
    let document = Document::parse(document.to_string().as_bytes()).expect("a document");
    Stored { path: PathBuf::from(format!("results/{number}.json")), document }
}

/// More than two row groups.
const DOCUMENTS: u64 = 2500;

fn ask(python: &Path, queries: &[&str]) -> Result<Vec<Value>, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lab.parquet");
    let mut export = Export::new(&path)?;
    (0..DOCUMENTS).try_for_each(|number| export.add(document(number)))?;
    assert_eq!(export.finish()?, DOCUMENTS as usize);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/query.py");
    let asked = json!({ "path": path, "queries": queries });
    let answers: Vec<Value> = serde_json::from_str(&answer(python, Path::new(script), &asked.to_string())?)?;
    assert_eq!(answers.len(), queries.len());
    Ok(answers)
}

fn sums(python: &Path) -> Result<(), Failed> {
    let answers = ask(
        python,
        &[
            "SELECT count(*), count(mrr), count(ndr), count(ndr_upper), count(pdr_upper), count(cores) FROM tests",
            "SELECT sum(mrr), sum(pdr_upper), sum(lost_packets), sum(duration_s), sum(len(tags)) FROM tests",
            "SELECT count(*), sum(sent_packets), sum(received_packets), sum(named_losses), count(busy_per_packet), \
             sum(joules), sum(cpu_s), count(repeated_because), count(*) FILTER (is_limited_by_generator) \
             FROM (SELECT unnest(trials, recursive := true) FROM tests)",
            "SELECT count(*), sum(value) FROM (SELECT unnest(figures, recursive := true) FROM tests)",
            "SELECT document, test_name, test_type, start_time::VARCHAR, hosts, memory_bytes::VARCHAR, len(trials), \
             trials[2].repeated_because, trials[1].start_time::VARCHAR FROM tests WHERE document = 'results/1234.json'",
            "SELECT count(*) FROM tests WHERE dut_version = '0.1.0-g3' AND passed AND message = ''",
        ],
    )?;
    let documents: Vec<Document> = (0..DOCUMENTS).map(|number| document(number).document).collect();
    let trials: Vec<_> = documents.iter().flat_map(|own| own.quiver.iter().flat_map(|own| &own.trials)).collect();
    let figures: Vec<_> = documents.iter().flat_map(|own| own.quiver.iter().flat_map(|own| &own.figures)).collect();
    // By their JSON, which the file was not made of.
    let values: Vec<Value> = documents.iter().map(|own| serde_json::to_value(own).expect("JSON")).collect();
    let numbers = |pointer: &str| values.iter().filter_map(|own| own.pointer(pointer)?.as_f64()).collect::<Vec<f64>>();
    let (mrr, ndr) = (numbers("/result/receive_rate/rate/avg"), numbers("/result/ndr/lower/rate/value"));
    let upper = numbers("/result/pdr/upper/rate/value");
    let sum = |numbers: &[f64]| numbers.iter().sum::<f64>();
    let of = |value: &dyn Fn(&quiver_result::Trial) -> u64| trials.iter().map(|own| value(own)).sum::<u64>();
    let count = |is: &dyn Fn(&quiver_result::Trial) -> bool| trials.iter().filter(|own| is(own)).count();
    let tags: usize = documents.iter().map(|own| own.tags.len()).sum();
    let machines = documents.iter().filter(|own| own.quiver.is_some()).count();
    let equal = |at: usize, expected: Value| {
        let (found, expected) = (&answers[at][0], expected.as_array().expect("a row").clone());
        assert_eq!(found.as_array().map(Vec::len), Some(expected.len()), "{found}");
        for (column, expected) in expected.iter().enumerate() {
            // Sums of integers are wide there, and told as text.
            let found = match &found[column] {
                Value::String(text) if expected.is_number() => text.parse::<f64>().ok(),
                found => found.as_f64(),
            };
            let near = match (found, expected.as_f64()) {
                (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs(),
                _ => answers[at][0][column] == *expected,
            };
            assert!(near, "query {at}, column {column}: {} is not {expected}", answers[at][0][column]);
        }
    };
    equal(0, json!([DOCUMENTS, mrr.len(), ndr.len(), 0, upper.len(), machines]));
    equal(1, json!([sum(&mrr), sum(&upper), sum(&numbers("/result/loss/packet/value")), DOCUMENTS as f64 / 2.0, tags]));
    let busy = count(&|own| own.busy.is_some());
    let repeated = count(&|own| own.repeated_because.is_some());
    assert!(busy > 1000 && repeated > 1000, "{busy} {repeated}");
    equal(
        2,
        json!([
            trials.len(),
            of(&|own| own.sent_packets),
            of(&|own| own.received_packets),
            of(&|own| own.losses.values().sum()),
            busy,
            30.5 * repeated as f64,
            0.25 * busy as f64,
            repeated,
            count(&|own| own.is_limited_by_generator),
        ]),
    );
    equal(3, json!([figures.len(), figures.iter().map(|own| own.value.get()).sum::<f64>()]));
    let memory = u64::MAX.to_string();
    equal(
        4,
        json!([
            "results/1234.json",
            "64b-\u{e4}-case",
            "ndrpdr",
            "2026-11-22 14:00:00+00",
            ["a", "b"],
            memory,
            4,
            "the cores' round trip changed",
            "2026-11-22 14:00:00.250001+00"
        ]),
    );
    equal(5, json!([(0..DOCUMENTS).filter(|number| number % 7 == 3).count()]));
    Ok(())
}

fn types(python: &Path) -> Result<(), Failed> {
    let answers = ask(python, &["SELECT column_name, column_type FROM (DESCRIBE tests)"])?;
    let mut expected: Vec<(String, String)> = Vec::new();
    for column in COLUMNS {
        match (column.list(), expected.last_mut()) {
            (None, _) => expected.push((column.name.into(), column.sql().into())),
            (Some(list), Some((name, fields))) if list == name => {
                *fields += &format!(", {} {}", column.name, column.sql())
            }
            (Some(list), _) => expected.push((list.into(), format!("{} {}", column.name, column.sql()))),
        }
    }
    let lists: Vec<&str> = COLUMNS.iter().filter_map(|column| column.list()).collect();
    let found = answers[0].as_array().ok_or("rows")?;
    assert_eq!(found.len(), expected.len());
    for (row, (name, fields)) in found.iter().zip(expected) {
        let kind = if lists.contains(&name.as_str()) { format!("STRUCT({fields})[]") } else { fields };
        // Names that are words of SQL are quoted there.
        let said = row[1].as_str().unwrap_or_default().replace('"', "");
        assert_eq!((row[0].as_str(), said), (Some(name.as_str()), kind));
    }
    Ok(())
}

fn whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lab.parquet");
    std::fs::write(&path, "older")?;
    let mut export = Export::new(&path)?;
    export.add(document(1))?;
    drop(export);
    assert_eq!(std::fs::read(&path)?, b"older");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "nothing stays behind");
    let error = Export::new(&path)?.finish().err().ok_or("there is nothing to export")?;
    assert!(error.to_string().ends_with("no document to export; name the place that has some by --results"), "{error}");
    assert_eq!(std::fs::read(&path)?, b"older");
    let mut export = Export::new(&path)?;
    export.add(document(1))?;
    assert_eq!(export.finish()?, 1);
    assert!(std::fs::read(&path)?.starts_with(b"PAR1"));
    let error = Export::new(&folder.path().join("no/lab.parquet")).err().ok_or("there is no such folder")?;
    assert!(error.to_string().contains("no/lab.parquet: cannot be written"), "{error}");
    Ok(())
}

fn there_and_back() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("lab.parquet");
    let mut export = Export::new(&path)?;
    (0..DOCUMENTS).try_for_each(|number| export.add(document(number)))?;
    export.finish()?;
    let mut number = 0;
    read::<ReadError>(&path, |found| {
        assert_eq!(found.expect("it is a document"), document(number));
        number += 1;
        Ok(())
    })?;
    assert_eq!(number, DOCUMENTS);
    std::fs::write(&path, "no Parquet")?;
    let refused = |path: &Path| read::<ReadError>(path, |_| Ok(())).expect_err("it is no file of ours").to_string();
    assert!(refused(&path).contains("lab.parquet: cannot be read: "), "{}", refused(&path));
    assert!(refused(&folder.path().join("none")).ends_with("name a file that quiver lab export has written"));
    Ok(())
}
