//! Numbers and points of the pages against the documents.

use std::collections::BTreeMap;

use quiver_compare::{Across, Name, compare};
use quiver_dashboard::{Delays, Group, Trend, figures};
use quiver_result::{Document, Outcome};
use quiver_verdict::compare::Confidence;
use serde_json::{Value, json};

use crate::made::{Made, small};
use quiver_browser::Browser;

/// Numbers are printed with six digits.
const SHOWN: f64 = 1e-5;

/// The JSON of Chromium has all digits, and `serde_json` reads the last one of some numbers otherwise.
const READ: f64 = 1e-15;

/// Whether two values of JSON are the same but for that digit.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| is_near(one, other, READ))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs())
}

/// The cases of a site: test and id.
fn cases(browser: &mut Browser) -> Vec<(String, String)> {
    let all = browser.value("quiver.loadIndex().then(index => index.all.map(series => [series.test, series.id]))");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all.as_array().expect("series").iter().map(|series| (text(&series[0]), text(&series[1]))).collect()
}

/// Rows of the table with this label, by the titles of its columns.
fn rows(browser: &mut Browser, label: &str) -> Vec<Value> {
    let found = format!("quiver.tables.find(table => table.label === {}).rows()", Value::from(label));
    browser.value(&found).as_array().expect("rows").clone()
}

/// Values of a figure in a case's documents: title, then time and value in the order of time.
fn samples(made: &Made, test: &str) -> BTreeMap<String, (bool, Vec<(String, f64)>)> {
    let mut all: BTreeMap<String, (bool, Vec<(String, f64)>)> = BTreeMap::new();
    let mut documents: Vec<&Document> = made.of(test).collect();
    documents.sort_by_key(|document| document.start_time);
    for document in documents {
        for (figure, value) in figures(document) {
            if figure.group != Group::Bound {
                let own = all.entry(figure.title()).or_insert_with(|| (figure.is_cost, Vec::new()));
                own.1.push((document.start_time.to_string(), value));
            }
        }
    }
    all
}

/// Every point of every figure of every case, its trend, and a random one of each by the pointer.
#[test]
fn points_of_charts_are_the_documents() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let mut random = fastrand::Rng::with_seed(7);
    let (mut points, mut hovered) = (0, 0);
    for (test, id) in cases(&mut browser) {
        for (title, (is_cost, samples)) in samples(&made, &test) {
            browser.value(&format!(
                "quiver.go('trending', {{ case: ['{id}'], figure: {} }})",
                Value::from(title.as_str())
            ));
            browser.settle();
            let shown = browser.value(
                "quiver.charts[0].points.map(point => [quiver.moment(point.sample.row.time), point.value, point.x, point.y])",
            );
            let shown = shown.as_array().expect("points");
            assert_eq!(shown.len(), samples.len(), "{test} {title}");
            let most = samples.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let divisor = match title.rsplit(' ').next() {
                Some("pps" | "bps") => [1e9, 1e6, 1e3, 1.0].into_iter().find(|size| most >= *size).unwrap_or(1.0),
                _ => 1.0,
            };
            for (point, (time, value)) in shown.iter().zip(&samples) {
                assert_eq!(point[0], time.as_str(), "{test} {title}");
                assert!(is_same(&point[1], &json!(value)), "{test} {title} {time}: {} {value}", point[1]);
                assert!(is_near(point[3].as_f64().unwrap(), value / divisor, 1e-12), "{test} {title} {time}");
                points += 1;
            }
            assert_is_trend(&mut browser, &samples, is_cost, &title);
            let at = random.usize(..samples.len());
            assert_is_told(&mut browser, at, &title, &samples[at]);
            hovered += 1;
        }
    }
    assert!(points > 8_000 && hovered > 50, "{points} {hovered}");
}

/// The page has the pieces and outliers that the verdict finds in the documents' values.
fn assert_is_trend(browser: &mut Browser, samples: &[(String, f64)], is_cost: bool, title: &str) {
    let values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
    let trend = Trend::of(&values, is_cost).expect("numbers").json();
    let asked = format!(
        "quiver.loadIndex().then(index => quiver.loadCase(index.byId.get(quiver.address().query.get('case')))
            .then(file => file.trends[index.figures.find(figure => figure.title === {}).number]))",
        Value::from(title)
    );
    let shown = browser.value(&asked);
    assert!(is_same(&shown, &trend), "{title}: {shown} {trend}");
}

/// The pointer on a point shows its value and time.
fn assert_is_told(browser: &mut Browser, at: usize, title: &str, (time, value): &(String, f64)) {
    let place = browser.value(&format!("quiver.charts[0].place(quiver.charts[0].points[{at}])"));
    let coordinate = |name: &str| place[name].as_f64().expect("a coordinate");
    browser.point(coordinate("left"), coordinate("top"), false);
    let lines = browser.value("[...quiver.charts[0].tip.children].map(line => line.textContent)");
    let lines: Vec<&str> = lines.as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    assert!(lines.contains(&time.as_str()), "{title}: {time} is not in {lines:?}");
    let name = title.rsplit_once(", ").map_or(title, |(name, _)| name);
    let told = lines.iter().find_map(|line| line.strip_prefix(&format!("{name}: "))).expect("the value");
    assert!(is_near(read(told), *value, SHOWN), "{title}: {told} is not {value}");
}

/// A number with its unit, as pages print it.
fn read(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number: f64 = number.replace(',', "").parse().unwrap_or_else(|_| panic!("{text} is no number"));
    let factor = match unit {
        "Gpps" | "Gbps" => 1e9,
        "Mpps" | "Mbps" => 1e6,
        "kpps" | "kbps" => 1e3,
        _ => 1.0,
    };
    number * factor
}

#[test]
fn comparisons_are_those_of_the_command_line() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let revisions: Vec<String> = {
        let all = browser.value("quiver.loadIndex().then(index => index.revisions)");
        all.as_array().expect("revisions").iter().filter_map(|own| own.as_str().map(str::to_owned)).collect()
    };
    let of = |revision: &str| -> Vec<Document> {
        let all = made.documents.iter().map(|stored| &stored.document);
        all.filter(|document| document.dut_version == revision).cloned().collect()
    };
    let mut compared = 0;
    for (a, b) in [(0, 1), (0, revisions.len() - 2), (3, 20)] {
        let (a, b) = (&revisions[a], &revisions[b]);
        let comparison = compare(&of(a), &of(b), Across::default(), 0.01, Confidence::HIGH);
        for title in ["MRR, pps", "NDR, pps", "PDR, pps", "thread ticks a packet, ticks"] {
            let settings = json!({ "across": "revision", "a": a, "b": b, "figure": title });
            browser.value(&format!("quiver.go('comparisons', {settings})"));
            browser.settle();
            let shown = rows(&mut browser, &format!("{title}: B against A"));
            let is = |row: &&quiver_compare::Row| title.trim_end_matches(", ticks") == row.measure.to_string();
            let wanted: Vec<_> = comparison.rows.iter().filter(is).collect();
            assert_eq!(shown.len(), wanted.len(), "{title} {a} {b}");
            for row in wanted {
                let own = shown.iter().find(|own| own["Case"] == row.name.test.as_str()).expect("the case");
                let judgement = row.judgement.as_ref().expect("a ratio");
                let medians = [row.medians.0, row.medians.1].map(|median| json!(median));
                assert!(is_same(&own["A"], &medians[0]) && is_same(&own["B"], &medians[1]), "{own} {medians:?}");
                assert_eq!(own["Samples"], json!(row.documents.0 + row.documents.1));
                let is = |name: &str, ratio: f64| is_near(own[name].as_f64().expect("a share") + 1.0, ratio, 1e-12);
                assert!(is("Difference", judgement.ratio.estimate), "{own} {judgement:?}");
                match judgement.ratio.high.is_finite() {
                    true => assert!(is("From", judgement.ratio.low) && is("To", judgement.ratio.high), "{own}"),
                    false => assert!(own["From"].is_null() && own["To"].is_null(), "{own}"),
                }
                assert_eq!(own["Verdict"], judgement.verdict.to_string(), "{own}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 20, "{compared}");
    // With sides large enough for intervals, by a random half of the samples each: in turns, and not.
    let mut random = fastrand::Rng::with_seed(3);
    for (first, second, is_paired) in [(12, 12, true), (12, 20, false), (40, 40, false), (9, 9, true), (8, 1, false)] {
        let mut sides = [vec![], vec![]];
        let mut pairs = vec![];
        for at in 0..first.max(second) {
            let values = [10.0 + random.f64(), 10.3 + random.f64()];
            for side in [0, 1] {
                let time = if is_paired { at * 2 + side } else { at + side * 1000 };
                if at < [first, second][side] {
                    sides[side].push(json!({ "time": time, "value": values[side] }));
                }
            }
            pairs.push((values[0], values[1]));
        }
        let value = |side: &[Value]| side.iter().filter_map(|own| own["value"].as_f64()).collect::<Vec<f64>>();
        let ratio = match is_paired {
            true => quiver_verdict::compare::paired(&pairs, Confidence::HIGH),
            false => quiver_verdict::compare::unpaired(&value(&sides[0]), &value(&sides[1]), Confidence::HIGH),
        };
        let ratio = ratio.expect("a ratio");
        let asked = format!(
            "quiver.load('ends').then(ends => {{ const own = quiver.ratio({}, {}, ends);
                return [own.estimate, own.low, own.high === Infinity ? null : own.high, own.isPaired]; }})",
            Value::from(sides[0].clone()),
            Value::from(sides[1].clone())
        );
        let own = browser.value(&asked);
        assert_eq!(own[3], json!(is_paired));
        assert!(is_near(own[0].as_f64().unwrap(), ratio.estimate, 1e-12), "{own} {ratio:?}");
        assert!(is_near(own[1].as_f64().unwrap(), ratio.low, 1e-12), "{own} {ratio:?}");
        assert_eq!(own[2].as_f64().is_some(), ratio.high.is_finite());
        assert!(own[2].as_f64().is_none_or(|high| is_near(high, ratio.high, 1e-12)), "{own} {ratio:?}");
    }
}

/// Coverage and energy, as data and as printed in the page, of the last document of each case that passed.
#[test]
fn coverage_and_energy_are_the_latest_documents() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let mut numbers = 0;
    for (part, label) in [
        ("throughput", "Latest throughput, both directions together"),
        ("forward", "Latest latency, forward"),
        ("reverse", "Latest latency, reverse"),
    ] {
        browser.go(&format!("#/coverage?part={part}"));
        let printed = browser.value(
            "[...document.querySelectorAll('main tbody tr')].map(row => Object.fromEntries([...row.children]
                .map(cell => [cell.dataset.title, cell.innerText.trim()])))",
        );
        for (row, printed) in rows(&mut browser, label).iter().zip(printed.as_array().expect("rows")) {
            let test = row["Case"].as_str().expect("a test");
            assert_eq!(printed["Case"], test);
            let last = made.of(test).filter(|document| document.passed).max_by_key(|document| document.start_time);
            let last = last.expect("a document");
            assert_eq!(row["Time"], last.start_time.to_string());
            assert_eq!(row["Revision"], last.dut_version.as_str());
            for (figure, value) in figures(last) {
                let short = |name: &str| name.replace(&format!(" PDR {part}"), " PDR");
                let title = match (figure.group, part) {
                    (Group::Throughput, "throughput") => format!("{}, Mpps", figure.name),
                    (Group::Bandwidth, "throughput") => format!("{}, Gbps", figure.name.replace(" bandwidth", "")),
                    (Group::Latency, part) if figure.name.ends_with(part) => format!("{}, µs", short(&figure.name)),
                    _ => continue,
                };
                let value = value
                    / [("Mpps", 1e6), ("Gbps", 1e9)]
                        .iter()
                        .find(|(unit, _)| title.ends_with(unit))
                        .map_or(1.0, |own| own.1);
                assert!(is_near(row[&title].as_f64().unwrap_or(f64::NAN), value, 1e-12), "{test} {title} {row}");
                assert!(is_near(read(printed[&title].as_str().expect("a text")), value, SHOWN), "{title} {printed}");
                numbers += 1;
            }
        }
    }
    browser.go("#/energy");
    for title in ["CPU time of a million packets, s", "thread ticks a packet, ticks"] {
        for row in rows(&mut browser, title) {
            let test = row["Case"].as_str().expect("a test");
            let last = made.of(test).filter(|document| document.passed).max_by_key(|document| document.start_time);
            let own = figures(last.expect("a document")).into_iter().find(|(figure, _)| figure.title() == title);
            assert!(is_same(&row[title], &json!(own.map(|(_, value)| value))), "{row}");
            numbers += 1;
        }
    }
    assert!(numbers > 80, "{numbers}");
}

/// News are the changes that the verdict finds, and the documents of tests that failed.
#[test]
fn news_are_changes_and_failures_of_the_time() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let now = made.documents.iter().map(|stored| stored.document.start_time).max().expect("a document");
    let names: Vec<String> = cases(&mut browser).into_iter().map(|(test, _)| test).collect();
    for days in [1, 7, 200] {
        let is_new =
            |document: &&Document| now.since(document.start_time).is_some_and(|since| since.as_secs() <= days * 86_400);
        let mut wanted = [vec![], vec![]];
        for test in &names {
            for (title, (is_cost, samples)) in samples(&made, test) {
                // News of a rate are not told a second time as those of its bandwidth.
                if title.ends_with("bps") {
                    continue;
                }
                let values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
                let trend = Trend::of(&values, is_cost).expect("numbers");
                for pair in trend.pieces.windows(2) {
                    let time = &samples[pair[1].samples.0].0;
                    let time_of: quiver_result::Time = time.parse().expect("a time");
                    let side = match pair[1].direction {
                        quiver_verdict::Trend::Normal => continue,
                        quiver_verdict::Trend::Regression => 0,
                        quiver_verdict::Trend::Progression => 1,
                    };
                    if now.since(time_of).is_some_and(|since| since.as_secs() <= days * 86_400) {
                        wanted[side]
                            .push(format!("{test} {title} {time} {:.9e} {:.9e}", pair[0].level.1, pair[1].level.0));
                    }
                }
            }
        }
        browser.go(&format!("#/news?days={days}"));
        for (label, mut wanted) in ["Regressions", "Progressions"].into_iter().zip(wanted) {
            let text = |row: &Value, name: &str| row[name].as_str().expect("a text").to_owned();
            let number = |row: &Value, name: &str| row[name].as_f64().expect("a number");
            let mut shown: Vec<String> = rows(&mut browser, label)
                .iter()
                .map(|row| {
                    let [test, figure, time] = ["Case", "Figure", "Time"].map(|name| text(row, name));
                    format!("{test} {figure} {time} {:.9e} {:.9e}", number(row, "Before"), number(row, "After"))
                })
                .collect();
            shown.sort();
            wanted.sort();
            assert_eq!(shown, wanted, "{label} in {days} days");
        }
        let failed =
            made.documents.iter().map(|stored| &stored.document).filter(|document| !document.passed).filter(is_new);
        let mut failed: Vec<String> = failed.map(|document| document.start_time.to_string()).collect();
        let mut shown: Vec<String> = rows(&mut browser, "Failed tests")
            .iter()
            .map(|row| row["Time"].as_str().expect("a time").to_owned())
            .collect();
        failed.sort();
        shown.sort();
        assert_eq!(shown, failed, "failures in {days} days");
    }
}

/// The page of a document: its text, byte by byte, and percentiles of its histograms.
#[test]
fn the_page_of_a_case_has_the_document_itself() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let mut histograms = 0;
    for (test, id) in cases(&mut browser) {
        let mut documents: Vec<&Document> = made.of(&test).collect();
        documents.sort_by_key(|document| document.start_time);
        for at in [0, documents.len() / 2, documents.len() - 1] {
            let document = documents[at];
            browser.go(&format!("#/case?id={id}&document={at}"));
            let text = browser.value("document.querySelector('pre.text').textContent");
            assert_eq!(text.as_str(), document.text().ok().as_deref(), "{test} {at}");
            let Outcome::Ndrpdr { latency_forward: Some(forward), .. } = &document.result else { continue };
            let row = &rows(&mut browser, "Delays")[1];
            assert_eq!(row["Load"], "10 % PDR, forward");
            let delays = Delays::of(&forward.pdr_10).expect("a histogram");
            for percentile in [50.0, 90.0, 99.0, 99.9] {
                let own = row[format!("P{percentile}, µs")].as_f64().expect("a number");
                assert!(is_near(own, delays.percentile(percentile), 1e-12), "{row} {}", delays.percentile(percentile));
                histograms += 1;
            }
        }
    }
    assert!(histograms >= 24, "{histograms}");
}

/// All cases are found, measured or not, and their names are not taken for markup.
#[test]
fn search_finds_all_cases() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    browser.go("#/search");
    let shown = rows(&mut browser, "Cases");
    let names: std::collections::BTreeSet<Name> =
        made.documents.iter().map(|stored| Name::of(&stored.document, Across::default())).collect();
    assert_eq!(shown.len(), names.len() + 1);
    for name in names {
        let own = shown.iter().find(|own| own["Case"] == name.test.as_str()).expect("the case");
        assert_eq!(own["Tests"], json!(made.of(&name.test).count()));
        assert_eq!(own["Failed"], json!(made.of(&name.test).filter(|document| !document.passed).count()));
    }
    assert!(shown.iter().any(|own| own["Case"] == "64b-1c-1n1l-memif-never-measured-soak" && own["Tests"] == 0));
    assert_eq!(browser.value("document.querySelectorAll('main b, main img, main i').length"), json!(0));
    for (words, found) in [("SOAK 64b", 1), ("never measured", 1), ("<b>BOLD", 1), ("nothing like it", 0)] {
        browser.value(&format!("quiver.go('search', {{ text: {} }})", Value::from(words)));
        browser.settle();
        assert_eq!(rows(&mut browser, "Cases").len(), found, "{words}");
    }
}
